"""The rate limiter of one lane: a token bucket and the callers that wait for it. `cloud.budget` states its guarantees.

A caller is admitted at once, waits in the queue, or is refused with the expected wait and a reservation until then
(`ratelimit.reservations`). Reservations count towards expected waits, but tokens are not held back for them: a waiting
caller is admitted as soon as there are tokens.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from edgekeeper.cloud.call_context import Priority
from edgekeeper.cloud.ratelimit.fair_queue import FairQueue
from edgekeeper.cloud.ratelimit.reservations import Reservations
from edgekeeper.cloud.ratelimit.token_bucket import TokenBucket
from edgekeeper.cloud.rates import LaneRate
from edgekeeper.core.duration import format_duration

SHORTEST_ABSENCE = timedelta(seconds=1)
LONGEST_ABSENCE = timedelta(minutes=5)
"""The longest time until a refused caller retries: by then others may have been cancelled."""
_GRACE = timedelta(minutes=1)
"""How long a reservation is kept after the announced time of the retry."""


class TooLongError(Exception):
    """The call could not be sent before its deadline."""

    def __init__(self, expected: timedelta, *, paused: bool = False) -> None:
        super().__init__(f"the call is expected to be sent in {format_duration(expected)}")
        self.expected = expected
        """The expected wait."""
        self.retry_after = max(SHORTEST_ABSENCE, min(expected, LONGEST_ABSENCE))
        """When to retry; the reservation is kept until then."""
        self.paused = paused
        """Whether the lane is paused because the provider throttled calls."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A request of a caller to a lane."""

    cost: int = 1
    priority: Priority = Priority.USER
    namespace: str = ""
    caller: str = ""
    """Identifies the caller for its reservation; empty if it will not retry."""


@dataclass(frozen=True, slots=True)
class LaneFigures:
    """How much of a lane is used, for display. Times are in seconds."""

    rate: float
    burst: int
    available: float
    """Calls that may be sent at once."""
    waiting: int
    expected_wait: float
    """How long a caller would wait whose namespace has no other calls."""
    paused_for: float
    admitted: int
    """Calls since the start."""
    waited: float
    """How long these have waited, all together."""


class Lane:
    """Admits the callers of one lane."""

    def __init__(self, rate: LaneRate) -> None:
        self._loop = asyncio.get_running_loop()
        self._bucket = TokenBucket(rate.rate, rate.burst, self._loop.time())
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()
        self._away = Reservations()
        self._timer: asyncio.TimerHandle | None = None
        self._rate = rate
        self._queued = 0
        self._admitted = 0
        self._waited = 0.0

    def figures(self) -> LaneFigures:
        now = self._loop.time()
        return LaneFigures(
            self._rate.rate,
            self._rate.burst,
            max(0.0, self._bucket.available(now)),
            self._queued,
            self.expected(Claim()),
            self._bucket.paused_for(now),
            self._admitted,
            self._waited,
        )

    async def acquire(self, claim: Claim, until: float | None) -> None:
        """Wait until the call may be sent. Raise TooLongError if that would be after `until`."""
        now = self._loop.time()
        expected = self.expected(claim)
        if until is not None and now + expected > until:
            raise self._refuse(claim, timedelta(seconds=expected))
        self._away.redeem(claim.namespace, claim.caller)
        if expected > 0:
            await self._wait(claim)
        else:
            self._bucket.take(claim.cost, now)
        self._admitted += 1
        self._waited += self._loop.time() - now

    def give_back(self, cost: int) -> None:
        """Return the tokens of a caller that was admitted and made no call."""
        self._bucket.give_back(cost)
        self._serve()

    def pause(self, for_: timedelta | None) -> timedelta:
        """Pause the lane. Return for how long."""
        now = self._loop.time()
        self._bucket.pause(None if for_ is None else for_.total_seconds(), now)
        self._serve()
        return timedelta(seconds=self._bucket.paused_for(now))

    def expected(self, claim: Claim) -> float:
        """Seconds until this claim would be admitted."""
        now = self._loop.time()
        ahead = self._waiting.ahead(claim.priority, claim.namespace)
        if claim.priority is Priority.USER:  # sweeps need no reservation: they have a share of the turns
            ahead += self._away.ahead(claim.namespace, claim.caller, now)
        return self._bucket.ready_in(claim.cost, now, ahead)

    def _refuse(self, claim: Claim, expected: timedelta) -> TooLongError:
        error = TooLongError(expected, paused=self._bucket.paused_for(self._loop.time()) > 0)
        if claim.caller:
            kept = self._loop.time() + (error.retry_after + _GRACE).total_seconds()
            self._away.book(claim.namespace, claim.caller, kept)
        return error

    async def _wait(self, claim: Claim) -> None:
        turn = self._loop.create_future()
        self._waiting.push(turn, claim.cost, claim.priority, claim.namespace)
        self._serve()
        self._queued += 1
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.remove(turn, claim.priority, claim.namespace)
                self._serve()
            else:  # admitted, and cancelled right after that
                self.give_back(claim.cost)
            raise
        finally:
            self._queued -= 1

    def _serve(self) -> None:
        """Admit callers while there are tokens, and schedule the next attempt."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._loop.time()
        while self._waiting:
            turn, cost = self._waiting.head()
            if wait := self._bucket.ready_in(cost, now):
                self._timer = self._loop.call_later(wait, self._serve)
                return
            self._waiting.pop()
            if not turn.done():  # else it was cancelled, and its task has not run yet
                self._bucket.take(cost, now)
                turn.set_result(None)
