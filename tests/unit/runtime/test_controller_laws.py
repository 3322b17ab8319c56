"""The laws of the controller, on the embedded server, in virtual time."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekeeper.core.errors import Conflict, Retry, Stall, Wait
from edgekeeper.core.outcome import Event, Outcome, StatusWrite, done, requeue
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.contract import Request, Result
from kubesim.virtual import run_virtual, virtual_time
from tests.unit.runtime.world import KEY, Toy, observe_generation, settle, until, widget, world


@virtual_time
async def test_controller_never_runs_two_passes_of_one_key_at_once() -> None:
    running = most = 0

    async def slow(request: Request) -> Outcome:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(3)
        running -= 1
        return done()

    async with world() as place:
        toy = Toy(slow)
        await place.create(widget(size=1))
        async with place.operating(toy):
            for size in range(20):
                await place.patch({"spec": {"size": size}})
                await asyncio.sleep(1)
            await until(lambda: running == 0)
    assert most == 1
    assert toy.passes < 10
    assert toy.requests[-1].object["spec"]["size"] == 19


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_controller_loses_no_wake_up(seed: int) -> None:
    """Whenever the last change came, before, during or after a pass: the last pass has seen it."""

    async def scenario() -> None:
        random = Random(seed)

        async def dawdle(request: Request) -> Outcome:
            await asyncio.sleep(random.choice([0, 0.01, 0.5, 2]))
            if random.random() < 0.2:
                raise Retry("again")
            return done()

        async with world() as place:
            toy = Toy(dawdle)
            await place.create(widget(size=0))
            async with place.operating(toy):
                for size in range(1, 15):
                    await asyncio.sleep(random.choice([0, 0.005, 0.3, 1, 3]))
                    await place.patch({"spec": {"size": size}})
                await settle(timedelta(minutes=30))
                assert toy.requests[-1].object["spec"]["size"] == 14

    run_virtual(scenario, seed=seed)


@virtual_time
async def test_own_status_write_causes_no_further_pass() -> None:
    async with world() as place:
        toy = Toy(observe_generation)
        await place.create(widget(size=1))
        async with place.operating(toy) as operator:
            await settle(timedelta(hours=1))
            assert toy.passes == 1
            assert operator.journal.writes() == ["PATCH widgets/status"]
            assert (await place.get())["status"] == {"observedGeneration": 1}


@virtual_time
async def test_controller_looks_at_a_settled_object_again_after_the_resync_interval() -> None:
    async with world() as place:
        toy = Toy()
        await place.create(widget())
        async with place.operating(toy, resync=timedelta(hours=1), resync_jitter=0.2):
            await settle(timedelta(hours=24, minutes=1))
    assert 24 <= toy.passes - 1 <= 30
    pauses = [later - earlier for earlier, later in zip(toy.times, toy.times[1:], strict=False)]
    assert min(pauses) >= 0.8 * 3600
    assert max(pauses) <= 3600


@virtual_time
async def test_backoff_is_reset_by_success_and_by_nothing_else() -> None:
    endings: list[Exception | Outcome] = [
        *[Retry("no")] * 6,
        Wait(timedelta(seconds=1), "Busy"),
        Retry("no"),
        Conflict(),
        Retry("no"),
        Stall("Broken", "call somebody", timedelta(seconds=1)),
        Retry("no"),
        requeue(timedelta(seconds=1)),
        Retry("no"),
        Retry("no"),
        done(),
    ]
    plan = iter(endings)

    async def act(request: Request) -> Outcome:
        ending = next(plan)
        if isinstance(ending, Exception):
            raise ending
        return ending

    async with world() as place:
        toy = Toy(act)
        await place.create(widget())
        async with place.operating(toy) as operator:
            await settle(timedelta(minutes=1))
    assert toy.passes == len(endings)
    pauses = [later - earlier for earlier, later in zip(toy.times, toy.times[1:], strict=False)]
    after_failure = [
        pause for pause, ending in zip(pauses, endings, strict=False) if isinstance(ending, Retry)
    ]
    for number, pause in enumerate(after_failure[:-2]):
        longest = 0.005 * 2 ** (number if number < 7 else number + 1)  # the conflict counts as well
        assert 0.8 * longest <= pause <= longest + 0.001
    assert after_failure[-2] <= 0.006
    assert operator.metrics.results == {
        Result.ERROR: 11,
        Result.REQUEUE_AFTER: 3,
        Result.REQUEUE: 1,
        Result.SUCCESS: 1,
    }
    assert operator.metrics.counts == {"failed": 11, "stalled": 1}


@virtual_time
async def test_terminal_errors_are_not_hot_looped() -> None:
    async def stall(request: Request) -> Outcome:
        raise Stall("InvalidSpec", "the spec makes no sense")

    async with world() as place:
        toy = Toy(stall)
        await place.create(widget())
        async with place.operating(toy) as operator:
            await settle(timedelta(hours=1, seconds=30))
            assert toy.passes == 1 + 12
            assert operator.metrics.counts["stalled"] == 13
            assert operator.metrics.counts["failed"] == 0


@virtual_time
async def test_new_generation_never_waits_for_an_old_mistake() -> None:
    async def act(request: Request) -> Outcome:
        if request.object["spec"]["mood"] == "stalled":
            raise Stall("InvalidSpec", "the spec makes no sense", timedelta(days=1))
        if request.object["spec"]["mood"] == "failing":
            raise Retry("not today")
        return done()

    async with world() as place:
        for mood in ("stalled", "failing"):
            toy = Toy(act)
            key = Key("default", mood)
            await place.create(widget(key, mood=mood))
            async with place.operating(toy):
                await settle(timedelta(hours=1))
                before = toy.passes
                await place.patch({"spec": {"mood": "good"}}, key)
                await settle(timedelta(seconds=1))
                assert toy.passes == before + 1
                assert toy.requests[-1].object["spec"]["mood"] == "good"
            await place.delete(key)


@virtual_time
async def test_paused_objects_are_left_alone() -> None:
    async with world() as place:
        toy = Toy(observe_generation)
        await place.create(widget(metadata={"annotations": {"edgekeeper.io/paused": "true"}}))
        async with place.operating(toy, finalizer="example.com/cleanup") as operator:
            await settle()
            await place.patch({"spec": {"size": 2}})
            await settle()
            assert toy.passes == 0
            assert operator.journal.writes() == []
            await place.patch({"metadata": {"annotations": {"edgekeeper.io/paused": None}}})
            await until(lambda: toy.passes == 1)
            await settle()
            assert (await place.get())["status"] == {"observedGeneration": 2}


@virtual_time
async def test_object_that_is_nested_too_deeply_stalls_alone_and_can_be_deleted() -> None:
    async with world() as place:
        toy = Toy(observe_generation)
        deep, other = Key("default", "deep"), Key("default", "other")
        await place.create(widget(deep, mood="edgekeeper.io/nested-too-deeply"))
        await place.create(widget(other))
        async with place.operating(toy, finalizer="example.com/cleanup") as operator:
            await settle()
            assert {request.key for request in toy.requests} == {other}
            assert operator.metrics.counts["stalled"] == 1
            assert operator.metrics.counts["failed"] == 0
            assert "status" not in await place.get(deep)
            await place.patch({"spec": {"mood": "good"}}, deep)
            await until(lambda: toy.requests[-1].key == deep)
            await place.patch({"spec": {"mood": "edgekeeper.io/nested-too-deeply"}}, deep)
            await settle()
            await place.delete(deep)
            await settle()
            with pytest.raises(NotFoundError):
                await place.get(deep)


@virtual_time
async def test_metadata_that_matters_causes_a_pass() -> None:
    async with world() as place:
        toy = Toy()
        await place.create(widget())
        async with place.operating(toy):
            await settle()
            for passes, metadata in enumerate(
                ({"labels": {"a": "b"}}, {"annotations": {"a": "b"}}, {"finalizers": ["x.example.com/y"]}), 2
            ):
                await place.patch({"metadata": metadata})
                await settle()
                assert toy.passes == passes
            await place.patch({"status": {"a": "b"}}, subresource="status")
            await settle()
            assert toy.passes == 4


@virtual_time
async def test_status_changes_cause_passes_where_the_predicate_is_off() -> None:
    async with world() as place:
        toy = Toy()
        await place.create(widget())
        async with place.operating(toy, generation_predicate=False):
            await settle()
            await place.patch({"status": {"by": "somebody else"}}, subresource="status")
            await settle()
    assert toy.passes == 2


@virtual_time
async def test_events_are_told_once_the_write_has_succeeded() -> None:
    told = Event("Normal", "Grown", "it has grown")

    async def act(request: Request) -> Outcome:
        if len(toy.requests) == 1:
            await place.patch({"metadata": {"labels": {"somebody": "was-quicker"}}})
        return done().writing(StatusWrite({"size": 1})).with_events(told)

    async with world() as place:
        toy = Toy(act)
        await place.create(widget())
        async with place.operating(toy) as operator:
            await until(lambda: toy.passes == 2)
            await settle()
            assert operator.events == [told]
            assert operator.metrics.results == {Result.REQUEUE: 1, Result.SUCCESS: 1}


@virtual_time
async def test_woken_key_of_an_object_that_is_gone_leaves_nothing_behind() -> None:
    async with world() as place:
        toy = Toy()
        async with place.operating(toy) as operator:
            await settle()
            for number in range(100):
                operator.controller.wake(Key("default", f"ghost-{number}"))
            await settle()
            assert toy.passes == 0
            assert operator.controller.queue.size == 0


@virtual_time
async def test_wake_causes_a_pass_when_it_is_due() -> None:
    async with world() as place:
        toy = Toy()
        await place.create(widget())
        async with place.operating(toy) as operator:
            await settle()
            began = asyncio.get_running_loop().time()
            operator.controller.wake(KEY, after=timedelta(seconds=30))
            await settle(timedelta(minutes=1))
    assert [round(time - began) for time in toy.times[1:]] == [30]
