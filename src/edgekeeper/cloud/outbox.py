"""Changes that objects have handed in to writers, and the answers, kept until the objects' statuses hold them.

    outbox: Outbox[Place, Entry, Written] = Outbox(clock)
    outbox.submit(Owner(uid, generation), place, entry, [zone.submit(wish)], wake)       in a pass, which then ends
    …
    news = outbox.collect(owner)                                                          in the passes that follow
    outbox.settle(uid, place)                                                             once the status has the answer

An owner has at most one change under way at each place. What became of it is one of four things:

    pending     no answer yet; the owner is woken when there is one
    answered    kept until `settle`, so that a pass that fails in between loses nothing
    refused     (Stall) kept while it need not be tried again: for `STALL_INTERVAL`, in the same generation
    failed      (any other of the four errors) reported once; pauses after `Retry` grow until something succeeds

All of it is memory. After a restart the changes are handed in again, and the writers find that there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Final, Generic, NamedTuple, TypeVar

from edgekeeper.cloud.ticket import Ticket, Waker
from edgekeeper.core.backoff import Backoff
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import STALL_INTERVAL, PassError, Retry, Stall, Wait, fresh

P = TypeVar("P", bound=tuple[str, ...])
"""Where a change is made, such as zone, name and type."""
C = TypeVar("C")
R = TypeVar("R")

_PAUSES: Final = Backoff(first=timedelta(seconds=1), longest=timedelta(minutes=5), jitter=0)


class Owner(NamedTuple):
    """The object that wants a change, in the generation that wants it."""

    uid: str
    generation: int


@dataclass(frozen=True, slots=True)
class Answer(Generic[P, C, R]):
    """A change that was made, and what its writers returned."""

    place: P
    change: C
    results: tuple[R, ...]


@dataclass(frozen=True, slots=True)
class Refusal(Generic[P, C]):
    """A change that was refused."""

    place: P
    change: C
    error: Stall


@dataclass(frozen=True, slots=True)
class News(Generic[P, C, R]):
    """What became of the changes of one owner."""

    answers: tuple[Answer[P, C, R], ...] = ()
    """In the order in which they were handed in. Reported again until they are settled."""
    refusals: tuple[Refusal[P, C], ...] = ()
    """All that stand, in the order of their places."""
    newly_refused: tuple[Refusal[P, C], ...] = ()
    """Those that were not reported before, whether they stand or are of an older generation."""
    failure: PassError | None = None
    """The first failure. A `Retry` is reported as `Wait`, with the pause after which to hand in again."""
    pending: bool = False


@dataclass(frozen=True, slots=True)
class _Submission(Generic[C, R]):
    change: C
    generation: int
    tickets: tuple[Ticket[R], ...]

    @property
    def done(self) -> bool:
        return all(ticket.done for ticket in self.tickets)


@dataclass(frozen=True, slots=True)
class _Standing(Generic[P, C]):
    """A refusal, and for how long it need not be tried again."""

    refusal: Refusal[P, C]
    generation: int
    until: float


def _never(_: object, __: PassError) -> bool:
    return False


class Outbox(Generic[P, C, R]):
    """The changes of all owners, by place. Places can be sorted."""

    def __init__(self, clock: Clock, counts_as_made: Callable[[C, PassError], bool] = _never) -> None:
        """`counts_as_made` says whether a change that met this error counts as made, without results."""
        self._clock = clock
        self._counts_as_made = counts_as_made
        self._submitted: dict[str, dict[P, _Submission[C, R]]] = {}
        self._refused: dict[str, dict[P, _Standing[P, C]]] = {}
        self._failures: dict[str, int] = {}
        """How many times in a row changes of an owner have failed."""

    def submit(self, owner: Owner, place: P, change: C, tickets: Sequence[Ticket[R]], wake: Waker) -> None:
        """Keep the tickets of a change, in place of an earlier one at that place. `wake` is called at each answer.

        A change without tickets needs no writer, and is answered at once.
        """
        submission = _Submission(change, owner.generation, tuple(tickets))
        self._submitted.setdefault(owner.uid, {})[place] = submission
        for ticket in tickets:
            ticket.on_done(wake)
        if not tickets:
            wake()

    def collect(self, owner: Owner) -> News[P, C, R]:
        """What became of the owner's changes. Raise what is none of the four errors: a bug, which ends one pass only."""
        answers: list[Answer[P, C, R]] = []
        refused: list[Refusal[P, C]] = []
        failure, pending = None, False
        submitted = self._submitted.get(owner.uid, {})
        self._raise_bugs(submitted)
        for place, submission in list(submitted.items()):
            if not submission.done:
                pending = True
                continue
            try:
                answers.append(self._answer(place, submission))
            except Stall as error:
                del submitted[place]
                refused.append(self._refuse(owner.uid, place, submission, error))
            except PassError as error:
                del submitted[place]
                failure = failure or self._paused(owner.uid, error)
            else:
                self._failures.pop(owner.uid, None)
        return News(tuple(answers), self._standing(owner), tuple(refused), failure, pending)

    def answers(self, uid: str) -> list[Answer[P, C, R]]:
        """The good answers, without any other effect: for the status of a pass that has failed for another reason."""
        answers: list[Answer[P, C, R]] = []
        for place, submission in self._submitted.get(uid, {}).items():
            if submission.done:
                try:
                    answers.append(self._answer(place, submission))
                except PassError:
                    continue  # reported by `collect`
        return answers

    def settle(self, uid: str, *places: P) -> None:
        """What was done at these places is in the status, or does not matter any more."""
        submitted = self._submitted.get(uid, {})
        for place in places:
            submitted.pop(place, None)

    def reconsider(self, matches: Callable[[P], bool]) -> None:
        """Something has changed at some places: what was refused there may be tried again at once, by any owner."""
        for refused in self._refused.values():
            for place in [place for place in refused if matches(place)]:
                del refused[place]

    def forget(self, uid: str) -> None:
        """The owner is gone. What is under way is written all the same."""
        for memory in (self._submitted, self._refused, self._failures):
            memory.pop(uid, None)

    def _raise_bugs(self, submitted: dict[P, _Submission[C, R]]) -> None:
        """Raise what is none of the four errors, once, before anything else is taken out."""
        for place, submission in list(submitted.items()):
            try:
                if submission.done:
                    self._answer(place, submission)
            except PassError:
                continue  # `collect` reports it
            except Exception:
                del submitted[place]
                raise

    def _answer(self, place: P, submission: _Submission[C, R]) -> Answer[P, C, R]:
        try:
            results = tuple(ticket.result() for ticket in submission.tickets)
        except PassError as error:
            if not self._counts_as_made(submission.change, error):
                raise
            results = ()
        return Answer(place, submission.change, results)

    def _refuse(self, uid: str, place: P, submission: _Submission[C, R], error: Stall) -> Refusal[P, C]:
        refusal = Refusal(place, submission.change, fresh(error))
        until = self._clock.monotonic() + STALL_INTERVAL.total_seconds()
        self._refused.setdefault(uid, {})[place] = _Standing(refusal, submission.generation, until)
        return refusal

    def _standing(self, owner: Owner) -> tuple[Refusal[P, C], ...]:
        """The refusals that still stand. The others are forgotten."""
        now, refused = self._clock.monotonic(), self._refused.pop(owner.uid, {})
        standing = {
            place: entry
            for place, entry in sorted(refused.items())
            if now < entry.until and entry.generation == owner.generation
        }
        if standing:
            self._refused[owner.uid] = standing
        return tuple(entry.refusal for entry in standing.values())

    def _paused(self, uid: str, failure: PassError) -> PassError:
        """Handing changes in is a pass that succeeds: after it the queue would begin with its shortest pause again."""
        if not isinstance(failure, Retry):
            return failure
        failures = self._failures[uid] = self._failures.get(uid, 0) + 1
        wait = Wait(_PAUSES.delay(failures, Random(0)), failure.reason, failure.message)
        wait.error_type, wait.unavailable = failure.error_type, failure.unavailable
        return wait
