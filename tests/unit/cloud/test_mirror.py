"""The mirror: what it knows, what it believes, and whom it tells."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from edgekeeper.cloud.call_context import Priority
from edgekeeper.cloud.mirror import Mirror, MirrorOptions, NotSyncedError
from edgekeeper.core.errors import Cause, Retry, Wait
from kubesim.virtual import LoopClock, virtual_time
from tests.logs import capture_logs
from tests.unit.cloud.collection import Reflected, Remote, Thing, things

OUTAGE = Retry("Service Unavailable")
AT_ONCE = MirrorOptions(settling=timedelta(0))
"""A provider that shows every write at once."""


# What is known


@virtual_time
async def test_mirror_shows_the_whole_collection() -> None:
    world = Reflected(Remote(things(5)))
    await world.mirror.refresh()
    assert world.keys == set(things(5))
    assert world.mirror.get("thing-4") == Thing()
    assert world.mirror.count == 5


@virtual_time
async def test_mirror_that_is_not_synced_never_means_absence() -> None:
    world = Reflected(Remote(things(1)))
    for ask in (lambda: world.mirror.get("thing-0"), world.mirror.items):
        with pytest.raises(NotSyncedError, match="things: not listed completely yet") as caught:
            ask()
        assert isinstance(caught.value, Wait)
    assert not world.mirror.synced


@virtual_time
async def test_mirror_that_cannot_be_listed_tells_why() -> None:
    world = Reflected(Remote(things(1), error=OUTAGE))
    async with world.running():
        await asyncio.sleep(1)
        problem = world.mirror.problem
        assert isinstance(problem, type(OUTAGE))
        assert (problem.reason, problem.message) == (OUTAGE.reason, OUTAGE.message)
        world.remote.error = None
        await world.mirror.wait_synced()
        assert world.mirror.problem is None


@virtual_time
async def test_mirror_that_is_not_synced_says_whether_that_is_an_outage() -> None:
    world = Reflected(Remote(things(1)))
    with pytest.raises(NotSyncedError) as unlisted:
        world.mirror.get("thing-0")
    assert unlisted.value.unavailable is Cause.UNLISTED
    outage = Retry("Service Unavailable")
    outage.unavailable = Cause.UNREACHABLE
    world.remote.error = outage
    with pytest.raises(Retry):
        await world.mirror.refresh()
    with pytest.raises(NotSyncedError, match="not listed completely yet: Service Unavailable") as unreachable:
        world.mirror.get("thing-0")
    assert unreachable.value.unavailable is Cause.UNREACHABLE


@pytest.mark.parametrize(("cause", "level"), [(None, "warning"), (Cause.UNREACHABLE, "debug")])
@virtual_time
async def test_mirror_leaves_outages_to_the_transport_to_tell(cause: Cause | None, level: str) -> None:
    error = Retry("Service Unavailable")
    error.unavailable = cause
    world = Reflected(Remote(things(1), error=error))
    with capture_logs() as lines:
        async with world.running():
            await asyncio.sleep(1)
    assert [line["log_level"] for line in lines if line["event"] == "Mirror cannot be refreshed"] == [level]


@virtual_time
async def test_mirror_is_synced_when_it_tells_of_its_first_listing() -> None:
    world = Reflected(Remote(things(2)))
    seen: list[Thing | None] = []
    world.mirror.subscribe(lambda key, *_: seen.append(world.mirror.get(key)))
    await world.mirror.refresh()
    assert seen == [Thing(), Thing()]


@virtual_time
async def test_mirror_own_write_does_not_make_it_synced() -> None:
    world = Reflected(Remote())
    world.mirror.put("mine", Thing())
    with pytest.raises(NotSyncedError):
        world.mirror.get("mine")


@virtual_time
async def test_mirror_of_an_empty_collection_is_synced_and_knows_that_nothing_is_there() -> None:
    world = Reflected(Remote())
    await world.mirror.refresh()
    assert world.mirror.synced
    assert world.mirror.get("anything") is None


@virtual_time
async def test_mirror_listing_that_fails_half_way_changes_nothing() -> None:
    world = Reflected(Remote(things(5)))
    await world.mirror.refresh()
    world.news()
    world.remote.things = {"thing-0": Thing("2"), "new-1": Thing(), "new-2": Thing()}
    world.remote.error = OUTAGE
    with pytest.raises(Retry, match="Service Unavailable"):
        await world.mirror.refresh()
    assert world.keys == set(things(5))
    assert world.news() == []
    assert world.mirror.get("thing-0") == Thing("1")


@virtual_time
async def test_mirror_first_listing_that_fails_half_way_leaves_it_unsynced() -> None:
    world = Reflected(Remote(things(5), error=OUTAGE))
    with pytest.raises(Retry):
        await world.mirror.refresh()
    assert not world.mirror.synced


@virtual_time
async def test_mirror_listing_that_is_cancelled_changes_nothing() -> None:
    world = Reflected(Remote(things(5), latency=1))
    await world.mirror.refresh()
    world.news()
    world.remote.things.clear()
    task = asyncio.create_task(world.mirror.refresh())
    await asyncio.sleep(0.5)
    task.cancel()
    await asyncio.wait({task})
    assert (len(world.keys), world.news()) == (5, [])


@virtual_time
async def test_mirror_is_never_seen_half_way_through_a_listing() -> None:
    world = Reflected(Remote(things(5), latency=1))
    task = asyncio.create_task(world.mirror.refresh())
    sizes = set()
    while not task.done():
        sizes.add(world.mirror.count)
        await asyncio.sleep(0.1)
    assert sizes <= {0, 5}


@virtual_time
async def test_mirror_age_counts_from_the_beginning_of_the_last_complete_listing() -> None:
    world = Reflected(Remote(things(2), latency=3))
    await asyncio.sleep(4)
    assert world.mirror.age == timedelta(seconds=4)
    await world.mirror.refresh()
    assert world.mirror.age == timedelta(seconds=3)
    world.remote.error = OUTAGE
    with pytest.raises(Retry):
        await world.mirror.refresh()
    assert world.mirror.age == timedelta(seconds=6)


@virtual_time
async def test_mirror_lists_with_the_priority_of_a_sweep() -> None:
    world = Reflected(Remote(things(2)))
    await world.mirror.refresh()
    assert world.remote.priorities == {Priority.SWEEP}


# Whom it tells


@virtual_time
async def test_mirror_tells_only_of_what_changed() -> None:
    world = Reflected(Remote(things(100), page_size=10))
    await world.mirror.refresh()
    assert len(world.news()) == 100
    await world.mirror.refresh()
    assert world.news() == []
    world.remote.things |= {"thing-7": Thing("2"), "new": Thing()}
    del world.remote.things["thing-9"]
    await world.mirror.refresh()
    assert world.told == [
        ("thing-7", Thing("1"), Thing("2")),
        ("new", None, Thing()),
        ("thing-9", Thing(), None),
    ]


@virtual_time
async def test_mirror_takes_over_what_is_not_part_of_the_version_without_a_word() -> None:
    world = Reflected(Remote(things(1)), version=lambda thing: thing.etag)
    await world.mirror.refresh()
    world.news()
    world.remote.things["thing-0"] = Thing(note="hello")
    await world.mirror.refresh()
    assert world.news() == []
    assert world.mirror.get("thing-0") == Thing(note="hello")


@virtual_time
async def test_mirror_subscriber_that_raises_does_not_disturb_the_others() -> None:
    world = Reflected(Remote(things(3)))

    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    unsubscribe = world.mirror.subscribe(broken)
    late: list[str] = []
    world.mirror.subscribe(lambda key, *_: late.append(key))
    await world.mirror.refresh()
    unsubscribe()
    assert len(world.news()) == len(late) == 3


@virtual_time
async def test_mirror_unsubscribed_is_told_no_more() -> None:
    world = Reflected(Remote(things(1)))
    heard: list[str] = []
    unsubscribe = world.mirror.subscribe(lambda key, *_: heard.append(key))
    await world.mirror.refresh()
    unsubscribe()
    world.mirror.put("another", Thing())
    assert heard == ["thing-0"]


# Own writes


@virtual_time
async def test_mirror_own_write_is_seen_at_once_and_told_to_others_who_depend_on_it() -> None:
    world = Reflected(Remote(things(1)))
    await world.mirror.refresh()
    world.news()
    world.mirror.put("mine", Thing())
    assert world.mirror.get("mine") == Thing()
    world.mirror.remove("thing-0")
    assert world.mirror.get("thing-0") is None
    world.mirror.remove("never there")
    assert world.news() == ["mine", "thing-0"]


@virtual_time
async def test_mirror_listing_that_began_before_an_own_write_does_not_undo_it() -> None:
    world = Reflected(Remote(things(4), latency=5), options=AT_ONCE)
    await world.mirror.refresh()
    world.news()
    listing = asyncio.create_task(world.mirror.refresh())
    await asyncio.sleep(3)
    world.mirror.put("created", Thing())
    world.mirror.put("thing-1", Thing("2"))
    world.mirror.remove("thing-2")
    await listing
    assert world.keys == {"thing-0", "thing-1", "thing-3", "created"}
    assert world.mirror.get("thing-1") == Thing("2")
    assert world.news() == ["created", "thing-1", "thing-2"]


@virtual_time
async def test_mirror_listing_of_a_provider_that_still_shows_the_past_does_not_undo_an_own_write() -> None:
    world = Reflected(Remote(things(4)))
    await world.mirror.refresh()
    world.mirror.put("created", Thing())
    world.mirror.remove("thing-2")
    await asyncio.sleep(9)
    await world.mirror.refresh()
    assert world.keys == {"thing-0", "thing-1", "thing-3", "created"}


@virtual_time
async def test_mirror_later_listing_is_believed_again() -> None:
    world = Reflected(Remote(things(4)))
    await world.mirror.refresh()
    world.mirror.put("created", Thing())
    world.mirror.remove("thing-2")
    await asyncio.sleep(11)
    await world.mirror.refresh()
    assert world.keys == set(things(4)), "somebody undid both behind our back"


@virtual_time
async def test_mirror_change_of_others_is_seen_although_we_wrote_something_else() -> None:
    world = Reflected(Remote(things(4), latency=5))
    await world.mirror.refresh()
    world.remote.things["thing-3"] = Thing("9")
    listing = asyncio.create_task(world.mirror.refresh())
    await asyncio.sleep(1)
    world.mirror.put("thing-0", Thing("2"))
    await listing
    assert world.mirror.get("thing-3") == Thing("9")


# Running


@virtual_time
async def test_mirror_runs_on_after_failures_and_catches_up() -> None:
    world = Reflected(Remote(things(3), error=OUTAGE))
    async with world.running():
        await asyncio.sleep(60)
        assert not world.mirror.synced
        world.remote.error = None
        await world.mirror.wait_synced()
        assert world.mirror.count == 3


@virtual_time
async def test_mirror_survives_a_bug_of_its_lister() -> None:
    world = Reflected(Remote(things(3), error=KeyError("Items")))
    async with world.running():
        await asyncio.sleep(60)
        world.remote.error = None
        await asyncio.sleep(60)
        assert world.mirror.synced


@virtual_time
async def test_mirror_that_ends_does_not_hide_one_that_took_its_place() -> None:
    world = Reflected(Remote(things(3)))
    successor = Mirror(world.mirror.name, world.remote.list, LoopClock(), world.metrics)
    async with asyncio.TaskGroup() as group:
        async with world.running():
            await asyncio.sleep(1)
            running = group.create_task(successor.run())
            await asyncio.sleep(1)
        assert world.sample("objects") == 3
        running.cancel()


@virtual_time
async def test_mirror_shows_its_age_and_size_while_it_runs() -> None:
    world = Reflected(Remote(things(3)), options=replace(AT_ONCE, jitter=0.0))
    async with world.running():
        await asyncio.sleep(100)
        assert world.sample("age_seconds") == pytest.approx(100)
        assert world.sample("objects") == 3
        assert world.sample("doubted_objects") == 0
        assert world.sample("listings_total", result="complete") == 1
        assert world.sample("listings_total", result="failed") == 0
        world.remote.error = OUTAGE
        await asyncio.sleep(400)
        assert world.sample("age_seconds") == pytest.approx(500)
        assert (world.sample("listings_total", result="failed") or 0) > 3
    assert world.sample("age_seconds") is None
