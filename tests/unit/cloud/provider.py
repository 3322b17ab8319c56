"""A provider that does as it is told, keeps a journal, and counts its calls as real ones do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from prometheus_client import CollectorRegistry

from edgekeeper.cloud.budget import Budget, LaneRate
from edgekeeper.cloud.call_context import Actor
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.transport import Failure, Operation, Transport, Verdict
from edgekeeper.core.calls import CallRecord, Calls
from edgekeeper.core.errors import Retry, Stall, Wait
from kubesim.virtual import LoopClock

LANE = "test"
ACCOUNT = "aws:111122223333"
GET = Operation("aws", "cloudfront", "GetThing", False, True, LANE, timedelta(seconds=30))
CREATE = Operation("aws", "cloudfront", "CreateThing", True, False, LANE, timedelta(seconds=30))
PUT = replace(CREATE, name="PutThing", idempotent=True)

SHOP = Actor("DistributionTenant", "team-a", "shop", "6f1c", 3)


class ThrottledError(Exception):
    """Too many calls."""

    def __init__(self, retry_after: timedelta | None = None) -> None:
        super().__init__("Rate exceeded")
        self.retry_after = retry_after


class RefusedError(Exception):
    """Something is wrong with the request."""


class UnavailableError(Exception):
    """A 5xx answer."""


def classify(_: Operation, error: Exception) -> Failure | None:
    """The adapter's part: what the provider's errors mean."""
    match error:
        case ThrottledError():
            wait = Wait(timedelta(seconds=60), "Throttled", str(error))
            return Failure(wait, "throttling", Verdict.THROTTLED, error.retry_after)
        case RefusedError():
            return Failure(Stall("InvalidSpec", str(error)), "invalid_spec")
        case UnavailableError():
            return Failure(Retry(str(error), "AWSError"), "retryable", Verdict.UNANSWERED)
    return None


class Provider:
    """Plays a script, whose last line is repeated: an error, a time that the answer takes, or None for an answer."""

    def __init__(self, *script: Exception | timedelta | None) -> None:
        self._script = list(script)
        self.sent: list[str] = []
        """Who was answered, refused or ignored, in order."""
        self.times: list[float] = []
        self.effects: list[str] = []

    def sending(self, subject: str) -> Callable[[], Awaitable[str]]:
        async def send() -> str:
            self.sent.append(subject)
            self.times.append(asyncio.get_running_loop().time())
            line = self._script.pop(0) if len(self._script) > 1 else (self._script or [None])[0]
            if isinstance(line, timedelta):
                await asyncio.sleep(line.total_seconds())
            elif line is not None:
                raise line
            self.effects.append(subject)
            return f"answer to {subject}"

        return send


class Witness:
    """A hook that writes down what it sees, and breaks what it is told to break."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, CallRecord]] = []
        self.break_before: dict[int, BaseException] = {}
        self.break_after: dict[int, BaseException] = {}

    async def before(self, call: CallRecord) -> None:
        self.seen.append(("before", call))
        if call.number in self.break_before:
            raise self.break_before[call.number]

    async def after(self, call: CallRecord) -> None:
        self.seen.append(("after", call))
        if call.number in self.break_after:
            raise self.break_after[call.number]


class World:
    """A transport with everything around it."""

    def __init__(
        self, *script: Exception | timedelta | None, rate: LaneRate | None = None, **settings: Any
    ) -> None:
        self.provider = Provider(*script)
        self.witness = Witness()
        self.registry = CollectorRegistry()
        self.metrics = CloudMetrics(self.registry)
        self.budget = Budget({LANE: rate or LaneRate(1_000, 1_000)})
        self.transport = Transport(Calls(self.witness), LoopClock(), self.budget, self.metrics, **settings)

    async def call(self, operation: Operation = GET, subject: str = "shop", **settings: Any) -> str:
        settings = {"credential": ACCOUNT, "classify": classify, **settings}
        return await self.transport.call(operation, subject, self.provider.sending(subject), **settings)

    def sample(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


def assert_within_budget(times: list[float], rate: float, burst: int) -> None:
    """No interval, whatever its ends, holds more calls than the budget allows."""
    # The worst interval that ends with a call is found by carrying the fullest bucket along.
    level, last = 0.0, float("-inf")
    for time in sorted(times):
        level = max(0.0, level - (time - last) * rate) + 1
        last = time
        assert level <= burst + 1e-3, f"{level:.3f} calls where {burst} are allowed, at {time:.3f} s"
