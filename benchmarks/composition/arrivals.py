"""The server as a process, in real time, with definitions and instances that come while `edgekeeper run` is running.

    python -m benchmarks.composition.arrivals DIRECTORY CHILDREN

Says where it can be reached (`Site`). Then it takes commands:

    define                 create the definition and wait until it is in force
    add COUNT LIMIT        create instances and wait until they are ready: how many are, and how many seconds that took
    tally                  requests and writes since the last time somebody asked
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from benchmarks.composition.counting import CountingPlane
from benchmarks.composition.fleet import Fleet, Site
from benchmarks.composition.workload import NAMESPACE, WEB_APP, instance
from benchmarks.runtime.commands import Figures, obey, tell, until
from edgekeeper.core.clock import SystemClock
from edgekeeper.runtime.logs import configure
from kubesim.plane import PlaneConfig
from kubesim.plane.kubeconfig import render_kubeconfig

LOOK_SECONDS = 0.02


async def add(plane: CountingPlane, count: int, limit: float) -> Figures:
    """Create instances as fast as the server takes them."""
    began = time.monotonic()
    for number in range(count):
        await plane.client.create(WEB_APP.collection_path(NAMESPACE), instance(number))
        await asyncio.sleep(0)  # others are served meanwhile
    due = began + limit
    await until(lambda: plane.count_ready() == count or time.monotonic() >= due, LOOK_SECONDS)
    return {"ready": float(plane.count_ready()), "seconds": time.monotonic() - began}


async def main(directory: Path, children: int) -> None:
    config = PlaneConfig(directory / "plane", simulators=frozenset(), gateway_api=False)
    async with CountingPlane(config) as plane:
        fleet = Fleet(plane, SystemClock(), children)
        await fleet.furnish()
        kubeconfig = directory / "kubeconfig"
        kubeconfig.write_text(render_kubeconfig(await plane.serve(), "bench"))

        async def define() -> Figures:
            await fleet.define()
            return {}

        tell(Site(str(kubeconfig)))
        await obey(
            {
                "define": define,
                "add": lambda count, limit: add(plane, int(count), limit),
                "tally": plane.figures,
            }
        )


if __name__ == "__main__":
    configure(level="error")
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
