"""Route 53 over the wire: pages, atomic batches, and changes that take their time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgekeeper.cloud.aws.dns.changes import Action, Change
from edgekeeper.cloud.aws.dns.records import Record, RecordKey, records_for
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.core.errors import Conflict, Retry, Stall
from kubesim.aws import faults, identity
from kubesim.aws.route53.records import Record as RemoteRecord
from tests.unit.cloud.aws.world import ENDPOINT, World, both_ways, in_virtual_time

SHOP = Record("shop.example.com", "CNAME", 300, (ENDPOINT,))


def _create(*records: Record) -> list[Change]:
    return [Change(Action.CREATE, record) for record in records]


@both_ways
async def test_zones_are_found_and_listed(world: World) -> None:
    zone = world.cloud.route53.add_zone("example.com")
    inner = world.cloud.route53.add_zone("corp.example.com", private=True)
    route53 = world.route53()
    listed = {one.id: one for page in [page async for page in route53.zones()] for one in page.values()}
    assert (listed[zone.id].name, listed[zone.id].private) == ("example.com", False)
    assert listed[inner.id].private
    assert await route53.find_zone(zone.id) == listed[zone.id]
    assert await route53.find_zone("ZNOBODY") is None


@both_ways
async def test_records_are_read_as_they_were_written(world: World) -> None:
    zone = world.cloud.route53.add_zone("example.com")
    route53 = world.route53()
    apex = records_for("example.com", zone="example.com", target=ENDPOINT)
    wildcard = Record("*.example.com", "CNAME", 60, (ENDPOINT,))
    await route53.change(zone.id, _create(SHOP, wildcard, *apex))
    listed = {
        key: record
        for page in [page async for page in route53.records(zone.id)]
        for key, record in page.items()
    }
    for record in (SHOP, wildcard, *apex):
        assert listed[record.key] == record
    assert {key.type for key in listed if key.name == "example.com"} == {"NS", "SOA", "A", "AAAA"}


@both_ways
async def test_batch_names_edgekeeper_in_its_comment(world: World) -> None:
    zone = world.cloud.route53.add_zone("example.com")
    receipt = await world.route53().change(zone.id, _create(SHOP))
    assert world.cloud.route53.changes[receipt.id].comment == "Managed by edgekeeper"


@both_ways
async def test_large_zone_is_read_page_by_page(world: World) -> None:
    zone = world.cloud.route53.add_zone("example.com")
    for number in range(601):
        world.cloud.route53.put_record(
            zone, RemoteRecord(f"n{number:04}.example.com.", "CNAME", 300, (ENDPOINT,))
        )
    pages = [page async for page in world.route53().records(zone.id)]
    assert [len(page) for page in pages] == [300, 300, 3]
    assert sum(len(page) for page in pages) == len({key for page in pages for key in page})


@both_ways
async def test_one_record_is_found_by_itself(world: World) -> None:
    zone = world.cloud.route53.add_zone("example.com")
    route53 = world.route53()
    await route53.change(zone.id, _create(SHOP))
    assert await route53.find_record(zone.id, SHOP.key) == SHOP
    assert await route53.find_record(zone.id, RecordKey("aaa.example.com", "CNAME")) is None
    assert await route53.find_record(zone.id, RecordKey("zzz.example.com", "CNAME")) is None


@both_ways
async def test_change_becomes_known_after_a_while(world: World) -> None:
    zone = world.cloud.route53.add_zone("example.com")
    route53 = world.route53()
    receipt = await route53.change(zone.id, _create(SHOP))
    assert not receipt.in_sync
    assert await route53.find_change(receipt.id) == receipt
    world.pass_time(timedelta(minutes=2))
    later = await route53.find_change(receipt.id)
    assert later is not None
    assert later.in_sync
    assert await route53.find_change("CNOBODY") is None


@both_ways
async def test_batch_happens_whole_or_not_at_all(world: World) -> None:
    zone = world.cloud.route53.add_zone("example.com")
    route53 = world.route53()
    await route53.change(zone.id, _create(SHOP))
    other = Record("other.example.com", "CNAME", 300, (ENDPOINT,))
    with pytest.raises(Stall) as taken:
        await route53.change(zone.id, _create(other, SHOP))
    assert taken.value.reason == "DNSConflict"
    assert "shop.example.com" in taken.value.message
    assert await route53.find_record(zone.id, other.key) is None


@both_ways
async def test_delete_repeats_what_stands_there(world: World) -> None:
    zone = world.cloud.route53.add_zone("example.com")
    route53 = world.route53()
    await route53.change(zone.id, _create(SHOP))
    with pytest.raises(Conflict):
        await route53.change(zone.id, [Change(Action.DELETE, Record(SHOP.name, "CNAME", 60, SHOP.values))])
    await route53.change(zone.id, [Change(Action.DELETE, SHOP)])
    with pytest.raises(Conflict):
        await route53.change(zone.id, [Change(Action.DELETE, SHOP)])


@both_ways
async def test_missing_zone_stalls(world: World) -> None:
    with pytest.raises(Stall) as missing:
        await world.route53().change("ZNOBODY", _create(SHOP))
    assert (missing.value.reason, missing.value.error_type) == ("DNSError", "dns_zone_not_found")


@both_ways
async def test_batch_of_the_largest_size_is_taken(world: World) -> None:
    zone = world.cloud.route53.add_zone("example.com")
    records = [Record(f"n{number}.example.com", "CNAME", 300, (ENDPOINT,)) for number in range(1000)]
    route53 = world.route53()
    await route53.change(zone.id, _create(*records))
    await route53.change(zone.id, [Change(Action.UPSERT, record) for record in records[:500]])
    assert world.counts == {"ChangeResourceRecordSets": 2}


@both_ways
async def test_zone_of_another_account_is_written_through_its_role(world: World) -> None:
    theirs = world.cloud.account("222222222222").route53.add_zone("example.org")
    arn = "arn:aws:iam::222222222222:role/dns"
    world.cloud.world.identities.add_role(identity.Role(arn, external_id="edge-42"))
    record = Record("shop.example.org", "CNAME", 300, (ENDPOINT,))
    with pytest.raises(Stall, match="NoSuchHostedZone"):
        await world.route53().change(theirs.id, _create(record))
    await world.route53(Role(arn, "edge-42")).change(theirs.id, _create(record))
    assert theirs.target("shop.example.org.") is not None


@in_virtual_time
async def test_change_whose_answer_is_lost_is_not_sent_again(world: World) -> None:
    zone = world.cloud.route53.add_zone("example.com")
    world.cloud.faults.add(faults.lost_response(), operation="ChangeResourceRecordSets")
    with pytest.raises(Retry):
        await world.route53().change(zone.id, _create(SHOP))
    assert world.counts["ChangeResourceRecordSets"] == 1
