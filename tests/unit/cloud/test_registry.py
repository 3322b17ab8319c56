"""Members that all share: made on demand, released when nobody needs them. Zones and accounts test the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from edgekeeper.cloud.registry import CHECKED_EVERY, LINGERING, Registry
from kubesim.virtual import LoopClock, virtual_time

RELEASED_WITHIN = (LINGERING + CHECKED_EVERY).total_seconds()


class Zone:
    """Runs until it is cancelled."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.is_idle = True
        self.running = False

    async def run(self) -> None:
        self.running = True
        try:
            await asyncio.Event().wait()
        finally:
            self.running = False


@asynccontextmanager
async def running(needed: set[str] | None, released: list[str]) -> AsyncIterator[Registry[str, Zone]]:
    """A registry with one user who needs these zones; without any user, where there are none."""

    async def on_release(key: str) -> None:
        released.append(key)

    registry: Registry[str, Zone] = Registry("zones", Zone, LoopClock(), on_release=on_release)
    if needed is not None:
        registry.add_user(needed.__contains__)
    task = asyncio.create_task(registry.run())
    try:
        yield registry
    finally:
        task.cancel()
        await asyncio.wait({task})


@virtual_time
async def test_registry_gives_everybody_the_same_member() -> None:
    async with running(None, []) as registry:
        zone = registry.get("Z1")
        assert registry.get("Z1") is zone
        assert registry.get("Z2") is not zone
        await asyncio.sleep(1)
        assert zone.running
        assert list(registry) == ["Z1", "Z2"]
    assert not zone.running


@virtual_time
async def test_registry_releases_what_is_neither_asked_for_nor_used_nor_busy() -> None:
    released: list[str] = []
    async with running({"used"}, released) as registry:
        asked, used, busy, left = (registry.get(key) for key in ("asked", "used", "busy", "left"))
        busy.is_idle = False
        for _ in range(3):
            await asyncio.sleep(LINGERING.total_seconds() - 1)
            registry.get("asked")
        assert (asked.running, used.running, busy.running, left.running) == (True, True, True, False)
        assert released == ["left"]
        busy.is_idle = True
        await asyncio.sleep(RELEASED_WITHIN)
        assert sorted(released) == ["asked", "busy", "left"]
        assert list(registry) == ["used"]
        assert registry.get("left") is not left


@virtual_time
async def test_registry_without_users_releases_nothing() -> None:
    async with running(None, []) as registry:
        zone = registry.get("Z1")
        await asyncio.sleep(3 * RELEASED_WITHIN)
        assert zone.running
