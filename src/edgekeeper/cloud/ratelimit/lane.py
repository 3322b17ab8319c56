"""One lane of the budget: a token bucket, and those who wait for it. See `cloud.budget` for what it promises.

A caller is served at once, stands in the line, or is sent away with the time after which its turn is expected, and a
place that is kept for it until then (`cloud.ratelimit.reservations`). The lane counts those who are expected back, but it
does not stand idle for them: whoever can wait for its turn gets it as soon as there is one.
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
"""After which a caller should ask again, however long its turn will take: by then others may have given up."""
_GRACE = timedelta(minutes=1)
"""How much later than it was told to a caller may come back, and still find its place."""


class TooLongError(Exception):
    """One's turn would come too late."""

    def __init__(self, expected: timedelta, *, paused: bool = False) -> None:
        super().__init__(f"the turn is expected in {format_duration(expected)}")
        self.expected = expected
        """When one's turn will come."""
        self.come_back_in = max(SHORTEST_ABSENCE, min(expected, LONGEST_ABSENCE))
        """When to ask again, to find one's place."""
        self.paused = paused
        """Whether nobody at all passes for now, because the provider has complained."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a caller wants of a lane."""

    cost: int = 1
    priority: Priority = Priority.USER
    namespace: str = ""
    caller: str = ""
    """Who asks, to be recognised when it comes back; empty where it will not."""


class Lane:
    """See the module."""

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
            raise self._turn_away(claim, timedelta(seconds=expected))
        self._away.redeem(claim.namespace, claim.caller)
        if expected > 0:
            await self._wait(claim)
        else:
            self._bucket.take(claim.cost, now)

    def give_back(self, cost: int) -> None:
        """Return the tokens of a caller that had its turn and made no use of it."""
        self._bucket.give_back(cost)
        self._serve()

    def pause(self, for_: timedelta | None) -> timedelta:
        """Let nobody pass for some time. Return how long that is."""
        now = self._loop.time()
        self._bucket.pause(None if for_ is None else for_.total_seconds(), now)
        self._serve()
        return timedelta(seconds=self._bucket.paused_for(now))

    def expected(self, claim: Claim) -> float:
        """Seconds until it would be the caller's turn, as things stand."""
        now = self._loop.time()
        ahead = self._waiting.ahead(claim.priority, claim.namespace)
        if claim.priority is Priority.USER:  # sweeps need no place: every so often a turn is theirs
            ahead += self._away.ahead(claim.namespace, claim.caller, now)
        return self._bucket.ready_in(claim.cost, now, ahead)

    def _turn_away(self, claim: Claim, expected: timedelta) -> TooLongError:
        error = TooLongError(expected, paused=self._bucket.paused_for(self._loop.time()) > 0)
        if claim.caller:
            kept = self._loop.time() + (error.come_back_in + _GRACE).total_seconds()
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
        """Give turns while there are tokens, and come back when there will be."""
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
