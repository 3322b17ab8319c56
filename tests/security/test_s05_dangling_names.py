"""S-05: no name of ours ever leads to something that we no longer hold, so that nobody can wait there for its visitors.

While objects are deleted and changed, and calls fail in every way, a squatter looks after each call whether a name that
was ours is to be had. Where somebody has one all the same, without our doing, our records do not lead there for long.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from edgekeeper.core.clock import Clock
from edgekeeper.kube.kinds import Key
from kubesim.aws.faults import Fault, error, html, lost_request, lost_response
from kubesim.virtual import virtual_time
from tests.crash.faults import Mode
from tests.crash.runner import explore
from tests.crash.sampling import ALL, EVERY_PLAN
from tests.crash.tenant_scenarios import INHABITED, scenarios
from tests.security.squatter import Squatter
from tests.tenants.estate import Estate
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, OPTIONS, tenant

SHOP, WWW, NEW = "shop.example.com", "www.example.com", "new.example.com"
RECORDS, UPDATE, DELETE = "ChangeResourceRecordSets", "UpdateDistributionTenant", "DeleteDistributionTenant"


# Whatever call fails


def _haunted(clock: Clock) -> Estate:
    estate = INHABITED.outside(clock)
    Squatter(estate)
    return estate


LEAVING = (
    *("deletion", "domain_renamed", "domain_renamed_there_and_back", "dns_moved_to_another_zone"),
    *("connection_group_changed", "deletion_while_creating", "deletion_while_deploying"),
)
PLAYED = [
    pytest.param(name, mode, id=f"{name}-{mode.name}")
    for number, name in enumerate(LEAVING if ALL else LEAVING[:1])
    for mode in (Mode if ALL else [list(Mode)[number]])
]


@pytest.mark.parametrize(("name", "mode"), PLAYED)
def test_squatter_gets_nothing_whichever_call_fails(name: str, mode: Mode) -> None:
    """What it gets we cannot get back: then nothing ends as it does without faults."""
    haunted = replace(INHABITED, outside=_haunted)
    failures = list(explore(haunted, scenarios.known[name], [mode], every=EVERY_PLAN))
    assert not failures, "\n".join(map(str, failures))


# Whatever stays broken

DENIED = error("AccessDenied", "The caller may not do that.", 403)
BROKEN: dict[str, tuple[str, Fault]] = {
    "records may not be changed": (RECORDS, DENIED),
    "records cannot be changed": (RECORDS, html(503)),
    "changes of records are never heard of": (RECORDS, lost_response()),
    "propagation cannot be asked for": ("GetChange", error("InternalFailure", status=500)),
    "records cannot be listed": ("ListResourceRecordSets", DENIED),
    "tenant may not be changed": (UPDATE, DENIED),
    "changes of the tenant never arrive": (UPDATE, lost_request()),
    "tenant may not be deleted": (DELETE, DENIED),
    "deletion is never heard of": (DELETE, lost_response()),
    "tenant cannot be read": ("GetDistributionTenant", html(502)),
}


@virtual_time
async def test_squatter_gets_nothing_while_something_stays_broken() -> None:
    """Each of it for a while, in which one object renames its domain and another is being deleted."""
    async with playing() as scene:
        squatter = Squatter(scene.estate)
        broken = list(BROKEN.values())[:: 1 if ALL else 6]
        for number, (operation, fault) in enumerate(broken):
            going, staying = Key("default", f"going-{number}"), Key("default", f"staying-{number}")
            for key in (going, staying):
                await scene.create(tenant(key, f"{key.name}.example.com", dns=scene.dns()))
            await scene.ready(going)
            await scene.ready(staying)
            scene.cloud.faults.add(fault, operation=operation, times=None)
            await scene.delete(going)
            await scene.edit(staying, domains=[{"domain": f"renamed-{number}.example.com"}])
            await scene.elapse(minutes=12)
            assert squatter.loot == [], fault
            scene.cloud.faults.clear()
            await scene.gone(going)
            await scene.ready(staying)
        assert (squatter.loot, scene.estate.chronicle.wrongs) == ([], [])
        assert scene.names == sorted(f"staying-{number}" for number in range(len(broken)))
        assert set(scene.records) == {f"CNAME renamed-{number}.example.com" for number in range(len(broken))}


@pytest.mark.parametrize("annotation", ["Delete", "Orphan"])
@virtual_time
async def test_squatter_gets_nothing_of_what_is_given_up(annotation: str) -> None:
    async with playing(replace(OPTIONS, cleanup_timeout=timedelta(minutes=10))) as scene:
        squatter = Squatter(scene.estate)
        await scene.create(tenant(KEY, SHOP, dns=scene.dns()))
        await scene.ready()
        scene.cloud.faults.add(DENIED, operation=RECORDS, times=None)
        await scene.annotate(deletion_policy=annotation)
        await scene.delete()
        await scene.gone()
        await scene.elapse(hours=1)
        assert squatter.loot == []
        assert scene.names == [KEY.name], "as long as it is there the name is taken"


# Whoever comes before us


async def _squatted(scene: Scene, *domains: str) -> None:
    """Somebody else has one of the domains, and we have found out."""
    await scene.says("Ready", "DomainConflict")
    await scene.elapse(seconds=30)
    assert set(scene.records) == {f"CNAME {domain}" for domain in domains}
    fact = scene.fact("DNSReady")
    assert (fact.status, fact.reason) == ("False", "DNSError")
    assert "belongs to another tenant" in fact.message


async def _unsquatted(scene: Scene, *domains: str) -> None:
    """It is free again, and becomes ours."""
    await scene.ready()
    assert set(scene.records) == {f"CNAME {domain}" for domain in domains}
    assert scene.aws().enabled
    assert sorted(scene.aws().domains) == sorted(domains)


@virtual_time
async def test_records_of_a_domain_that_was_taken_on_the_way_are_withdrawn() -> None:
    """CloudFront wants to see the names lead to it before the tenant is created. Whoever is quicker has them then."""
    async with playing() as scene:
        squatter = Squatter(scene.estate, greedy=True)
        await scene.create(tenant(KEY, SHOP, dns=scene.dns()))
        await _squatted(scene)
        assert (squatter.loot, squatter.visitors) == ([SHOP], [])
        changes = scene.calls(RECORDS)
        await scene.elapse(hours=2)
        assert scene.calls(RECORDS) == changes, "not written again while it is another's"
        assert len(scene.events("DomainConflict")) == 1
        squatter.leave()
        await _unsquatted(scene, SHOP)


@virtual_time
async def test_record_of_an_added_domain_that_is_anothers_is_withdrawn_and_the_others_stay() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, SHOP, dns=scene.dns()))
        await scene.ready()
        squatter = Squatter(scene.estate)
        squatter.take(WWW)
        await scene.edit(domains=[{"domain": SHOP}, {"domain": WWW}])
        await _squatted(scene, SHOP)
        await scene.elapse(hours=1)
        assert squatter.visitors == []
        assert scene.aws().domains == (SHOP,)
        squatter.leave()
        await _unsquatted(scene, SHOP, WWW)


@virtual_time
async def test_records_follow_a_tenant_that_somebody_deleted_and_somebody_took() -> None:
    """The squatter is not asleep: what others leave lying about it takes. It has the name, and soon no visitors."""
    async with playing() as scene:
        await scene.create(tenant(KEY, SHOP, dns=scene.dns()))
        await scene.ready()
        squatter = Squatter(scene.estate)
        await scene.elapse(minutes=6)
        scene.estate.lose_tenant(KEY.name)
        squatter.look()
        assert squatter.visitors == [SHOP]
        await _squatted(scene)
        assert squatter.visitors == []
        squatter.leave()
        await _unsquatted(scene, SHOP)


@virtual_time
async def test_conflict_that_a_new_spec_solves_leaves_nothing_behind() -> None:
    async with playing() as scene:
        squatter = Squatter(scene.estate)
        squatter.take(SHOP)
        await scene.create(tenant(KEY, SHOP, dns=scene.dns()))
        await _squatted(scene)
        await scene.edit(domains=[{"domain": NEW}])
        await _unsquatted(scene, NEW)
        await scene.delete()
        await scene.gone()
        assert (scene.records, scene.names) == ({}, [])
