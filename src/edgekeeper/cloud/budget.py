"""The budget: how often we may ask, per credential and lane. Every cloud call passes here, and nothing else limits.

    await budget.acquire("aws:111122223333", "route53", namespace="team-a")      return when it is one's turn
    budget.penalise("aws:111122223333", "route53", timedelta(seconds=5))         the provider complained
    budget.expected_wait("aws:111122223333", "apigateway-domain")                so long, if one came now

*Guarantees*
 - In any interval no more than `burst + rate × interval` turns are given, whatever is cancelled, paused or refused.
 - After a pause the lane starts from nothing: there is no burst to catch up.
 - Namespaces take turns, and user changes go before sweeps: see `cloud.fairness`.
 - Whoever is cancelled while it waits, or has just got its turn, costs the others nothing.
 - Whoever would have to wait longer than it can is told so at once: `TooLongError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta

from edgekeeper.cloud.bucket import Bucket
from edgekeeper.cloud.fairness import FairQueue
from edgekeeper.cloud.lanes import DEFAULT_RATES, LaneRate
from edgekeeper.cloud.origin import Priority

__all__ = ["Budget", "LaneRate", "TooLongError"]


class TooLongError(Exception):
    """One's turn would come too late."""

    def __init__(self, expected: timedelta) -> None:
        super().__init__(f"the turn is expected in {expected}")
        self.expected = expected


class Budget:
    """Keeps all lanes of all credentials."""

    def __init__(self, rates: Mapping[str, LaneRate] | None = None) -> None:
        """`rates` replaces or adds to the defaults, lane by lane."""
        self._rates = {**DEFAULT_RATES, **(rates or {})}
        self._lanes: dict[tuple[str, str], _Lane] = {}

    async def acquire(
        self,
        credential: str,
        lane: str,
        cost: int = 1,
        *,
        priority: Priority = Priority.USER,
        namespace: str = "",
        within: timedelta | None = None,
    ) -> None:
        """Return when it is the caller's turn. Raise TooLongError where that will not be `within` that time."""
        until = None if within is None else asyncio.get_running_loop().time() + within.total_seconds()
        claim = _Claim(cost, priority, namespace)
        with ExitStack() as taken:
            for passed in self._path(credential, lane):
                await passed.acquire(claim, until)
                taken.callback(passed.give_back, claim.cost)
                claim = _Claim(1, priority, namespace)
            taken.pop_all()

    def penalise(self, credential: str, lane: str, for_: timedelta | None = None) -> timedelta:
        """Pause a lane for everybody, and slow it down. Return how long nobody will pass."""
        return self._lane(credential, lane).pause(for_)

    def expected_wait(
        self, credential: str, lane: str, *, priority: Priority = Priority.USER, namespace: str = ""
    ) -> timedelta:
        """How long somebody who came now would wait."""
        claim = _Claim(1, priority, namespace)
        return timedelta(seconds=max(one.expected(claim) for one in self._path(credential, lane)))

    def _path(self, credential: str, lane: str) -> Iterator[_Lane]:
        """The lane, and those within which it lies."""
        while lane:
            yield self._lane(credential, lane)
            lane = self._rates[lane].within

    def _lane(self, credential: str, lane: str) -> _Lane:
        if (known := self._lanes.get((credential, lane))) is not None:
            return known
        if lane not in self._rates:
            raise ValueError(f"there is no lane {lane!r}")
        return self._lanes.setdefault((credential, lane), _Lane(self._rates[lane]))


@dataclass(frozen=True, slots=True)
class _Claim:
    cost: int
    priority: Priority
    namespace: str


class _Lane:
    """One bucket and those who wait for it."""

    def __init__(self, rate: LaneRate) -> None:
        self._loop = asyncio.get_running_loop()
        self._rate = rate.rate
        self._bucket = Bucket(rate.rate, rate.burst, self._loop.time())
        self._waiting: FairQueue[asyncio.Future[None]] = FairQueue()
        self._timer: asyncio.TimerHandle | None = None

    async def acquire(self, claim: _Claim, until: float | None) -> None:
        now = self._loop.time()
        if not self._waiting and not self._bucket.ready_in(claim.cost, now):
            self._bucket.take(claim.cost, now)
            return
        expected = self.expected(claim)
        if until is not None and now + expected > until:
            raise TooLongError(timedelta(seconds=expected))
        await self._wait(claim)

    async def _wait(self, claim: _Claim) -> None:
        turn = self._loop.create_future()
        self._waiting.push(turn, claim.cost, claim.priority, claim.namespace)
        self._serve()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.remove(turn, claim.priority, claim.namespace)
                self._serve()
            else:
                self.give_back(claim.cost)
            raise

    def give_back(self, cost: int) -> None:
        """Return a token to a caller who got it and was cancelled before it could use it."""
        self._bucket.give_back(cost)
        self._serve()

    def pause(self, for_: timedelta | None) -> timedelta:
        now = self._loop.time()
        self._bucket.pause(None if for_ is None else for_.total_seconds(), now)
        self._serve()
        return timedelta(seconds=self._bucket.paused_for(now))

    def expected(self, claim: _Claim) -> float:
        ahead = self._waiting.ahead(claim.priority, claim.namespace)
        return self._bucket.ready_in(claim.cost, self._loop.time()) + ahead / self._rate

    def _serve(self) -> None:
        """Give turns while there are tokens, and come back when there will be."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._loop.time()
        while self._waiting:
            turn, cost = self._waiting.head()
            if turn.done():  # cancelled, and not yet awake to take itself out
                self._waiting.pop()
                continue
            if wait := self._bucket.ready_in(cost, now):
                self._timer = self._loop.call_later(wait, self._serve)
                return
            self._waiting.pop()
            self._bucket.take(cost, now)
            turn.set_result(None)
