"""The client's side of the measurements, run as a process of its own on a core of its own.

    python -m benchmarks.plane.client create TARGET-JSON PATH COUNT     creates per second
    python -m benchmarks.plane.client list   TARGET-JSON PATH COUNT     seconds for one list of COUNT objects
    python -m benchmarks.plane.client fanout TARGET-JSON PATH COUNT     COUNT objects, seen by 100 watchers each

Prints one JSON object. Bodies are built before the clock starts.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator

import aiohttp
import msgspec

from benchmarks.plane.process import CLIENT_CORE, pin_to_core
from benchmarks.plane.session import open_session
from benchmarks.plane.target import Target
from benchmarks.plane.workload import site

AT_ONCE = 16
WATCHERS = 100
QUIET_SECONDS = 10.0
JSON_HEADERS = {"Content-Type": "application/json"}


async def create_sites(session: aiohttp.ClientSession, path: str, bodies: list[bytes]) -> float:
    """Create all `bodies`, some at once, and return the seconds it took."""
    waiting = iter(bodies)

    async def work(bodies_left: Iterator[bytes]) -> None:
        for body in bodies_left:
            async with session.post(path, data=body, headers=JSON_HEADERS) as response:
                answer = await response.read()
                if response.status != 201:
                    raise RuntimeError(f"create answered {response.status}: {answer[:500]!r}")

    started = time.perf_counter()
    await asyncio.gather(*(work(waiting) for _ in range(AT_ONCE)))
    return time.perf_counter() - started


async def measure_create(session: aiohttp.ClientSession, path: str, count: int) -> dict[str, float]:
    seconds = await create_sites(session, path, [site(f"site-{number}") for number in range(count)])
    return {"rate": count / seconds}


async def measure_list(session: aiohttp.ClientSession, path: str, count: int) -> dict[str, float]:
    started = time.perf_counter()
    async with session.get(path) as response:
        received = len(await response.read())
    if received < count * 1000:
        raise RuntimeError(f"a list of {count} objects has only {received} bytes")
    return {"seconds": time.perf_counter() - started}


async def measure_fanout(session: aiohttp.ClientSession, path: str, count: int) -> dict[str, float]:
    """Let 100 watchers see `count` objects being created; watchers end when they have all, or in silence."""
    async with session.get(path, params={"limit": "1"}) as response:
        revision = msgspec.json.decode(await response.read())["metadata"]["resourceVersion"]
    watchers = [asyncio.create_task(_watch(session, path, revision, count)) for _ in range(WATCHERS)]
    started = time.perf_counter()
    await create_sites(session, path, [site(f"site-{number}") for number in range(count)])
    seen = await asyncio.gather(*watchers)
    finished = max(moment for _, moment in seen)
    delivered = sum(events for events, _ in seen)
    return {"rate": delivered / (finished - started), "lost": WATCHERS * count - delivered}


async def _watch(session: aiohttp.ClientSession, path: str, revision: str, count: int) -> tuple[int, float]:
    """Count events until `count` came, and say when the last one did. Every event is one line."""
    events, last = 0, time.perf_counter()
    async with session.get(path, params={"watch": "1", "resourceVersion": revision}) as response:
        while events < count:
            try:
                chunk = await asyncio.wait_for(response.content.readany(), QUIET_SECONDS)
            except TimeoutError:
                break
            if not chunk:
                break
            events += chunk.count(b"\n")
            last = time.perf_counter()
    return events, last


MEASUREMENTS = {"create": measure_create, "list": measure_list, "fanout": measure_fanout}


async def main(measurement: str, target: str, path: str, count: str) -> None:
    async with open_session(msgspec.json.decode(target, type=Target)) as session:
        result = await MEASUREMENTS[measurement](session, path, int(count))
    print(msgspec.json.encode(result).decode())


if __name__ == "__main__":
    pin_to_core(CLIENT_CORE)
    asyncio.run(main(*sys.argv[1:]))
