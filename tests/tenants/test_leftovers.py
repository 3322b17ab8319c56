"""Records: none is left behind, none is removed that is not ours, and what is refused comes to rest."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import dig_list
from edgekeeper.kube.kinds import Key
from kubesim.aws.faults import error
from kubesim.aws.route53.records import Record
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

OTHER = Key("default", "other-tenant")
CHANGE = "ChangeResourceRecordSets"
DENIED = "The caller may not do that."


def _domains(*names: str) -> list[dict[str, str]]:
    return [{"domain": name} for name in names]


def _inventory(scene: Scene, key: Key = KEY) -> list[str]:
    return sorted(entry["name"] for entry in dig_list(scene.object(key), "status", "inventory"))


async def _created(scene: Scene, *domains: str, key: Key = KEY) -> None:
    await scene.create(tenant(key, *domains, dns=scene.dns()))
    await scene.ready(key)


# Rest


async def _is_at_rest(scene: Scene, hours: float = 1) -> None:
    """Nothing new is told, and what is refused is tried every five minutes at most."""
    versions, events, refused = len(scene.versions), len(scene.events()), scene.calls(CHANGE)
    await scene.elapse(hours=hours)
    assert len(scene.versions) - versions == 0, [one.get("status") for one in scene.versions[versions:]][:3]
    assert len(scene.events()) - events == 0
    assert scene.calls(CHANGE) - refused <= 12 * hours * 3


@virtual_time
async def test_records_that_are_refused_for_different_reasons_are_told_together_and_come_to_rest() -> None:
    async with playing() as scene:
        scene.estate.make_record("a.example.com", "theirs.example.net.")
        scene.cloud.route53.put_record(
            scene.zone, Record("b.example.com.", "A", 300, ("192.0.2.1",))
        )  # a CNAME beside it is invalid
        await scene.elapse(minutes=6)
        await scene.create(tenant(KEY, "a.example.com", "b.example.com", "c.example.com", dns=scene.dns()))
        await scene.until(lambda: all(name in scene.fact("DNSReady").message for name in ("a.ex", "b.ex")))
        await scene.elapse(minutes=10)
        told = scene.fact("DNSReady").message
        assert told.index("a.example.com") < told.index("b.example.com")
        await _is_at_rest(scene)
        scene.estate.lose_record("a.example.com")
        scene.cloud.route53.remove_record(scene.zone, "b.example.com", "A")
        await scene.ready()


@virtual_time
async def test_domains_outside_the_zone_come_to_rest() -> None:
    async with playing() as scene:
        managed = {"validationTokenHost": "cloudfront", "primaryDomainName": "a.example.net"}
        wanted = tenant(
            KEY, "a.example.net", "b.example.org", dns=scene.dns(), managedCertificateRequest=managed
        )
        await scene.create(wanted)
        told = (await scene.says("Ready", "DNSError")).message
        assert "a.example.net, b.example.org" in told
        assert "spec.dns.hostedZoneId" in told
        await _is_at_rest(scene)
        assert scene.calls(CHANGE) == 0


# Nothing is left behind


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param({"parameters": [{"name": "undefined", "value": "x"}]}, id="undefined parameter"),
        pytest.param({"distributionId": "E1NOTTHERE"}, id="no such distribution"),
        pytest.param({"connectionGroupId": "cg_nobody"}, id="no such connection group"),
    ],
)
@virtual_time
async def test_record_of_a_domain_that_left_the_spec_goes_though_the_object_is_stalled(
    trouble: dict[str, object],
) -> None:
    async with playing() as scene:
        await _created(scene, "shop.example.com", "old.example.com")
        before = scene.aws()
        await scene.edit(domains=_domains("shop.example.com"), **trouble)
        await scene.until(lambda: list(scene.records) == ["CNAME shop.example.com"])
        await scene.until(lambda: _inventory(scene) == ["shop.example.com"])
        assert scene.fact("Ready").status == "False"
        assert scene.aws().domains == before.domains, "the tenant itself waits for the spec to be corrected"


@virtual_time
async def test_stalled_object_gives_up_the_records_of_domains_that_another_object_serves() -> None:
    async with playing() as scene:
        await _created(scene, "shop.example.com")
        await _created(scene, "old.example.com", "www.example.com", key=OTHER)
        await scene.edit(OTHER, domains=_domains("www.example.com", "shop.example.com"))
        await scene.says("Ready", "DomainConflict", OTHER)
        await scene.until(lambda: set(scene.records) == {"CNAME shop.example.com", "CNAME www.example.com"})
        await scene.until(lambda: _inventory(scene, OTHER) == ["www.example.com"])
        assert not scene.estate.chronicle.wrongs


@virtual_time
async def test_object_that_lost_its_name_gives_up_its_records() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(
            error("ServiceUnavailable", "later", status=503), operation="CreateDistributionTenant", times=None
        )
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.until(lambda: bool(scene.records))
        scene.cloud.faults.clear()
        theirs = scene.estate.make_tenant(KEY.name, "by-hand.example.com")
        await scene.says("Ready", "NameConflict")
        await scene.until(lambda: scene.records == {})
        await scene.until(lambda: _inventory(scene) == [])
        assert scene.aws() == theirs


@virtual_time
async def test_tenant_that_could_not_be_tagged_is_marked_once_that_is_allowed_and_deleted_with_its_object() -> (
    None
):
    async with playing(start=False) as scene:
        scene.cloud.guard.denied.add("cloudfront:TagResource")
        scene.stage.start_operator()
        lost = error("ServiceUnavailable", "lost", status=503)
        scene.cloud.faults.add(lost, operation="GetDistributionTenant", times=2)
        await _created(scene, "shop.example.com")
        assert scene.aws().tags == {}
        await scene.stage.operator.stop()
        scene.stage.start_operator()
        await scene.elapse(minutes=10)
        await scene.delete()
        await scene.gone()
        assert (scene.names, scene.records) == ([], {})


@virtual_time
async def test_unmarked_tenant_whose_creation_was_interrupted_is_found_again() -> None:
    """The answer was lost, and the operator with it: what was noted ahead says that it is ours."""
    async with playing(start=False) as scene:
        scene.cloud.guard.denied.add("cloudfront:TagResource")
        scene.stage.start_operator()
        killed: list[str] = []

        def kill() -> None:
            if scene.names and not killed:
                killed.append(scene.names[0])
                scene.stage.operator.die()

        scene.estate.chronicle.listeners.append(kill)
        await scene.create(tenant(KEY, "shop.example.com"))
        await scene.until(lambda: killed == [KEY.name])
        assert "id" not in scene.status()
        await scene.elapse(minutes=5)
        scene.stage.start_operator()
        await scene.ready()
        await scene.delete()
        await scene.gone()
        assert scene.names == []


# Moves


@virtual_time
async def test_conflict_about_a_record_ends_when_the_other_object_has_given_it_up() -> None:
    async with playing() as scene:
        await _created(scene, "shop.example.com", "www.example.com")
        await scene.edit(domains=_domains("shop.example.com"))
        await scene.create(tenant(OTHER, "www.example.com", dns=scene.dns()))
        await scene.ready(OTHER)
        await scene.ready()
        assert (_inventory(scene), _inventory(scene, OTHER)) == (["shop.example.com"], ["www.example.com"])
        assert not scene.estate.chronicle.wrongs


@virtual_time
async def test_domain_is_given_up_only_when_its_record_is_gone_everywhere() -> None:
    async with playing() as scene:
        await _created(scene, "shop.example.com", "www.example.com")
        served: list[bool] = []

        def look() -> None:
            now, changes = scene.cloud.time.monotonic(), scene.cloud.route53.changes.values()
            is_known = all(change.in_sync_at <= now for change in changes)
            served.append("www.example.com" in scene.aws().domains or is_known)

        scene.estate.chronicle.listeners.append(look)
        await scene.edit(domains=_domains("shop.example.com"))
        await scene.until(lambda: scene.aws().domains == ("shop.example.com",))
        await scene.ready()
        assert served
        assert all(served)


# A crash in the middle of a divided batch


@virtual_time
async def test_object_whose_batch_was_divided_by_a_crash_says_what_is_wrong() -> None:
    async with playing() as scene:
        scene.cloud.route53.put_record(
            scene.zone, Record("b.example.com.", "CNAME", 60, ("theirs.example.net.",))
        )
        await scene.create(tenant(KEY, "a.example.com", "b.example.com", dns=scene.dns()))
        await scene.until(lambda: "CNAME a.example.com" in scene.records)
        scene.stage.operator.die()
        await scene.elapse(minutes=1)
        scene.stage.start_operator()
        told = (await scene.says("Ready", "DNSConflict")).message
        assert "b.example.com" in told
        await scene.elapse(minutes=6)
        await _is_at_rest(scene)
        await scene.delete()
        await scene.gone()
        assert scene.records == {"CNAME b.example.com": "theirs.example.net"}
