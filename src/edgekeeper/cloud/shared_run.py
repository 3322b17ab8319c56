"""One task that several users run together: the first one starts it, and the last one that is cancelled ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class SharedRun:
    """Runs a coroutine function once for all who call `run` at the same time. Where it fails, it fails for all of them."""

    def __init__(self, name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._name = name
        self._run = run
        self._users = 0
        self._task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Run until cancelled."""
        self._users += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name=self._name)
        task = self._task
        try:
            await asyncio.shield(task)
        finally:
            self._users -= 1
            if not self._users:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
