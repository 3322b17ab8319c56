"""How often a mirror lists."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from edgekeeper.cloud.mirror import MirrorOptions
from edgekeeper.core.errors import Retry, Wait
from kubesim.virtual import virtual_time
from tests.unit.cloud.collection import Reflected, Remote, Thing, things

STEADY = MirrorOptions(jitter=0.0, settling=timedelta(0))
BUSY = Thing("2", "InProgress")


def gaps(remote: Remote) -> list[float]:
    return [later - earlier for earlier, later in pairwise(remote.listings)]


@virtual_time
async def test_pace_is_slow_while_all_is_quiet() -> None:
    world = Reflected(Remote(things(3)), options=STEADY)
    async with world.running():
        await asyncio.sleep(86_400)
    assert len(world.remote.listings) == pytest.approx(288, abs=1)


@virtual_time
async def test_pace_is_fast_while_something_is_in_progress() -> None:
    world = Reflected(Remote({"thing": BUSY}), options=STEADY)
    async with world.running():
        await asyncio.sleep(590)
        assert set(gaps(world.remote)) == {30.0}
        world.remote.things["thing"] = Thing("3")
        await asyncio.sleep(320)
    assert gaps(world.remote)[-2:] == [30.0, 300.0]


@virtual_time
async def test_pace_quickens_at_once_when_an_own_write_is_in_progress() -> None:
    world = Reflected(Remote(things(3)), options=STEADY)
    async with world.running():
        await asyncio.sleep(10)
        world.mirror.put("mine", BUSY)
        await asyncio.sleep(40)
    assert world.remote.listings == pytest.approx([0, 30])


@virtual_time
async def test_pace_slows_down_when_what_was_in_progress_is_gone() -> None:
    world = Reflected(Remote({"thing": BUSY}), options=STEADY)
    async with world.running():
        await asyncio.sleep(10)
        world.mirror.remove("thing")
        world.remote.things.clear()
        await asyncio.sleep(200)
    assert len(world.remote.listings) == 1


@virtual_time
async def test_pace_poke_brings_a_listing_forward() -> None:
    world = Reflected(Remote(things(3)), options=STEADY)
    async with world.running():
        await asyncio.sleep(100)
        world.mirror.poke()
        await asyncio.sleep(1)
    assert world.remote.listings == pytest.approx([0, 100])


@virtual_time
async def test_pace_any_number_of_pokes_is_one_listing_and_never_two_in_a_row() -> None:
    world = Reflected(Remote(things(3)), options=STEADY)
    async with world.running():
        for _ in range(1_000):
            world.mirror.poke()
            await asyncio.sleep(0.01)
    assert min(gaps(world.remote)) >= 2
    assert len(world.remote.listings) == pytest.approx(6, abs=1)


@virtual_time
async def test_pace_poke_during_a_listing_asks_for_another_one() -> None:
    world = Reflected(Remote(things(2), latency=5), options=STEADY)
    async with world.running():
        await asyncio.sleep(1)
        world.mirror.poke()
        await asyncio.sleep(10)
    assert world.remote.listings == pytest.approx([0, 5])


@virtual_time
async def test_pace_is_jittered_and_never_slower_than_promised() -> None:
    world = Reflected(Remote(things(3)))
    async with world.running():
        await asyncio.sleep(86_400)
    intervals = gaps(world.remote)
    assert all(270 <= interval <= 300 for interval in intervals)
    assert len({round(interval, 3) for interval in intervals}) > 200


@virtual_time
async def test_pace_failing_listings_come_less_and_less_often() -> None:
    world = Reflected(Remote(things(3), error=Retry("Service Unavailable")), options=STEADY)
    async with world.running():
        await asyncio.sleep(3_600)
    intervals = gaps(world.remote)
    assert intervals[0] <= 2
    assert intervals[-1] > 200
    assert len(intervals) < 25


@virtual_time
async def test_pace_failing_listings_are_not_hurried_by_pokes() -> None:
    world = Reflected(Remote(things(3), error=Retry("Service Unavailable")), options=STEADY)
    async with world.running():
        for _ in range(600):
            world.mirror.poke()
            await asyncio.sleep(1)
    assert len(world.remote.listings) < 15


@virtual_time
async def test_pace_provider_that_asks_to_be_left_alone_is_left_alone() -> None:
    world = Reflected(Remote(error=Wait(timedelta(minutes=20), "Throttled")), options=STEADY)
    async with world.running():
        await asyncio.sleep(3_600)
    assert gaps(world.remote) == pytest.approx([1_200] * 2, abs=1)


@virtual_time
async def test_pace_is_fast_for_one_listing_where_it_is_hastened() -> None:
    world = Reflected(Remote(things(3)), options=STEADY)
    async with world.running():
        await asyncio.sleep(10)
        world.mirror.hasten()
        await asyncio.sleep(390)
    assert gaps(world.remote) == pytest.approx([30, 300])


@virtual_time
async def test_pace_sweeps_of_a_large_collection_leave_room_for_others() -> None:
    remote = Remote({f"thing-{n}": BUSY for n in range(40)}, page_size=1, latency=1)
    world = Reflected(remote, options=replace(STEADY, fast=timedelta(seconds=30)))
    async with world.running():
        await asyncio.sleep(1_000)
    assert gaps(world.remote) == pytest.approx([400] * 2)
