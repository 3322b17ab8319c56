"""Follow change batches until all name servers have them (INSYNC). Route 53 is polled once per batch, not per record.

    if zone.in_sync(change_id, wake=partial(controller.wake, key)):      in a pass, which never waits here
        …

A pass asks by the change id in the status of its object, so that it also works after a restart. While a batch is not in
sync it is polled, and all objects that asked are requeued when it is. If Route 53 refuses the call, the refusal is raised
until a later call succeeds; it is retried every few minutes as long as passes ask for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.route53 import ChangeReceipt
from edgekeeper.cloud.call_context import sweeping
from edgekeeper.core.errors import STALL_INTERVAL, PassError, Stall, fresh
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

INTERVAL: Final = timedelta(seconds=30)
"""The interval at which a batch is polled. Most are in sync after one minute."""
REMEMBERED: Final = 10_000
"""How many results are cached; for older batches Route 53 is asked again."""


@dataclass(eq=False, slots=True)
class _Followed:
    """A batch that is not in sync yet."""

    due: float
    wakers: list[Callable[[], None]] = field(default_factory=list)
    problem: PassError | None = None
    """The error of the last poll; None if it succeeded."""


@dataclass(frozen=True, slots=True)
class _Refused:
    """A batch whose state Route 53 refuses to tell us."""

    error: Stall
    until: float
    """When to poll again."""


class Propagation:
    """Follows the batches of one zone."""

    def __init__(
        self, ask: Callable[[str], Awaitable[ChangeReceipt | None]], interval: timedelta = INTERVAL
    ) -> None:
        """`ask` returns the state of a batch; None if Route 53 does not have it any more."""
        self._ask = ask
        self._interval = interval.total_seconds()
        self._answered: dict[str, _Refused | None] = {}
        """Batches that are in sync (None), and those that were refused."""
        self._followed: dict[str, _Followed] = {}
        self._news = asyncio.Event()

    def in_sync(self, change_id: str, wake: Callable[[], None] | None = None) -> bool:
        """Whether the batch has reached all name servers. If not yet, call `wake` when it has. Raise a refusal."""
        refused = self._answered.get(change_id)
        if change_id in self._answered and refused is None:
            return True
        if refused is None or _now() >= refused.until:
            followed = self.follow(change_id, at_once=refused is not None)
            if wake is not None and wake not in followed.wakers:
                followed.wakers.append(wake)
        if refused is not None:
            raise fresh(refused.error)
        return False

    def follow(self, change_id: str, *, at_once: bool = False) -> _Followed:
        """Start to poll a batch."""
        if change_id not in self._followed:
            self._followed[change_id] = _Followed(_now() + (0.0 if at_once else self._interval))
            self._news.set()
        return self._followed[change_id]

    def problem(self, change_id: str) -> PassError | None:
        """The error of the last poll of a batch; None if it succeeded."""
        followed = self._followed.get(change_id)
        return followed.problem if followed is not None else None

    @property
    def pending(self) -> int:
        """Batches that are not in sync yet."""
        return len(self._followed)

    async def run(self) -> None:
        """Poll the followed batches until cancelled."""
        while True:
            change_id = await self._next_due()
            with sweeping():
                await self._look(change_id)

    async def _next_due(self) -> str:
        while True:
            self._news.clear()
            change_id = min(self._followed, key=lambda id_: self._followed[id_].due, default=None)
            due = None if change_id is None else self._followed[change_id].due
            if change_id is not None and due is not None and due <= _now():
                return change_id
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._news.wait()

    async def _look(self, change_id: str) -> None:
        try:
            receipt = await self._ask(change_id)
        except Stall as refusal:
            self._settle(change_id, _Refused(fresh(refusal), _now() + STALL_INTERVAL.total_seconds()))
        except PassError as error:
            if error.unavailable is None:  # an outage is logged by the transport
                log.warning("Cannot read the state of a change", change=change_id, error=error.message)
            self._postpone(change_id, fresh(error))
        else:
            if receipt is None or receipt.in_sync:
                self._settle(change_id, None)
            else:
                self._allow(change_id)
                self._postpone(change_id)

    def _allow(self, change_id: str) -> None:
        """Forget a refusal after a successful call, and requeue the objects that it was raised for."""
        if self._answered.pop(change_id, None) is not None:
            for wake in self._followed[change_id].wakers:
                wake()

    def _postpone(self, change_id: str, problem: PassError | None = None) -> None:
        followed = self._followed[change_id]
        followed.due, followed.problem = _now() + self._interval, problem

    def _settle(self, change_id: str, refused: _Refused | None) -> None:
        self._answered[change_id] = refused
        while len(self._answered) > REMEMBERED:
            del self._answered[next(iter(self._answered))]
        for wake in self._followed.pop(change_id).wakers:
            wake()


def _now() -> float:
    return asyncio.get_running_loop().time()
