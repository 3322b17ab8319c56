"""Faults by plan: what breaks, for which requests, how often.

    cloud.faults.add(Fault("error", status=503, path="*/dns_records*", times=3))
    cloud.faults.add(Fault("lost", method="POST"))                 the effect happens, its answer does not arrive
    cloud.faults.add(Fault("throttle", probability=0.3, times=None))

A fault that concerns a request is used up by it. Where several do, the first one in the plan is taken; delays are
taken on top.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from random import Random
from typing import Literal, TypeAlias

from edgekeeper.core.clock import Clock
from kubesim.cloudflare.wire import Request

Kind: TypeAlias = Literal[
    "error", "throttle", "delay", "unsent", "lost", "truncated", "html", "redirect", "huge"
]
"""
    error       a refusal with `status`, `code`, `message`; nothing happens
    throttle    429 with Retry-After of `seconds`; nothing happens
    delay       the answer takes `seconds` longer
    unsent      the connection breaks before anything happens
    lost        everything happens, and then the connection breaks
    truncated   everything happens, and half of the body arrives
    html        a page for people instead of the API's answer, with `status`; nothing happens
    redirect    a redirect to `location`; nothing happens
    huge        a body of `size` bytes; nothing happens
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong."""

    kind: Kind
    method: str = "*"
    path: str = "*"
    """Shell patterns, matched with the method and the path below the base."""
    skip: int = 0
    """So many requests that match are left alone first."""
    times: int | None = 1
    """How many requests it concerns; None means all."""
    probability: float = 1.0
    status: int = 503
    code: int = 10013
    message: str = "Internal server error"
    seconds: float = 0.0
    location: str = "http://169.254.169.254/latest/meta-data/"
    size: int = 0
    lasting: timedelta | None = None
    """From when it is added; None means for ever."""


@dataclass(slots=True)
class _Planned:
    fault: Fault
    until: float | None
    skipped: int = 0
    used: int = 0


@dataclass(slots=True)
class Faults:
    """The plan."""

    clock: Clock
    random: Random = field(default_factory=lambda: Random(0))
    _planned: list[_Planned] = field(default_factory=list)

    def add(self, *faults: Fault) -> None:
        for fault in faults:
            until = None if fault.lasting is None else self.clock.monotonic() + fault.lasting.total_seconds()
            self._planned.append(_Planned(fault, until))

    def outage(self, lasting: timedelta) -> None:
        """Nothing answers for so long."""
        self.add(Fault("unsent", times=None, lasting=lasting))

    def clear(self) -> None:
        self._planned.clear()

    def take(self, request: Request) -> tuple[Fault | None, float]:
        """The fault that concerns this request, if any, and by how many seconds it is delayed."""
        chosen: Fault | None = None
        delay = 0.0
        for planned in self._planned:
            fault = planned.fault
            if (chosen is not None and fault.kind != "delay") or not self._concerns(planned, request):
                continue
            planned.used += 1
            delay += fault.seconds if fault.kind == "delay" else 0.0
            chosen = chosen if fault.kind == "delay" else fault
        return chosen, delay

    def _concerns(self, planned: _Planned, request: Request) -> bool:
        fault = planned.fault
        if planned.until is not None and self.clock.monotonic() >= planned.until:
            return False
        if fault.times is not None and planned.used >= fault.times:
            return False
        if not (fnmatchcase(request.method, fault.method) and fnmatchcase(request.path, fault.path)):
            return False
        if planned.skipped < fault.skip:
            planned.skipped += 1
            return False
        return fault.probability >= 1.0 or self.random.random() < fault.probability
