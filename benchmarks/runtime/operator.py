"""The toy operator on our runtime, as a process of its own; it is made like every other, of a manager and a controller.

    python -m benchmarks.runtime.operator TARGET-JSON

    await_synced      when the stores were warm
    await_passes N    when so many passes had ended since the start, and how many of them failed
    resync            a pass for every object, none of which has anything to write
    rewrite           a pass for every object, each with one write of its status
    load N LIMIT      passes for all objects over and over, until N changes by others got theirs; how soon they did

Moments are those of the monotonic clock, which all processes share.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from pathlib import Path

import msgspec

from benchmarks.plane.process import CLIENT_CORE, pin_to_core
from benchmarks.plane.target import Target
from benchmarks.runtime.commands import Figures, obey, until
from benchmarks.runtime.passes import Passes
from benchmarks.runtime.workload import FINALIZER, SITE, STAMP, ready_status
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import dig_object
from edgekeeper.core.outcome import Outcome, StatusWrite, done
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.credentials import StoredCredentials, bearer
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.contract import ControllerOptions, Request, Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.event_loop import run
from edgekeeper.runtime.logs import configure
from edgekeeper.runtime.manager import Manager
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.queue import Priority

NAME = "site"
LOOK_SECONDS = 0.005


class SiteReconciler:
    """Says that a site is ready, or that it still is, where asked to. Notes how long ago it was changed, where the change says when that was."""

    def __init__(self) -> None:
        self.rewriting = False
        self.latencies: list[float] = []
        self._stamps: dict[Key, str] = {}

    async def reconcile(self, request: Request) -> Outcome:
        stamp = request.object["spec"]["tags"].get(STAMP)
        if stamp and self._stamps.get(request.key) != stamp:
            self._stamps[request.key] = stamp
            self.latencies.append((time.monotonic_ns() - int(stamp)) / 1e9)
        rounds: int = dig_object(request.object, "status").get("round", 0)
        return done().writing(StatusWrite(ready_status(rounds + self.rewriting)))

    async def finalize(self, request: Request) -> Outcome:
        return done()


class Operator:
    """The operator, and what can be measured from within."""

    def __init__(self, client: KubeClient) -> None:
        clock, metrics = SystemClock(), Metrics()
        services = Services(client, Informers(client, clock), clock, metrics=metrics)
        options = ControllerOptions(NAME, SITE, finalizer=FINALIZER)
        self._reconciler = SiteReconciler()
        self._controller = Controller(options, self._reconciler, services)
        self._made = Passes(metrics.registry)
        self.manager = Manager(services, [self._controller])

    async def synced(self) -> Figures:
        await until(lambda: self.manager.is_ready, LOOK_SECONDS)
        return {"reached": time.monotonic()}

    async def passes(self, count: float) -> Figures:
        await until(lambda: self._made.ended >= count, LOOK_SECONDS)
        return {"reached": time.monotonic(), "errors": self._made.troubles}

    async def resync(self) -> Figures:
        started, cpu = time.perf_counter(), time.process_time()
        due = self._made.ended + self._wake_all()
        await self.passes(due)
        return {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}

    async def rewrite(self) -> Figures:
        self._reconciler.rewriting = True
        try:
            return await self.resync()
        finally:
            self._reconciler.rewriting = False

    async def load(self, count: float, limit: float) -> Figures:
        """Keep the queue at least half full of all objects, until `count` changes were seen or `limit` seconds are over."""
        latencies, due = self._reconciler.latencies, time.monotonic() + limit
        objects = self._wake_all()
        while len(latencies) < count and time.monotonic() < due:
            if len(self._controller.queue) < objects / 2:
                self._wake_all()
            await asyncio.sleep(LOOK_SECONDS)
        percentiles = statistics.quantiles(latencies, n=100)
        return {"p50": percentiles[49], "p99": percentiles[98], "seen": float(len(latencies))}

    def _wake_all(self) -> int:
        keys = self._controller.informers[0].store.keys()
        for key in keys:
            self._controller.wake(key, priority=Priority.RESYNC)
        return len(keys)


async def main(target: Target) -> None:
    configure(format="json", level="info")
    credentials = StoredCredentials(bearer(target.token) if target.token else None)
    cluster = ClusterConfig(target.url, Trust(Path(target.ca_file)), credentials)
    client = KubeClient(HttpTransport(cluster), Calls(), SystemClock())
    operator = Operator(client)
    async with asyncio.TaskGroup() as group:
        group.create_task(operator.manager.run())
        await obey(
            {
                "await_synced": operator.synced,
                "await_passes": operator.passes,
                "resync": operator.resync,
                "rewrite": operator.rewrite,
                "load": operator.load,
            }
        )
        operator.manager.stop()
    await client.close()


if __name__ == "__main__":
    pin_to_core(CLIENT_CORE)
    run(main(msgspec.json.decode(sys.argv[1], type=Target)))
