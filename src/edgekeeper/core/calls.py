"""Calls to the outside, numbered: what makes every fault plan a loop over numbers.

There are two choke points, one for Kubernetes and one for the clouds. Each gives every call a number, tells the hooks
before it is sent and again after it took effect, and keeps no secret from them but secrets. A test that crashes the
operator at every call boundary replays a scenario once per number and mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Protocol


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call to Kubernetes or a cloud."""

    number: int
    target: str
    """Whom: `kubernetes`, `cloudfront`, `route53`, `cloudflare`, …"""
    operation: str
    """What, in the target's own words: `PATCH widgets/status`, `CreateDistributionTenant`."""
    subject: str
    """On which object: a path, a name, an id."""
    mutating: bool


class CallHook(Protocol):
    """Watches calls and may break them. Raising from either method is how faults are injected."""

    async def before(self, call: CallRecord) -> None:
        """The call is about to be sent; raising means that it never left."""

    async def after(self, call: CallRecord) -> None:
        """The call took effect; raising means that its answer was lost."""


class Calls:
    """Numbers the calls of one process and tells its hooks. Both choke points share one."""

    def __init__(self, *hooks: CallHook) -> None:
        self._numbers = count(1)
        self.hooks = list(hooks)

    def record(self, target: str, operation: str, subject: str, *, mutating: bool) -> CallRecord:
        return CallRecord(next(self._numbers), target, operation, subject, mutating)

    async def before(self, call: CallRecord) -> None:
        for hook in self.hooks:
            await hook.before(call)

    async def after(self, call: CallRecord) -> None:
        for hook in self.hooks:
            await hook.after(call)
