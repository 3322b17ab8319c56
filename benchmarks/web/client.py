"""Asks the page of another process, and measures how long it takes."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

from benchmarks.web.server import TOKEN
from tests.web.browser import chromium, open_page

HEADERS = {"Authorization": f"Bearer {TOKEN}"}
REQUESTS = 200
UPDATES = 50


@dataclass(frozen=True)
class Times:
    """Durations in milliseconds."""

    p50: float
    p99: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Times:
        cuts = statistics.quantiles(seconds, n=100)
        return cls(cuts[49] * 1000, cuts[98] * 1000)


@dataclass(frozen=True)
class Served:
    """A page in another process."""

    process: asyncio.subprocess.Process
    session: aiohttp.ClientSession
    port: int
    built: float
    memory: float

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def requests(self, *paths: str) -> Times:
        """Ask for these pages in turn, one request at a time."""
        taken = []
        for number in range(REQUESTS):
            began = time.monotonic()
            async with self.session.get(f"{self.url}{paths[number % len(paths)]}") as answer:
                await answer.read()
                assert answer.status == 200
            taken.append(time.monotonic() - began)
        return Times.of(taken)

    async def updates(self) -> Times:
        """How long it takes from a change in the cache to its event at the client."""
        taken = []
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        async with self.session.get(f"{self.url}/events") as stream:
            await stream.content.readuntil(b"\n\n")
            for _ in range(UPDATES):
                self.process.stdin.write(b"\n")
                changed = json.loads(await self.process.stdout.readline())["at"]
                while b"event: rows" not in await stream.content.readuntil(b"\n\n"):
                    continue
                taken.append(time.monotonic() - changed)
                await asyncio.sleep(0.3)
        return Times.of(taken)

    async def first_paint(self) -> tuple[float, float]:
        """Milliseconds until a browser shows something, and until it shows the list."""
        with TemporaryDirectory() as directory, chromium(Path(directory)) as port:
            async with open_page(port) as page:
                await page.go(f"{self.url}/?token={TOKEN}")
                await page.go("about:blank")
                await page.go(f"{self.url}/#/objects")
                await page.wait("document.querySelectorAll('tr[data-id]').length === 50")
                painted = await page.value(
                    "performance.getEntriesByName('first-contentful-paint')[0].startTime"
                )
                asked = "performance.getEntriesByType('resource').find((one) => one.name.includes('/api/objects'))"
                listed = await page.value(f"{asked}.responseEnd")
                return float(painted), float(listed)


@asynccontextmanager
async def serving(count: int) -> AsyncIterator[Served]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.web.server", str(count)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        ready = json.loads(await process.stdout.readline())
        async with aiohttp.ClientSession(headers=HEADERS) as session:
            yield Served(process, session, ready["port"], ready["built"], ready["memory"])
    finally:
        process.stdin.close()
        await process.wait()
