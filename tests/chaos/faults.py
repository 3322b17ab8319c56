"""Faults of calls, at both choke points: calls that never leave, answers that get lost, refusals of the API server, and
the end of the process in the middle of a call.

Each fault says which calls it means and how many of them it lets pass first. Nothing here is random: chance is in the
operation that put the fault in place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from edgekeeper.core.calls import CallHook, CallRecord
from edgekeeper.kube.transport import ApiRequest, ApiResponse, TransportError
from tests.crash.faults import no_answer
from tests.crash.life import oblivion
from tests.unit.kube.faults import refusal

MOST_CALLS = 10_000
"""What all processes of a run may call together: many times what any run needs."""
Moment = Literal["before", "after"]
REASONS = {
    409: "Conflict",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    403: "Forbidden",
}


@dataclass
class CallFault:
    """Calls that fail: of a target, of one operation or of any, that change something or not."""

    target: str = ""
    """`kubernetes`, a service of the cloud, `cloud` for all of them, or empty for any call."""
    operation: str = ""
    """How the operation begins."""
    mutating: bool | None = None
    skip: int = 0
    """How many calls pass first."""
    times: int = 1
    when: Moment = "before"
    kills: bool = False
    """Whether the process ends, rather than the call alone."""

    def meets(self, call: CallRecord) -> bool:
        is_target = self.target in ("", call.target) or (
            self.target == "cloud" and call.target != "kubernetes"
        )
        is_meant = is_target and call.operation.startswith(self.operation)
        return is_meant and self.mutating in (None, call.mutating) and not _is_of_election(call)


class CallFaults:
    """The faults in force for all processes. It also ends runs in which the operator calls without end."""

    def __init__(self) -> None:
        self._faults: list[CallFault] = []
        self._left = MOST_CALLS
        self.exhausted: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done, with the last call, once there were too many."""

    def add(self, fault: CallFault) -> None:
        self._faults.append(fault)

    def clear(self) -> None:
        self._faults.clear()

    def hook(self, kill: Callable[[], None]) -> CallHook:
        """What a process' calls are to pass."""
        return _Hook(self, kill)

    def strike(self, call: CallRecord, when: Moment) -> CallFault | None:
        """The fault that meets a call at a moment, if any."""
        self._left -= when == "before"
        if self._left < 0 and not self.exhausted.done():
            self.exhausted.set_result(f"{call.target} {call.operation} {call.subject}")
        for fault in list(self._faults):
            if fault.when != when or not fault.meets(call):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            fault.times -= 1
            if fault.times <= 0:
                self._faults.remove(fault)
            return fault
        return None


@dataclass(frozen=True)
class _Hook:
    faults: CallFaults
    kill: Callable[[], None]

    async def before(self, call: CallRecord) -> None:
        await self._meet(call, "before")

    async def after(self, call: CallRecord) -> None:
        await self._meet(call, "after")

    async def _meet(self, call: CallRecord, when: Moment) -> None:
        fault = self.faults.strike(call, when)
        if fault is None:
            return
        if not fault.kills:
            raise no_answer(call)
        self.kill()
        await oblivion()


@dataclass
class _Refusal:
    code: int
    method: str
    part: str
    times: int
    ends: float


class Refusals:
    """Answers of the API server that are none: a `refuse` of `FaultyTransport`."""

    def __init__(self) -> None:
        self._refusals: list[_Refusal] = []

    def add(self, code: int, *, method: str, part: str, times: int, seconds: float) -> None:
        """Refuse requests of a method (empty for any) whose path has a part, so often and for so long at most."""
        ends = asyncio.get_running_loop().time() + seconds
        self._refusals.append(_Refusal(code, method, part, times, ends))

    def clear(self) -> None:
        self._refusals.clear()

    def __call__(self, request: ApiRequest) -> ApiResponse | TransportError | None:
        now = asyncio.get_running_loop().time()
        self._refusals = [one for one in self._refusals if one.times > 0 and one.ends > now]
        for one in self._refusals:
            if (
                one.method in ("", request.method)
                and one.part in request.path
                and "/leases" not in request.path
            ):
                one.times -= 1
                if one.code == 0:
                    return TransportError("connection refused")
                return refusal(one.code, REASONS[one.code], "refused for a while")
        return None


def _is_of_election(call: CallRecord) -> bool:
    """Elections have tests of their own; here the leadership changes by kills and freezes."""
    return call.target == "kubernetes" and "leases" in f"{call.operation} {call.subject}"
