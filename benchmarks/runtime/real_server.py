"""A real API server, full of objects, as a process of its own: what operators meet in production.

    python -m benchmarks.runtime.real_server DIRECTORY COUNT new

It takes the commands of `server` that a comparison needs, and gives the same answers: `await_converged LIMIT` and
`tally`. What was written is read from the server's own metrics; whether all objects are ready, from a watch. The servers
are free to use every core, as the programs that they are; only the operator is bound to one.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from pathlib import Path

import aiohttp

from benchmarks.plane.client import create_sites
from benchmarks.plane.preparing import set_stage
from benchmarks.plane.session import open_session
from benchmarks.plane.target import Target
from benchmarks.plane.workload import site, sites_path
from benchmarks.runtime.commands import Figures, obey, tell, until
from benchmarks.runtime.workload import NAMESPACE, definition, is_converged, key_of
from tests.conformance.real import real_server
from tests.conformance.servers import ADMIN, TOKENS

QUIET_SECONDS = 5.0
LOOK_SECONDS = 0.1
_NAME = re.compile(rb'"name":"(site-\d+)"')
_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')
_REQUESTS = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<count>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_WRITING = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE"})
_WRITTEN = frozenset({"sites", "events"})
"""What operators write here. Servers and controllers write other things, for themselves."""


class Tally:
    """The writes of operators, by the server's own count."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._before: Figures = {"writes": 0.0, "refused": 0.0}

    async def take(self) -> Figures:
        """What was written and refused since the last time."""
        async with self._session.get("/metrics") as response:
            now = count_writes(await response.text())
        figures = {name: now[name] - self._before[name] for name in now}
        self._before = now
        return figures


def count_writes(metrics: str) -> Figures:
    """Writes by operators, and how many of them failed, from the metrics of a server."""
    figures = {"writes": 0.0, "refused": 0.0}
    for found in _REQUESTS.finditer(metrics):
        labels = dict(_LABEL.findall(found["labels"]))
        if labels["verb"] in _WRITING and labels["resource"] in _WRITTEN:
            figures["writes"] += float(found["count"])
            figures["refused"] += float(found["count"]) if int(labels["code"]) >= 400 else 0.0
    return figures


class Convergence:
    """Follows the server until all its objects are as they should be."""

    def __init__(self, session: aiohttp.ClientSession, count: int) -> None:
        self._session = session
        self._pending = {key_of(number).name.encode() for number in range(count)}
        self._last_change = self._reached = time.monotonic()

    async def follow(self) -> None:
        """Watch for as long as it takes. Servers cut off watchers that they find too slow: then go on where it ended."""
        async with self._session.get(sites_path(NAMESPACE), params={"limit": "1"}) as response:
            version = (await response.json())["metadata"]["resourceVersion"]
        while True:
            params = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "3600"}
            async with self._session.get(sites_path(NAMESPACE), params=params) as response:
                async for line in response.content:
                    version = self._observe(line)

    def _observe(self, line: bytes) -> str:
        """Take note of an event, and return the version that it led to."""
        name, version = _NAME.search(line), _VERSION.search(line)
        if name is None or version is None:
            raise RuntimeError(f"the watch said something unexpected: {line[:500]!r}")
        self._last_change = time.monotonic()
        if name[1] in self._pending and is_converged(line):
            self._pending.discard(name[1])
            self._reached = time.monotonic()
        return version[1].decode()

    async def wait(self, limit: float) -> Figures:
        """When the last object became ready; how many are not, and whether somebody still writes, at the limit."""
        due = time.monotonic() + limit
        await until(lambda: self._is_quiet() or time.monotonic() >= due, LOOK_SECONDS)
        return {
            "reached": self._reached,
            "pending": float(len(self._pending)),
            "quiet": float(self._is_quiet()),
        }

    def _is_quiet(self) -> bool:
        return not self._pending and time.monotonic() - self._last_change > QUIET_SECONDS


async def main(target: Target, count: int) -> None:
    async with open_session(target) as session:
        await set_stage(session, [NAMESPACE], definition())
        await create_sites(
            session, sites_path(NAMESPACE), [site(key_of(number).name) for number in range(count)]
        )
        convergence, tally = Convergence(session, count), Tally(session)
        async with asyncio.TaskGroup() as group:
            following = group.create_task(convergence.follow())
            await tally.take()
            tell(target)
            await obey({"await_converged": convergence.wait, "tally": tally.take})
            following.cancel()


if __name__ == "__main__":
    with real_server(Path(sys.argv[1])) as server:
        target = Target(server.url, str(server.authority.files.certificate), TOKENS[ADMIN])
        asyncio.run(main(target, int(sys.argv[2])))
