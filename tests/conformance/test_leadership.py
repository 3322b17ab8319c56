"""The runtime's elector and its event recorder, over the wire: each server takes them the same way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
import pytest

from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Event
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.credentials import StoredCredentials, bearer
from edgekeeper.kube.event_facts import Reporter
from edgekeeper.kube.events import Recorder
from edgekeeper.kube.http import HttpTransport
from edgekeeper.kube.kinds import CONFIG_MAP, EVENT, LEASE, NAMESPACE, Key
from edgekeeper.kube.lease import Elector, LeaseOptions, LostLeadershipError
from tests.conformance.servers import ADMIN, TOKENS, Server

PATIENCE = 30.0
QUICK = LeaseOptions(timedelta(seconds=2), timedelta(seconds=1.5), timedelta(seconds=0.3))
LONG = Event("Warning", "CreateFailed", "ü" * 3000, "Create")
READY = Event("Normal", "Ready", "all is well")


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[KubeClient]:
    trust = Trust(authorities=server.authority.bundle)
    config = ClusterConfig(server.url, trust, StoredCredentials(bearer(TOKENS[ADMIN])))
    client = KubeClient(HttpTransport(config, environ={}), Calls(), SystemClock())
    try:
        yield client
    finally:
        await client.close()


async def test_leadership_is_acquired_renewed_released_and_passed_on(server: Server, namespace: str) -> None:
    key = Key(namespace, "operator")
    async with connected(server) as client, asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        first = Elector(client, SystemClock(), key, "first", QUICK)
        second = Elector(client, SystemClock(), key, "second", QUICK)
        group.create_task(first.run())
        await first.wait_elected()
        group.create_task(second.run())
        await asyncio.sleep(3)
        first.check()
        lease = await client.get(LEASE, key)
        assert lease["spec"]["holderIdentity"] == "first"
        assert lease["spec"]["renewTime"] > lease["spec"]["acquireTime"]
        await first.release()
        await second.wait_elected()
        with pytest.raises(LostLeadershipError):
            first.check()
        lease = await client.get(LEASE, key)
        assert (lease["spec"]["holderIdentity"], lease["spec"]["leaseTransitions"]) == ("second", 1)
        await second.release()


async def test_leader_makes_a_deleted_lease_again(server: Server, namespace: str) -> None:
    key = Key(namespace, "operator")
    async with connected(server) as client, asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        elector = Elector(client, SystemClock(), key, "only", QUICK)
        group.create_task(elector.run())
        await elector.wait_elected()
        before = await client.get(LEASE, key)
        await client.delete(LEASE, key)
        await asyncio.sleep(1)
        elector.check()
        after = await client.get(LEASE, key)
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        await elector.release()


async def test_events_and_their_series_are_accepted(server: Server, namespace: str) -> None:
    async with connected(server) as client:
        subject = await client.create(CONFIG_MAP, {"metadata": {"name": "shop"}}, namespace=namespace)
        for _ in range(2):  # as two processes, one after the other
            recorder = Recorder(client, SystemClock(), Reporter("edgekeeper", "edgekeeper-0_1"))
            await recorder.start()
            for event in (READY, READY, LONG):
                recorder.record(subject, event)
            await recorder.stop(timedelta(seconds=PATIENCE))
            assert recorder.counts["dropped"] == 0
        events = {event["reason"]: event for event in await listed(client, namespace)}
        assert events["Ready"]["series"]["count"] == 4
        assert events["CreateFailed"]["series"]["count"] == 2
        assert len(events["CreateFailed"]["note"].encode()) <= 1024
        assert events["Ready"]["regarding"]["uid"] == subject["metadata"]["uid"]


async def test_event_about_a_cluster_scoped_object_is_accepted(server: Server, namespace: str) -> None:
    async with connected(server) as client:
        subject = await client.get(NAMESPACE, Key("", namespace))
        recorder = Recorder(client, SystemClock(), Reporter("edgekeeper", "edgekeeper-0_1"))
        await recorder.start()
        recorder.record(subject, READY)
        await recorder.stop(timedelta(seconds=PATIENCE))
        told = [event["regarding"].get("name") for event in await listed(client, "default")]
        assert namespace in told


async def listed(client: KubeClient, namespace: str) -> list[JsonObject]:
    return [
        msgspec.json.decode(item)
        async for page in client.pages(EVENT, namespace=namespace)
        for item in page.items
    ]
