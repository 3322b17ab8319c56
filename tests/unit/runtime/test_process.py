"""A whole process, in real time and on real sockets: what people and Prometheus see of it from outside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.outcome import Outcome, StatusWrite, done
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.lease import Elector
from edgekeeper.runtime.contract import ControllerOptions, Request, Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.manager import Manager, ManagerOptions
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.options import ServerOptions
from edgekeeper.runtime.server import Server
from kubesim.plane.plane import Plane
from kubesim.transport import InProcessTransport
from packages.kubesim.tests.plane.cluster import WIDGETS, define, running, widget
from tests.unit.runtime.wire import ANYWHERE, LOOPBACK, get

WIDGET = Kind("example.com", "v1", "Widget", "widgets")


class Observer:
    """Says which generation it saw; fails where the spec says so."""

    async def reconcile(self, request: Request) -> Outcome:
        if dig(request.object, "spec", "size") == 13:
            raise RuntimeError("unlucky")
        return done().writing(StatusWrite({"observedGeneration": request.generation}))


class Process:
    """One process of an operator, and its endpoints."""

    def __init__(self, plane: Plane) -> None:
        clock = SystemClock()
        self.metrics = Metrics()
        client = KubeClient(InProcessTransport(plane), Calls(), clock)
        client.observe = self.metrics.requests("plane:443")
        elector = Elector(
            KubeClient(InProcessTransport(plane), Calls(), clock),
            clock,
            Key("default", "edgekeeper"),
            "replica-1",
            on_change=self.metrics.leadership("edgekeeper"),
        )
        services = Services(client, Informers(client, clock), clock, metrics=self.metrics)
        controller = Controller(ControllerOptions("widget", WIDGET), Observer(), services)
        options = ServerOptions(health_address=ANYWHERE, metrics_address=ANYWHERE, metrics_secure=False)
        self.server = Server(options, self.metrics, client, clock)
        self.manager = Manager(
            services, [controller], elector=elector, server=self.server, options=ManagerOptions(signals=False)
        )
        self.server.ready.add("manager", lambda: self.manager.is_ready)

    async def probe(self, path: str) -> int:
        return (await get(f"http://{LOOPBACK}:{self.server.port('probes')}{path}"))[0]

    async def scrape(self) -> dict[str, float]:
        _, text = await get(f"http://{LOOPBACK}:{self.server.port('metrics')}/metrics")
        samples = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
        return {name: float(number) for name, _, number in samples}

    async def until(self, sample: str, least: float) -> dict[str, float]:
        """Scrape until a number is as large as it should become."""
        async with asyncio.timeout(10):
            while (found := await self.scrape())[sample] < least:  # noqa: ASYNC110 - as Prometheus does
                await asyncio.sleep(0.01)
        return found


@asynccontextmanager
async def operating(plane: Plane) -> AsyncIterator[Process]:
    process = Process(plane)
    async with asyncio.TaskGroup() as group:
        group.create_task(process.manager.run())
        try:
            async with asyncio.timeout(10):
                while not process.manager.is_ready:  # noqa: ASYNC110 - readiness has no event
                    await asyncio.sleep(0.01)
            yield process
        finally:
            process.manager.stop()


@pytest.fixture
async def plane() -> AsyncIterator[Plane]:
    async with running() as started:
        await define(started)
        yield started


async def stored(plane: Plane, name: str) -> JsonObject:
    return await plane.client.get(f"{WIDGETS}/{name}")


async def test_process_counts_what_it_does(plane: Plane) -> None:
    async with operating(plane) as process:
        await plane.client.create(WIDGETS, widget("shop", size=1))
        found = await process.until(
            'controller_runtime_reconcile_total{controller="widget",result="success"}', 1
        )
        assert dig(await stored(plane, "shop"), "status", "observedGeneration") == 1
    assert found['leader_election_master_status{name="edgekeeper"}'] == 1
    assert found['controller_runtime_reconcile_errors_total{controller="widget"}'] == 0
    assert found['controller_runtime_reconcile_time_seconds_count{controller="widget"}'] == 1
    assert found['workqueue_depth{controller="widget",name="widget"}'] == 0
    assert found['rest_client_requests_total{code="200",host="plane:443",method="PATCH"}'] == 1


async def test_failing_object_shows_in_the_counters(plane: Plane) -> None:
    async with operating(plane) as process:
        await plane.client.create(WIDGETS, widget("cursed", size=13))
        found = await process.until('controller_runtime_reconcile_panics_total{controller="widget"}', 3)
    assert found['controller_runtime_reconcile_total{controller="widget",result="error"}'] >= 2
    assert found['workqueue_retries_total{controller="widget",name="widget"}'] >= 2


async def test_process_is_ready_once_its_stores_are_warm_and_gone_when_it_ends(plane: Plane) -> None:
    async with operating(plane) as process:
        assert await process.probe("/healthz") == 200
        assert await process.probe("/readyz") == 200
        port = process.server.port("probes")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(LOOPBACK, port)


async def test_process_whose_stores_cannot_fill_is_alive_but_not_ready() -> None:
    async with running() as plane:  # nobody knows Widgets here
        process = Process(plane)
        async with asyncio.TaskGroup() as group:
            group.create_task(process.manager.run())
            async with asyncio.timeout(10):
                while process.server.port("probes") is None:  # noqa: ASYNC110 - a port has no event
                    await asyncio.sleep(0.01)
            assert await process.probe("/healthz") == 200
            assert await process.probe("/readyz") == 500
            process.manager.stop()
