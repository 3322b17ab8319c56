"""The server that a test of composition runs on, behind one interface: the embedded one, or a real one.

    @each_server
    async def test_something() -> None:
        async with composing() as world:        # or scenery(): both ask `cluster_for` where they are
            …

Each test has a cluster of its own, or finds a real one empty. A test with `@each_server` runs once for each server of `--servers`, and reads the same on each. On the embedded one time is
virtual. On a real one it runs `PACE` times as fast as outside, for the test and the operator in it, so that what an operator
does after a second is done after a tenth; the server itself takes as long as it takes, so that waiting goes on while
there are requests (`RealCluster.rest`).

A test with `@virtual_time` runs on the embedded server alone.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, ParamSpec, Protocol

import msgspec

from edgekeeper.api.composition import GRAPH_REVISION, RESOURCE_GRAPH_DEFINITION
from edgekeeper.core.calls import Calls
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION
from edgekeeper.kube.transport import ApiRequest, ApiResponse, Transport
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock, run_virtual

P = ParamSpec("P")
KINDS = (RESOURCE_GRAPH_DEFINITION, GRAPH_REVISION)
WEBHOOK = "policy.tests.io"
Scenario = Callable[[], Coroutine[Any, Any, None]]


class Cluster(Protocol):
    """A cluster that has just been made: empty but for what every cluster has."""

    clock: LoopClock

    def connect(self, token: str = "") -> Transport:
        """A way to the server, as an administrator unless a token says otherwise."""

    async def install(self) -> None:
        """Have the definitions of ResourceGraphDefinitions and GraphRevisions there."""

    async def rest(self, seconds: float) -> None:
        """Let the operator do what there is to do; as much time passes at most."""

    def denying(self, why: str) -> AbstractAsyncContextManager[None]:
        """Have the admission webhook `policy.tests.io` deny writes of ConfigMaps for the time of the block."""

    async def vacate(self, namespace: str) -> None:
        """Wait until an earlier namespace of this name is gone."""

    async def served(self, definition: str) -> None:
        """Wait until the kind of a CustomResourceDefinition is served as that says."""


def plane_of(cluster: Cluster) -> Plane:
    """The server of a test that runs on the embedded one alone."""
    assert isinstance(cluster, EmbeddedCluster)
    return cluster.plane


class Place(Protocol):
    """Where tests run."""

    def run(self, scenario: Scenario) -> None:
        """Run a test from its beginning to its end, in a cluster that nothing has happened in yet."""

    def cluster(self, config: PlaneConfig | None, simulators: frozenset[str]) -> Any:
        """An asynchronous context: the cluster."""


class _Way(InProcessTransport):
    """The way to a plane, with what an admission webhook answers: webhooks cannot be called in virtual time."""

    def __init__(self, cluster: EmbeddedCluster, token: str) -> None:
        super().__init__(cluster.plane, token)
        self._cluster = cluster

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        why = self._cluster.denial
        if not why or request.method == "GET" or "/configmaps" not in request.path:
            return await super().send(request, deadline)
        message = f'admission webhook "{WEBHOOK}" denied the request: {why}'
        status = {
            "kind": "Status",
            "status": "Failure",
            "message": message,
            "reason": "Forbidden",
            "code": 403,
        }
        return ApiResponse(403, {"content-type": "application/json"}, msgspec.json.encode(status))


class EmbeddedCluster:
    """A plane in this process."""

    def __init__(self, plane: Plane, clock: LoopClock) -> None:
        self.plane = plane
        self.clock = clock
        self.denial = ""
        """Why writes of ConfigMaps are denied; empty if they are not."""

    def connect(self, token: str = "") -> Transport:
        return _Way(self, token or self.plane.admin_token)

    @asynccontextmanager
    async def denying(self, why: str) -> AsyncIterator[None]:
        self.denial = why
        try:
            yield
        finally:
            self.denial = ""

    async def install(self) -> None:
        user = KubeClient(self.connect(), Calls(), self.clock)
        for kind in KINDS:
            await user.create(CUSTOM_RESOURCE_DEFINITION, kind.definition())
        await self.plane.settle()

    async def rest(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.plane.settle()

    async def vacate(self, namespace: str) -> None:
        """There was none: each test has a cluster of its own."""

    async def served(self, definition: str) -> None:
        await self.plane.settle()


class EmbeddedPlace:
    """A new plane for each test, in virtual time."""

    def run(self, scenario: Scenario) -> None:
        run_virtual(scenario)

    @asynccontextmanager
    async def cluster(
        self, config: PlaneConfig | None, simulators: frozenset[str]
    ) -> AsyncIterator[EmbeddedCluster]:
        clock = LoopClock()
        config = config or PlaneConfig(simulators=simulators, gateway_api=False, now=clock.now)
        async with Plane(config) as plane:
            yield EmbeddedCluster(plane, clock)


_EMBEDDED = EmbeddedPlace()
_PLACE: ContextVar[Place] = ContextVar("place", default=_EMBEDDED)


@asynccontextmanager
async def cluster_for(
    config: PlaneConfig | None = None, simulators: frozenset[str] = frozenset()
) -> AsyncIterator[Cluster]:
    """The cluster of the test that runs. One with a configuration of its own is always embedded."""
    place: Place = _EMBEDDED if config is not None else _PLACE.get()
    async with place.cluster(config, simulators) as cluster:
        yield cluster


def each_server(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make a test that runs on the server that the fixture `place` says."""

    @functools.wraps(test)
    def run(place: Place, *args: P.args, **kwargs: P.kwargs) -> None:
        token = _PLACE.set(place)
        try:
            place.run(lambda: test(*args, **kwargs))
        finally:
            _PLACE.reset(token)

    own = inspect.Parameter("place", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [own, *inspect.signature(test).parameters.values()]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # pytest reads it
    return run
