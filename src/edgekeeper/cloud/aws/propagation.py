"""Which batches of records the world can see: asked once per batch, for all who have a change in it.

    if zone.in_sync(change_id, wake=partial(controller.wake, key)):      in a pass, which never waits here
        …

A pass asks by the id that it keeps in its object's status, so that it also works after a restart. As long as the answer
is no, the batch is followed, and everybody who asked is woken when that changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from edgekeeper.cloud.aws.route53 import ChangeReceipt
from edgekeeper.cloud.origin import sweeping
from edgekeeper.core.errors import PassError, Stall, fresh
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

INTERVAL: Final = timedelta(seconds=30)
"""Between two questions about a batch. Most are in sync after one minute."""
REMEMBERED: Final = 10_000
"""How many answered batches are kept in mind; about one that was forgotten Route 53 is asked again."""


@dataclass(eq=False, slots=True)
class _Followed:
    """A batch that is not in sync yet."""

    due: float
    wakers: list[Callable[[], None]] = field(default_factory=list)


class Propagation:
    """Follows the batches of one zone."""

    def __init__(
        self, ask: Callable[[str], Awaitable[ChangeReceipt | None]], interval: timedelta = INTERVAL
    ) -> None:
        """`ask` answers how far a batch has come; None says that Route 53 has forgotten it."""
        self._ask = ask
        self._interval = interval.total_seconds()
        self._answered: dict[str, PassError | None] = {}
        """Batches that are in sync (None), and those about which we may not ask."""
        self._followed: dict[str, _Followed] = {}
        self._news = asyncio.Event()

    def in_sync(self, change_id: str, wake: Callable[[], None] | None = None) -> bool:
        """Can the world see the batch? If not yet, call `wake` when it can. Raise where that cannot be found out."""
        if change_id in self._answered:
            if (refusal := self._answered.pop(change_id)) is not None:
                raise refusal  # once: whoever asks again wants it tried again
            self._answered[change_id] = None
            return True
        followed = self.follow(change_id)
        if wake is not None and wake not in followed.wakers:
            followed.wakers.append(wake)
        return False

    def follow(self, change_id: str) -> _Followed:
        """Begin to ask about a batch."""
        if change_id not in self._followed:
            due = asyncio.get_running_loop().time() + self._interval
            self._followed[change_id] = _Followed(due)
            self._news.set()
        return self._followed[change_id]

    @property
    def pending(self) -> int:
        """Batches that are not in sync yet."""
        return len(self._followed)

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            change_id = await self._next_due()
            with sweeping():
                await self._look(change_id)

    async def _next_due(self) -> str:
        loop = asyncio.get_running_loop()
        while True:
            self._news.clear()
            change_id = min(self._followed, key=lambda one: self._followed[one].due, default=None)
            if change_id is None:
                await self._news.wait()
            elif (left := self._followed[change_id].due - loop.time()) > 0:
                await asyncio.sleep(left)
            else:
                return change_id

    async def _look(self, change_id: str) -> None:
        try:
            receipt = await self._ask(change_id)
        except Stall as refusal:
            self._settle(change_id, fresh(refusal))
        except PassError as error:
            log.warning("Cannot ask how far a change has come", change=change_id, error=error.message)
            self._postpone(change_id)
        else:
            if receipt is None or receipt.in_sync:
                self._settle(change_id, None)
            else:
                self._postpone(change_id)

    def _postpone(self, change_id: str) -> None:
        self._followed[change_id].due = asyncio.get_running_loop().time() + self._interval

    def _settle(self, change_id: str, refusal: PassError | None) -> None:
        self._answered[change_id] = refusal
        while len(self._answered) > REMEMBERED:
            del self._answered[next(iter(self._answered))]
        for wake in self._followed.pop(change_id).wakers:
            wake()
