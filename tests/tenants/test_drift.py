"""Changed behind the operator's back: corrected, reported or left alone, and told once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from edgekeeper.controllers.cloudfront.wiring import TenantOptions
from edgekeeper.core.drift import Policy
from kubesim.virtual import virtual_time
from tests.tenants.scene import Fact, Scene, playing
from tests.tenants.system import KEY, OPTIONS, tenant

UPDATE = "UpdateDistributionTenant"
DRIFTED = "cloudfront_tenant_operator_drift_detected_total"
REPORT = replace(OPTIONS, drift_policy=Policy.REPORT)
SUSPEND = replace(OPTIONS, drift_policy=Policy.SUSPEND)


async def _drifted(scene: Scene) -> None:
    await scene.create(tenant())
    await scene.ready()
    scene.cloud.cloudfront.change_tenant(KEY.name, domains=("shop.example.com", "rogue.example.com"))


@virtual_time
async def test_drift_is_corrected_with_one_update() -> None:
    async with playing() as scene:
        await _drifted(scene)
        await scene.until(lambda: scene.aws().domains == ("shop.example.com",))
        await scene.ready()
        assert scene.calls(UPDATE) == 1
        assert scene.status()["driftDetected"] is False
        assert scene.metric(DRIFTED) == 1
        (note,) = scene.events("DriftCorrected")
        assert "outside the operator" in note
        assert "rogue.example.com" in note


@virtual_time
async def test_correction_shows_as_drift_until_it_is_accepted() -> None:
    """Of the ways in which this was documented, the one that tells most."""
    async with playing() as scene:
        await _drifted(scene)
        await scene.until(lambda: scene.calls(UPDATE) > 0)
        await scene.ready()
        assert Fact("False", "DriftDetected") in scene.reasons("Synced")
        assert scene.reasons("Synced")[-1] == Fact("True", "InSync")
        detected = [one["status"].get("driftDetected") for one in scene.versions if "status" in one]
        assert True in detected
        assert detected[-1] is False


@virtual_time
async def test_reported_drift_is_left_and_told_once() -> None:
    async with playing(REPORT) as scene:
        await _drifted(scene)
        fact = await scene.says("Synced", "DriftDetected")
        assert fact.status == "False"
        assert "outside the operator" in fact.message
        assert scene.status()["driftDetected"] is True
        await scene.elapse(hours=1)
        assert scene.calls(UPDATE) == 0
        assert "rogue.example.com" in scene.aws().domains
        assert len(scene.events("DriftDetected")) == 1


@virtual_time
async def test_drift_under_suspension_is_known_and_counted_and_nothing_else() -> None:
    async with playing(SUSPEND) as scene:
        await _drifted(scene)
        await scene.until(lambda: scene.status()["driftDetected"] is True)
        assert scene.fact("Synced")[:2] == ("True", "InSync")
        await scene.elapse(hours=1)
        assert scene.calls(UPDATE) == 0
        assert scene.metric(DRIFTED) > 1
        assert not scene.events("DriftDetected")
        assert not scene.events("DriftCorrected")


@pytest.mark.parametrize("options", [REPORT, SUSPEND], ids=["report", "suspend"])
@virtual_time
async def test_change_of_the_spec_is_pushed_under_every_policy(options: TenantOptions) -> None:
    async with playing(options) as scene:
        await scene.create(tenant())
        await scene.ready()
        await scene.edit(enabled=False)
        await scene.ready()
        assert not scene.aws().enabled


@virtual_time
async def test_annotation_of_an_object_overrides_the_policy() -> None:
    async with playing(REPORT) as scene:
        await _drifted(scene)
        await scene.says("Synced", "DriftDetected")
        await scene.annotate(drift_policy="enforce")
        await scene.until(lambda: scene.aws().domains == ("shop.example.com",))


@virtual_time
async def test_deleted_tenant_is_created_again_under_enforce() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        scene.cloud.cloudfront.remove_tenant(KEY.name)
        await scene.until(lambda: scene.names == [KEY.name])
        await scene.ready()
        assert scene.status()["id"] == scene.aws().id
        assert len(scene.events("ExternalDeletion")) == 1
        assert len(scene.events("Created")) == 2


@pytest.mark.parametrize("options", [REPORT, SUSPEND], ids=["report", "suspend"])
@virtual_time
async def test_deleted_tenant_is_only_reported_under_the_other_policies(options: TenantOptions) -> None:
    """W10: the policy holds for deletions too."""
    async with playing(options) as scene:
        await scene.create(tenant())
        await scene.ready()
        scene.cloud.cloudfront.remove_tenant(KEY.name)
        fact = await scene.says("Ready", "ExternalDeletion")
        assert fact.status == "False"
        await scene.elapse(hours=1)
        assert scene.names == []
        assert len(scene.events("ExternalDeletion")) == 1


@virtual_time
async def test_disagreement_with_another_controller_does_not_become_a_fight() -> None:
    """W10: both would write every half minute, for ever."""
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        stubborn = asyncio.create_task(_disabling(scene))
        await scene.elapse(hours=2)
        assert scene.calls(UPDATE) <= 5 + 2 * 12 + 1
        assert scene.fact("Synced")[:2] == ("False", "DriftDetected")
        assert len(scene.events("DriftCorrected")) == scene.calls(UPDATE)
        stubborn.cancel()
        await asyncio.gather(stubborn, return_exceptions=True)
        await scene.until(lambda: scene.aws().enabled)
        await scene.ready()


async def _disabling(scene: Scene) -> None:
    """Somebody who wants the tenant off, and looks every ten seconds."""
    while True:
        if scene.aws().enabled:
            scene.cloud.cloudfront.change_tenant(KEY.name, enabled=False)
        await asyncio.sleep(10)
