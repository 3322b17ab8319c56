"""A real API server as a place for tests of composition: one server for all tests, cleared after each of them."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import msgspec

from edgekeeper.controllers.composition import served_schemas
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.credentials import StoredCredentials, bearer
from edgekeeper.kube.discovery import Discovery
from edgekeeper.kube.errors import AlreadyExistsError, NotFoundError, StaleError
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.kinds import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    DEPLOYMENT,
    EVENT,
    LEASE,
    NAMESPACE,
    POD,
    SECRET,
    SERVICE,
    Key,
    Kind,
)
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, Transport
from kubesim.plane.plane import PlaneConfig
from kubesim.virtual import LoopClock
from tests.composition.cluster import KINDS, WEBHOOK, Scenario
from tests.conformance.admission import listening, registered
from tests.conformance.client import connect
from tests.conformance.servers import ADMIN, TOKENS, Server

PACE = 10.0
"""How much faster time passes in tests than outside."""
QUIET = 3.0
"""How long there are no requests before it is believed that none will follow, in seconds of the test."""
ORDINARY = 10.0
"""A test that waits longer than this wants time to pass; otherwise it wants work to be done."""
LONGEST = 20.0
"""As much time passes at most: whatever a test waits hours for in virtual time, it cannot see here."""
PATIENCE = 600.0
"""How long work may go on, in seconds of the test."""
PUBLISHING = timedelta(seconds=80)
"""How long the operator expects the server to publish schemas: that takes the server some seconds of its own time."""

_CLEARED = (
    CONFIG_MAP,
    SECRET,
    SERVICE,
    Kind("", "v1", "ServiceAccount", "serviceaccounts"),
    POD,
    DEPLOYMENT,
    Kind("batch", "v1", "Job", "jobs"),
    LEASE,
    EVENT,
    NAMESPACE,
    CUSTOM_RESOURCE_DEFINITION,
)
"""Built-in kinds that tests have objects of."""


class _Hurried(selectors.DefaultSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(None if timeout is None else timeout / PACE)


class FastLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes `PACE` times as fast as that of the machine."""

    def __init__(self) -> None:
        super().__init__(_Hurried())

    def time(self) -> float:
        return super().time() * PACE


class _Activity:
    """Whether there are requests, and when the last one was."""

    def __init__(self) -> None:
        self.open = 0
        self.last = 0.0

    def begin(self) -> None:
        self.open += 1

    def end(self) -> None:
        self.open -= 1
        self.last = asyncio.get_running_loop().time()

    @property
    def quiet(self) -> float:
        """For how long there has been no request."""
        return 0.0 if self.open else asyncio.get_running_loop().time() - self.last


class _Noticed:
    """A transport whose requests count as activity; watches are open all the time, and do not."""

    def __init__(self, inner: Transport, activity: _Activity) -> None:
        self._inner = inner
        self._activity = activity

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        self._activity.begin()
        try:
            return await self._inner.send(request, deadline * PACE)
        finally:
            self._activity.end()

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        async with self._inner.stream(request) as stream:
            yield stream

    async def close(self) -> None:
        await self._inner.close()


class RealCluster:
    """The server, for one test."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._activity = _Activity()
        elapsed = timedelta(seconds=asyncio.get_running_loop().time())
        self.clock = LoopClock(datetime.now(UTC) - elapsed)
        self._own = KubeClient(self._way(), Calls(), self.clock)
        """The test bed's own way, whose requests are not those of users or operators."""
        self._leaving: dict[str, str] = {}
        """Namespaces of earlier tests, which are empty already."""

    def connect(self, token: str = "") -> Transport:
        return _Noticed(self._way(token), self._activity)

    async def close(self) -> None:
        await self._own.close()

    def _way(self, token: str = "") -> Transport:
        trust = Trust(authorities=self._server.authority.bundle)
        credentials = StoredCredentials(bearer(token or TOKENS[ADMIN]))
        config = ClusterConfig(self._server.url, trust, credentials)
        return HttpTransport(config, environ={}, clock=SystemClock())

    async def install(self) -> None:
        """They stay from test to test."""
        for kind in KINDS:
            with suppress(AlreadyExistsError):
                await self._own.create(CUSTOM_RESOURCE_DEFINITION, kind.definition())
        for kind in KINDS:
            await self.served(f"{kind.plural}.{kind.group}")

    async def rest(self, seconds: float) -> None:
        """Wait until there were no requests for a while; and as long as is asked for, if that is long."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        seconds = min(seconds, LONGEST)
        await asyncio.sleep(min(seconds, QUIET))
        while loop.time() - began < seconds + PATIENCE:
            is_over = seconds <= ORDINARY or loop.time() - began >= seconds
            if is_over and self._activity.quiet >= min(seconds, QUIET) and not await self._is_emptying():
                return
            await asyncio.sleep(0.5)
        raise TimeoutError("requests go on and on")

    async def _is_emptying(self) -> bool:
        """Whether a namespace of this test is being deleted, which takes its controller seconds of real time."""
        return bool(set(await self._going()) - self._leaving.keys())

    async def _going(self) -> dict[str, str]:
        """The namespaces that are being deleted, names by UID."""
        spaces = [one["metadata"] for one in await _listed(self._own, NAMESPACE)]
        return {one["uid"]: one["name"] for one in spaces if "deletionTimestamp" in one}

    @asynccontextmanager
    async def denying(self, why: str) -> AsyncIterator[None]:
        def deny(_: JsonObject) -> JsonObject:
            return {"allowed": False, "status": {"message": why}}

        async with (
            connect(self._server) as api,
            listening(api, deny) as hook,
            registered(api, "default", {**hook.entry("default"), "name": WEBHOOK}),
        ):
            yield

    async def vacate(self, namespace: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while namespace in (await self._going()).values():  # noqa: ASYNC110 - the server alone knows when
                await asyncio.sleep(0.5)

    async def begin(self) -> None:
        self._leaving = await self._going()

    async def served(self, definition: str) -> None:
        async with asyncio.timeout(PATIENCE):
            discovery = Discovery(self._own, self.clock)
            while not await self._is_served(discovery, definition):
                await asyncio.sleep(0.3)
                discovery.invalidate()

    async def _is_served(self, discovery: Discovery, definition: str) -> bool:
        crd = await self._own.get(CUSTOM_RESOURCE_DEFINITION, Key("", definition))
        conditions = {one["type"]: one["status"] for one in dig_list(crd, "status", "conditions")}
        if conditions.get("Established") != "True":
            return False
        kind = _kind_of(crd)
        if not await discovery.is_served(kind):
            return False
        try:
            await _listed(self._own, kind)
        except NotFoundError:
            return False
        return True

    @asynccontextmanager
    async def workloads(self) -> AsyncIterator[None]:
        """Let Deployments be available as soon as they exist: nobody else here does."""
        task = asyncio.create_task(self._make_available())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _make_available(self) -> None:
        while True:
            for one in await _listed(self._own, DEPLOYMENT):
                wanted = one["spec"]["replicas"]
                if dig(one, "status", "availableReplicas") != wanted:
                    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), wanted)
                    change = {"status": counts}
                    with suppress(NotFoundError):
                        await self._own.merge_patch(DEPLOYMENT, _key(one), change, subresource="status")
            await asyncio.sleep(0.5)

    async def clear(self) -> None:
        """Delete what the test has left."""
        async with asyncio.timeout(PATIENCE):
            while await _delete_all(self._own):  # noqa: ASYNC110 - the server alone knows when
                await asyncio.sleep(0.3)


class RealPlace:
    """One server for all tests."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def run(self, scenario: Scenario) -> None:
        patience = patch.object(served_schemas, "PUBLISHING", PUBLISHING)
        with patience, asyncio.Runner(loop_factory=FastLoop) as runner:
            try:
                runner.run(scenario())
            finally:
                runner.run(self._clear())

    async def _clear(self) -> None:
        async with _closing(RealCluster(self._server)) as cluster:
            await cluster.clear()

    @asynccontextmanager
    async def cluster(
        self, config: PlaneConfig | None, simulators: frozenset[str]
    ) -> AsyncIterator[RealCluster]:
        async with _closing(RealCluster(self._server)) as cluster:
            await cluster.begin()
            if "workloads" not in simulators:
                yield cluster
                return
            async with cluster.workloads():
                yield cluster


async def _delete_all(client: KubeClient) -> bool:
    """Delete everything that is not part of every cluster. Return whether something but namespaces is left."""
    kept = {f"{kind.plural}.{kind.group}" for kind in KINDS}
    crds = await _listed(client, CUSTOM_RESOURCE_DEFINITION)
    kinds = [*_CLEARED, *(_kind_of(crd) for crd in crds)]
    found = await asyncio.gather(*(_present(client, kind) for kind in kinds))
    doomed = [
        (kind, one)
        for kind, objects in zip(kinds, found, strict=True)
        for one in objects
        if not _is_part_of_every_cluster(kind, one) and one["metadata"]["name"] not in kept
    ]
    await asyncio.gather(*(_delete(client, kind, one) for kind, one in doomed))
    return any(kind != NAMESPACE for kind, _ in doomed)


def _is_part_of_every_cluster(kind: Kind, one: JsonObject) -> bool:
    name, namespace = one["metadata"]["name"], one["metadata"].get("namespace", "")
    own = name.startswith("kube-") or name == "default" if kind == NAMESPACE else False
    return own or namespace.startswith("kube-") or (kind == SERVICE and name == "kubernetes")


async def _present(client: KubeClient, kind: Kind) -> list[JsonObject]:
    try:
        return await _listed(client, kind)
    except NotFoundError:
        return []


async def _delete(client: KubeClient, kind: Kind, one: JsonObject) -> None:
    key = _key(one)
    with suppress(NotFoundError, StaleError):
        if one["metadata"].get("finalizers") and kind != CUSTOM_RESOURCE_DEFINITION:
            await client.merge_patch(kind, key, {"metadata": {"finalizers": None}})
        if "deletionTimestamp" not in one["metadata"]:
            await client.delete(kind, key, propagation="Background")


async def _listed(client: KubeClient, kind: Kind) -> list[JsonObject]:
    return [msgspec.json.decode(raw) async for page in client.pages(kind) for raw in page.items]


def _key(one: JsonObject) -> Key:
    return Key(one["metadata"].get("namespace", ""), one["metadata"]["name"])


def _kind_of(crd: JsonObject) -> Kind:
    spec = crd["spec"]
    versions: Iterable[Any] = spec["versions"]
    (version, *_) = [each["name"] for each in versions if each["served"]]
    names = spec["names"]
    return Kind(spec["group"], version, names["kind"], names["plural"], spec["scope"] == "Namespaced")


@asynccontextmanager
async def _closing(cluster: RealCluster) -> AsyncIterator[RealCluster]:
    try:
        yield cluster
    finally:
        await cluster.close()
