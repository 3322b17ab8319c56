"""Changes that were handed in by one pass, and what later passes learn about them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgekeeper.cloud.outbox import News, Outbox, Owner
from edgekeeper.cloud.ticket import Ticket
from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.errors import STALL_INTERVAL, Cause, Conflict, PassError, Retry, Stall, Wait
from kubesim.virtual import virtual_time

SHOP, BLOG = Owner("uid-shop", 1), Owner("uid-blog", 1)
A, B, C = ("Z1", "a"), ("Z1", "b"), ("Z1", "c")

Place = tuple[str, str]


class Scene:
    """An outbox, and writers that answer when they are told to."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.outbox: Outbox[Place, str, str] = Outbox(self.clock, self._counts_as_made)
        self.woken: list[str] = []

    def submit(
        self, place: Place, owner: Owner = SHOP, change: str = "add", tickets: int = 1
    ) -> list[Ticket[str]]:
        made: list[Ticket[str]] = [Ticket("zone Z1") for _ in range(tickets)]
        self.outbox.submit(owner, place, change, made, lambda: self.woken.append(owner.uid))
        return made

    def refuse(self, place: Place, owner: Owner = SHOP, reason: str = "Taken") -> None:
        (ticket,) = self.submit(place, owner)
        ticket.fail(Stall(reason, f"not {place[1]}"))

    def fail(self, error: PassError, place: Place = A) -> PassError:
        """Hand in, fail, and return what the pass is told."""
        (ticket,) = self.submit(place)
        ticket.fail(error)
        failure = self.outbox.collect(SHOP).failure
        assert failure is not None
        return failure

    @staticmethod
    def _counts_as_made(change: str, error: PassError) -> bool:
        return change == "remove" and error.reason == "NoZone"


def _answers(news: News[Place, str, str]) -> list[tuple[Place, tuple[str, ...]]]:
    return [(answer.place, answer.results) for answer in news.answers]


def _refusals(scene: Scene, owner: Owner = SHOP) -> list[Place]:
    return [refusal.place for refusal in scene.outbox.collect(owner).refusals]


@virtual_time
async def test_outbox_change_is_pending_until_all_its_writers_have_answered() -> None:
    scene = Scene()
    first, second = scene.submit(A, tickets=2)
    first.resolve("one")
    assert scene.outbox.collect(SHOP) == News(pending=True)
    second.resolve("two")
    assert _answers(scene.outbox.collect(SHOP)) == [(A, ("one", "two"))]


@virtual_time
async def test_outbox_wakes_the_owner_at_each_answer_and_nobody_else() -> None:
    scene = Scene()
    (mine,), _ = scene.submit(A), scene.submit(B, BLOG)
    assert scene.woken == []
    mine.fail(Stall("Taken", "no"))
    assert scene.woken == [SHOP.uid]


@virtual_time
async def test_outbox_change_that_needs_no_writer_is_answered_at_once() -> None:
    scene = Scene()
    scene.submit(A, tickets=0)
    assert scene.woken == [SHOP.uid]
    assert _answers(scene.outbox.collect(SHOP)) == [(A, ())]


@virtual_time
async def test_outbox_answer_is_kept_until_it_is_settled() -> None:
    scene = Scene()
    scene.submit(A)[0].resolve("one")
    for _ in range(3):
        assert _answers(scene.outbox.collect(SHOP)) == [(A, ("one",))]
        assert [answer.results for answer in scene.outbox.answers(SHOP.uid)] == [("one",)]
    scene.outbox.settle(SHOP.uid, A, B)
    assert scene.outbox.collect(SHOP) == News()


@virtual_time
async def test_outbox_later_change_of_a_place_replaces_the_earlier_one() -> None:
    scene = Scene()
    scene.submit(A)[0].resolve("old")
    (later,) = scene.submit(A)
    assert scene.outbox.collect(SHOP) == News(pending=True)
    later.resolve("new")
    assert _answers(scene.outbox.collect(SHOP)) == [(A, ("new",))]


@virtual_time
async def test_outbox_looking_at_the_answers_has_no_effect() -> None:
    scene = Scene()
    scene.submit(A)[0].resolve("one")
    scene.refuse(B)
    scene.submit(C)
    assert [answer.place for answer in scene.outbox.answers(SHOP.uid)] == [A]
    news = scene.outbox.collect(SHOP)
    assert [refusal.place for refusal in news.newly_refused] == [B]
    assert news.pending


@virtual_time
async def test_outbox_refusals_stand_together_for_a_while_in_the_order_of_their_places() -> None:
    scene = Scene()
    scene.refuse(B)
    assert _refusals(scene) == [B]
    scene.clock.advance(STALL_INTERVAL / 2)
    scene.refuse(A)
    assert _refusals(scene) == [A, B]
    scene.clock.advance(STALL_INTERVAL / 2)
    assert _refusals(scene) == [A]
    scene.clock.advance(STALL_INTERVAL / 2)
    assert _refusals(scene) == []


@virtual_time
async def test_outbox_refusal_is_new_once() -> None:
    scene = Scene()
    scene.refuse(A)
    assert [refusal.error.reason for refusal in scene.outbox.collect(SHOP).newly_refused] == ["Taken"]
    assert scene.outbox.collect(SHOP).newly_refused == ()


@virtual_time
async def test_outbox_refusal_of_an_older_generation_does_not_stand_but_is_reported() -> None:
    scene = Scene()
    scene.refuse(A)
    news = scene.outbox.collect(SHOP._replace(generation=2))
    assert news.refusals == ()
    assert [refusal.place for refusal in news.newly_refused] == [A]
    assert _refusals(scene) == []


@virtual_time
async def test_outbox_places_that_changed_are_reconsidered_for_all_owners() -> None:
    scene = Scene()
    for owner in (SHOP, BLOG):
        scene.refuse(A, owner)
        scene.refuse(B, owner)
        assert _refusals(scene, owner) == [A, B]
    scene.outbox.reconsider(lambda place: place == A)
    assert [_refusals(scene, owner) for owner in (SHOP, BLOG)] == [[B], [B]]


@virtual_time
async def test_outbox_failure_is_reported_once_and_the_change_can_be_handed_in_again() -> None:
    scene = Scene()
    scene.submit(A)[0].fail(Conflict("stale"))
    assert isinstance(scene.outbox.collect(SHOP).failure, Conflict)
    assert scene.outbox.collect(SHOP) == News()


@virtual_time
async def test_outbox_pauses_after_failures_grow_until_something_succeeds() -> None:
    scene = Scene()
    pauses = []
    for _ in range(3):
        failure = scene.fail(Retry("no answer", "DNSError"))
        assert isinstance(failure, Wait)
        pauses.append(failure.after)
    assert pauses == [timedelta(seconds=1), timedelta(seconds=2), timedelta(seconds=4)]
    scene.submit(A)[0].resolve("one")
    scene.outbox.collect(SHOP)
    failure = scene.fail(Retry("no answer", "DNSError"))
    assert isinstance(failure, Wait)
    assert failure.after == timedelta(seconds=1)


@virtual_time
async def test_outbox_failures_of_one_pass_count_once() -> None:
    scene = Scene()
    for place in (A, B, C):
        scene.submit(place)[0].fail(Retry("no answer"))
    scene.outbox.collect(SHOP)
    failure = scene.fail(Retry("no answer"))
    assert isinstance(failure, Wait)
    assert failure.after == timedelta(seconds=2)


@virtual_time
async def test_outbox_failure_keeps_what_is_known_of_it() -> None:
    error = Retry("no answer", "DNSError")
    error.error_type, error.unavailable = "dns_retryable", Cause.UNREACHABLE
    failure = Scene().fail(error)
    assert (failure.reason, failure.message) == ("DNSError", "no answer")
    assert (failure.error_type, failure.unavailable) == ("dns_retryable", Cause.UNREACHABLE)


@virtual_time
async def test_outbox_excused_failure_is_an_answer_without_results() -> None:
    scene = Scene()
    for place, change in ((A, "remove"), (B, "add")):
        scene.submit(place, change=change)[0].fail(Stall("NoZone", "gone"))
    news = scene.outbox.collect(SHOP)
    assert _answers(news) == [(A, ())]
    assert [refusal.place for refusal in news.refusals] == [B]


@virtual_time
async def test_outbox_bug_of_a_writer_ends_one_pass_and_not_all_that_follow() -> None:
    scene = Scene()
    scene.submit(A)[0].fail(RuntimeError("a bug"))
    with pytest.raises(RuntimeError, match="a bug"):
        scene.outbox.collect(SHOP)
    assert scene.outbox.collect(SHOP) == News()


@virtual_time
async def test_outbox_bug_of_one_writer_hides_nothing_of_the_others() -> None:
    scene = Scene()
    scene.refuse(A)
    scene.submit(B)[0].resolve("one")
    scene.submit(C)[0].fail(RuntimeError("a bug"))
    with pytest.raises(RuntimeError, match="a bug"):
        scene.outbox.collect(SHOP)
    news = scene.outbox.collect(SHOP)
    assert [refusal.place for refusal in news.newly_refused] == [A]
    assert _answers(news) == [(B, ("one",))]


@virtual_time
async def test_outbox_forgets_an_owner_and_keeps_the_others() -> None:
    scene = Scene()
    for owner in (SHOP, BLOG):
        scene.submit(A, owner)[0].resolve("one")
        scene.refuse(B, owner)
    scene.outbox.forget(SHOP.uid)
    assert scene.outbox.collect(SHOP) == News()
    news = scene.outbox.collect(BLOG)
    assert (_answers(news), [refusal.place for refusal in news.refusals]) == ([(A, ("one",))], [B])
