"""A small world to test controllers in: an embedded server, a user, and an operator, all in virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from typing import Any

from edgekeeper.core.calls import CallHook, CallRecord, Calls
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.core.outcome import Event, Outcome, StatusWrite, done
from edgekeeper.kube.client import ClientOptions, KubeClient
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, Key, Kind
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, Transport
from edgekeeper.runtime.contract import ControllerOptions, Reconciler, Request, Result, Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.manager import Manager, ManagerOptions
from edgekeeper.runtime.queue import SilentQueueMetrics
from edgekeeper.runtime.sources import Source
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock

WIDGET = Kind("example.com", "v1", "Widget", "widgets")
PART = Kind("example.com", "v1", "Part", "parts")
FINALIZER = "example.com/cleanup"
KEY = Key("default", "one")
CLIENT = ClientOptions()
QUIET = ManagerOptions(signals=False, lag_interval=None)


def definition(kind: Kind) -> JsonObject:
    """A CustomResourceDefinition that accepts anything, and has a status."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}
        },
        "subresources": {"status": {}},
    }
    return {
        "metadata": {"name": kind.qualified_plural},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind},
            "versions": [version],
        },
    }


def widget(key: Key = KEY, /, metadata: JsonObject | None = None, **spec: Any) -> JsonObject:
    return {"metadata": {"name": key.name, "namespace": key.namespace, **(metadata or {})}, "spec": spec}


class CountingMetrics(SilentQueueMetrics):
    """Counts what a controller tells."""

    def __init__(self) -> None:
        self.results: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.active = 0
        self.lags: list[float] = []
        self.forgotten: list[str] = []

    def controller(self, name: str, max_concurrent: int) -> CountingMetrics:
        return self

    def forget_controller(self, name: str) -> None:
        self.forgotten.append(name)

    def loop_lag(self, seconds: float) -> None:
        self.lags.append(seconds)

    def pass_started(self) -> None:
        self.active += 1

    def pass_ended(self, result: Result | None, seconds: float) -> None:
        self.active -= 1
        self.results[result or "cancelled"] += 1

    def failed(self) -> None:
        self.counts["failed"] += 1

    def stalled(self) -> None:
        self.counts["stalled"] += 1

    def panicked(self) -> None:
        self.counts["panicked"] += 1


class RememberedEvents:
    """Keeps events in a list."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.running = False

    def record(self, subject: JsonObject, event: Event) -> None:
        self.events.append(event)

    async def start(self) -> None:
        self.running = True

    async def stop(self) -> None:
        self.running = False


class Journal:
    """A hook that remembers which calls were made."""

    def __init__(self) -> None:
        self.calls: list[CallRecord] = []

    async def before(self, call: CallRecord) -> None:
        self.calls.append(call)

    async def after(self, call: CallRecord) -> None: ...

    def writes(self, key: Key = KEY) -> list[str]:
        """What was written of an object, in order."""
        return [call.operation for call in self.calls if call.mutating and call.subject == str(key)]


@dataclass
class Toy:
    """A reconciler that does what the test says, and remembers when it was asked."""

    act: Callable[[Request], Awaitable[Outcome]] | None = None
    clean: Callable[[Request], Awaitable[Outcome]] | None = None
    times: list[float] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    async def reconcile(self, request: Request) -> Outcome:
        self._note(request)
        return done() if self.act is None else await self.act(request)

    async def finalize(self, request: Request) -> Outcome:
        self._note(request)
        return done() if self.clean is None else await self.clean(request)

    def _note(self, request: Request) -> None:
        self.times.append(asyncio.get_running_loop().time())
        self.requests.append(request)

    @property
    def passes(self) -> int:
        return len(self.times)


async def observe_generation(request: Request) -> Outcome:
    """The simplest useful reconciler: say which generation was seen."""
    return done().writing(StatusWrite({"observedGeneration": request.generation}))


class Operator:
    """A manager with one controller, and ways to look into both."""

    def __init__(
        self, services: Services, controller: Controller, journal: Journal, manager: Manager
    ) -> None:
        self.services = services
        self.controller = controller
        self.journal = journal
        self.manager = manager

    @property
    def metrics(self) -> CountingMetrics:
        assert isinstance(self.services.metrics, CountingMetrics)
        return self.services.metrics

    @property
    def events(self) -> list[Event]:
        assert isinstance(self.services.recorder, RememberedEvents)
        return self.services.recorder.events


class LaggingTransport:
    """Delivers what is watched as late as the world says, and everything else at once."""

    def __init__(self, inner: Transport, place: World) -> None:
        self._inner = inner
        self._place = place

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        return await self._inner.send(request, deadline)

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        async with self._inner.stream(request) as stream, aclosing(self._delayed(stream.chunks)) as chunks:
            yield replace(stream, chunks=chunks)

    async def _delayed(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
        async for chunk in chunks:
            await asyncio.sleep(self._place.watch_lag.total_seconds())
            yield chunk

    async def close(self) -> None:
        await self._inner.close()


class World:
    """An embedded server and a user of it."""

    def __init__(self, plane: Plane, clock: LoopClock) -> None:
        self.plane = plane
        self.clock = clock
        self.user = KubeClient(InProcessTransport(plane), Calls(), clock)
        self.watch_lag = timedelta(0)
        """By how much everything that operators watch reaches them late."""

    async def define(self, kind: Kind) -> None:
        await self.user.create(CUSTOM_RESOURCE_DEFINITION, definition(kind))
        await asyncio.sleep(1)
        assert await self._is_established(kind)

    async def _is_established(self, kind: Kind) -> bool:
        tree = await self.user.get(CUSTOM_RESOURCE_DEFINITION, Key("", kind.qualified_plural))
        conditions = dig_list(tree, "status", "conditions")
        return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

    async def create(self, obj: JsonObject, kind: Kind = WIDGET) -> JsonObject:
        return await self.user.create(kind, obj)

    async def get(self, key: Key = KEY, kind: Kind = WIDGET) -> JsonObject:
        return await self.user.get(kind, key)

    async def patch(self, patch: JsonObject, key: Key = KEY, *, subresource: str = "") -> JsonObject:
        return await self.user.merge_patch(WIDGET, key, patch, subresource=subresource)

    async def delete(self, key: Key = KEY) -> None:
        await self.user.delete(WIDGET, key)

    async def create_namespaces(self, *names: str) -> None:
        for name in names:
            await self.user.create(NAMESPACE, {"metadata": {"name": name}})

    def services(self, *hooks: CallHook, options: ClientOptions = CLIENT, seed: int = 1) -> Services:
        transport = LaggingTransport(InProcessTransport(self.plane), self)
        client = KubeClient(transport, Calls(*hooks), self.clock, options)
        return Services(
            client,
            Informers(client, self.clock, random=Random(seed)),
            self.clock,
            recorder=RememberedEvents(),
            metrics=CountingMetrics(),
            random=Random(seed),
        )

    @asynccontextmanager
    async def operating(
        self,
        reconciler: Reconciler,
        *,
        hooks: Sequence[CallHook] = (),
        sources: Sequence[Source] = (),
        client: ClientOptions = CLIENT,
        manager: ManagerOptions = QUIET,
        **options: Any,
    ) -> AsyncIterator[Operator]:
        """Run an operator for the length of the block, and stop it in order."""
        journal = Journal()
        services = self.services(journal, *hooks, options=client)
        controller = Controller(ControllerOptions("widget", WIDGET, **options), reconciler, services, sources)
        operator = Operator(services, controller, journal, Manager(services, [controller], options=manager))
        async with asyncio.TaskGroup() as group:
            group.create_task(operator.manager.run())
            try:
                yield operator
            finally:
                operator.manager.stop()


@asynccontextmanager
async def world(*kinds: Kind) -> AsyncIterator[World]:
    """A world in which Widgets, and `kinds`, are known."""
    clock = LoopClock()
    config = PlaneConfig(simulators=frozenset(), gateway_api=False, seed=7, now=clock.now)
    async with Plane(config) as plane:
        place = World(plane, clock)
        for kind in (WIDGET, *kinds):
            await place.define(kind)
        yield place


async def until(condition: Callable[[], bool], limit: timedelta = timedelta(minutes=1)) -> None:
    """Let virtual time pass until something is the case."""
    async with asyncio.timeout(limit.total_seconds()):
        while not condition():  # noqa: ASYNC110 - it costs nothing where time is virtual
            await asyncio.sleep(0.005)


async def settle(time: timedelta = timedelta(seconds=2)) -> None:
    """Let everything happen that is about to happen."""
    await asyncio.sleep(time.total_seconds())
