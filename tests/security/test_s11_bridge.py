"""S-11 for the bridge: with a forged status nobody gets at the mappings and statements of another object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import NAMESPACE, Key
from kubesim.virtual import virtual_time
from tests.bridge.world import (
    API,
    DOMAIN,
    DOMAINS,
    PERMISSION,
    PERMISSIONS,
    Scene,
    domain,
    permission,
    playing,
    statement,
)

TEAM = "team"
ATTACKER = Key(TEAM, "attacker")

Forgery = Callable[[Scene], JsonObject]


def _victims_entry(**changes: Any) -> Forgery:
    return lambda scene: {"inventory": [{**scene.status(PERMISSION)["inventory"][0], **changes}]}


STATEMENTS: dict[str, Forgery] = {
    "the victim's entry": _victims_entry(),
    "by another spelling of the function": lambda scene: _victims_entry(function=scene.estate.function.arn)(
        scene
    ),
    "only planned": _victims_entry(state="Planned"),
    "with another content": _victims_entry(fingerprint="0" * 16),
    "the whole status": lambda scene: scene.status(PERMISSION),
}


async def _forge(scene: Scene, kind: Any, status: JsonObject) -> None:
    await scene.stage.user.merge_patch(kind, ATTACKER, {"status": status}, subresource="status")


@pytest.mark.parametrize("forgery", STATEMENTS.values(), ids=STATEMENTS.keys())
@pytest.mark.parametrize("ending", ["deleted", "kept"])
@virtual_time
async def test_statement_of_another_object_outlives_a_forged_inventory(forgery: Forgery, ending: str) -> None:
    async with playing() as scene:
        await scene.stage.user.create(NAMESPACE, {"metadata": {"name": TEAM}})
        await scene.create(permission(statement("victim")))
        await scene.ready(PERMISSION)
        await scene.create(permission(statement("attacker"), key=ATTACKER))
        await scene.ready(ATTACKER)
        before, added = scene.estate.statements()["victim"], scene.calls("AddPermission")
        await _forge(scene, PERMISSIONS, forgery(scene))
        if ending == "deleted":
            await scene.delete(PERMISSIONS, ATTACKER)
            await scene.gone(ATTACKER)
        await scene.elapse(minutes=10)
        assert scene.estate.statements()["victim"] == before
        assert scene.calls("AddPermission") == added, "it was not even removed for a moment"
        await scene.delete(PERMISSIONS, PERMISSION)
        await scene.gone(PERMISSION)
        assert "victim" not in scene.estate.statements()


@virtual_time
async def test_older_object_does_not_get_a_statement_that_it_does_not_ask_for() -> None:
    async with playing() as scene:
        await scene.stage.user.create(NAMESPACE, {"metadata": {"name": TEAM}})
        await scene.create(permission(statement("attacker"), key=ATTACKER))
        await scene.ready(ATTACKER)
        await scene.elapse(minutes=1)
        await scene.create(permission(statement("victim")))
        await scene.ready(PERMISSION)
        await _forge(scene, PERMISSIONS, STATEMENTS["the victim's entry"](scene))
        await scene.delete(PERMISSIONS, ATTACKER)
        await scene.gone(ATTACKER)
        assert "victim" in scene.estate.statements()


@pytest.mark.parametrize("fields", [["mapping"], ["mapping", "domainName"], None], ids=str)
@virtual_time
async def test_mapping_of_another_object_outlives_a_forged_status(fields: list[str] | None) -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.stage.user.create(NAMESPACE, {"metadata": {"name": TEAM}})
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        before, records = scene.mapped(), scene.records
        await scene.create(domain(key=ATTACKER, apiRef={"apiId": API}))
        await scene.says(ATTACKER, "Ready", "DomainConflict")
        victims = scene.status(DOMAIN)
        forged = victims if fields is None else {name: victims[name] for name in fields if name in victims}
        await _forge(scene, DOMAINS, forged)
        await scene.elapse(minutes=10)
        await scene.delete(DOMAINS, ATTACKER)
        await scene.gone(ATTACKER)
        assert (scene.mapped(), scene.records) == (before, records)


@virtual_time
async def test_entries_for_other_functions_are_kept() -> None:
    """The same statement id at another function is another statement."""
    async with playing() as scene:
        await scene.stage.user.create(NAMESPACE, {"metadata": {"name": TEAM}})
        await scene.create(permission(statement("api")))
        await scene.ready(PERMISSION)
        second = scene.estate.functions.add("second")
        await scene.create(permission(statement("api"), key=ATTACKER, function={"functionName": "second"}))
        await scene.ready(ATTACKER)
        await scene.delete(PERMISSIONS, ATTACKER)
        await scene.gone(ATTACKER)
        assert "api" in scene.estate.statements()
        assert not second.statements.get("")
