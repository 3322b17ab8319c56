"""Records: before the tenant, after it, and never anybody else's."""

from __future__ import annotations

import pytest

from kubesim.aws.cloudfront.resources import ConnectionGroup
from kubesim.aws.faults import error, html
from kubesim.aws.identity import Role
from kubesim.aws.route53.records import Record
from kubesim.virtual import virtual_time
from tests.tenants.estate import NEIGHBOUR
from tests.tenants.scene import Fact, Scene, playing, records_of
from tests.tenants.system import KEY, tenant

CREATE, CHANGE, FOLLOW = "CreateDistributionTenant", "ChangeResourceRecordSets", "GetChange"
SHOP = "CNAME shop.example.com"


def _domains(*names: str) -> list[dict[str, str]]:
    return [{"domain": name} for name in names]


async def _created(scene: Scene, *domains: str, **dns: object) -> None:
    await scene.create(tenant(KEY, *(domains or ("shop.example.com",)), dns=scene.dns(**dns)))
    await scene.ready()


@virtual_time
async def test_records_are_written_and_known_before_the_tenant_is_created() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        fact = await scene.says("DNSReady", "DNSPropagating")
        status = scene.status()
        assert fact.status == "False"
        assert status["dnsChangeId"] in fact.message
        assert status["dnsTarget"] == scene.endpoint
        assert (scene.calls(CHANGE), scene.calls(CREATE)) == (1, 0)
        await scene.elapse(seconds=45)
        assert scene.calls(FOLLOW) >= 1, "the change is followed"
        assert scene.calls(CREATE) == 0, "and not yet known everywhere"
        await scene.until(lambda: scene.calls(CREATE) == 1)
        await scene.ready()
        assert "dnsChangeId" not in scene.status()
        assert scene.records == {SHOP: scene.endpoint}
        assert scene.reasons("DNSReady") == [
            Fact("False", "DNSRecordCreating"),
            Fact("False", "DNSPropagating"),
            Fact("True", "DNSReady"),
        ]
        assert len(scene.events("DNSRecordCreating")) == 1


@virtual_time
async def test_inventory_names_records_before_they_are_written() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(error("ServiceUnavailable", status=503), operation=CHANGE, times=None)
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.until(lambda: scene.calls(CHANGE) > 0)
        (entry,) = scene.status()["inventory"]
        assert (entry["name"], entry["state"]) == ("shop.example.com", "Planned")


@virtual_time
async def test_zone_that_is_not_there_is_a_terminal_error_of_dns() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, dns={"provider": "route53", "hostedZoneId": "Z0000000000000"}))
        fact = await scene.says("Ready", "DNSError")
        assert fact.status == "False"
        assert scene.fact("DNSReady")[:2] == ("False", "DNSError")
        await scene.elapse(minutes=20)
        assert scene.names == []
        assert len(scene.events("DNSError")) == 1
        assert scene.errors("dns_zone_not_found") == 1


@virtual_time
async def test_zone_that_may_not_be_written_is_a_terminal_error_of_dns() -> None:
    async with playing() as scene:
        scene.cloud.guard.denied.add("route53:*")
        await scene.create(tenant(KEY, dns=scene.dns()))
        await scene.says("DNSReady", "DNSError")
        await scene.elapse(minutes=20)
        assert scene.names == []
        assert scene.errors("dns_access_denied") >= 1
        scene.cloud.guard.denied.clear()
        await scene.ready()


@virtual_time
async def test_records_lead_to_the_endpoint_of_the_connection_group() -> None:
    async with playing() as scene:
        group = _group(scene, "eu")
        await scene.create(tenant(KEY, "shop.example.com", connectionGroupId=group.id, dns=scene.dns()))
        await scene.ready()
        assert scene.records == {SHOP: group.endpoint}


@virtual_time
async def test_connection_group_that_is_not_there_is_a_mistake_of_the_spec() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, connectionGroupId="cg_none", dns=scene.dns()))
        assert "cg_none" in (await scene.says("Ready", "InvalidSpec")).message
        assert scene.fact("DNSReady")[:2] == ("False", "DNSError")
        assert scene.calls(CHANGE) == scene.calls(CREATE) == 0
        assert scene.errors("connection_group_not_found") == 1


@virtual_time
async def test_without_dns_no_zone_is_touched() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        assert scene.cloud.journal.services["route53"] == 0


@virtual_time
async def test_throttled_zone_is_tried_again_a_minute_later_without_a_word() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(error("Throttling", "Rate exceeded", 400), operation=CHANGE, times=None)
        await scene.create(tenant(KEY, dns=scene.dns()))
        await scene.until(lambda: scene.errors("dns_throttling") > 0)
        assert scene.fact("DNSReady")[:2] == ("False", "DNSRecordCreating")
        assert not scene.events("DNSError")
        scene.cloud.faults.clear()
        await scene.elapse(minutes=2)
        assert SHOP in scene.records


@virtual_time
async def test_record_of_somebody_else_is_never_overwritten() -> None:
    async with playing() as scene:
        theirs = Record("shop.example.com.", "CNAME", 60, ("old.example.net.",))
        scene.cloud.route53.put_record(scene.zone, theirs)
        await scene.create(tenant(KEY, dns=scene.dns()))
        fact = await scene.says("Ready", "DNSConflict")
        assert "shop.example.com" in fact.message
        assert scene.fact("DNSReady").status == "False"
        await scene.delete()
        await scene.gone()
        assert scene.records == {SHOP: "old.example.net"}


@virtual_time
async def test_domain_that_another_tenant_serves_gets_no_record_until_it_is_ours() -> None:
    async with playing() as scene:
        scene.estate.make_tenant("foreign", "shop.example.com")
        await scene.elapse(minutes=6)
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        assert "foreign" in (await scene.says("Ready", "DomainConflict")).message
        await scene.elapse(minutes=16)
        assert scene.calls(CREATE) <= 4, "it is looked at again every five minutes"
        assert scene.calls(CHANGE) == 0
        assert len(scene.events("DomainConflict")) == 1
        scene.estate.lose_tenant("foreign")
        await scene.ready()
        assert scene.records == {SHOP: scene.endpoint}
        assert scene.aws().enabled


@virtual_time
async def test_apex_gets_alias_records() -> None:
    async with playing() as scene:
        await _created(scene, "example.com")
        assert scene.records == {"A example.com": scene.endpoint, "AAAA example.com": scene.endpoint}


@virtual_time
async def test_record_of_a_removed_domain_goes() -> None:
    """W3: the inventory knows it, whatever CloudFront says."""
    async with playing() as scene:
        await _created(scene, "shop.example.com", "www.example.com")
        await scene.edit(domains=_domains("shop.example.com"))
        await scene.until(lambda: set(scene.records) == {SHOP})
        await scene.ready()
        assert len(scene.events("DNSCleaned")) == 1


@virtual_time
async def test_missing_or_changed_records_do_not_keep_the_others_from_being_deleted() -> None:
    """W4: a batch is written whole or not at all, so each record is looked at first."""
    async with playing() as scene:
        await _created(scene, "a.example.com", "b.example.com", "c.example.com")
        scene.cloud.route53.remove_record(scene.zone, "a.example.com", "CNAME")
        retimed = Record("b.example.com.", "CNAME", 60, (f"{scene.endpoint}.",))
        scene.cloud.route53.put_record(scene.zone, retimed)
        await scene.delete()
        await scene.gone()
        assert list(scene.records) == ["CNAME b.example.com"], "it is not what was written, so it is not ours"
        await scene.elapse(seconds=30)
        (note,) = scene.events("RecordsLeft")
        assert "CNAME b.example.com" in note
        assert scene.names == []


@virtual_time
async def test_record_that_has_become_somebody_elses_stays() -> None:
    async with playing() as scene:
        await _created(scene)
        theirs = Record("shop.example.com.", "CNAME", 300, ("moved.example.net.",))
        await scene.annotate(paused="true")
        scene.cloud.route53.put_record(scene.zone, theirs)
        await scene.delete()
        await scene.annotate(paused=None)
        await scene.gone()
        assert scene.records == {SHOP: "moved.example.net"}


@virtual_time
async def test_dns_that_is_added_later_takes_effect() -> None:
    """W5, first of six: dns is part of the spec like everything else."""
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com"))
        await scene.ready()
        await scene.edit(dns=scene.dns())
        await scene.says("DNSReady", "DNSReady")
        assert scene.records == {SHOP: scene.endpoint}
        assert scene.calls(FOLLOW) > 0, "it was seen to be known everywhere"


@virtual_time
async def test_dns_that_is_taken_away_takes_its_records_along() -> None:
    async with playing() as scene:
        await _created(scene)
        await scene.edit(dns=None)
        await scene.says("DNSReady", "DNSNotConfigured")
        assert scene.records == {}
        await scene.ready()
        assert scene.names == [KEY.name]


@virtual_time
async def test_changed_time_to_live_is_written() -> None:
    async with playing() as scene:
        await _created(scene)
        await scene.edit(dns={"ttl": 60})
        await scene.until(lambda: scene.zone.records["shop.example.com.", "CNAME", ""].ttl == 60)
        await scene.says("DNSReady", "DNSReady")


@virtual_time
async def test_changed_zone_moves_the_records() -> None:
    async with playing() as scene:
        await _created(scene)
        other = scene.cloud.route53.add_zone("example.com")
        await scene.edit(dns={"hostedZoneId": other.id})
        await scene.until(lambda: records_of(other.records.values()) == {SHOP: scene.endpoint})
        await scene.until(lambda: scene.records == {})
        await scene.ready()


@virtual_time
async def test_changed_connection_group_moves_the_names_after_the_tenant() -> None:
    async with playing() as scene:
        await _created(scene)
        group = _group(scene, "eu")
        await scene.edit(connectionGroupId=group.id)
        await scene.until(lambda: scene.records == {SHOP: group.endpoint})
        await scene.ready()
        assert scene.aws().group == group.id
        assert scene.status()["dnsTarget"] == group.endpoint


@virtual_time
async def test_domain_that_is_added_while_a_change_is_pending_gets_its_record_first() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.says("DNSReady", "DNSPropagating")
        await scene.edit(domains=_domains("shop.example.com", "new.example.com"))
        await scene.until(lambda: scene.calls(CREATE) == 1)
        assert set(scene.records) == {SHOP, "CNAME new.example.com"}
        pending = [
            one for one in scene.cloud.route53.changes.values() if not scene.cloud.time.passed(one.in_sync_at)
        ]
        assert not pending, "all of it was known everywhere before"
        await scene.ready()
        assert len(scene.aws().domains) == 2


@virtual_time
async def test_record_that_somebody_changed_or_took_away_is_put_right() -> None:
    async with playing() as scene:
        await _created(scene, "shop.example.com", "www.example.com")
        scene.cloud.route53.remove_record(scene.zone, "www.example.com", "CNAME")
        rogue = Record("shop.example.com.", "CNAME", 300, ("rogue.example.net.",))
        scene.cloud.route53.put_record(scene.zone, rogue)
        await scene.until(lambda: set(scene.records.values()) == {scene.endpoint} and len(scene.records) == 2)
        await scene.ready()
        await scene.elapse(seconds=30)
        assert len(scene.events("DriftCorrected")) == 1


@virtual_time
async def test_change_that_route53_has_forgotten_is_not_waited_for() -> None:
    """W8: what is that old is known everywhere."""
    async with playing() as scene:
        await scene.create(tenant(KEY, dns=scene.dns()))
        await scene.says("DNSReady", "DNSPropagating")
        scene.cloud.route53.changes.clear()
        await scene.ready()
        assert scene.fact("DNSReady")[:2] == ("True", "DNSReady")


@virtual_time
async def test_zone_that_was_deleted_does_not_keep_the_object() -> None:
    """W8: with the zone its records are gone."""
    async with playing() as scene:
        await _created(scene)
        scene.cloud.route53.remove_zone(scene.zone)
        await scene.delete()
        await scene.gone()
        assert scene.names == []


async def _created_in_an_outage(scene: Scene) -> None:
    """Route 53 takes no changes, until somebody clears the faults."""
    scene.cloud.faults.add(html(503), operation=CHANGE, times=None)
    await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))


@virtual_time
async def test_records_that_cannot_be_written_are_tried_after_pauses_that_grow() -> None:
    """Handing records in succeeds each time; it is their writing that fails, and must not be hammered at."""
    async with playing() as scene:
        await _created_in_an_outage(scene)
        await scene.elapse(minutes=30)
        assert 10 <= scene.calls(CHANGE) <= 40
        assert scene.errors("dns_retryable") >= 5
        scene.cloud.faults.clear()
        await scene.ready()


@virtual_time
async def test_records_are_written_after_an_outage_of_a_day() -> None:
    """The pauses stop growing: a hundred failures in a row are as good as ten."""
    async with playing() as scene:
        await _created_in_an_outage(scene)
        await scene.elapse(hours=24)
        failed = scene.errors("dns_retryable")
        assert failed >= 100
        await scene.elapse(hours=1)
        assert 5 <= scene.errors("dns_retryable") - failed <= 20
        scene.cloud.faults.clear()
        await scene.ready()


@virtual_time
async def test_zone_of_another_account_is_written_with_its_role() -> None:
    async with playing() as scene:
        role = scene.cloud.world.identities.add_role(Role(f"arn:aws:iam::{NEIGHBOUR}:role/dns"))
        zone = scene.cloud.account(NEIGHBOUR).route53.add_zone("example.com")
        dns = {"provider": "route53", "hostedZoneId": zone.id, "assumeRoleArn": role.arn}
        await scene.create(tenant(KEY, "shop.example.com", dns=dns))
        await scene.ready()
        assert records_of(zone.records.values()) == {SHOP: scene.endpoint}
        await scene.delete()
        await scene.gone()
        assert records_of(zone.records.values()) == {}


@virtual_time
async def test_changed_role_takes_over_the_records() -> None:
    """W5: what the old role wrote the new one keeps, and takes away."""
    async with playing() as scene:
        add_role = scene.cloud.world.identities.add_role
        old, new = (add_role(Role(f"arn:aws:iam::{NEIGHBOUR}:role/{name}")) for name in ("old", "new"))
        zone = scene.cloud.account(NEIGHBOUR).route53.add_zone("example.com")
        dns = {"provider": "route53", "hostedZoneId": zone.id, "assumeRoleArn": old.arn}
        await scene.create(tenant(KEY, "shop.example.com", dns=dns))
        await scene.ready()
        await scene.edit(dns={"assumeRoleArn": new.arn})
        await scene.ready()
        assert [one["role"] for one in scene.status()["inventory"]] == [new.arn]
        assert scene.calls(CHANGE) == 1, "a record that is right is not written again"
        await scene.delete()
        await scene.gone()
        assert records_of(zone.records.values()) == {}
        (written, removed) = scene.cloud.journal.calls(CHANGE)
        assert ("/old/" in written.principal, "/new/" in removed.principal) == (True, True)


@pytest.mark.parametrize("domain", ["*.example.com", "Shop.Example.COM."])
@virtual_time
async def test_names_are_written_as_dns_knows_them(domain: str) -> None:
    async with playing() as scene:
        await _created(scene, domain)
        assert set(scene.records) == {f"CNAME {domain.lower().rstrip('.')}"}
        calls = scene.calls(CHANGE)
        await scene.elapse(hours=1)
        assert scene.calls(CHANGE) == calls


@virtual_time
async def test_first_tenant_of_an_account_is_created_disabled_then_named_then_enabled() -> None:
    async with playing(virgin=True) as scene:
        await _created(scene)
        writes = ("CreateDistributionTenant", CHANGE, "UpdateDistributionTenant")
        journal = [one for one in scene.cloud.journal.entries if one.operation in writes]
        assert [one.operation for one in journal] == list(writes)
        assert journal[0].params["Enabled"] is False
        assert scene.aws().enabled
        assert scene.records == {SHOP: scene.endpoint}


def _group(scene: Scene, name: str) -> ConnectionGroup:
    cloudfront = scene.cloud.cloudfront
    return cloudfront.keep_group(cloudfront.new_group(name))
