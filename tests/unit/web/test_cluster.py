"""The page of a process in a cluster: by HTTPS, for those to whom RBAC gives the right that the documentation names."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
import pytest
import yaml

from edgekeeper.cloud.budget import Budget
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.tracing import NO_TRACES
from edgekeeper.runtime.http_server import DRAIN
from edgekeeper.runtime.metrics import Metrics
from edgekeeper.runtime.metrics_auth import MetricsAuthorizer
from edgekeeper.runtime.options import ServerOptions
from edgekeeper.runtime.server import Server
from edgekeeper.web.access import PATH, ReviewGate
from edgekeeper.web.journal import Journal
from edgekeeper.web.live import Hub
from edgekeeper.web.server import StatusPage
from edgekeeper.web.site import Site
from kubesim.plane.plane import Plane
from packages.kubesim.tests.plane.cluster import running
from tests.docs.page import blocks, read
from tests.unit.runtime.accounts import ASK_WHETHER, ASK_WHO, READ_METRICS, account_token, client_of, grant
from tests.unit.runtime.wire import ANYWHERE
from tests.unit.web.fleet import READY, Fleet, tenant

PAGE = "docs/status-page.md"


def documented_rules() -> list[JsonObject]:
    """The rules of the ClusterRole in the documentation."""
    (block,) = (one for one in blocks(read(PAGE)) if "kind: ClusterRole\n" in one.text)
    rules: list[JsonObject] = yaml.safe_load(block.text)["rules"]
    return rules


@dataclass
class Cluster:
    """An API server with RBAC, and an operator that serves its page."""

    plane: Plane
    server: Server
    session: aiohttp.ClientSession

    async def status(self, token: str, path: str = "/api/overview") -> int:
        url = f"https://127.0.0.1:{self.server.port('page')}{path}"
        async with self.session.get(url, headers={"Authorization": f"Bearer {token}"}, ssl=False) as answer:
            return answer.status


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    """The operator has no rights but those that it takes to ask, which metrics need as well."""
    async with running(auth=True) as plane:
        operator = await account_token(plane, "operator")
        await grant(plane, "operator", ASK_WHO, ASK_WHETHER)
        clock = SystemClock()
        client = client_of(plane, operator, clock)
        fleet = Fleet(tenant("shop", READY))
        hub = Hub(fleet.directory.row, "p1")
        site = Site(fleet.directory, Journal(NO_TRACES, clock), fleet.informers, Budget())
        page = StatusPage(site, hub, ReviewGate(MetricsAuthorizer(client, clock, PATH), clock))
        server = Server(ServerOptions(health_address=None, web_address=ANYWHERE), Metrics(), client, clock)
        server.add_page(page)
        await server.start()
        async with aiohttp.ClientSession() as session:
            yield Cluster(plane, server, session)
        await server.stop()


async def test_documented_right_opens_the_page(cluster: Cluster) -> None:
    token = await account_token(cluster.plane, "viewer")
    assert await cluster.status(token) == 403
    viewer = await account_token(cluster.plane, "auditor")
    await grant(cluster.plane, "auditor", *documented_rules())
    assert await cluster.status(viewer) == 200


async def test_right_to_read_metrics_is_not_enough(cluster: Cluster) -> None:
    token = await account_token(cluster.plane, "prometheus")
    await grant(cluster.plane, "prometheus", READ_METRICS)
    assert await cluster.status(token) == 403
    assert await cluster.status("nobody") == 401


async def test_page_is_served_by_https_only(cluster: Cluster) -> None:
    with pytest.raises(aiohttp.ClientError):
        await cluster.session.get(f"http://127.0.0.1:{cluster.server.port('page')}/")


async def test_rows_are_made_while_the_server_runs(cluster: Cluster) -> None:
    token = await account_token(cluster.plane, "auditor")
    await grant(cluster.plane, "auditor", *documented_rules())
    path = "/api/object/cloudfront-tenant-operator.io/DistributionTenant/edge/shop"
    assert await cluster.status(token, path) == 200


async def test_open_browsers_do_not_delay_the_end(cluster: Cluster) -> None:
    token = await account_token(cluster.plane, "auditor")
    await grant(cluster.plane, "auditor", *documented_rules())
    url = f"https://127.0.0.1:{cluster.server.port('page')}/events"
    headers = {"Authorization": f"Bearer {token}"}
    async with asyncio.timeout(10), cluster.session.get(url, headers=headers, ssl=False) as stream:
        await stream.content.readline()
        began = time.monotonic()
        await cluster.server.stop()
        assert time.monotonic() - began < DRAIN.total_seconds()
        await stream.read()
