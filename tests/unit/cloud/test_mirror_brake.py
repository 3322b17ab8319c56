"""R-11: a collection that seems to vanish is not believed at once."""

from __future__ import annotations

import asyncio

import pytest

from edgekeeper.cloud.mirror import MirrorOptions
from edgekeeper.core.errors import Retry
from kubesim.virtual import virtual_time
from tests.unit.cloud.collection import Reflected, Remote, Thing, things


async def _synced(count: int, *, confirmed: bool = False) -> Reflected:
    remote = Remote(things(count), page_size=100)
    world = Reflected(remote, confirm=remote.read) if confirmed else Reflected(remote)
    await world.mirror.refresh()
    world.news()
    await asyncio.sleep(60)
    return world


def _without(count: int, missing: int) -> dict[str, Thing]:
    return dict(list(things(count).items())[missing:])


@pytest.mark.parametrize(
    ("known", "missing", "is_mass"),
    [
        pytest.param(5, 5, False, id="all of five"),
        pytest.param(6, 6, True, id="all of six"),
        pytest.param(20, 5, False, id="five of twenty"),
        pytest.param(20, 6, True, id="six of twenty"),
        pytest.param(1_000, 100, False, id="a tenth of many"),
        pytest.param(1_000, 101, True, id="more than a tenth of many"),
    ],
)
def test_brake_holds_above_five_objects_and_a_tenth(known: int, missing: int, is_mass: bool) -> None:
    assert MirrorOptions().is_mass(missing, known) is is_mass


@virtual_time
async def test_brake_few_that_are_missing_are_gone_at_once() -> None:
    world = await _synced(100)
    world.remote.shown = _without(100, 10)
    await world.mirror.refresh()
    assert world.mirror.count == 90
    assert world.mirror.doubted == frozenset()


@virtual_time
async def test_brake_empty_listing_makes_nothing_disappear() -> None:
    world = await _synced(100)
    world.remote.shown = {}
    await world.mirror.refresh()
    assert world.keys == set(things(100)) == world.mirror.doubted
    assert world.news() == []


@virtual_time
async def test_brake_does_not_keep_changes_from_being_seen() -> None:
    world = await _synced(100)
    world.remote.shown = {**_without(100, 50), "thing-99": Thing("2"), "new": Thing()}
    await world.mirror.refresh()
    assert world.news() == ["thing-99", "new"]
    assert len(world.mirror.doubted) == 50


@virtual_time
async def test_brake_second_listing_that_agrees_is_the_proof() -> None:
    world = await _synced(100)
    world.remote.shown = _without(100, 60)
    await world.mirror.refresh()
    await world.mirror.refresh()
    assert world.mirror.count == 40
    assert len(world.news()) == 60
    assert world.mirror.doubted == frozenset()


@virtual_time
async def test_brake_second_listing_that_disagrees_clears_the_doubt() -> None:
    world = await _synced(100)
    world.remote.shown = {}
    await world.mirror.refresh()
    world.remote.shown = None
    await world.mirror.refresh()
    assert (world.mirror.count, world.mirror.doubted, world.news()) == (100, frozenset(), [])


@virtual_time
async def test_brake_second_listing_proves_only_what_both_lack() -> None:
    world = await _synced(100)
    world.remote.shown = _without(100, 30)
    await world.mirror.refresh()
    world.remote.shown = {}
    await world.mirror.refresh()
    assert world.mirror.count == 70
    assert len(world.mirror.doubted) == 70


@virtual_time
async def test_brake_failed_listing_proves_nothing() -> None:
    world = await _synced(100)
    world.remote.shown = {}
    await world.mirror.refresh()
    world.remote.error = Retry("Service Unavailable")
    with pytest.raises(Retry):
        await world.mirror.refresh()
    assert world.mirror.count == 100


@virtual_time
async def test_brake_read_of_each_object_is_the_proof_where_objects_can_be_read() -> None:
    world = await _synced(50, confirmed=True)
    world.remote.things = {}
    await world.mirror.refresh()
    assert len(world.remote.reads) == 50
    assert (world.mirror.count, len(world.news()), world.mirror.doubted) == (0, 50, frozenset())


@virtual_time
async def test_brake_read_that_finds_its_object_proves_the_listing_wrong() -> None:
    world = await _synced(50, confirmed=True)
    world.remote.shown = {}
    for _ in range(10):
        await world.mirror.refresh()
    assert world.mirror.count == 50
    assert world.news() == []
    assert len(world.remote.reads) == 10, "one read is enough to know better"


@virtual_time
async def test_brake_read_that_fails_proves_nothing() -> None:
    world = await _synced(50, confirmed=True)
    world.remote.things = {}
    refuse = Retry("Service Unavailable")

    async def list_then_break() -> None:
        world.remote.error = None
        task = asyncio.create_task(world.mirror.refresh())
        await asyncio.sleep(0)
        world.remote.error = refuse
        with pytest.raises(Retry):
            await task

    world.remote.latency = 0.1
    world.remote.page_size = 1
    await list_then_break()
    assert world.mirror.count == 50


@virtual_time
async def test_brake_object_that_we_wrote_meanwhile_is_not_removed_by_an_older_read() -> None:
    world = await _synced(10, confirmed=True)
    world.remote.things = {}
    world.remote.latency = 1
    refreshing = asyncio.create_task(world.mirror.refresh())
    await asyncio.sleep(1.5)
    world.mirror.put("thing-0", Thing("recreated"))
    await refreshing
    assert world.keys == {"thing-0"}


@virtual_time
async def test_brake_object_that_we_wrote_just_before_is_not_removed_by_a_read_that_shows_the_past() -> None:
    world = await _synced(20, confirmed=True)
    world.remote.things = {}
    world.remote.latency = 1
    refreshing = asyncio.create_task(world.mirror.refresh())
    await asyncio.sleep(1.5)
    world.mirror.put("thing-5", Thing("recreated"))
    await refreshing
    assert world.keys == {"thing-5"}


@virtual_time
async def test_brake_own_deletions_need_no_proof() -> None:
    world = await _synced(100)
    for key in things(80):
        world.mirror.remove(key)
    await asyncio.sleep(60)
    world.remote.things = _without(100, 80)
    await world.mirror.refresh()
    assert (world.mirror.count, world.mirror.doubted) == (20, frozenset())


@virtual_time
async def test_brake_does_not_doubt_what_we_have_just_written() -> None:
    world = await _synced(5)
    for n in range(50):
        world.mirror.put(f"mine-{n}", Thing())
    await world.mirror.refresh()
    assert (world.mirror.count, world.mirror.doubted) == (55, frozenset())


@virtual_time
async def test_brake_own_write_ends_the_doubt_about_an_object() -> None:
    world = await _synced(10)
    world.remote.shown = {}
    await world.mirror.refresh()
    world.mirror.put("thing-0", Thing("2"))
    world.mirror.remove("thing-1")
    assert world.mirror.doubted == set(things(10)) - {"thing-0", "thing-1"}


@virtual_time
async def test_brake_raises_an_alarm_and_looks_again_soon() -> None:
    world = Reflected(Remote(things(100), page_size=100), options=MirrorOptions(jitter=0.0))
    async with world.running():
        await world.mirror.wait_synced()
        world.remote.shown = {}
        await asyncio.sleep(301)
        assert world.sample("doubted_objects") == 100
        assert world.sample("listings_total", result="doubted") == 1
        assert world.mirror.count == 100
        await asyncio.sleep(30)
        assert len(world.remote.listings) == 3
