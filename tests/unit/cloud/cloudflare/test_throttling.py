"""What the simulation sees of us under throttling: never more than the budget, and in the end everything is done."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from edgekeeper.cloud.cloudflare.record_plan import RecordChange, WantedRecord
from edgekeeper.core.errors import PassError, Retry, Stall, Wait
from kubesim.cloudflare.faults import Fault
from tests.unit.cloud.cloudflare.world import World, in_virtual_time

MARK = "cfzt:v1 o=0123456789ab"


def _record(name: str) -> RecordChange:
    return RecordChange(name, MARK, (WantedRecord("A", "192.0.2.1", ttl=120),))


async def _until_done(world: World, name: str, stalls: list[Stall]) -> None:
    """As a controller would: hand in, look, come back when told to."""
    writer = world.account.zone(world.zone.id)
    while True:
        try:
            await writer.submit(_record(name)).wait()
        except Wait as wait:
            await asyncio.sleep(max(1.0, wait.after.total_seconds()))
        except Stall as stall:
            stalls.append(stall)
            return
        except (Retry, PassError):
            await asyncio.sleep(5)
        else:
            return


async def _creating(world: World, stalls: list[Stall]) -> None:
    """Records in waves, and some reading beside them."""
    async with asyncio.TaskGroup() as group:
        for wave in range(12):
            for number in range(50):
                group.create_task(_until_done(world, f"host-{wave}-{number}.example.com", stalls))
            await asyncio.sleep(60)


@in_virtual_time
async def test_budget_holds_under_throttling_and_a_block_and_work_completes(world: World) -> None:
    world.cloud.faults.add(Fault("throttle", probability=0.3, times=None, seconds=5))
    stalls: list[Stall] = []
    working = asyncio.create_task(_creating(world, stalls))
    await asyncio.sleep(200)
    world.cloud.throttle.block(world.token_id)
    await working
    assert len(world.records()) == 600
    assert not stalls, "what passes by itself does not stall"
    assert world.cloud.journal.most_within(timedelta(minutes=5)) <= 1200
    assert world.cloud.journal.most_within(timedelta(seconds=1)) <= 20 + 4


@in_virtual_time
async def test_nothing_is_sent_while_a_token_is_blocked(world: World) -> None:
    await world.account.zone(world.zone.id).mirror.wait_synced()
    world.cloud.throttle.block(world.token_id)
    stalls: list[Stall] = []
    began = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(_until_done(world, f"host-{number}.example.com", stalls))
    blocked = [entry for entry in world.cloud.journal.entries if began < entry.at < began + 299]
    assert len(blocked) <= 1, "the one that found out"
    assert len(world.records()) == 20


@in_virtual_time
async def test_outage_ends_without_a_burst(world: World) -> None:
    await world.account.zone(world.zone.id).mirror.wait_synced()
    world.cloud.faults.outage(timedelta(minutes=30))
    stalls: list[Stall] = []
    working = asyncio.create_task(_creating(world, stalls))
    await working
    assert len(world.records()) == 600
    assert not stalls
    assert world.cloud.journal.most_within(timedelta(seconds=1)) <= 20 + 4
