"""Deleting: names first, then the tenant, then the finalizer; and nothing that is not ours."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kubesim.aws.cloud import ACCOUNT
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.aws.faults import error
from kubesim.aws.identity import Role
from kubesim.virtual import virtual_time
from tests.tenants.estate import DISTRIBUTION
from tests.tenants.scene import Fact, Scene, playing
from tests.tenants.system import KEY, OPTIONS, tenant

DISABLE, DELETE, CHANGE = "UpdateDistributionTenant", "DeleteDistributionTenant", "ChangeResourceRecordSets"
REFUSED = "The caller may not do that."


async def _created(scene: Scene, **spec: object) -> None:
    await scene.create(tenant(KEY, "shop.example.com", **spec))
    await scene.ready()


@virtual_time
async def test_deletion_disables_waits_and_deletes_once() -> None:
    async with playing() as scene:
        await _created(scene)
        await scene.delete()
        await scene.until(lambda: not scene.aws().enabled)
        await scene.elapse(seconds=60)
        assert scene.calls(DELETE) == 0, "it is still being deployed"
        await scene.gone()
        assert scene.names == []
        assert (scene.calls(DISABLE), scene.calls(DELETE)) == (1, 1)
        assert scene.reasons("Ready")[-2:] == [Fact("False", "Disabling"), Fact("False", "Deleting")]
        await scene.elapse(seconds=30)
        assert len(scene.events("Disabling")) == len(scene.events("Deleted")) == 1


@virtual_time
async def test_object_that_has_created_nothing_is_gone_at_once() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(
            error("AccessDenied", REFUSED), operation="CreateDistributionTenant", times=None
        )
        await scene.create(tenant())
        await scene.says("Ready", "AccessDenied")
        await scene.delete()
        await scene.elapse(seconds=1)
        assert scene.find() is None
        assert scene.calls(DELETE) == 0


@virtual_time
async def test_deletion_removes_the_records_in_one_change() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com", "www.example.com", dns=scene.dns()))
        await scene.ready()
        changes = scene.calls(CHANGE)
        await scene.delete()
        await scene.gone()
        assert scene.records == {}
        assert scene.calls(CHANGE) == changes + 1
        await scene.elapse(seconds=30)
        assert len(scene.events("DNSCleaned")) == 1


@virtual_time
async def test_records_go_before_the_tenant_that_they_lead_to() -> None:
    async with playing() as scene:
        await _created(scene, dns=scene.dns())
        await scene.delete()
        await scene.gone()
        order = [
            one.operation for one in scene.cloud.journal.entries if one.operation in (CHANGE, DISABLE, DELETE)
        ]
        assert order[-3:] == [CHANGE, DISABLE, DELETE]


@virtual_time
async def test_tenant_that_is_gone_already_counts_as_deleted() -> None:
    async with playing() as scene:
        await _created(scene, dns=scene.dns())
        scene.cloud.cloudfront.remove_tenant(KEY.name)
        await scene.delete()
        await scene.gone()
        assert scene.calls(DELETE) == 0
        assert scene.records == {}
        await scene.elapse(seconds=30)
        assert len(scene.events("Deleted")) == len(scene.events("DNSCleaned")) == 1


@virtual_time
async def test_disabling_repeats_the_live_settings_and_nothing_of_the_spec() -> None:
    """W6: what is not sent is lost, and a tenant that lacks a required parameter cannot even be disabled."""
    async with playing() as scene:
        required = (ParameterDefinition("origin"),)
        scene.cloud.cloudfront.change_distribution(DISTRIBUTION, parameters=required)
        geo = {"restrictionType": "whitelist", "locations": ["DE"]}
        await _created(
            scene,
            parameters=[{"name": "origin", "value": "o.example.net"}],
            customizations={"geoRestrictions": geo},
        )
        await scene.delete()
        await scene.until(lambda: not scene.aws().enabled)
        live = scene.aws()
        assert dict(live.parameters) == {"origin": "o.example.net"}
        assert live.customizations == {
            "GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE"]}
        }
        await scene.gone()


@virtual_time
async def test_denied_deletion_says_so_within_a_minute_and_goes_on_when_allowed() -> None:
    """W8: no raw errors in a loop, but a reason that people can read."""
    async with playing() as scene:
        await _created(scene)
        scene.cloud.guard.denied.add("cloudfront:DeleteDistributionTenant")
        await scene.delete()
        await scene.says("Ready", "AccessDenied")
        await scene.elapse(minutes=20)
        assert scene.find() is not None
        assert len(scene.events("AccessDenied")) == 1
        scene.cloud.guard.denied.clear()
        await scene.gone()
        assert scene.names == []


@pytest.mark.parametrize(
    "denied", ["route53:ChangeResourceRecordSets", "sts:AssumeRole"], ids=["not allowed", "role taken away"]
)
@virtual_time
async def test_tenant_is_kept_disabled_while_its_records_cannot_be_removed(denied: str) -> None:
    """A name that leads to CloudFront and is nobody's is the next one's: its visitors come with it."""
    async with playing() as scene:
        role = scene.cloud.world.identities.add_role(Role(f"arn:aws:iam::{ACCOUNT}:role/dns"))
        await _created(scene, dns=scene.dns(assumeRoleArn=role.arn))
        scene.cloud.guard.denied.add(denied)
        await scene.elapse(hours=2)  # what was assumed before has expired
        await scene.delete()
        await scene.elapse(seconds=60)
        fact = scene.fact("Ready")
        assert fact.reason == "DNSError", "a reason within a minute"
        assert "the tenant is kept" in fact.message
        assert "edgekeeper.io/deletion-policy: Orphan" in fact.message
        await scene.elapse(minutes=30)
        assert scene.names == [KEY.name]
        assert not scene.aws().enabled
        assert (scene.calls(DISABLE), scene.calls(DELETE), len(scene.events("DNSError"))) == (1, 0, 1)
        scene.cloud.guard.denied.clear()
        await scene.gone()
        assert (scene.names, scene.records, scene.estate.chronicle.wrongs) == ([], {}, [])


@virtual_time
async def test_object_whose_records_cannot_be_removed_is_let_go_when_its_user_says_so() -> None:
    async with playing() as scene:
        await _created(scene, dns=scene.dns())
        scene.cloud.guard.denied.add("route53:ChangeResourceRecordSets")
        await scene.delete()
        await scene.says("Ready", "DNSError")
        await scene.annotate(deletion_policy="Orphan")
        await scene.elapse(seconds=5)
        assert scene.find() is None
        assert (scene.names, list(scene.records)) == ([KEY.name], ["CNAME shop.example.com"])


@virtual_time
async def test_object_whose_records_stay_is_given_up_without_leaving_names_to_nobody() -> None:
    async with playing(replace(OPTIONS, cleanup_timeout=timedelta(minutes=10))) as scene:
        await _created(scene, dns=scene.dns())
        scene.cloud.guard.denied.add("route53:ChangeResourceRecordSets")
        await scene.delete()
        await scene.gone()
        await scene.elapse(seconds=30)
        (note,) = scene.events("CleanupAbandoned")
        assert scene.aws().id in note
        assert "CNAME shop.example.com" in note
        assert not scene.estate.chronicle.wrongs


@virtual_time
async def test_deletion_that_stays_denied_is_given_up_with_a_list_of_what_remains() -> None:
    async with playing(replace(OPTIONS, cleanup_timeout=timedelta(minutes=10))) as scene:
        await _created(scene)
        live = scene.aws()
        scene.cloud.guard.denied.add("cloudfront:DeleteDistributionTenant")
        await scene.delete()
        await scene.gone()
        await scene.elapse(seconds=30)
        (note,) = scene.events("CleanupAbandoned")
        assert live.id in note
        assert "giving up after 10m: AWS DeleteDistributionTenant failed: AccessDenied" in note


@virtual_time
async def test_orphan_policy_leaves_everything_as_it_is() -> None:
    async with playing() as scene:
        await _created(scene, dns=scene.dns())
        before, records = scene.aws(), scene.records
        await scene.annotate(deletion_policy="Orphan")
        await scene.delete()
        await scene.gone()
        assert (scene.aws(), scene.records) == (replace(before, tags={}), records), (
            "nothing but our mark is gone"
        )


@virtual_time
async def test_paused_object_is_left_alone_until_it_is_resumed() -> None:
    async with playing() as scene:
        await _created(scene)
        await scene.annotate(paused="true")
        await scene.edit(enabled=False)
        await scene.elapse(hours=1)
        assert scene.aws().enabled
        await scene.annotate(paused=None)
        await scene.until(lambda: not scene.aws().enabled)
