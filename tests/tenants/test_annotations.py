"""Annotations of ours: case does not matter, and a value that nobody knows is never taken for the default."""

from __future__ import annotations

import pytest

from kubesim.virtual import virtual_time
from tests.tenants.scene import Fact, Scene, playing
from tests.tenants.system import KEY, tenant


async def _created(scene: Scene) -> None:
    await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
    await scene.ready()


@pytest.mark.parametrize("value", ["retain", "keep", "Orphaned", "", "false", "Delete please"])
@virtual_time
async def test_unknown_deletion_policy_deletes_nothing_until_it_is_corrected(value: str) -> None:
    async with playing() as scene:
        await _created(scene)
        await scene.annotate(deletion_policy=value)
        before = scene.aws(), scene.records
        await scene.delete()
        told = await scene.says("Ready", "InvalidAnnotation")
        assert "edgekeeper.io/deletion-policy" in told.message
        assert "Delete, Orphan" in told.message
        await scene.elapse(hours=2)
        assert (scene.aws(), scene.records) == before
        assert len(scene.events("InvalidAnnotation")) == 1
        await scene.annotate(deletion_policy="Delete")
        await scene.gone()
        assert (scene.names, scene.records) == ([], {})


@pytest.mark.parametrize("value", ["orphan", "ORPHAN", "Orphan"])
@virtual_time
async def test_deletion_policy_is_read_without_regard_to_case(value: str) -> None:
    async with playing() as scene:
        await _created(scene)
        records = scene.records
        await scene.annotate(deletion_policy=value)
        await scene.delete()
        await scene.gone()
        assert (scene.names, scene.records) == ([KEY.name], records)


@pytest.mark.parametrize("value", ["true", "True", "TRUE"])
@virtual_time
async def test_object_is_paused_without_regard_to_case_and_says_so(value: str) -> None:
    async with playing() as scene:
        await _created(scene)
        await scene.annotate(paused=value)
        await scene.edit(enabled=False)
        await scene.elapse(hours=1)
        assert scene.aws().enabled
        assert scene.fact("Paused")[:2] == ("True", "Paused")
        await scene.annotate(paused="False")
        await scene.until(lambda: not scene.aws().enabled)
        await scene.ready()
        assert scene.fact("Paused") == Fact("", "")


@virtual_time
async def test_misspelt_pause_stops_everything_and_is_told() -> None:
    async with playing() as scene:
        await _created(scene)
        await scene.annotate(paused="yes")
        await scene.edit(enabled=False)
        told = await scene.says("Ready", "InvalidAnnotation")
        assert "edgekeeper.io/paused" in told.message
        assert "'yes'" in told.message
        await scene.elapse(hours=1)
        assert scene.aws().enabled
        assert len(scene.events("InvalidAnnotation")) == 1


@virtual_time
async def test_misspelt_drift_policy_is_told_and_not_taken_for_enforce() -> None:
    async with playing() as scene:
        await _created(scene)
        await scene.annotate(drift_policy="suspendd")
        told = await scene.says("Ready", "InvalidAnnotation")
        assert "enforce, report, suspend" in told.message
        scene.cloud.cloudfront.change_tenant(KEY.name, enabled=False)
        await scene.elapse(hours=1)
        assert not scene.aws().enabled
        assert len(scene.events("InvalidAnnotation")) == 1
        await scene.annotate(drift_policy="Enforce")
        await scene.until(lambda: scene.aws().enabled)
        await scene.ready()


@virtual_time
async def test_misspelt_key_is_told_with_the_key_that_was_meant() -> None:
    async with playing() as scene:
        await _created(scene)
        await scene.annotate(deletion_polcy="Orphan")
        told = await scene.says("Ready", "InvalidAnnotation")
        assert "did you mean edgekeeper.io/deletion-policy?" in told.message
        await scene.delete()
        await scene.elapse(hours=1)
        assert scene.names == [KEY.name]
