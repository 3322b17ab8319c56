"""The figures of the status page: what it takes to look at 10,000 objects."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from benchmarks.row import Absent, Goal, Row
from benchmarks.web.client import Served, Times, serving
from tests.web.browser import find_chromium

GROUP = "web"
OBJECTS = 10_000
ANSWER = Goal("≤", 300)
"""Milliseconds."""

LISTS = ("/api/objects", "/api/objects?page=100", "/api/objects?state=attention", "/api/objects?sort=newest")
SEARCHES = (
    "/api/objects?q=tenant-04711",
    "/api/objects?q=www.tenant-0999",
    "/api/objects?q=team-42%20deploying",
    "/api/objects?q=nothing",
)


def measure() -> Iterator[Row | Absent]:
    """Yield the figures."""
    yield from asyncio.run(_measure())


async def _measure() -> list[Row | Absent]:
    async with serving(OBJECTS) as served:
        rows: list[Row | Absent] = [
            Row(GROUP, f"rows of {OBJECTS:,} objects made", served.built, "s"),
            Row(GROUP, f"memory for {OBJECTS:,} objects", served.memory, "MB", Goal("≤", 60)),
            *_times("list, a page of 50", await served.requests(*LISTS)),
            *_times("search", await served.requests(*SEARCHES)),
            *_times("overview", await served.requests("/api/overview")),
            *_times("change to event", await served.updates(), Goal("≤", 1000)),
            *await _browser(served),
        ]
    return rows


def _times(name: str, times: Times, goal: Goal = ANSWER) -> Iterator[Row]:
    yield Row(GROUP, f"{name}, p50", times.p50, "ms")
    yield Row(GROUP, f"{name}, p99", times.p99, "ms", goal)


async def _browser(served: Served) -> list[Row | Absent]:
    if find_chromium() is None:
        return [Absent(GROUP, "first paint", "there is no Chromium: apt-get install chromium")]
    painted, listed = await served.first_paint()
    return [
        Row(GROUP, "first paint in Chromium", painted, "ms", Goal("≤", 1000)),
        Row(GROUP, "list in Chromium", listed, "ms", Goal("≤", 1500)),
    ]
