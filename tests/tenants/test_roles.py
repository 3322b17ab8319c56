"""Roles that cannot be assumed: nothing is promised or kept because of them that is not there."""

from __future__ import annotations

import pytest

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject
from kubesim.aws.cloud import ACCOUNT
from kubesim.aws.faults import error
from kubesim.aws.identity import Role
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

ROLE = f"arn:aws:iam::{ACCOUNT}:role/dns"
NOBODYS = f"arn:aws:iam::{ACCOUNT}:role/missing"
SHOP = "CNAME shop.example.com"
ORPHAN = "edgekeeper.io/deletion-policy: Orphan"


async def created(scene: Scene, **spec: object) -> None:
    await scene.create(tenant(KEY, "shop.example.com", **spec))
    await scene.ready()


async def take_role_away(scene: Scene) -> None:
    """Nobody may assume it any more, and what was assumed before has expired."""
    scene.cloud.guard.denied.add("sts:AssumeRole")
    await scene.elapse(hours=2)


@pytest.mark.parametrize("is_valid", [True, False], ids=["denied", "malformed"])
@virtual_time
async def test_object_that_never_wrote_anything_is_gone_at_once(is_valid: bool) -> None:
    async with playing() as scene:
        if not is_valid:
            malformed = error("ValidationError", f"{NOBODYS} is invalid", 400)
            scene.cloud.faults.add(malformed, operation="AssumeRole", times=None)
        await scene.create(tenant(dns=scene.dns(assumeRoleArn=NOBODYS)))
        await scene.until(lambda: scene.fact("Ready").status == "False")
        await scene.elapse(minutes=6)
        fact = scene.fact("Ready")
        assert fact.reason == ("DNSError" if is_valid else "InvalidSpec")
        assert NOBODYS in fact.message
        assert "inventory" not in scene.status(), "nothing is announced that cannot be written"
        await scene.delete()
        await scene.elapse(seconds=5)
        assert scene.find() is None
        assert not scene.estate.writes


@virtual_time
async def test_tenant_that_got_a_bad_role_later_is_deleted_all_the_same() -> None:
    async with playing() as scene:
        await created(scene)
        await scene.edit(dns=scene.dns(assumeRoleArn=NOBODYS))
        await scene.says("Ready", "DNSError")
        await scene.delete()
        await scene.gone()
        assert scene.names == []


@virtual_time
async def test_deletion_names_the_records_the_zone_and_the_role_that_keep_it() -> None:
    async with playing() as scene:
        scene.cloud.world.identities.add_role(Role(ROLE))
        await created(scene, dns=scene.dns(assumeRoleArn=ROLE))
        await take_role_away(scene)
        await scene.delete()
        await scene.elapse(seconds=60)
        fact = scene.fact("Ready")
        assert fact.reason == "DNSError"
        assert f"cannot remove {SHOP} from zone {scene.zone.id} with the role {ROLE}: " in fact.message
        assert "sts:AssumeRole" in fact.message
        assert "the tenant is kept, disabled" in fact.message
        assert ORPHAN in fact.message
        assert not scene.aws().enabled


@virtual_time
async def test_deletion_does_not_claim_to_keep_a_tenant_that_is_gone() -> None:
    async with playing() as scene:
        scene.cloud.world.identities.add_role(Role(ROLE))
        await created(scene, dns=scene.dns(assumeRoleArn=ROLE))
        await take_role_away(scene)
        scene.estate.lose_tenant(KEY.name)
        await scene.delete()
        await scene.says("Ready", "DNSError")
        fact = scene.fact("Ready")
        assert f"cannot remove {SHOP}" in fact.message
        assert ROLE in fact.message
        assert "tenant is kept" not in fact.message
        assert ORPHAN in fact.message
        await scene.annotate(deletion_policy="Orphan")
        await scene.gone()


def entry(scene: Scene, **details: object) -> JsonObject:
    name, kind = "shop.example.com", "CNAME"
    record = {"zone": scene.zone.id, "name": name, "type": kind, "target": scene.endpoint, "ttl": 300}
    return {**record, "role": NOBODYS, "state": "Planned", **details}


@virtual_time
async def test_record_that_may_have_been_written_is_not_forgotten_for_its_role() -> None:
    """An earlier process may have written it, and died before it heard of that."""
    async with playing() as scene:
        await scene.create(tenant(dns=scene.dns(assumeRoleArn=NOBODYS)))
        await scene.says("Ready", "DNSError")
        await scene.stage.user.merge_patch(
            KIND, KEY, {"status": {"inventory": [entry(scene)]}}, subresource="status"
        )
        await scene.delete()
        await scene.elapse(seconds=60)
        fact = scene.fact("Ready")
        assert f"cannot remove {SHOP} from zone {scene.zone.id} with the role {NOBODYS}: " in fact.message
        assert "tenant is kept" not in fact.message
        versions = len(scene.versions)
        await scene.elapse(minutes=30)
        assert len(scene.versions) == versions
        assert len(scene.events("DNSError")) == 2, "for the spec, and for the deletion"


@pytest.mark.parametrize("is_there", [True, False], ids=["with a tenant", "without a tenant"])
@virtual_time
async def test_role_that_is_lost_while_records_disappear_keeps_a_tenant_and_nothing_else(
    is_there: bool,
) -> None:
    """They are gone from the zone, but nobody may ask whether all its servers know."""
    async with playing() as scene:
        await created(scene, dns=scene.dns())
        scene.cloud.guard.denied.add("route53:GetChange")
        if not is_there:
            scene.estate.lose_tenant(KEY.name)
        await scene.delete()
        if not is_there:
            await scene.gone()
            assert scene.records == {}
            return
        await scene.says("Ready", "DNSError")
        fact = scene.fact("Ready")
        assert "route53:GetChange" in fact.message
        assert "the tenant is kept, disabled" in fact.message
        await scene.elapse(minutes=1)
        versions = len(scene.versions)
        await scene.elapse(minutes=30)
        assert len(scene.versions) == versions, "it does not say one thing and then the other"
        assert len(scene.events("DNSError")) == 1
        scene.cloud.guard.denied.clear()
        await scene.gone()
        assert (scene.names, scene.records, scene.estate.chronicle.wrongs) == ([], {}, [])


@virtual_time
async def test_zone_that_is_gone_keeps_nobody_after_a_restart() -> None:
    """The new process has never listed it, and never will."""
    async with playing() as scene:
        await created(scene, dns=scene.dns())
        await scene.stage.operator.stop()
        del scene.cloud.route53.zones[scene.zone.id]
        scene.estate.chronicle.excuse()
        scene.stage.start_operator()
        await scene.delete()
        await scene.gone()
        assert scene.names == []
