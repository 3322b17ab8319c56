"""The runtime's own watches, over the wire: what they make of each server is the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.credentials import StoredCredentials, bearer
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.informers import Informer, Informers
from edgekeeper.kube.kinds import CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION, Key, Kind
from edgekeeper.kube.nesting import is_cut
from edgekeeper.kube.store import SyncState
from tests.conformance.client import Client
from tests.conformance.definitions import definition, definition_name, established, version, widget
from tests.conformance.kinds import DEFINITIONS
from tests.conformance.servers import ADMIN, TOKENS, Server

PATIENCE = 60.0


@asynccontextmanager
async def informed(
    server: Server, *, initial_events: bool = False
) -> AsyncIterator[tuple[KubeClient, Informers]]:
    """A client of the server, and informers over it, which run."""
    trust = Trust(authorities=server.authority.bundle)
    config = ClusterConfig(server.url, trust, StoredCredentials(bearer(TOKENS[ADMIN])))
    client = KubeClient(HttpTransport(config, environ={}), Calls(), SystemClock())
    informers = Informers(client, SystemClock(), page_size=2, initial_events=initial_events)
    await informers.start()
    try:
        yield client, informers
    finally:
        await informers.stop()
        await client.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.02)


async def live(client: KubeClient, kind: Kind, namespace: str) -> dict[str, str]:
    """Versions by name, straight from the server."""
    versions: dict[str, str] = {}
    async for page in client.pages(kind, namespace=namespace):
        for item in map(msgspec.json.decode, page.items):
            versions[item["metadata"]["name"]] = item["metadata"]["resourceVersion"]
    return versions


def known(informer: Informer) -> dict[str, str | None]:
    """Versions by name, from the store."""
    keys = informer.store.keys()
    return {key.name: informer.store.resource_version(key) for key in keys}


async def change_everything(client: KubeClient, namespace: str) -> None:
    await client.merge_patch(CONFIG_MAP, Key(namespace, "item-0"), {"data": {"x": "1"}})
    await client.delete(CONFIG_MAP, Key(namespace, "item-1"))
    await client.delete(CONFIG_MAP, Key(namespace, "item-2"))
    await client.create(CONFIG_MAP, {"metadata": {"name": "item-2"}}, namespace=namespace)
    await client.create(CONFIG_MAP, {"metadata": {"name": "new"}}, namespace=namespace)


@pytest.mark.parametrize("initial_events", [False, True], ids=["lists", "initial events"])
async def test_informer_follows_the_server(server: Server, namespace: str, initial_events: bool) -> None:
    async with informed(server, initial_events=initial_events) as (client, informers):
        for number in range(5):
            await client.create(CONFIG_MAP, {"metadata": {"name": f"item-{number}"}}, namespace=namespace)
        informer = informers.acquire(CONFIG_MAP, namespace=namespace)
        await informer.wait_synced()
        assert known(informer) == await live(client, CONFIG_MAP, namespace)
        await change_everything(client, namespace)
        expected = await live(client, CONFIG_MAP, namespace)
        await until(lambda: known(informer) == expected)
        assert informer.statistics.failures == 0
        stored = informer.store.get(Key(namespace, "new"))
        assert stored is not None
        assert (stored["apiVersion"], stored["kind"]) == ("v1", "ConfigMap")
        assert "managedFields" not in stored["metadata"]


async def test_informer_catches_up_after_its_position_was_forgotten(server: Server, namespace: str) -> None:
    async with informed(server) as (client, informers):
        for number in range(3):
            await client.create(CONFIG_MAP, {"metadata": {"name": f"item-{number}"}}, namespace=namespace)
        informer = informers.acquire(CONFIG_MAP, namespace=namespace)
        await informer.wait_synced()
        await informers.stop()
        await change_everything(client, namespace)
        await asyncio.to_thread(server.compact)
        await informers.start()
        expected = await live(client, CONFIG_MAP, namespace)
        await until(lambda: known(informer) == expected)


async def test_informer_outlives_the_definition_of_its_kind(server: Server, namespace: str) -> None:
    custom = widget()
    kind = Kind(custom.group, custom.version, custom.kind, custom.plural)
    async with informed(server) as (client, informers):
        informer = informers.acquire(kind)
        await informer.wait_settled()
        assert informer.store.state is SyncState.NOT_SERVED
        for _ in range(2):
            await client.create(CUSTOM_RESOURCE_DEFINITION, definition(custom))
            await until(lambda: informer.store.synced and informer.stale_since is None)
            await client.create(kind, {"metadata": {"name": "one"}}, namespace=namespace)
            await until(lambda: list(known(informer)) == ["one"])
            await client.delete(CUSTOM_RESOURCE_DEFINITION, Key("", definition_name(custom)))
            await until(lambda: informer.store.state is SyncState.NOT_SERVED)


DEEPER = 2_000
"""Levels: more than the embedded server accepts, and than a decoder can follow."""


async def test_informer_follows_objects_beside_one_that_is_nested_too_deeply(
    api: Client, server: Server, namespace: str
) -> None:
    custom = widget()
    open_ended = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    kind = Kind(custom.group, custom.version, custom.kind, custom.plural)
    (await api.create(DEFINITIONS.path(), definition(custom, version(schema=open_ended)))).expect(201)
    await established(api, custom)
    deep = b'{"apiVersion":"%s","kind":"Widget","metadata":{"name":"deep"},"spec":%s1%s}' % (
        kind.api_version.encode(),
        b'{"a":' * DEEPER,
        b"}" * DEEPER,
    )
    async with informed(server) as (client, informers):
        await client.create(kind, {"metadata": {"name": "before"}}, namespace=namespace)
        early = informers.acquire(kind, namespace=namespace)
        await early.wait_synced()
        answer = await api.create(custom.path(namespace), deep)
        assert answer.status == (201 if server.name == "real" else 400)
        expected = {"before", "after", *(("deep",) if server.name == "real" else ())}
        await client.create(kind, {"metadata": {"name": "after"}}, namespace=namespace)
        late = informers.acquire(kind, namespace=namespace, labels="a!=b")
        await until(lambda: early.store.synced and set(known(early)) == expected)
        await until(lambda: late.store.synced and set(known(late)) == expected)
        assert early.statistics.failures == late.statistics.failures == 0
        cut = {key.name for key in list(early.store.keys()) if is_cut(early.store.raw(key) or b"")}
        assert cut == expected - {"before", "after"}
