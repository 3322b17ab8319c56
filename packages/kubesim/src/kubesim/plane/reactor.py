"""A small work loop for the controllers inside the server: keys go in, each is handled, one at a time, until it works.

Keys are deduplicated while they wait. A handler that fails is logged and tried again with growing pauses; one bad
key never holds up another. `idle` lets a test wait for the end of all work instead of sleeping.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

log = logging.getLogger(__name__)

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 30.0


class Reactor:
    """Runs `handle` for every key that was enqueued."""

    def __init__(self, name: str, handle: Callable[[Any], Awaitable[None]]) -> None:
        self._name = name
        self._handle = handle
        self._waiting: dict[Hashable, None] = {}
        self._failures: dict[Hashable, int] = {}
        self._pending_timers: set[asyncio.TimerHandle] = set()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None

    def enqueue(self, key: Hashable) -> None:
        self._waiting[key] = None
        self._idle.clear()
        self._wake.set()

    def enqueue_after(self, delay: float, key: Hashable) -> None:
        """Enqueue later, by the loop's clock."""
        loop = asyncio.get_running_loop()

        def due() -> None:
            self._pending_timers.discard(timer)
            self.enqueue(key)

        timer = loop.call_later(delay, due)
        self._pending_timers.add(timer)

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"reactor {self._name}")

    async def stop(self) -> None:
        for timer in self._pending_timers:
            timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def is_idle(self) -> bool:
        return self._idle.is_set()

    async def idle(self) -> None:
        """Wait until nothing is waiting. Work that is due later, after a pause, does not count."""
        await self._idle.wait()

    async def _run(self) -> None:
        while True:
            if not self._waiting:
                self._idle.set()
                self._wake.clear()
                await self._wake.wait()
            key = next(iter(self._waiting))
            del self._waiting[key]
            await self._attempt(key)
            # Handlers that never wait would keep everybody else out for as long as there is work.
            await asyncio.sleep(0)

    async def _attempt(self, key: Hashable) -> None:
        try:
            await self._handle(key)
        except Exception:
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            log.exception("%s could not handle %s, attempt %d", self._name, key, failures)
            self.enqueue_after(min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(failures, 16)), key)
        else:
            self._failures.pop(key, None)
