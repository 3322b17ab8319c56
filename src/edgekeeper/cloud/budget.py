"""The rate limits of all credentials, by class of calls (lane). They apply to every cloud call.

    await budget.acquire("aws:111122223333", "route53", namespace="team-a")      returns when a call may be sent
    budget.penalise("aws:111122223333", "route53", timedelta(seconds=5))         after throttling
    budget.expected_wait("aws:111122223333", "apigateway-domain")

*Guarantees*
 - In any interval at most `burst + rate × interval` calls are admitted, including those that are cancelled.
 - After a pause a lane starts without tokens, so there is no burst.
 - Namespaces take turns, and user changes go before sweeps (`ratelimit.fair_queue`).
 - A caller that is cancelled, while it waits or right after it was admitted, uses no tokens.
 - A caller that would wait beyond its deadline gets `TooLongError` at once, with an estimate that includes callers that
   were refused before. A caller with an identity keeps its position for the retry.

*Assumptions*
 - All calls are made on one event loop, whose clock is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta

from edgekeeper.cloud.call_context import Priority
from edgekeeper.cloud.ratelimit.lane import Claim, Lane, LaneFigures, TooLongError
from edgekeeper.cloud.rates import DEFAULT_RATES, LaneRate

__all__ = ["Budget", "LaneFigures", "LaneRate", "TooLongError"]


class Budget:
    """The lanes of all credentials."""

    def __init__(self, rates: Mapping[str, LaneRate] | None = None) -> None:
        """`rates` replaces or adds to the defaults, lane by lane."""
        self._rates = {**DEFAULT_RATES, **(rates or {})}
        self._lanes: dict[tuple[str, str], Lane] = {}

    async def acquire(  # noqa: PLR0913 - all but three by name
        self,
        credential: str,
        lane: str,
        cost: int = 1,
        *,
        priority: Priority = Priority.USER,
        namespace: str = "",
        caller: str = "",
        within: timedelta | None = None,
    ) -> None:
        """Wait until the call may be sent. Raise TooLongError if that would take longer than `within`."""
        until = None if within is None else asyncio.get_running_loop().time() + within.total_seconds()
        claim = Claim(cost, priority, namespace, caller)
        with ExitStack() as refunds:
            for passed in self._path(credential, lane):
                await passed.acquire(claim, until)
                refunds.callback(passed.give_back, claim.cost)
                claim = replace(claim, cost=1)
            refunds.pop_all()

    def penalise(self, credential: str, lane: str, for_: timedelta | None = None) -> timedelta:
        """Pause a lane for all callers, and reduce its rate. Return the length of the pause."""
        return self._lane(credential, lane).pause(for_)

    def expected_wait(
        self, credential: str, lane: str, *, priority: Priority = Priority.USER, namespace: str = ""
    ) -> timedelta:
        """How long a new caller would wait."""
        claim = Claim(priority=priority, namespace=namespace)
        return timedelta(seconds=max(limiter.expected(claim) for limiter in self._path(credential, lane)))

    def figures(self) -> dict[tuple[str, str], LaneFigures]:
        """How much is used, by the name of the credential and the lane. Lanes without a call so far are left out."""
        return {place: lane.figures() for place, lane in self._lanes.items()}

    def _path(self, credential: str, lane: str) -> Iterator[Lane]:
        """The lane, and the lanes that its calls count towards as well."""
        while lane:
            yield self._lane(credential, lane)
            lane = self._rates[lane].within

    def _lane(self, credential: str, lane: str) -> Lane:
        if lane not in self._rates:
            raise ValueError(f"there is no lane {lane!r}")
        limiter = self._lanes.get((credential, lane))
        if limiter is None:
            limiter = self._lanes[credential, lane] = Lane(self._rates[lane])
        return limiter
