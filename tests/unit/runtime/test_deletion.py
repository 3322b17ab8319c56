"""Finalizers and the way an object goes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgekeeper.core.errors import Retry
from edgekeeper.core.outcome import MetadataWrite, Outcome, StatusWrite, done, requeue
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.runtime.contract import Request
from edgekeeper.runtime.finalizers import changed_finalizers, claim, has_finalizer, is_deleting, release
from kubesim.virtual import virtual_time
from tests.unit.runtime.world import FINALIZER, KEY, Toy, observe_generation, settle, until, widget, world

OTHER = "example.com/other"


def test_finalizers_of_others_keep_their_place() -> None:
    obj = {"metadata": {"finalizers": ["a", FINALIZER, "b"]}}
    assert has_finalizer(obj, FINALIZER)
    assert changed_finalizers(obj, release(FINALIZER)) == ["a", "b"]
    assert changed_finalizers(obj, claim(FINALIZER)) == ["a", FINALIZER, "b"]
    assert changed_finalizers(obj, MetadataWrite(add_finalizers=("c", "c"))) == ["a", FINALIZER, "b", "c"]


def test_finalizers_are_not_added_to_what_is_being_deleted() -> None:
    obj = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a"]}}
    assert is_deleting(obj)
    assert changed_finalizers(obj, claim(FINALIZER)) == ["a"]


def test_controller_with_a_finalizer_needs_a_reconciler_that_can_clean_up() -> None:
    class Careless:
        async def reconcile(self, request: Request) -> Outcome:
            return done()

    @virtual_time
    async def scenario() -> None:
        async with world() as place, place.operating(Careless(), finalizer=FINALIZER):
            pass

    with pytest.raises(TypeError, match="needs `finalize`"):
        scenario()


@virtual_time
async def test_object_is_claimed_before_anything_is_made_for_it() -> None:
    async with world() as place:
        toy = Toy(observe_generation)
        await place.create(widget(metadata={"finalizers": [OTHER]}))
        async with place.operating(toy, finalizer=FINALIZER) as operator:
            await settle()
            assert operator.journal.writes() == ["PATCH widgets", "PATCH widgets/status"]
            assert [has_finalizer(request.object, FINALIZER) for request in toy.requests] == [True]
            assert (await place.get())["metadata"]["finalizers"] == [OTHER, FINALIZER]


@virtual_time
async def test_object_goes_when_nothing_is_left_to_clean_up() -> None:
    steps = iter([requeue(timedelta(seconds=10)), requeue(timedelta(0)), done()])

    async def clean(request: Request) -> Outcome:
        assert request.deleting
        return next(steps)

    async with world() as place:
        toy = Toy(observe_generation, clean)
        await place.create(widget())
        async with place.operating(toy, finalizer=FINALIZER) as operator:
            await settle()
            await place.delete()
            await settle()
            assert is_deleting(await place.get())
            await settle(timedelta(seconds=20))
            with pytest.raises(NotFoundError):
                await place.get()
            assert toy.passes == 1 + 3
            assert operator.journal.writes()[2:] == ["PATCH widgets"]
            await settle(timedelta(hours=11))
            assert operator.controller.queue.size == 0


@virtual_time
async def test_cleaning_up_goes_on_after_recording_progress() -> None:
    """An outcome with a write is not the end, though it asks for nothing more: the next pass has nothing to write."""

    async def clean(request: Request) -> Outcome:
        return done().writing(StatusWrite({"removed": ["tunnel"]}))

    async with world() as place:
        toy = Toy(clean=clean)
        await place.create(widget())
        async with place.operating(toy, finalizer=FINALIZER) as operator:
            await settle()
            await place.delete()
            await settle(timedelta(minutes=1))
            with pytest.raises(NotFoundError):
                await place.get()
            assert operator.journal.writes() == ["PATCH widgets", "PATCH widgets/status", "PATCH widgets"]


@virtual_time
async def test_reconciler_may_let_go_by_itself() -> None:
    async def clean(request: Request) -> Outcome:
        return done().writing(MetadataWrite(remove_finalizers=(FINALIZER,), labels={"cleaned": "yes"}))

    async with world() as place:
        toy = Toy(clean=clean)
        await place.create(widget(metadata={"finalizers": [OTHER]}))
        async with place.operating(toy, finalizer=FINALIZER):
            await settle()
            await place.delete()
            await settle(timedelta(minutes=1))
            metadata = (await place.get())["metadata"]
            assert (metadata["finalizers"], metadata["labels"]) == ([OTHER], {"cleaned": "yes"})


@virtual_time
async def test_finalizer_stays_while_cleaning_up_fails() -> None:
    async def clean(request: Request) -> Outcome:
        raise Retry("cannot delete tunnel: not now")

    async with world() as place:
        toy = Toy(clean=clean)
        await place.create(widget())
        async with place.operating(toy, finalizer=FINALIZER):
            await settle()
            await place.delete()
            await settle(timedelta(hours=1))
            assert has_finalizer(await place.get(), FINALIZER)
            assert toy.passes > 10


@virtual_time
async def test_object_that_others_hold_is_left_alone_once_we_let_go() -> None:
    async with world() as place:
        toy = Toy(observe_generation)
        await place.create(widget(metadata={"finalizers": [OTHER]}))
        async with place.operating(toy, finalizer=FINALIZER) as operator:
            await settle()
            await place.delete()
            await settle()
            passes, writes = toy.passes, len(operator.journal.writes())
            await place.patch({"metadata": {"labels": {"still": "here"}}})
            await settle(timedelta(hours=24))
            assert (toy.passes, len(operator.journal.writes())) == (passes, writes)
            assert (await place.get())["metadata"]["finalizers"] == [OTHER]


@virtual_time
async def test_object_that_is_deleted_before_it_was_claimed_is_never_claimed() -> None:
    async with world() as place:
        toy = Toy(observe_generation)
        await place.create(widget(metadata={"finalizers": [OTHER]}))
        await place.delete()
        async with place.operating(toy, finalizer=FINALIZER) as operator:
            await settle()
            assert (toy.passes, operator.journal.writes()) == (0, [])


@virtual_time
async def test_finalizer_that_somebody_took_away_is_claimed_again() -> None:
    async with world() as place:
        toy = Toy(observe_generation)
        await place.create(widget())
        async with place.operating(toy, finalizer=FINALIZER):
            await settle()
            await place.patch({"metadata": {"finalizers": None}})
            await settle()
            assert has_finalizer(await place.get(), FINALIZER)


@virtual_time
async def test_deletion_while_a_pass_runs_is_noticed_at_its_end() -> None:
    async def act(request: Request) -> Outcome:
        await place.delete()
        return done().writing(StatusWrite({"made": "something"}))

    async with world() as place:
        toy = Toy(act)
        await place.create(widget(metadata={"finalizers": [FINALIZER]}))
        async with place.operating(toy, finalizer=FINALIZER):
            await until(lambda: toy.passes == 2)
            await settle()
            assert [request.deleting for request in toy.requests] == [False, True]
            with pytest.raises(NotFoundError):
                await place.get(KEY)
