"""What happens while the store is behind: behind our own writes, behind others', or not filled at all."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from edgekeeper.core.outcome import Outcome, StatusWrite, done, requeue
from edgekeeper.kube.store import Store
from edgekeeper.runtime.contract import Request, Result
from edgekeeper.runtime.read_your_writes import PATIENCE, OutdatedKeys
from kubesim.virtual import virtual_time
from tests.unit.runtime.world import (
    FINALIZER,
    KEY,
    WIDGET,
    Toy,
    observe_generation,
    settle,
    until,
    widget,
    world,
)


def raw(version: str) -> bytes:
    return f'{{"metadata":{{"name":"one","namespace":"default","resourceVersion":"{version}"}}}}'.encode()


@virtual_time
async def test_key_waits_until_the_store_shows_another_version() -> None:
    store = Store(WIDGET)
    store.put(KEY, raw("10"))
    store.mark_synced()
    outdated = OutdatedKeys(store)
    assert outdated.wait_for(KEY) is None
    outdated.mark(KEY, raw("10"))
    assert outdated.wait_for(KEY) == PATIENCE
    await asyncio.sleep(4)
    assert outdated.wait_for(KEY) == PATIENCE - timedelta(seconds=4)
    store.put(KEY, raw("12"))
    assert outdated.caught_up(KEY)
    assert outdated.wait_for(KEY) is None
    assert len(outdated) == 0


@virtual_time
async def test_key_waits_no_longer_than_patience_lasts() -> None:
    store = Store(WIDGET)
    store.put(KEY, raw("10"))
    store.mark_synced()
    outdated = OutdatedKeys(store)
    outdated.mark(KEY, raw("10"))
    await asyncio.sleep(PATIENCE.total_seconds())
    assert outdated.wait_for(KEY) is None
    assert len(outdated) == 0


@virtual_time
async def test_store_that_is_ahead_already_keeps_nobody_waiting() -> None:
    store = Store(WIDGET)
    store.put(KEY, raw("12"))
    store.mark_synced()
    outdated = OutdatedKeys(store)
    outdated.mark(KEY, raw("10"))
    assert len(outdated) == 0
    assert not outdated.caught_up(KEY)


@virtual_time
async def test_pass_sees_what_the_pass_before_it_wrote_however_late_the_watch_is() -> None:
    """Each pass counts one further: with an old object in its hands it would count the same number twice."""

    async def count(request: Request) -> Outcome:
        counted = request.object.get("status", {}).get("count", 0)
        seen.append(counted)
        return requeue(timedelta(0)).writing(StatusWrite({"count": counted + 1}))

    seen: list[int] = []
    async with world() as place:
        await place.create(widget())
        place.watch_lag = timedelta(seconds=3)
        async with place.operating(Toy(count)) as operator:
            await settle(timedelta(minutes=1))
            assert seen == list(range(len(seen)))
            assert 15 <= len(seen) <= 21
            assert operator.metrics.results.keys() == {Result.REQUEUE_AFTER}


@virtual_time
async def test_waiting_for_the_store_holds_no_worker() -> None:
    async def count(request: Request) -> Outcome:
        return requeue(timedelta(0)).writing(StatusWrite({"count": len(toy.requests)}))

    async with world() as place:
        place.watch_lag = timedelta(seconds=5)
        toy = Toy(count)
        await place.create(widget())
        async with place.operating(toy, max_concurrent=1) as operator:
            await until(lambda: toy.passes == 1)
            operator.controller.wake(KEY)
            await asyncio.sleep(1)
            assert operator.controller.queue.running() == []
            assert toy.passes == 1


@virtual_time
async def test_conflict_waits_for_the_store_instead_of_running_into_it_again() -> None:
    async with world() as place:
        toy = Toy(observe_generation)
        await place.create(widget())
        async with place.operating(toy) as operator:
            await settle()
            place.watch_lag = timedelta(seconds=5)
            await place.patch({"spec": {"size": 2}})
            await asyncio.sleep(1)
            await place.patch({"spec": {"size": 3}})
            await settle(timedelta(minutes=1))
            # The first event brings an object that is old already; the second comes five seconds after it.
            assert operator.metrics.results == {Result.SUCCESS: 2, Result.REQUEUE: 1}
            assert (await place.get())["status"] == {"observedGeneration": 3}


@virtual_time
async def test_watch_that_is_later_than_patience_lasts_delays_passes_and_does_no_harm() -> None:
    async with world() as place:
        toy = Toy(observe_generation)
        await place.create(widget())
        async with place.operating(toy, finalizer=FINALIZER) as operator:
            place.watch_lag = timedelta(minutes=1)
            await until(lambda: operator.journal.writes() == ["PATCH widgets"])
            await settle(timedelta(minutes=10))
            assert (await place.get())["status"] == {"observedGeneration": 1}
            assert (operator.metrics.counts, operator.events) == ({}, [])
            assert toy.passes == 1
            assert len(operator.journal.writes()) < 10


@virtual_time
async def test_pass_that_asks_an_unsynced_store_is_repeated_quietly() -> None:
    store = Store(WIDGET)

    async def look(request: Request) -> Outcome:
        store.get(KEY)
        return done()

    async with world() as place:
        toy = Toy(look)
        await place.create(widget())
        async with place.operating(toy) as operator:
            await settle()
            assert set(operator.metrics.results) == {Result.REQUEUE}
            store.mark_synced()
            await settle(timedelta(seconds=10))
            assert operator.metrics.results[Result.SUCCESS] == 1
            assert (operator.metrics.counts, operator.events) == ({}, [])
