"""The one write of a pass, against the embedded server: how often, on what, and what others' writes do to it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekeeper.core.calls import CallRecord
from edgekeeper.core.errors import Conflict, Retry, Stall, Wait
from edgekeeper.core.outcome import (
    ApplyWrite,
    Event,
    MetadataWrite,
    Outcome,
    StatusWrite,
    Write,
    done,
    requeue,
)
from edgekeeper.kube.client import ClientOptions
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.lease import LostLeadershipError
from edgekeeper.kube.transport import TransportError
from edgekeeper.runtime.contract import Request, Result
from kubesim.virtual import run_virtual, virtual_time
from tests.unit.runtime.world import (
    FINALIZER,
    KEY,
    WIDGET,
    Toy,
    World,
    observe_generation,
    settle,
    until,
    widget,
    world,
)


@virtual_time
async def test_nothing_is_written_when_nothing_has_changed() -> None:
    conditions = [{"type": name, "status": "True"} for name in ("Ready", "Synced", "Stalled")]

    async def act(request: Request) -> Outcome:
        conditions.reverse()
        return requeue(timedelta(minutes=1)).writing(StatusWrite({"conditions": conditions}))

    async with world() as place:
        toy = Toy(act)
        await place.create(widget())
        async with place.operating(toy) as operator:
            await settle(timedelta(hours=2))
            assert toy.passes > 100
            assert operator.journal.writes() == ["PATCH widgets/status"]


@virtual_time
async def test_writing_into_the_requests_object_does_not_hide_the_change() -> None:
    async def act(request: Request) -> Outcome:
        request.object.setdefault("status", {})["size"] = 1
        return done().writing(StatusWrite(request.object["status"]))

    async with world() as place:
        await place.create(widget())
        async with place.operating(Toy(act)):
            await settle()
            assert (await place.get())["status"] == {"size": 1}


class OneWriteLaw:
    """A hook and a metric at once: no second write may begin before the next pass does."""

    def __init__(self) -> None:
        self.since_pass = 0
        self.writes = 0

    async def before(self, call: CallRecord) -> None:
        if call.mutating:
            self.since_pass += 1
            self.writes += 1
            assert self.since_pass <= 1, f"a second write in one pass: {call}"

    async def after(self, call: CallRecord) -> None: ...

    def pass_begins(self) -> None:
        self.since_pass = 0


def random_write(random: Random) -> Write | None:
    number = random.randrange(3)
    return random.choice(
        [
            None,
            StatusWrite({"number": number}),
            MetadataWrite(labels={"number": str(number)}),
            MetadataWrite(annotations={"number": random.choice([None, "1"])}),
            MetadataWrite(add_finalizers=("x.example.com/y",), remove_finalizers=("x.example.com/z",)),
            ApplyWrite({"spec": {"number": number}}, "random"),
        ]
    )


def random_ending(random: Random) -> Outcome:
    error = random.choice(
        [
            None,
            None,
            None,
            Retry("no"),
            Conflict(),
            Wait(timedelta(seconds=1), "Busy"),
            Stall("Broken", "broken", timedelta(seconds=3)),
            ValueError("a mistake"),
        ]
    )
    if error is not None:
        raise error
    outcome = random.choice([done(), requeue(timedelta(0)), requeue(timedelta(seconds=2))])
    write = random_write(random)
    return outcome if write is None else outcome.writing(write)


class RandomReconciler:
    """Does anything that a reconciler may do."""

    def __init__(self, random: Random, law: OneWriteLaw) -> None:
        self._random = random
        self._law = law

    async def reconcile(self, request: Request) -> Outcome:
        self._law.pass_begins()
        await asyncio.sleep(self._random.choice([0, 0.1, 1]))
        return random_ending(self._random)

    async def finalize(self, request: Request) -> Outcome:
        return await self.reconcile(request)

    def explain(self, request: Request, error: Exception) -> Outcome:
        write = random_write(self._random)
        return done() if write is None else done().writing(write)


async def release_foreign_finalizers(place: World) -> None:
    with suppress(NotFoundError):
        present = (await place.get())["metadata"].get("finalizers", [])
        await place.patch({"metadata": {"finalizers": [name for name in present if name == FINALIZER]}})


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_pass_writes_its_object_at_most_once_whatever_the_reconciler_does(seed: int) -> None:
    async def scenario() -> None:
        random, law = Random(seed), OneWriteLaw()
        async with world() as place:
            await place.create(widget(metadata={"finalizers": [FINALIZER]}))
            async with place.operating(
                RandomReconciler(random, law), hooks=[law], finalizer=FINALIZER
            ) as operator:
                for number in range(20):
                    await asyncio.sleep(random.choice([0, 0.05, 1, 5]))
                    await place.patch({"spec": {"user": number}})
                await settle(timedelta(minutes=1))
                await place.delete()
                await settle(timedelta(minutes=1))
                await release_foreign_finalizers(place)
                await settle(timedelta(hours=12))
                with pytest.raises(NotFoundError):
                    await place.get()
                assert operator.controller.queue.size == 0
            assert law.writes > 0

    run_virtual(scenario, seed=seed)


@virtual_time
async def test_conflict_is_a_quiet_reading_anew() -> None:
    async def act(request: Request) -> Outcome:
        if len(toy.requests) <= 3:
            await place.patch({"metadata": {"labels": {"writer": str(len(toy.requests))}}})
        return done().writing(StatusWrite({"seen": request.object["metadata"].get("labels", {})}))

    async with world() as place:
        toy = Toy(act)
        await place.create(widget())
        async with place.operating(toy) as operator:
            await until(lambda: operator.metrics.results[Result.SUCCESS] == 1)
            assert operator.metrics.results == {Result.REQUEUE: 3, Result.SUCCESS: 1}
            assert operator.metrics.counts == {}
            assert operator.events == []
            assert (await place.get())["status"] == {"seen": {"writer": "3"}}


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(StatusWrite({"size": 1}), id="status"),
        pytest.param(MetadataWrite(labels={"a": "b"}), id="metadata"),
        pytest.param(ApplyWrite({"spec": {"size": 2}}, "sizer"), id="apply"),
    ],
)
@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted and created anew"])
def test_deleted_object_is_never_resurrected(write: Write, again: bool) -> None:
    async def scenario() -> None:
        async def act(request: Request) -> Outcome:
            if len(toy.requests) > 1:
                return done()
            await place.delete()
            if again:
                await place.create(widget(size=1))
            return done().writing(write)

        async with world() as place:
            toy = Toy(act)
            await place.create(widget(size=1))
            async with place.operating(toy) as operator:
                await settle(timedelta(minutes=1))
                if again:
                    obj = await place.get()
                    assert (obj["spec"], obj.get("status"), obj["metadata"].get("labels")) == (
                        {"size": 1},
                        None,
                        None,
                    )
                else:
                    with pytest.raises(NotFoundError):
                        await place.get()
                assert len(operator.journal.writes()) == 1
                assert operator.metrics.counts == {}

    run_virtual(scenario)


@virtual_time
async def test_object_that_the_server_refuses_stalls() -> None:
    async def act(request: Request) -> Outcome:
        return done().writing(MetadataWrite(labels={"not a label": "x"}))

    async with world() as place:
        toy = Toy(act)
        await place.create(widget())
        async with place.operating(toy) as operator:
            await settle(timedelta(minutes=1))
            assert toy.passes == 1
            assert operator.metrics.counts == {"stalled": 1}
            assert [(event.type, event.reason) for event in operator.events] == [("Warning", "InvalidObject")]


@virtual_time
async def test_status_that_is_no_json_is_a_mistake_like_any_other() -> None:
    async def act(request: Request) -> Outcome:
        return (
            done()
            .writing(StatusWrite({"size": object()}))
            .with_events(Event("Normal", "Grown", "it has grown"))
        )

    async with world() as place:
        await place.create(widget())
        async with place.operating(Toy(act)) as operator:
            await settle()
            assert set(operator.metrics.results) == {Result.ERROR}
            assert operator.metrics.counts["panicked"] == operator.metrics.counts["failed"] > 1
            assert operator.events == []


@virtual_time
async def test_apply_without_force_stalls_where_others_own_the_fields() -> None:
    async def act(request: Request) -> Outcome:
        return done().writing(ApplyWrite({"spec": {"size": 2}}, "sizer", force=False))

    async with world() as place:
        toy = Toy(act)
        await place.user.apply(WIDGET, KEY, {"spec": {"size": 1}}, manager="somebody")
        async with place.operating(toy) as operator:
            await settle(timedelta(minutes=1))
            assert toy.passes == 1
            assert operator.metrics.counts == {"stalled": 1}
            assert (await place.get())["spec"] == {"size": 1}


class LostAnswers:
    """Breaks the first `count` writes after they took effect, or before."""

    def __init__(self, count: int, *, after: bool) -> None:
        self._count = count
        self._after = after

    async def before(self, call: CallRecord) -> None:
        if not self._after:
            self._break(call)

    async def after(self, call: CallRecord) -> None:
        if self._after:
            self._break(call)

    def _break(self, call: CallRecord) -> None:
        if call.mutating and self._count:
            self._count -= 1
            raise TransportError("the connection broke")


@pytest.mark.parametrize("after", [False, True], ids=["before the effect", "after the effect"])
def test_lost_answer_of_a_write_is_survived(after: bool) -> None:
    async def scenario() -> None:
        async with world() as place:
            toy = Toy(observe_generation)
            await place.create(widget())
            async with place.operating(toy, hooks=[LostAnswers(2, after=after)]) as operator:
                await settle(timedelta(minutes=1))
                assert (await place.get())["status"] == {"observedGeneration": 1}
                assert operator.metrics.results[Result.SUCCESS] == 1
                assert operator.metrics.counts["failed"] == (1 if after else 2)

    run_virtual(scenario)


@virtual_time
async def test_write_without_leadership_is_refused_quietly() -> None:
    def refuse() -> None:
        raise LostLeadershipError("somebody else may be leading")

    async with world() as place:
        await place.create(widget())
        async with place.operating(Toy(observe_generation)) as operator:
            operator.services.client.leadership = refuse
            await settle()
            assert set(operator.metrics.results) == {Result.REQUEUE}
            assert (operator.metrics.counts, operator.events) == ({}, [])
            assert "status" not in await place.get()


class Spec(msgspec.Struct):
    size: int


class Widget(msgspec.Struct):
    spec: Spec


@virtual_time
async def test_reconciler_may_read_its_object_as_a_type_of_its_own() -> None:
    async def act(request: Request) -> Outcome:
        return done().writing(StatusWrite({"size": request.decode(Widget).spec.size}))

    async with world() as place:
        await place.create(widget(size=3))
        async with place.operating(Toy(act)):
            await settle()
            assert (await place.get())["status"] == {"size": 3}


@virtual_time
async def test_dry_run_decides_everything_and_writes_nothing() -> None:
    async def clean(request: Request) -> Outcome:
        return done().writing(StatusWrite({"step": len(toy.requests)}))

    async with world() as place:
        toy = Toy(observe_generation, clean)
        created = await place.create(widget())
        dry = ClientOptions(dry_run=True)
        async with place.operating(toy, finalizer=FINALIZER, client=dry):
            await settle(timedelta(minutes=10))
            assert toy.passes == 1
            assert await place.get() == created
            await place.patch({"metadata": {"finalizers": [FINALIZER]}})
            await place.delete()
            await settle(timedelta(minutes=10))
            assert (await place.get())["metadata"]["finalizers"] == [FINALIZER]


@virtual_time
async def test_dry_run_does_not_spin_on_what_it_did_not_write() -> None:
    async def act(request: Request) -> Outcome:
        return requeue(timedelta(0)).writing(StatusWrite({"step": 1}))

    async with world() as place:
        toy = Toy(act)
        await place.create(widget())
        async with place.operating(toy, client=ClientOptions(dry_run=True)):
            await settle(timedelta(minutes=10))
            assert 1 < toy.passes <= 21
