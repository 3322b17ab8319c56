"""One writer per zone: few calls, everybody's own result, and a bad record harms nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from edgekeeper.cloud.cloudflare.models import BatchResult, DnsRecord
from edgekeeper.cloud.cloudflare.record_plan import RecordChange, RecordPlan, WantedRecord
from edgekeeper.cloud.cloudflare.zone_writer import ZoneWriter
from edgekeeper.cloud.mirror import NotSyncedError
from edgekeeper.core.errors import Retry, Stall, Wait
from kubesim.cloudflare.faults import Fault
from tests.unit.cloud.cloudflare.world import World, both_ways, gather, in_virtual_time

BATCH = "POST /zones/{zone}/dns_records/batch"
LIST = "GET /zones/{zone}/dns_records"
MARK = "cfzt:v1 o=0123456789ab"


_LATENCY = Fault("delay", seconds=0.5, times=None)
"""What a call takes from afar."""


def _cname(name: str, target: str = "t.cfargotunnel.com") -> RecordChange:
    return RecordChange(name, MARK, (WantedRecord("CNAME", target, proxied=True),))


def _address(name: str, content: str) -> RecordChange:
    return RecordChange(name, MARK, (WantedRecord("A", content, ttl=120),))


async def _writer(world: World) -> ZoneWriter:
    writer = world.account.zone(world.zone.id)
    await writer.mirror.wait_synced()
    return writer


async def _written(world: World, *changes: RecordChange) -> list[object]:
    writer = await _writer(world)
    return await gather(*[writer.submit(change).wait() for change in changes])


def _names(world: World) -> set[str]:
    return {record["name"] for record in world.records()}


@both_ways
async def test_zone_writer_creates_a_thousand_records_in_ten_calls(world: World) -> None:
    changes = [_cname(f"host-{number}.example.com") for number in range(1000)]
    results = await _written(world, *changes)
    assert not [result for result in results if isinstance(result, Exception)]
    assert _names(world) == {change.name for change in changes}
    assert world.count() <= 10


@both_ways
async def test_zone_writer_gives_everybody_the_records_that_are_theirs(world: World) -> None:
    results = await _written(world, _cname("a.example.com"), _address("b.example.com", "192.0.2.1"))
    ids = {record["name"]: record["id"] for record in world.records()}
    for result, name in zip(results, ["a.example.com", "b.example.com"], strict=True):
        assert isinstance(result, tuple)
        (record,) = result
        assert isinstance(record, DnsRecord)
        assert (record.name, record.id) == (name, ids[name])
        assert record.comment == MARK


@both_ways
async def test_zone_writer_does_not_write_what_is_the_case_already(world: World) -> None:
    await _written(world, _cname("a.example.com"))
    calls = world.count()
    await _written(world, _cname("a.example.com"))
    assert world.count() == calls


@both_ways
async def test_zone_writer_changes_replaces_and_withdraws(world: World) -> None:
    await _written(
        world,
        _cname("moved.example.com", "old.cfargotunnel.com"),
        _cname("gone.example.com"),
        _cname("kind.example.com"),
    )
    results = await _written(
        world,
        _cname("moved.example.com"),
        RecordChange("gone.example.com", MARK),
        _address("kind.example.com", "192.0.2.1"),
    )
    assert not [result for result in results if isinstance(result, Exception)]
    found = {record["name"]: (record["type"], record["content"]) for record in world.records()}
    assert found == {
        "moved.example.com": ("CNAME", "t.cfargotunnel.com"),
        "kind.example.com": ("A", "192.0.2.1"),
    }


@both_ways
async def test_zone_writer_looks_at_the_live_zone_before_it_changes_a_record(world: World) -> None:
    """Somebody has given the name to something else since the mirror was refreshed."""
    await _written(world, _cname("a.example.com", "old.cfargotunnel.com"))
    (record,) = world.records()
    path = f"/zones/{world.zone.id}/dns_records/{record['id']}"
    world.cloud.act("PATCH", path, {"content": "theirs.example.net", "comment": "hands off"})
    (result,) = await _written(world, _cname("a.example.com"))
    assert isinstance(result, Stall)
    assert result.reason == "RecordConflict"
    assert world.records()[0]["content"] == "theirs.example.net"


@in_virtual_time
async def test_zone_writer_is_delayed_by_a_bad_record_for_a_few_seconds_only(world: World) -> None:
    """One of 200 names was taken by somebody else a moment ago, which the mirror does not know."""
    await _writer(world)
    world.add_record(type="A", name="host-77.example.com", content="192.0.2.9")
    world.cloud.faults.add(_LATENCY)
    loop = asyncio.get_running_loop()
    began = loop.time()
    changes = [_cname(f"host-{number}.example.com") for number in range(200)]
    results = await _written(world, *changes)
    refused = [index for index, result in enumerate(results) if isinstance(result, Exception)]
    assert refused == [77]
    assert isinstance(results[77], Stall)
    assert "192.0.2.9" in results[77].message
    assert len(world.records()) == 200
    assert loop.time() - began < 5
    assert world.count(BATCH) == 2


@in_virtual_time
async def test_zone_writer_isolates_a_record_that_cloudflare_refuses_for_reasons_of_its_own(
    world: World,
) -> None:
    await _writer(world)
    loop = asyncio.get_running_loop()
    changes = [_cname(f"host-{number}.example.com") for number in range(200)]
    world.zone.plan = replace(world.zone.plan, comment=50)  # shorter than any plan that we know of
    changes[33] = replace(changes[33], comment=f"{MARK} {'x' * 50}")
    world.cloud.faults.add(_LATENCY)
    began = loop.time()
    finished: dict[int, float] = {}
    writer = await _writer(world)

    async def one(index: int) -> None:
        try:
            await writer.submit(changes[index]).wait()
        finally:
            finished[index] = loop.time() - began

    results = await gather(*map(one, range(200)))
    assert [index for index, result in enumerate(results) if isinstance(result, Exception)] == [33]
    assert isinstance(results[33], Stall)
    assert results[33].reason == "InvalidSpec"
    assert len(world.records()) == 199
    waits = sorted(finished.values())
    assert waits[100] < 3, "most do not notice"
    assert waits[-1] < 10


@both_ways
async def test_zone_writer_never_creates_twice_after_a_lost_answer(world: World) -> None:
    await _writer(world)
    world.cloud.faults.add(Fault("lost", method="POST"))
    (first,) = await _written(world, _cname("a.example.com"))
    assert isinstance(first, Retry)
    (second,) = await _written(world, _cname("a.example.com"))
    assert isinstance(second, tuple)
    assert len(world.records()) == 1
    assert world.count(BATCH) == 1, "the second attempt looked, and found"


@both_ways
async def test_zone_writer_writes_again_what_never_arrived(world: World) -> None:
    await _writer(world)
    world.cloud.faults.add(Fault("unsent", method="POST"))
    assert isinstance((await _written(world, _cname("a.example.com")))[0], Retry)
    assert isinstance((await _written(world, _cname("a.example.com")))[0], tuple)
    assert _names(world) == {"a.example.com"}


@both_ways
async def test_zone_writer_survives_a_truncated_answer(world: World) -> None:
    await _writer(world)
    world.cloud.faults.add(Fault("truncated", method="POST"))
    assert isinstance((await _written(world, _cname("a.example.com")))[0], Retry)
    assert isinstance((await _written(world, _cname("a.example.com")))[0], tuple)
    assert len(world.records()) == 1


@in_virtual_time
async def test_zone_writer_hands_throttling_on_as_a_time_to_wait(world: World) -> None:
    await _writer(world)
    world.cloud.throttle.block(world.token_id)
    (result,) = await _written(world, _cname("a.example.com"))
    assert isinstance(result, Wait)
    assert 290 <= result.after.total_seconds() <= 300


@in_virtual_time
async def test_zone_writer_knows_nothing_before_the_zone_was_listed(world: World) -> None:
    world.cloud.faults.add(Fault("error", method="GET", times=None))
    writer = world.account.zone(world.zone.id)
    with pytest.raises(NotSyncedError):
        writer.records_of("a.example.com")
    assert isinstance((await gather(writer.submit(_cname("a.example.com")).wait()))[0], NotSyncedError)
    assert not world.records()


@both_ways
async def test_zone_writer_sees_its_own_write_at_once(world: World) -> None:
    writer = await _writer(world)
    await _written(world, _cname("a.example.com"))
    assert [record.content for record in writer.records_of("a.example.com")] == ["t.cfargotunnel.com"]
    await _written(world, RecordChange("a.example.com", MARK))
    assert writer.records_of("a.example.com") == ()


@in_virtual_time
async def test_zone_mirror_follows_what_others_do(world: World) -> None:
    writer = await _writer(world)
    world.add_record(type="A", name="new.example.com", content="192.0.2.1")
    await asyncio.sleep(300)
    assert [record.content for record in writer.records_of("new.example.com")] == ["192.0.2.1"]


@in_virtual_time
async def test_zone_writer_takes_a_large_replacement_in_calls_that_fit(world: World) -> None:
    """Replacing a record by one of another type takes two operations, and they stay together."""
    names = [f"host-{number}.example.com" for number in range(150)]
    await _written(world, *map(_cname, names))
    results = await _written(world, *[_address(name, "192.0.2.1") for name in names])
    assert not [result for result in results if isinstance(result, Exception)]
    assert {record["type"] for record in world.records()} == {"A"}


@in_virtual_time
async def test_zone_writer_refuses_a_name_that_is_not_spelled_as_cloudflare_spells_it(world: World) -> None:
    writer = await _writer(world)
    with pytest.raises(Stall):
        writer.submit(_cname("A.example.com"))


@in_virtual_time
async def test_zone_mirror_never_takes_a_broken_listing_for_an_empty_zone(world: World) -> None:
    for number in range(20):
        world.add_record(type="A", name=f"host-{number}", content="192.0.2.1")
    writer = await _writer(world)
    gone: list[str] = []
    writer.mirror.subscribe(lambda id_, _, new: gone.append(id_) if new is None else None)
    for kind in ("html", "truncated", "redirect", "huge", "unsent", "error"):
        status = 200 if kind == "html" else 503
        world.cloud.faults.add(Fault(kind, status=status, size=10, times=None, lasting=timedelta(minutes=10)))
        await asyncio.sleep(600)
    assert not gone
    assert len(writer.mirror.items()) == 20


@in_virtual_time
async def test_zone_writer_does_not_believe_an_answer_that_lacks_a_record(world: World) -> None:
    writer = await _writer(world)
    change = writer._records.change

    async def forgetful(plans: Sequence[RecordPlan]) -> BatchResult:
        await change(plans)
        return BatchResult()

    writer._records.change = forgetful  # type: ignore[method-assign]  # a provider that forgets to say what it did
    (first,) = await _written(world, _cname("a.example.com"))
    assert isinstance(first, Retry)
    writer._records.change = change  # type: ignore[method-assign]
    (second,) = await _written(world, _cname("a.example.com"))
    assert isinstance(second, tuple)
    assert len(world.records()) == 1


@in_virtual_time
async def test_zone_writer_splits_what_turns_out_to_be_more_than_a_call_takes(world: World) -> None:
    """The mirror has it that 150 names are free. In fact each has a record of ours of another type."""
    writer = await _writer(world)
    for number in range(150):
        world.add_record(type="A", name=f"host-{number}", content="192.0.2.1", comment=MARK)
    assert not writer.mirror.items()
    results = await _written(world, *[_cname(f"host-{number}.example.com") for number in range(150)])
    assert not [result for result in results if isinstance(result, Exception)]
    assert {record["type"] for record in world.records()} == {"CNAME"}
    assert world.count(BATCH) == 3, "one that failed, and two that took 300 operations"


@in_virtual_time
async def test_zone_writer_fills_a_zone_as_far_as_it_goes(world: World) -> None:
    await _writer(world)
    world.zone.plan = replace(world.zone.plan, records=60)
    results = await _written(world, *[_cname(f"host-{number}.example.com") for number in range(200)])
    refused = [result for result in results if isinstance(result, Stall)]
    assert {stall.reason for stall in refused} == {"QuotaExceeded"}
    assert len(world.records()) == 200 - len(refused) == 50
    assert world.count(BATCH) <= 8


@in_virtual_time
async def test_zone_writer_tells_all_at_once_what_concerns_all(world: World) -> None:
    await _writer(world)
    del world.cloud.world.tokens[world.secret["token"]]
    results = await _written(world, *[_cname(f"host-{number}.example.com") for number in range(200)])
    assert {result.reason for result in results if isinstance(result, Stall)} == {"AuthFailed"}
    assert len(results) == 200
    assert sum(entry.mutating for entry in world.cloud.journal.entries) == 1
