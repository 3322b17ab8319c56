"""A remote collection that can be listed, changed behind our back, and made to misbehave; and a mirror of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from prometheus_client import CollectorRegistry

from edgekeeper.cloud.call_context import Priority, current_context
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.mirror import Mirror
from kubesim.virtual import LoopClock

NAME = "things"


@dataclass(frozen=True)
class Thing:
    """A remote object."""

    etag: str = "1"
    status: str = "Deployed"
    note: str = ""

    @property
    def in_progress(self) -> bool:
        return self.status == "InProgress"


@dataclass
class Remote:
    """The collection as the provider has it. A listing takes a snapshot when it begins."""

    things: dict[str, Thing] = field(default_factory=dict)
    page_size: int = 2
    latency: float = 0.0
    """Seconds per page."""
    error: Exception | None = None
    """Raised instead of the last page."""
    shown: dict[str, Thing] | None = None
    """What listings show, where that is not the truth."""
    listings: list[float] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    priorities: set[Priority] = field(default_factory=set)

    async def list(self) -> AsyncIterator[dict[str, Thing]]:
        self.listings.append(asyncio.get_running_loop().time())
        self.priorities.add(current_context().priority)
        snapshot = dict(self.things if self.shown is None else self.shown)
        pages = list(_pages(snapshot, self.page_size))
        for number, page in enumerate(pages, start=1):
            await asyncio.sleep(self.latency)
            if self.error is not None and number == len(pages):
                raise self.error
            yield page

    async def read(self, key: str) -> Thing | None:
        await asyncio.sleep(self.latency)
        self.reads.append(key)
        if self.error is not None:
            raise self.error
        return self.things.get(key)


def _pages(things: dict[str, Thing], size: int) -> Iterator[dict[str, Thing]]:
    items = list(things.items())
    for start in range(0, max(1, len(items)), size):
        yield dict(items[start : start + size])


class Reflected:
    """A mirror of a remote collection, and what it has told."""

    def __init__(self, remote: Remote, **settings: Any) -> None:
        self.remote = remote
        self.registry = CollectorRegistry()
        self.metrics = CloudMetrics(self.registry)
        self.mirror: Mirror[str, Thing] = Mirror(
            NAME,
            remote.list,
            LoopClock(),
            self.metrics,
            in_progress=lambda thing: thing.in_progress,
            random=Random(1),
            **settings,
        )
        self.told: list[tuple[str, Thing | None, Thing | None]] = []
        self.mirror.subscribe(lambda *change: self.told.append(change))

    @property
    def keys(self) -> set[str]:
        return {key for key, _ in self.mirror.items()}

    def news(self) -> list[str]:
        """The keys that were told of since the last time."""
        keys = [key for key, _, _ in self.told]
        self.told.clear()
        return keys

    def sample(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"edgekeeper_cloud_mirror_{name}", {"mirror": NAME, **labels})

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.mirror.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})


def things(count: int) -> dict[str, Thing]:
    return {f"thing-{n}": Thing() for n in range(count)}
