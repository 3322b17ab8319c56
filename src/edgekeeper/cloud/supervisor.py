"""Mirrors and writers that come and go: one per distribution, zone or tunnel, made when somebody first needs it.

    zones: Members[str, Mirror[RecordKey, Record]] = Members(make_zone_mirror)
    group.create_task(zones.run())
    …
    zones.at("Z1").get(key)                     made and started, unless it runs already
    await zones.drop("Z1")                      nobody needs it any more

All tasks belong to `run`: when it ends, they have ended. A member's mistake ends all, as a mistake of any other part of
the process does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterator
from contextvars import Context
from typing import Generic, Protocol, TypeVar


class Runnable(Protocol):
    """Something with a life of its own."""

    async def run(self) -> None: ...


K = TypeVar("K", bound=Hashable)
M = TypeVar("M", bound=Runnable)


class Members(Generic[K, M]):
    """Members by key. They run while `run` does."""

    def __init__(self, make: Callable[[K], M]) -> None:
        self._make = make
        self._members: dict[K, M] = {}
        self._tasks: dict[K, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None

    def at(self, key: K) -> M:
        """The member of this key, made where there is none."""
        if key not in self._members:
            self._members[key] = self._make(key)
            self._start(key)
        return self._members[key]

    def __iter__(self) -> Iterator[M]:
        return iter(list(self._members.values()))

    async def drop(self, key: K) -> None:
        """End a member, and forget it."""
        self._members.pop(key, None)
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def run(self) -> None:
        """Run all members, also those that come later, until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for key in self._members:
                    self._start(key)
                await asyncio.Event().wait()
            finally:
                self._group = None
                self._tasks.clear()

    def _start(self, key: K) -> None:
        if self._group is not None:
            # A context of its own: whoever needed the member first must not be named in all that it logs and calls.
            self._tasks[key] = self._group.create_task(self._members[key].run(), context=Context())
