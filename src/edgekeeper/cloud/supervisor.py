"""Runs background tasks by key, and restarts those that fail.

    supervisor: Supervisor[str] = Supervisor("mirrors of account 1")
    group.create_task(supervisor.run())
    …
    supervisor.start("zones", mirror.run)       runs from now on, or from the start of `run`
    await supervisor.stop("zones")

*Guarantees*
 - A task that raises is logged and restarted with backoff. Other tasks are not affected.
 - When `run` or `stop` has ended, so have the tasks.
 - Tasks do not inherit the call context of the caller.

*Assumptions*
 - A task can be run again after it has failed. A task that returns is complete, and is not restarted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from contextvars import Context
from datetime import timedelta
from random import Random
from typing import Any, Final, Generic, TypeAlias, TypeVar

from edgekeeper.core.backoff import Backoff
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

K = TypeVar("K", bound=Hashable)

Run: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

RESTART_PAUSES: Final = Backoff(first=timedelta(seconds=1), longest=timedelta(minutes=5), jitter=0)


class Supervisor(Generic[K]):
    """Tasks by key. They run as long as `run`."""

    def __init__(self, name: str) -> None:
        """`name` identifies the tasks in logs."""
        self._name = name
        self._runs: dict[K, Run] = {}
        self._tasks: dict[K, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None

    def start(self, key: K, run: Run) -> None:
        """Start a task. Raise ValueError if the key is in use."""
        if key in self._runs:
            raise ValueError(f"{self._name}: {key} is already running")
        self._runs[key] = run
        self._start_task(key)

    async def stop(self, key: K) -> None:
        """Cancel the task of a key, and wait for its end. The key can be used again at once."""
        self._runs.pop(key, None)
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def run(self) -> None:
        """Run the tasks, including those that are started later, until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for key in self._runs:
                    self._start_task(key)
                await asyncio.Event().wait()
            finally:
                self._group = None
                self._tasks.clear()

    def _start_task(self, key: K) -> None:
        if self._group is not None:
            task = self._group.create_task(self._supervise(key, self._runs[key]), context=Context())
            self._tasks[key] = task

    async def _supervise(self, key: K, run: Run) -> None:
        loop, failures = asyncio.get_running_loop(), 0
        while True:
            began = loop.time()
            try:
                await run()
            except Exception:
                log.exception(
                    "A background task failed and will be restarted", owner=self._name, task=str(key)
                )
            else:
                return
            ran_long = loop.time() - began > RESTART_PAUSES.longest.total_seconds()
            failures = 1 if ran_long else failures + 1
            await asyncio.sleep(RESTART_PAUSES.delay(failures, Random(0)).total_seconds())
