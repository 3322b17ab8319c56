"""Numbered records of all calls to Kubernetes and the clouds, with hooks for fault injection.

The client of Kubernetes and that of the clouds give every call a number, and call the hooks before it is sent and after
it took effect. Records contain no secrets. A test that crashes the operator at every call replays a scenario once for
each number, before and after the call.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Protocol

from edgekeeper.core.tracing import NO_TRACES, Tracer


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call to Kubernetes or a cloud."""

    number: int
    target: str
    """The API: `kubernetes`, `cloudfront`, `route53`, `cloudflare`, …"""
    operation: str
    """The operation as the API names it: `PATCH widgets/status`, `CreateDistributionTenant`."""
    subject: str
    """The object: a path, a name, an id."""
    mutating: bool


class CallHook(Protocol):
    """Is called for every call, and may inject faults by raising."""

    async def before(self, call: CallRecord) -> None:
        """The call is about to be sent; if this raises, it is not sent."""

    async def after(self, call: CallRecord) -> None:
        """The call took effect; if this raises, its response is lost."""


class Calls:
    """Numbers the calls of one process and calls its hooks. All clients of the process share one."""

    def __init__(self, *hooks: CallHook) -> None:
        self._numbers = count(1)
        self.hooks = list(hooks)
        self.tracer: Tracer = NO_TRACES

    def record(self, target: str, operation: str, subject: str, *, mutating: bool) -> CallRecord:
        return CallRecord(next(self._numbers), target, operation, subject, mutating)

    async def before(self, call: CallRecord) -> None:
        for hook in self.hooks:
            await hook.before(call)

    async def after(self, call: CallRecord) -> None:
        for hook in self.hooks:
            await hook.after(call)
