"""A zone's single writer: few calls, nobody's records touched, one bad record fails alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from edgekeeper.cloud.aws.dns.changes import Absent, Action, Present, Wish
from edgekeeper.cloud.aws.dns.records import AliasTarget, Record, records_for
from edgekeeper.cloud.aws.dns.zone import Written, Zone, find_faulty
from edgekeeper.cloud.aws.route53 import Route53
from edgekeeper.cloud.coalescer import Ticket
from edgekeeper.cloud.rates import DEFAULT_RATES, ROUTE53
from edgekeeper.core.errors import PassError, Retry, Stall, Wait
from kubesim.aws import faults
from kubesim.aws.route53.records import Record as RemoteRecord
from kubesim.aws.route53.state import Zone as RemoteZone
from tests.unit.cloud.aws.world import ENDPOINT, World, in_virtual_time


def _record(number: int, target: str = ENDPOINT) -> Record:
    return Record(f"n{number:04}.example.com", "CNAME", 300, (target,))


@asynccontextmanager
async def _zone(world: World, remote: RemoteZone | None = None) -> AsyncIterator[tuple[Zone, RemoteZone]]:
    remote = remote or world.cloud.route53.add_zone("example.com")
    zone = Zone(remote.id, Route53(world.access.caller()), world.clock, world.metrics)
    running = asyncio.create_task(zone.run())
    await zone.mirror.wait_synced()
    try:
        yield zone, remote
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def _results(tickets: Sequence[Ticket[Written]]) -> list[Written | PassError]:
    results: list[Written | PassError] = []
    for ticket in tickets:
        try:
            results.append(await ticket.wait())
        except PassError as error:
            results.append(error)
    return results


async def _fulfil(zone: Zone, *wishes: Wish) -> list[Written | PassError]:
    return await _results([zone.submit(wish) for wish in wishes])


async def _one(zone: Zone, wish: Wish) -> Written:
    return await zone.submit(wish).wait()


def _targets(remote: RemoteZone) -> dict[str, str | None]:
    return {
        record.name: remote.target(record.name)
        for record in remote.records.values()
        if record.type == "CNAME"
    }


@in_virtual_time
async def test_zone_that_is_restarted_during_a_batch_reads_before_it_writes(world: World) -> None:
    async with _zone(world) as (zone, remote):
        pass
    running = asyncio.create_task(zone.run())
    world.cloud.faults.add(faults.delay(timedelta(seconds=20)), operation="ChangeResourceRecordSets")
    await asyncio.sleep(1)
    lost = zone.submit(Present(_record(1)))
    await asyncio.sleep(5)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    with pytest.raises(Retry):
        lost.result()
    world.cloud.route53.put_record(
        remote, RemoteRecord("n0001.example.com.", "CNAME", 300, (f"{ENDPOINT}.",))
    )
    world.cloud.faults.add(faults.delay(timedelta(seconds=20)), operation="ListResourceRecordSets")
    running = asyncio.create_task(zone.run())
    await asyncio.sleep(0.1)
    assert (await _one(zone, Present(_record(1)))).change is None
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@in_virtual_time
async def test_thousand_records_take_few_calls(world: World) -> None:
    async with _zone(world) as (zone, remote):
        results = await _fulfil(zone, *(Present(_record(number)) for number in range(1000)))
        ids = {result.change_id for result in results if isinstance(result, Written)}
        assert len(ids) == 1
        await asyncio.sleep(300)
        assert all(zone.in_sync(change_id) for change_id in ids)
        assert len(_targets(remote)) == 1000
        assert world.counts["ChangeResourceRecordSets"] == 1
        assert world.cloud.journal.services["route53"] <= 10


@in_virtual_time
async def test_wish_that_is_fulfilled_costs_nothing(world: World) -> None:
    async with _zone(world) as (zone, _):
        first = await _one(zone, Present(_record(1)))
        again = await _one(zone, Present(_record(1), written=_record(1)))
        assert first.change is not None
        assert first.change.action is Action.CREATE
        assert again == Written(None)
        assert world.counts["ChangeResourceRecordSets"] == 1


@in_virtual_time
async def test_foreign_record_is_neither_overwritten_nor_deleted(world: World) -> None:
    async with _zone(world) as (zone, remote):
        theirs = RemoteRecord("n0001.example.com.", "CNAME", 60, ("elsewhere.example.net",))
        world.cloud.route53.put_record(remote, theirs)
        await zone.mirror.refresh()
        taken, gone = await _fulfil(zone, Present(_record(1)), Absent(_record(1)))
        assert isinstance(taken, Stall)
        assert taken.reason == "DNSConflict"
        assert "n0001.example.com" in taken.message
        assert gone == Written(
            None, left=Record("n0001.example.com", "CNAME", 60, ("elsewhere.example.net",))
        )
        assert _targets(remote) == {"n0001.example.com.": "elsewhere.example.net."}
        assert "ChangeResourceRecordSets" not in world.counts


@in_virtual_time
async def test_foreign_record_that_the_mirror_does_not_know_is_not_overwritten(world: World) -> None:
    async with _zone(world) as (zone, remote):
        theirs = RemoteRecord("n0001.example.com.", "CNAME", 60, ("elsewhere.example.net",))
        world.cloud.route53.put_record(remote, theirs)
        (taken,) = await _fulfil(zone, Present(_record(1)))
        assert isinstance(taken, Stall)
        assert taken.reason == "DNSConflict"
        assert _targets(remote) == {"n0001.example.com.": "elsewhere.example.net."}


@in_virtual_time
async def test_record_that_somebody_has_changed_is_left(world: World) -> None:
    """Even if only its time to live is another: whoever has changed it relies on it."""
    async with _zone(world) as (zone, remote):
        await _one(zone, Present(_record(1)))
        theirs = RemoteRecord("n0001.example.com.", "CNAME", 77, (f"{ENDPOINT}.",))
        world.cloud.route53.put_record(remote, theirs)
        await asyncio.sleep(600)
        kept = await _one(zone, Absent(_record(1)))
        assert kept.change is None
        assert kept.left is not None
        assert kept.left.ttl == 77
        assert list(_targets(remote)) == ["n0001.example.com."]


@in_virtual_time
async def test_record_that_changed_a_moment_ago_is_left_too(world: World) -> None:
    async with _zone(world) as (zone, remote):
        await _one(zone, Present(_record(1)))
        world.cloud.route53.put_record(remote, RemoteRecord("n0001.example.com.", "CNAME", 77, (ENDPOINT,)))
        first = await _fulfil(zone, Absent(_record(1)))
        assert [type(result).__name__ for result in first] == ["Conflict"]
        assert (await _one(zone, Absent(_record(1)))).left is not None
        assert list(_targets(remote)) == ["n0001.example.com."]


@in_virtual_time
async def test_record_that_is_gone_counts_as_deleted(world: World) -> None:
    async with _zone(world) as (zone, remote):
        await _fulfil(zone, *(Present(_record(number)) for number in range(20)))
        world.cloud.route53.remove_record(remote, "n0007.example.com.", "CNAME")
        results = await _fulfil(zone, *(Absent(_record(number)) for number in range(20)))
        assert all(isinstance(result, Written) for result in results)
        assert _targets(remote) == {}


@in_virtual_time
async def test_bad_record_among_five_hundred_delays_nobody(world: World) -> None:
    async with _zone(world) as (zone, remote):
        world.cloud.route53.put_record(
            remote, RemoteRecord("n0250.example.com.", "CNAME", 60, ("taken.example.",))
        )
        began = world.clock.monotonic()
        tickets = [zone.submit(Present(_record(number))) for number in range(500)]
        good = [ticket for number, ticket in enumerate(tickets) if number != 250]
        await _results(good)
        assert world.clock.monotonic() - began < 3
        (bad,) = await _results([tickets[250]])
        assert isinstance(bad, Stall)
        assert len(_targets(remote)) == 500
        assert world.counts["ChangeResourceRecordSets"] == 3


@in_virtual_time
async def test_bad_record_that_nobody_names_is_found_all_the_same(world: World) -> None:
    async with _zone(world) as (zone, remote):
        nowhere = Record("n9999.example.com", "A", alias=AliasTarget(zone.id, "nowhere.example.com"))
        tickets = [zone.submit(Present(record)) for record in (nowhere, *map(_record, range(60)))]
        bad, *good = await _results(tickets)
        assert isinstance(bad, Stall)
        assert all(isinstance(result, Written) for result in good)
        assert len(_targets(remote)) == 60


@in_virtual_time
async def test_lost_answer_is_looked_up_before_anything_is_written(world: World) -> None:
    async with _zone(world) as (zone, remote):
        world.cloud.faults.add(faults.lost_response(), operation="ChangeResourceRecordSets")
        wishes = [Present(_record(number)) for number in range(10)]
        lost = await _fulfil(zone, *wishes)
        assert all(isinstance(result, Retry) for result in lost)
        again = await _fulfil(zone, *wishes)
        assert again == [Written(None)] * 10
        assert len(_targets(remote)) == 10
        assert world.counts["ChangeResourceRecordSets"] == 1


@in_virtual_time
async def test_request_that_never_arrived_is_written_after_a_look(world: World) -> None:
    async with _zone(world) as (zone, remote):
        world.cloud.faults.add(faults.lost_request(), operation="ChangeResourceRecordSets")
        assert isinstance((await _fulfil(zone, Present(_record(1))))[0], Retry)
        assert (await _one(zone, Present(_record(1)))).change is not None
        assert len(_targets(remote)) == 1


@in_virtual_time
async def test_zone_that_refuses_us_is_not_asked_once_per_record(world: World) -> None:
    async with _zone(world) as (zone, remote):
        denied = faults.error("AccessDenied", "not yours", 403)
        world.cloud.faults.add(denied, operation="ChangeResourceRecordSets", times=None)
        results = await _fulfil(zone, *(Present(_record(number)) for number in range(200)))
        assert {(type(result), getattr(result, "error_type", "")) for result in results} == {
            (Stall, "dns_access_denied")
        }
        assert world.counts["ChangeResourceRecordSets"] == 1
        world.cloud.faults.clear()
        await asyncio.sleep(31)
        await _fulfil(zone, Present(_record(1)))
        assert len(_targets(remote)) == 1


@in_virtual_time
async def test_zone_that_may_not_be_listed_is_written_blindly(world: World) -> None:
    remote = world.cloud.route53.add_zone("example.com")
    denied = faults.error("AccessDenied", "not yours", 403)
    world.cloud.faults.add(denied, operation="ListResourceRecordSets", times=None)
    zone = Zone(remote.id, Route53(world.access.caller()), world.clock, world.metrics)
    running = asyncio.create_task(zone.run())
    await asyncio.sleep(1)
    assert zone.is_listing_denied
    moved = _record(1, "d2.cloudfront.net")
    assert (await _one(zone, Present(_record(1)))).change is not None
    assert (await _one(zone, Present(moved, written=_record(1)))).change is not None
    assert _targets(remote) == {"n0001.example.com.": "d2.cloudfront.net."}
    taken = (await _fulfil(zone, Present(_record(1))))[0]
    assert isinstance(taken, Stall)
    assert (await _one(zone, Absent(moved))).change is not None
    assert (await _one(zone, Absent(moved))).change_id == ""
    assert _targets(remote) == {}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@in_virtual_time
async def test_apex_is_led_by_aliases(world: World) -> None:
    async with _zone(world) as (zone, remote):
        wishes = [Present(one) for one in records_for("example.com", zone="example.com", target=ENDPOINT)]
        results = await _fulfil(zone, *wishes)
        assert all(isinstance(result, Written) and result.change for result in results)
        kinds = {record.type for record in remote.at("example.com.") if record.alias}
        assert kinds == {"A", "AAAA"}


@in_virtual_time
async def test_batch_is_asked_about_once_for_all(world: World) -> None:
    async with _zone(world) as (zone, _):
        results = await _fulfil(zone, *(Present(_record(number)) for number in range(50)))
        woken: list[int] = []
        for number, result in enumerate(results):
            assert isinstance(result, Written)
            assert not zone.in_sync(result.change_id, wake=lambda number=number: woken.append(number))  # type: ignore[misc]
        await asyncio.sleep(120)
        assert sorted(woken) == list(range(50))
        assert all(zone.in_sync(result.change_id) for result in results if isinstance(result, Written))
        assert world.counts["GetChange"] == 2


@in_virtual_time
async def test_change_that_route53_has_forgotten_counts_as_known(world: World) -> None:
    async with _zone(world) as (zone, _):
        assert not zone.in_sync("CLONGAGO")
        await asyncio.sleep(31)
        assert zone.in_sync("CLONGAGO")


@in_virtual_time
async def test_change_that_we_may_not_ask_about_says_so(world: World) -> None:
    async with _zone(world) as (zone, _):
        denied = faults.error("AccessDenied", "not yours", 403)
        world.cloud.faults.add(denied, operation="GetChange")
        written = await _one(zone, Present(_record(1)))
        await asyncio.sleep(31)
        for _ in range(3):  # the refusal is the answer until there is another one
            with pytest.raises(Stall, match="not yours"):
                zone.in_sync(written.change_id)
        assert world.cloud.journal.counts["GetChange"] == 1


@in_virtual_time
async def test_change_that_we_may_not_ask_about_is_asked_about_again_after_minutes(world: World) -> None:
    async with _zone(world) as (zone, _):
        denied = faults.error("AccessDenied", "not yours", 403)
        world.cloud.faults.add(denied, operation="GetChange", times=2)
        written = await _one(zone, Present(_record(1)))
        await asyncio.sleep(31)
        woken: list[int] = []
        for number in range(3):  # refused twice, and then not any more
            with pytest.raises(Stall, match="not yours"):
                zone.in_sync(written.change_id, wake=lambda number=number: woken.append(number))  # type: ignore[misc]
            await asyncio.sleep(301)
        assert woken == [1, 2]
        assert zone.in_sync(written.change_id)


@in_virtual_time
async def test_change_of_somebody_who_does_not_ask_any_more_is_not_followed_for_ever(world: World) -> None:
    async with _zone(world) as (zone, _):
        world.cloud.faults.add(
            faults.error("AccessDenied", "not yours", 403), operation="GetChange", times=None
        )
        await _one(zone, Present(_record(1)))
        await asyncio.sleep(3600)
        assert world.cloud.journal.counts["GetChange"] == 1


async def _insist(zone: Zone, wish: Wish) -> None:
    """Come again as an object does whose pass could not finish."""
    while True:
        try:
            await zone.submit(wish).wait()
        except Wait as wait:
            await asyncio.sleep(wait.after.total_seconds())
        except Retry:
            await asyncio.sleep(5)
        else:
            return


@in_virtual_time
async def test_throttled_zone_gets_its_records_and_no_more_calls_than_allowed(world: World) -> None:
    async with _zone(world) as (zone, remote):
        throttling = faults.error("Throttling", "Rate exceeded", 400)
        world.cloud.faults.add(throttling, service="route53", probability=0.3, times=None)
        world.cloud.faults.add(throttling, service="route53", times=None, until=timedelta(minutes=5))
        async with asyncio.timeout(3600), asyncio.TaskGroup() as group:
            for number in range(300):
                group.create_task(_insist(zone, Present(_record(number))))
                await asyncio.sleep(0.5)
        assert len(_targets(remote)) == 300
    allowed = DEFAULT_RATES[ROUTE53]
    moments = [call.moment for call in world.cloud.journal.calls(service="route53")]
    for first, since in enumerate(moments):
        for count, until in enumerate(moments[first:], 1):
            assert count <= allowed.burst + allowed.rate * (until - since) + 1e-6


@in_virtual_time
async def test_writes_never_exceed_the_accounts_throughput(world: World) -> None:
    async with _zone(world) as (zone, _):
        results = await _fulfil(zone, *(Present(_record(number)) for number in range(4000)))
        assert all(isinstance(result, Written) for result in results)
        assert world.cloud.journal.codes == {}
        assert world.clock.monotonic() > timedelta(seconds=25).total_seconds()


@pytest.mark.parametrize(
    ("text", "faulty"),
    [
        (
            "[Tried to create resource record set [name='n0001.example.com.', type='CNAME'] but it already exists]",
            [1],
        ),
        (
            "Tried to delete [name='N0002.example.com', type='CNAME'] and [name='n0000.example.com.', type='CNAME']",
            [0, 2],
        ),
        ("RRSet of type CNAME with DNS name n0001.example.com. is not permitted at apex", [1]),
        ("RRSet with DNS name n0002.example.com. is not permitted in zone other.com.", [2]),
        ("[name='n0001.example.com.', type='A']", []),
        ("something is wrong", []),
    ],
)
def test_refusal_accuses_the_records_that_it_names(text: str, faulty: list[int]) -> None:
    assert find_faulty(Stall("DNSError", text), [Present(_record(number)) for number in range(3)]) == faulty
