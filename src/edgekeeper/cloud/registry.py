"""Members that all kinds share, one per key: hosted zones, accounts. Created on demand, released when not needed.

    zones: Registry[str, Zone] = Registry("zone", make_zone, clock)
    zones.add_user(claims.uses_zone)            asked before a zone is released
    group.create_task(zones.run())
    …
    zones.get("Z1")                             the same zone for all callers

*Guarantees*
 - A member is started by the first `get`.
 - It is stopped and removed when for `LINGERING` there was no `get`, no user has needed it and it was idle. A later `get`
   creates a new one.

*Assumptions*
 - Callers use `get` in every pass, and keep no reference to a member in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterator
from datetime import timedelta
from typing import Final, Generic, Protocol, TypeVar

from edgekeeper.cloud.supervisor import Supervisor
from edgekeeper.core.clock import Clock

LINGERING: Final = timedelta(minutes=5)
"""Longer than the eventual consistency of a provider, which a new mirror would not know about, and than it takes to delete
an object and create it again."""
CHECKED_EVERY: Final = timedelta(minutes=1)


class Member(Protocol):
    """A member: runs as long as it is needed."""

    @property
    def is_idle(self) -> bool:
        """Whether it can be stopped without losing work."""

    async def run(self) -> None: ...


K = TypeVar("K", bound=Hashable)
M = TypeVar("M", bound=Member)


async def _nothing(_: object) -> None:
    pass


class Registry(Generic[K, M]):
    """Members by key. They run as long as `run`."""

    def __init__(
        self,
        name: str,
        make: Callable[[K], M],
        clock: Clock,
        *,
        on_release: Callable[[K], Awaitable[None]] = _nothing,
    ) -> None:
        """`on_release` is called after a member has ended."""
        self._make = make
        self._clock = clock
        self._on_release = on_release
        self._members: dict[K, M] = {}
        self._needed: dict[K, float] = {}
        """When each member was last needed."""
        self._users: list[Callable[[K], bool]] = []
        self._tasks: Supervisor[K] = Supervisor(name)

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._members))

    def add_user(self, user: Callable[[K], bool]) -> None:
        """Ask `user` whether a member is needed before it is released. Without any user nothing is released."""
        self._users.append(user)

    def get(self, key: K) -> M:
        """The member of a key, made and started where there is none."""
        self._needed[key] = self._clock.monotonic()
        if key not in self._members:
            self._members[key] = self._make(key)
            self._tasks.start(key, self._members[key].run)
        return self._members[key]

    async def run(self) -> None:
        """Run the members until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tasks.run())
            group.create_task(self._release_unneeded())

    async def _release_unneeded(self) -> None:
        while True:
            await asyncio.sleep(CHECKED_EVERY.total_seconds())
            for key in self:
                if self._is_unneeded(key):
                    await self._release(key)

    def _is_unneeded(self, key: K) -> bool:
        now = self._clock.monotonic()
        if self._is_used(key) or not self._members[key].is_idle:
            self._needed[key] = now
        return now - self._needed[key] >= LINGERING.total_seconds()

    def _is_used(self, key: K) -> bool:
        return not self._users or any(user(key) for user in self._users)

    async def _release(self, key: K) -> None:
        del self._members[key], self._needed[key]
        await self._tasks.stop(key)
        await self._on_release(key)
