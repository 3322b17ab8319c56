"""How long the server works on a list of 10,000 objects, with no network in between."""

from __future__ import annotations

import asyncio
import time

from benchmarks.plane.workload import CRDS_PATH, NAMESPACES_PATH, definition, site, sites_path
from benchmarks.row import ROUNDS
from kubesim.plane import Plane, PlaneConfig
from kubesim.plane.request import Request


def measure_list_seconds(count: int) -> float:
    return asyncio.run(_measure(count))


async def _measure(count: int) -> float:
    async with Plane(PlaneConfig(simulators=frozenset())) as plane:
        await _call(plane, "POST", NAMESPACES_PATH, b'{"metadata": {"name": "bench"}}')
        await _call(plane, "POST", CRDS_PATH, definition())
        await plane.settle()
        for number in range(count):
            await _call(plane, "POST", sites_path("bench"), site(f"site-{number}"))
        return min([await _timed_list(plane, sites_path("bench")) for _ in range(ROUNDS)])


async def _timed_list(plane: Plane, path: str) -> float:
    started = time.perf_counter()
    response = await plane.handle(Request.of("GET", path))
    if response.stream is not None:
        async for _ in response.stream:
            pass
    return time.perf_counter() - started


async def _call(plane: Plane, method: str, path: str, body: bytes | dict[str, object]) -> None:
    response = await plane.handle(Request.of(method, path, body, content_type="application/json"))
    if response.status >= 400:
        raise RuntimeError(f"{method} {path} answered {response.status}: {response.body[:500]!r}")
