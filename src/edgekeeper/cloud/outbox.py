"""Changes that objects have submitted to writers, and their results, kept until they are in the objects' status.

    outbox: Outbox[Place, Entry, Written] = Outbox(clock)
    outbox.submit(Owner(uid, generation), place, entry, [zone.submit(wish)], wake)       in a pass, which then ends
    …
    news = outbox.collect(owner)                                                          in the passes that follow
    outbox.settle(uid, place)                                                             once the status has the answer

An owner has at most one change in progress at each place. Its state is one of:

    pending     no result yet; the owner is woken when there is one
    answered    kept until `settle`, so that a pass that fails in between loses nothing
    refused     (Stall) kept for `STALL_INTERVAL` and the same generation, and not retried until then
    failed      (any other of the four errors) reported once; the backoff after `Retry` grows until a change succeeds

The state is kept in memory. After a restart the changes are submitted again, and the writers find them in effect.
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
"""The target of a change, such as zone, name and type."""
C = TypeVar("C")
R = TypeVar("R")

_PAUSES: Final = Backoff(first=timedelta(seconds=1), longest=timedelta(minutes=5), jitter=0)


class Owner(NamedTuple):
    """The object that submits a change, with its generation."""

    uid: str
    generation: int


@dataclass(frozen=True, slots=True)
class Answer(Generic[P, C, R]):
    """A change that was written, and the results of its writers."""

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
    """The state of the changes of one owner."""

    answers: tuple[Answer[P, C, R], ...] = ()
    """In the order of submission. Returned until they are settled."""
    refusals: tuple[Refusal[P, C], ...] = ()
    """All refusals in effect, sorted by place."""
    newly_refused: tuple[Refusal[P, C], ...] = ()
    """Refusals that were not returned before, also those of an older generation."""
    failure: PassError | None = None
    """The first failure. A `Retry` is returned as a `Wait` with the backoff."""
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
    """A refusal, and until when it is not retried."""

    refusal: Refusal[P, C]
    generation: int
    until: float


def _never(_: object, __: PassError) -> bool:
    return False


class Outbox(Generic[P, C, R]):
    """The changes of all owners, by place. Places can be sorted."""

    def __init__(self, clock: Clock, counts_as_made: Callable[[C, PassError], bool] = _never) -> None:
        """`counts_as_made` decides whether a change that failed with an error counts as made, without results."""
        self._clock = clock
        self._counts_as_made = counts_as_made
        self._submitted: dict[str, dict[P, _Submission[C, R]]] = {}
        self._refused: dict[str, dict[P, _Standing[P, C]]] = {}
        self._failures: dict[str, int] = {}
        """The number of consecutive failures of an owner."""

    def submit(self, owner: Owner, place: P, change: C, tickets: Sequence[Ticket[R]], wake: Waker) -> None:
        """Store the tickets of a change, replacing an earlier one at that place. `wake` is called for each result.

        A change without tickets needs no writer, and counts as answered.
        """
        submission = _Submission(change, owner.generation, tuple(tickets))
        self._submitted.setdefault(owner.uid, {})[place] = submission
        for ticket in tickets:
            ticket.on_done(wake)
        if not tickets:
            wake()

    def collect(self, owner: Owner) -> News[P, C, R]:
        """The state of the owner's changes. Raise any exception that is not one of the four errors, once: it is a bug."""
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
        """The answers, without side effects: for the status of a pass that failed for another reason."""
        answers: list[Answer[P, C, R]] = []
        for place, submission in self._submitted.get(uid, {}).items():
            if submission.done:
                try:
                    answers.append(self._answer(place, submission))
                except PassError:
                    continue  # reported by `collect`
        return answers

    def settle(self, uid: str, *places: P) -> None:
        """Drop the answers of these places: they are in the status, or no longer needed."""
        submitted = self._submitted.get(uid, {})
        for place in places:
            submitted.pop(place, None)
        if not submitted:
            self._submitted.pop(uid, None)

    def reconsider(self, matches: Callable[[P], bool]) -> None:
        """Drop refusals of all owners at matching places, so that the changes can be retried at once."""
        for refused in self._refused.values():
            for place in [place for place in refused if matches(place)]:
                del refused[place]

    def forget(self, uid: str) -> None:
        """Drop the state of an owner that no longer exists. Pending changes are still written."""
        for memory in (self._submitted, self._refused, self._failures):
            memory.pop(uid, None)

    def _raise_bugs(self, submitted: dict[P, _Submission[C, R]]) -> None:
        """Raise an exception that is not one of the four errors, once, before anything else is collected."""
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
        """The refusals in effect. Others are dropped."""
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
        """Convert `Retry` to `Wait` with a backoff: submitting is a successful pass, which resets the backoff of the queue."""
        if not isinstance(failure, Retry):
            return failure
        failures = self._failures[uid] = self._failures.get(uid, 0) + 1
        wait = Wait(_PAUSES.delay(failures, Random(0)), failure.reason, failure.message)
        wait.error_type, wait.unavailable = failure.error_type, failure.unavailable
        return wait
