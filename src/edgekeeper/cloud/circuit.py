"""Circuit breakers, per service and region: calls to a service that does not respond are suspended for a while.

    closed      ──5 calls in a row unanswered──►  open
    open        ──after 10 s, 20 s, … 2 min────►  half open: one call at a time, the probe
    half open   ──the probe is answered────────►  closed
    half open   ──it is not────────────────────►  open, for twice as long

Any response counts, also a refusal. While the circuit is open callers get `Wait` at once; other services, regions and
providers are not affected. A cancelled call does not count: if it was the probe, the next call is the probe.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from random import Random

from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.core.backoff import Backoff
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Cause, Wait

TOLERATED = 5
"""Unanswered calls in a row after which the circuit opens."""
_REST = Backoff(first=timedelta(seconds=10), longest=timedelta(minutes=2), jitter=0)
_SHORTEST_WAIT = timedelta(seconds=1)
_UNTIL_PROVEN = timedelta(seconds=5)
"""The requeue time while the probe is in progress."""


class State(IntEnum):
    """The values of the metric."""

    CLOSED = 0
    HALF_OPEN = 1
    OPEN = 2


@dataclass(slots=True, eq=False)
class Passage:
    """A call in progress."""

    answered: bool | None = None
    """Whether there was a response; None until that is known, and if the call was cancelled."""


class Circuit:
    """The circuit breaker of one service of a provider in one region."""

    def __init__(self, name: str, clock: Clock) -> None:
        self._name = name
        self._clock = clock
        self._unanswered = 0
        self._openings = 0
        self._open_until: float | None = None
        self._probe: Passage | None = None

    @property
    def state(self) -> State:
        if self._open_until is None:
            return State.CLOSED
        return State.OPEN if self._clock.monotonic() < self._open_until else State.HALF_OPEN

    def check(self) -> None:
        """Raise Wait if a call would not be admitted now."""
        if self.state is State.OPEN and self._open_until is not None:
            left = timedelta(seconds=self._open_until - self._clock.monotonic())
            raise self._wait(max(left, _SHORTEST_WAIT))
        if self.state is State.HALF_OPEN and self._probe is not None:
            raise self._wait(_UNTIL_PROVEN)

    @contextmanager
    def passage(self) -> Iterator[Passage]:
        """Admit a call, or raise Wait. The caller sets `answered` of the passage."""
        self.check()
        passage = Passage()
        if self.state is State.HALF_OPEN:
            self._probe = passage
        try:
            yield passage
        finally:
            self._learn(passage)

    def _learn(self, passage: Passage) -> None:
        was_probe = passage is self._probe
        if was_probe:
            self._probe = None
        if passage.answered:
            self._unanswered = self._openings = 0
            self._open_until = None
        elif passage.answered is False:
            self._unanswered += 1
            # Calls that were sent before the circuit opened do not count.
            if was_probe or (self._open_until is None and self._unanswered >= TOLERATED):
                self._open()

    def _open(self) -> None:
        self._openings += 1
        rest = _REST.delay(self._openings, Random(0))
        self._open_until = self._clock.monotonic() + rest.total_seconds()

    def _wait(self, after: timedelta) -> Wait:
        message = f"{self._name} did not respond to {self._unanswered} calls in a row"
        wait = Wait(after, "ProviderUnavailable", message)
        wait.unavailable = Cause.UNREACHABLE
        return wait


class Circuits:
    """The circuits of all services and regions."""

    def __init__(self, clock: Clock, metrics: CloudMetrics) -> None:
        self._clock = clock
        self._metrics = metrics
        self._circuits: dict[tuple[str, str, str], Circuit] = {}

    def of(self, provider: str, service: str, region: str) -> Circuit:
        where = (provider, service, region)
        if where not in self._circuits:
            self._circuits[where] = self._new(where)
        return self._circuits[where]

    def _new(self, where: tuple[str, str, str]) -> Circuit:
        circuit = Circuit(" ".join(dict.fromkeys(filter(None, where))), self._clock)
        self._metrics.watch_circuit(where, lambda: circuit.state)
        return circuit
