"""A server, an unreliable way to it, and somebody who watches, all in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.informers import Informer, Informers
from edgekeeper.kube.kinds import CONFIG_MAP, Key, Kind
from edgekeeper.kube.store import Change
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock
from tests.unit.kube.faults import FaultyTransport

Objects = dict[Key, tuple[str, str, Any]]
"""What is compared: uid, resourceVersion and data by key."""


@dataclass
class World:
    """Everything at hand."""

    plane: Plane
    transport: FaultyTransport
    client: KubeClient
    clock: LoopClock
    informers: Informers
    informer: Informer
    changes: list[Change] = field(default_factory=list)

    @property
    def relists(self) -> int:
        """Lists after the first one for which there was a reason."""
        statistics = self.informer.statistics
        return statistics.lists - statistics.audits - 1

    async def create(self, name: str, **data: str) -> JsonObject:
        tree = {"metadata": {"name": name}, "data": data}
        return await self.plane.client.create("/api/v1/namespaces/default/configmaps", tree)

    async def update(self, name: str, **data: str) -> JsonObject:
        return await self.plane.client.merge(f"/api/v1/namespaces/default/configmaps/{name}", {"data": data})

    async def delete(self, name: str) -> None:
        await self.plane.client.delete(f"/api/v1/namespaces/default/configmaps/{name}")

    async def recreate(self, name: str, **data: str) -> None:
        await self.delete(name)
        await self.create(name, **data)

    async def on_server(self) -> Objects:
        listed = await self.plane.client.get("/api/v1/configmaps")
        return {key_of(item): _comparable(item) for item in listed["items"]}

    def in_store(self) -> Objects:
        known = self.informer.store.keys()
        return {key: _comparable(self.informer.store.get(key)) for key in known}

    async def is_true(self) -> bool:
        """Whether the store shows what is."""
        return self.in_store() == await self.on_server()

    def names(self) -> list[str]:
        known = self.informer.store.keys()
        return sorted(key.name for key in known)

    def told(self) -> list[str]:
        """The changes in short: `+a`, `~a`, `-a`."""
        return [
            ("-" if change.new is None else "~" if change.old is not None else "+") + change.key.name
            for change in self.changes
        ]


@asynccontextmanager
async def watching(*names: str, kind: Kind = CONFIG_MAP, **options: Any) -> AsyncIterator[World]:
    """A world in which config maps of these names exist, and are watched and synced, if their kind is served."""
    async with unwatched(*names, kind=kind, **options) as world:
        await world.informers.start()
        await world.informers.wait_settled()
        await asyncio.sleep(1)
        world.changes.clear()
        yield world


@asynccontextmanager
async def unwatched(*names: str, kind: Kind = CONFIG_MAP, **options: Any) -> AsyncIterator[World]:
    """The same world before anybody watches."""
    clock = LoopClock()
    async with quiet_plane(clock) as plane:
        transport = FaultyTransport(InProcessTransport(plane))
        client = KubeClient(transport, Calls(), clock)
        informers = Informers(client, clock, **options)
        informer = informers.acquire(kind)
        world = World(plane, transport, client, clock, informers, informer)
        informer.subscribe(world.changes.append)
        for name in names:
            await world.create(name)
        try:
            yield world
        finally:
            await informers.stop()


@asynccontextmanager
async def quiet_plane(clock: LoopClock, seed: int = 7) -> AsyncIterator[Plane]:
    config = PlaneConfig(simulators=frozenset(), gateway_api=False, seed=seed, now=clock.now)
    async with Plane(config) as plane:
        yield plane


def key_of(tree: JsonObject) -> Key:
    return Key(tree["metadata"].get("namespace", ""), tree["metadata"]["name"])


def uid_of(raw: bytes | None) -> str:
    return str(dig(msgspec.json.decode(raw or b"{}"), "metadata", "uid"))


def _comparable(tree: JsonObject | None) -> tuple[str, str, Any]:
    assert tree is not None
    metadata = tree["metadata"]
    return metadata["uid"], metadata["resourceVersion"], tree.get("data")


async def eventually(holds: Callable[[], bool], within: float) -> float:
    """Let time pass until something holds; return how long it took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.05)
    return loop.time() - began
