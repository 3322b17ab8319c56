"""R-05: from any bad state of cloud and cluster a DistributionTenant ends as declared, and then rests.

While no operator runs, several things are changed at once in the cloud, fields of the status get lost, and so does the finalizer.
Which ones is drawn by the number of the state. Then an operator starts, without any fault. The inventory of records is not among
what gets lost: it is the only proof that a record is ours (S-11).

`EDGEKEEPER_CRASH=all` plays a thousand states, `make crash` a hundred, `make test` a few.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any, Final

import pytest

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject
from kubesim.virtual import run_virtual
from tests.crash.sampling import ALL, WHOLE
from tests.reliability.test_r10_drift import (
    ACL,
    DRIFTS,
    GEO,
    SHOP,
    recorded,
    with_dns,
    with_group,
    with_parameters,
)
from tests.results import Figures
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

AT_ONCE: Final = 5
STATES: Final = range(1_000 if WHOLE else 100 if ALL else AT_ONCE)
LIMIT: Final = timedelta(minutes=10)
REST: Final = timedelta(days=1)
LAST: Final = "tenant deleted"
"""After it nothing about the tenant can be changed."""
KEPT: Final = ("inventory", "conditions")
"""The proof of what is ours; and what the laws of a status demand at every write, this one too."""


def spec(scene: Scene) -> JsonObject:
    """A spec in which everything is set that can drift."""
    return {
        **with_dns(scene),
        **with_group(scene),
        **with_parameters(scene),
        "customizations": {**ACL, **GEO},
    }


def looks(scene: Scene) -> list[Any]:
    """Everything that can drift."""
    if KEY.name not in scene.names:
        return []
    return [drift.seen(scene) for drift in DRIFTS.values()]


async def disorder(scene: Scene, random: Random) -> bool:
    """Change some things in the cloud, and lose some in the cluster. Return whether that needs a person.

    A record that somebody has changed is theirs, unless the tenant proves that it is served by us. If both are not as they
    were, nobody can tell.
    """
    chosen, before = random.sample(sorted(DRIFTS), random.randint(1, 4)), recorded(scene)
    for name in sorted(chosen, key=lambda one: one == LAST):
        DRIFTS[name].happens(scene)
    fields = [name for name in sorted(scene.status()) if name not in KEPT]
    lost = random.sample(fields, random.randint(0, len(fields)))
    await scene.stage.user.merge_patch(KIND, KEY, {"status": dict.fromkeys(lost)}, subresource="status")
    if random.random() < 0.3:
        await scene.stage.patch(KIND, KEY, {"metadata": {"finalizers": None}})
    return LAST in chosen and recorded(scene) not in ([], before)


async def matched(scene: Scene, wanted: list[Any]) -> float:
    """Wait until everything is as declared, and said to be. Return after how many seconds."""
    began = asyncio.get_running_loop().time()
    while looks(scene) != wanted or not scene.is_current() or scene.fact("Ready").status != "True":
        await asyncio.sleep(1)
        seconds = asyncio.get_running_loop().time() - began
        assert seconds <= LIMIT.total_seconds(), (looks(scene), wanted, scene.told())
    return asyncio.get_running_loop().time() - began


async def resolve(scene: Scene) -> None:
    """The object names the record in its way, and leaves it. Then somebody removes it."""
    changed = recorded(scene)
    message = (await scene.says("Ready", "DNSConflict")).message
    assert SHOP in message
    await scene.elapse(minutes=10)
    assert recorded(scene) == changed
    scene.estate.lose_record(SHOP)


async def play(number: int) -> float:
    random = Random(f"state {number}")
    async with playing() as scene:
        await scene.create(tenant(KEY, SHOP, **spec(scene)))
        await scene.ready()
        await scene.elapse(minutes=6)
        wanted = looks(scene)
        await scene.stage.operator.stop()
        needs_a_person = await disorder(scene, random)
        scene.stage.start_operator()
        if needs_a_person:
            await resolve(scene)
        seconds = await matched(scene, wanted)
        await scene.elapse(minutes=6)
        writes, versions = scene.estate.writes, len(scene.versions)
        await scene.elapse(seconds=REST.total_seconds() if number % 10 == 0 else 3600)
        assert (scene.estate.writes, len(scene.versions)) == (writes, versions)
        assert looks(scene) == wanted
        return seconds


@pytest.mark.parametrize("lost", [("id",), ("id", "arn"), ("id", "eTag"), ("id", "tagsFingerprint")], ids=str)
def test_lost_id_does_not_hide_what_differs(lost: tuple[str, ...]) -> None:
    """Parameters are in no listing: a tenant that is found again by its tags has to be read and compared."""

    async def play() -> None:
        async with playing() as scene:
            await scene.create(tenant(KEY, SHOP, **with_parameters(scene)))
            await scene.ready()
            wanted = scene.aws().parameters
            await scene.stage.operator.stop()
            DRIFTS["parameters"].happens(scene)
            await scene.stage.user.merge_patch(
                KIND, KEY, {"status": dict.fromkeys(lost)}, subresource="status"
            )
            scene.stage.start_operator()
            await scene.elapse(minutes=10)
            assert scene.aws().parameters == wanted
            await scene.ready()

    run_virtual(play)


@pytest.mark.parametrize("first", STATES[::AT_ONCE])
def test_any_start_state_ends_as_declared_and_rests(first: int, figures: Figures) -> None:
    for number in range(first, first + AT_ONCE):
        seconds = run_virtual(partial(play, number))
        figures.measure("as declared after", seconds, "s", limit=LIMIT.total_seconds())
        figures.count("start states")
