"""Faults at call boundaries: which call, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from edgekeeper.core.calls import CallRecord
from edgekeeper.kube.transport import TransportError

COMPANION = 0
"""The number of the life that no fault hits; those of the operator are counted from one."""


class Mode(StrEnum):
    """What can happen at a call boundary."""

    BEFORE = "before"
    """The call never left."""
    LOST = "lost"
    """It took effect, and the answer was lost."""
    CRASH = "crash"
    """It took effect, and the process died."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One fault: this happens to the call of this number. Or two."""

    number: int
    mode: Mode
    then: Plan | None = None
    """A second fault, whose number counts the calls after the first one: in the next life, if the first is a crash."""


class TracedCall(NamedTuple):
    """A call as it was made."""

    time: float
    life: int
    number: int
    target: str
    operation: str
    subject: str
    mutating: bool

    def __str__(self) -> str:
        return f"#{self.number} at {self.time:.3f} s: {self.target} {self.operation} {self.subject}"


class Trace:
    """All calls of all lives of an operator, in order."""

    def __init__(self) -> None:
        self.calls: list[TracedCall] = []

    def hook(self, life: int) -> _Tracer:
        return _Tracer(self, life)


@dataclass(frozen=True, slots=True)
class _Tracer:
    trace: Trace
    life: int

    async def before(self, call: CallRecord) -> None:
        time = asyncio.get_running_loop().time()
        self.trace.calls.append(
            TracedCall(time, self.life, call.number, call.target, call.operation, call.subject, call.mutating)
        )

    async def after(self, call: CallRecord) -> None: ...


class PlannedFault:
    """Carries out a plan in one life of an operator. `crash` gets what is planned for the next one."""

    def __init__(self, plan: Plan, crash: Callable[[Plan | None], Awaitable[None]]) -> None:
        self._plan = plan
        self._crash = crash
        self._modes = {plan.number: plan.mode}
        if plan.then is not None and plan.mode is not Mode.CRASH:
            self._modes[plan.number + plan.then.number] = plan.then.mode

    async def before(self, call: CallRecord) -> None:
        if self._modes.get(call.number) is Mode.BEFORE:
            raise no_answer(call)

    async def after(self, call: CallRecord) -> None:
        mode = self._modes.get(call.number)
        if mode is Mode.LOST:
            raise no_answer(call)
        if mode is Mode.CRASH:
            await self._crash(self._plan.then if call.number == self._plan.number else None)


def no_answer(call: CallRecord) -> Exception:
    """What the transport of a target raises when a connection breaks."""
    words = "connection reset by peer"
    return TransportError(words) if call.target == "kubernetes" else ConnectionResetError(words)
