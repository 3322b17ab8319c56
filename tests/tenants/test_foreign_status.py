"""What others write into a status: their conditions are kept as they are, and an object that does not decode says so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import replace

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject, dig_list
from kubesim.virtual import virtual_time
from tests.crash.stage import staged
from tests.tenants.scene import Scene
from tests.tenants.system import KEY, TENANTS, tenant

THEIRS = {"type": "Audited", "status": "True"}
"""A condition of another controller, without half of what ours have."""


def _loose_definition() -> JsonObject:
    """The kind as an older or edited definition may have it: anything goes."""
    definition = deepcopy(DISTRIBUTION_TENANT.definition())
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for version in definition["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"] = loose
    return definition


@asynccontextmanager
async def loosely_defined() -> AsyncIterator[Scene]:
    system = replace(TENANTS, definitions=(_loose_definition(),), lies=lambda *_: "")
    async with staged(system) as stage:
        scene = Scene(stage)
        scene.cloud.cloudfront.default_group()
        stage.start_operator()
        yield scene


@virtual_time
async def test_condition_of_another_controller_is_kept_and_is_no_reason_to_fail() -> None:
    async with loosely_defined() as scene:
        await scene.create(tenant(KEY, "shop.example.com"))
        await scene.ready()
        conditions = [*dig_list(scene.object(), "status", "conditions"), THEIRS, "nonsense"]
        await scene.stage.user.merge_patch(
            KIND, KEY, {"status": {"conditions": conditions}}, subresource="status"
        )
        await scene.edit(enabled=False)
        await scene.until(lambda: not scene.aws().enabled)
        await scene.until(lambda: _is_ready(scene))
        assert THEIRS in dig_list(scene.object(), "status", "conditions")


@virtual_time
async def test_object_that_does_not_decode_says_so_until_it_is_corrected() -> None:
    async with loosely_defined() as scene:
        await scene.create(tenant(KEY, "shop.example.com"))
        await scene.ready()
        before = scene.aws()
        await scene.edit(enabled="perhaps")
        told = await scene.says("Ready", "ValidationFailed")
        assert told.status == "False"
        assert "spec.enabled" in told.message
        await scene.elapse(hours=1)
        assert scene.aws() == before
        assert len(scene.events("ValidationFailed")) == 1
        await scene.edit(enabled=False)
        await scene.until(lambda: not scene.aws().enabled)
        await scene.ready()


@virtual_time
async def test_status_that_does_not_decode_is_told_too() -> None:
    async with loosely_defined() as scene:
        await scene.create(tenant(KEY, "shop.example.com"))
        await scene.ready()
        await scene.stage.user.merge_patch(KIND, KEY, {"status": {"inventory": "lost"}}, subresource="status")
        await scene.edit(enabled=False)
        assert "status.inventory" in (await scene.says("Ready", "ValidationFailed")).message
        assert scene.aws().enabled


@virtual_time
async def test_object_that_does_not_decode_is_finalized() -> None:
    async with loosely_defined() as scene:
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.ready()
        await scene.edit(tags=[{"key": "k" * 200, "value": "1"}], domains="none")
        await scene.says("Ready", "ValidationFailed")
        await scene.delete()
        await scene.gone()
        assert not scene.names
        assert not scene.records


def _is_ready(scene: Scene) -> bool:
    obj = scene.object()
    generation = obj["metadata"]["generation"]
    return any(
        isinstance(one, dict)
        and (one.get("type"), one.get("status"), one.get("observedGeneration"))
        == ("Ready", "True", generation)
        for one in dig_list(obj, "status", "conditions")
    )
