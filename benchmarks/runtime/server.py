"""The embedded server, full of objects, as a process of its own; it counts what operators write.

    python -m benchmarks.runtime.server DIRECTORY COUNT new|converged

    await_converged LIMIT    wait until every object is claimed and ready and nobody has written for a second
    tally                    what was written since the last time somebody asked
    poke COUNT PAUSE         change the spec of so many objects, one after the other, as people do

Only what comes over the wire is counted: its own changes are nobody's writes.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from benchmarks.plane.process import pin_to_core
from benchmarks.plane.serving import SERVER_CORE
from benchmarks.plane.target import Target
from benchmarks.runtime.commands import Figures, obey, tell, until
from benchmarks.runtime.filling import SITES, fill
from benchmarks.runtime.workload import SITE, STAMP, is_converged, key_of
from kubesim.plane import Plane, PlaneConfig
from kubesim.plane.request import Request, Response
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event, Key

QUIET_SECONDS = 1.0
LOOK_SECONDS = 0.1
READING = frozenset({"GET", "HEAD"})


class CountingPlane(Plane):
    """A server that knows what was asked of it over the wire."""

    def __init__(self, config: PlaneConfig) -> None:
        super().__init__(config)
        self.last_write = time.monotonic()
        self._writes = self._refused = 0

    async def handle(self, request: Request) -> Response:
        response = await super().handle(request)
        if request.method not in READING:
            self.last_write = time.monotonic()
            self._writes += 1
            self._refused += response.status >= 400
        return response

    async def tally(self) -> Figures:
        """Writes, of whatever objects, and how many of them were refused; then start anew."""
        figures = {"writes": float(self._writes), "refused": float(self._refused)}
        self._writes = self._refused = 0
        return figures


class Convergence:
    """Follows the store until all its objects are as they should be."""

    def __init__(self, plane: CountingPlane) -> None:
        self._plane = plane
        items = plane.store.collection(SITES).items
        self._pending: set[Key] = {key for key, item in items.items() if not is_converged(item.body)}
        self._reached = time.monotonic()
        plane.store.listen(self._observe)

    def _observe(self, resource: GroupResource, event: Event) -> None:
        if resource == SITES and event.item.key in self._pending and is_converged(event.item.body):
            self._pending.discard(event.item.key)
            self._reached = time.monotonic()

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
        return not self._pending and time.monotonic() - self._plane.last_write > QUIET_SECONDS


async def poke(plane: Plane, count: int, pause: float) -> Figures:
    for number in range(count):
        stamp = {"spec": {"tags": {STAMP: str(time.monotonic_ns())}}}
        await plane.client.merge(SITE.path(key_of(number)), stamp)
        await asyncio.sleep(pause)
    return {"poked": float(count)}


async def main(directory: Path, count: int, *, converged: bool) -> None:
    async with CountingPlane(PlaneConfig(simulators=frozenset())) as plane:
        await fill(plane, count, converged=converged)
        convergence = Convergence(plane)
        endpoint = await plane.serve(host="127.0.0.1", port=0)
        ca_file = directory / "ca.pem"
        ca_file.write_bytes(endpoint.ca_pem)
        tell(Target(endpoint.url, str(ca_file)))
        await obey(
            {
                "await_converged": convergence.wait,
                "tally": plane.tally,
                "poke": lambda count, pause: poke(plane, int(count), pause),
            }
        )


if __name__ == "__main__":
    pin_to_core(SERVER_CORE)
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), converged=sys.argv[3] == "converged"))
