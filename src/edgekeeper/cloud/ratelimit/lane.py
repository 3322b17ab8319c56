"""The rate limiter of one lane: a token bucket and the callers that wait for it. `cloud.budget` states its guarantees.

A caller is served at once, waits in the queue, or is refused with the time after which its turn is expected and a
reservation until then (`ratelimit.reservations`). Reservations count in expected waits, but the lane does not stay idle for
them: a caller that waits is served as soon as there are tokens.
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
"""A caller asks again after this time at most: by then others may have given up."""
_GRACE = timedelta(minutes=1)
"""How much later than announced a caller may come back and still have its reservation."""


class TooLongError(Exception):
    """The caller's turn would come after its deadline."""

    def __init__(self, expected: timedelta, *, paused: bool = False) -> None:
        super().__init__(f"the turn is expected in {format_duration(expected)}")
        self.expected = expected
        """After how long the turn is expected."""
        self.retry_after = max(SHORTEST_ABSENCE, min(expected, LONGEST_ABSENCE))
        """When to ask again; the reservation is kept until then."""
        self.paused = paused
        """Whether the lane is paused for everybody, because the provider throttled us."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a caller asks of a lane."""

    cost: int = 1
    priority: Priority = Priority.USER
    namespace: str = ""
    caller: str = ""
    """Identifies the caller for its reservation; empty where it will not come back."""


class Lane:
    """Serves the callers of one lane."""

    def __init__(self, rate: LaneRate) -> None:
        self._loop = asyncio.get_running_loop()
        self._bucket = TokenBucket(rate.rate, rate.burst, self._loop.time())
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()
        self._away = Reservations()
        self._timer: asyncio.TimerHandle | None = None

    async def acquire(self, claim: Claim, until: float | None) -> None:
        """Return when it is the caller's turn. Raise TooLongError where that will be after `until`."""
        now = self._loop.time()
        expected = self.expected(claim)
        if until is not None and now + expected > until:
            raise self._refuse(claim, timedelta(seconds=expected))
        self._away.redeem(claim.namespace, claim.caller)
        if expected > 0:
            await self._wait(claim)
        else:
            self._bucket.take(claim.cost, now)

    def give_back(self, cost: int) -> None:
        """Return the tokens of a caller that was served and made no call."""
        self._bucket.give_back(cost)
        self._serve()

    def pause(self, for_: timedelta | None) -> timedelta:
        """Pause the lane. Return for how long."""
        now = self._loop.time()
        self._bucket.pause(None if for_ is None else for_.total_seconds(), now)
        self._serve()
        return timedelta(seconds=self._bucket.paused_for(now))

    def expected(self, claim: Claim) -> float:
        """Seconds until a caller with this claim would be served."""
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
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.remove(turn, claim.priority, claim.namespace)
                self._serve()
            else:  # the turn came, and the cancellation right after it
                self.give_back(claim.cost)
            raise

    def _serve(self) -> None:
        """Serve callers while there are tokens, and schedule the next attempt."""
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
            if not turn.done():  # or it was cancelled, and is not yet awake to take itself out
                self._bucket.take(cost, now)
                turn.set_result(None)
