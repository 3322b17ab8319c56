"""A simulated Cloudflare and the adapters over it, so that one scenario runs both over HTTP and in process.

    @both_ways
    async def test_…(world: World) -> None: …

In process the scenario runs in virtual time with the budget of production. Over HTTP time is real, so nothing waits: the
budget is wide and changes are gathered for a moment only.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from edgekeeper.cloud.budget import Budget, LaneRate
from edgekeeper.cloud.cloudflare.accounts import Account, Cloudflare, CloudflareOptions
from edgekeeper.cloud.cloudflare.client import CloudflareClient
from edgekeeper.cloud.cloudflare.credential import Credential
from edgekeeper.cloud.cloudflare.sender import HttpSender, Sender, SenderOptions
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.rates import CLOUDFLARE
from edgekeeper.cloud.transport import Transport
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import Clock, SystemClock
from kubesim.cloudflare import state
from kubesim.cloudflare.cloud import CloudflareCloud
from kubesim.cloudflare.http import serving
from kubesim.virtual import LoopClock, run_virtual

IN_PROCESS_URL = "http://localhost/client/v4"


@dataclass
class World:
    """One account with a zone and a tunnel, a token for all of it, and the adapters."""

    cloud: CloudflareCloud
    owner: state.Account
    zone: state.Zone
    tunnel: str
    secret: dict[str, str]
    """The Secret: tests change the token in it."""
    credential: Credential
    transport: Transport
    cloudflare: Cloudflare
    client: CloudflareClient
    sender: Sender
    base_url: str

    @property
    def account(self) -> Account:
        return self.cloudflare.account(self.credential, self.owner.id)

    @property
    def token_id(self) -> str:
        return self.cloud.world.tokens[self.secret["token"]].id

    def count(self, operation: str = "") -> int:
        return self.cloud.journal.count(operation)

    def config(self) -> Any:
        path = f"/accounts/{self.owner.id}/cfd_tunnel/{self.tunnel}/configurations"
        return self.cloud.act("GET", path)["config"]

    def write_config(self, config: Any) -> None:
        """Somebody else writes the tunnel's configuration."""
        path = f"/accounts/{self.owner.id}/cfd_tunnel/{self.tunnel}/configurations"
        self.cloud.act("PUT", path, {"config": config})

    def hostnames(self) -> list[str]:
        return [rule["hostname"] for rule in self.config()["ingress"] if "hostname" in rule]

    def records(self) -> list[Any]:
        return list(self.zone.records.values())

    def add_record(self, **fields: Any) -> Any:
        """Somebody else adds a record."""
        return self.cloud.act("POST", f"/zones/{self.zone.id}/dns_records", {"ttl": 1, **fields})


Scenario = Callable[[World], Coroutine[Any, Any, None]]


def both_ways(scenario: Scenario) -> Callable[[str], None]:
    """Make a test of a scenario, once over HTTP and once in process."""

    @pytest.mark.parametrize("way", ["http", "in-process"])
    def test(way: str) -> None:
        if way == "http":
            asyncio.run(_over_http(scenario))
        else:
            run_virtual(lambda: _in_process(scenario))

    test.__name__, test.__doc__ = scenario.__name__, scenario.__doc__
    test.__module__ = scenario.__module__
    return test


def in_virtual_time(scenario: Scenario) -> Callable[[], None]:
    """Make a test of a scenario in which time has to pass."""

    @functools.wraps(scenario)
    def test() -> None:
        run_virtual(lambda: _in_process(scenario))

    del test.__wrapped__  # or pytest would look for a fixture called `world`
    return test


async def _in_process(scenario: Scenario) -> None:
    async with alive() as world:
        await scenario(world)


@asynccontextmanager
async def alive() -> AsyncIterator[World]:
    """The adapters straight over the simulator, in the time of the loop and with the budget of production."""
    clock = LoopClock()
    cloud = CloudflareCloud(clock)
    options = CloudflareOptions(IN_PROCESS_URL)
    async with _living(_world(cloud, clock, Budget(), cloud.send, options)) as world:
        yield world


async def _over_http(scenario: Scenario) -> None:
    clock = SystemClock()
    cloud = CloudflareCloud(clock)
    sender = HttpSender(SenderOptions(proxy_from_environment=False))
    async with AsyncExitStack() as stack:
        base_url = await stack.enter_async_context(serving(cloud))
        stack.push_async_callback(sender.close)
        options = CloudflareOptions(base_url, window=timedelta(milliseconds=20))
        budget = Budget({CLOUDFLARE: LaneRate(10_000, 10_000)})
        world = await stack.enter_async_context(_living(_world(cloud, clock, budget, sender, options)))
        await scenario(world)


def _world(
    cloud: CloudflareCloud, clock: Clock, budget: Budget, sender: Sender, options: CloudflareOptions
) -> World:
    owner = cloud.add_account("acme")
    zone = cloud.add_zone(owner.id, "example.com", plan="pro")
    tunnel = cloud.add_tunnel(owner.id)
    secret = {"token": cloud.add_token().value}
    credential = Credential("team-a/cloudflare/token", lambda: secret["token"])
    metrics = CloudMetrics(CollectorRegistry())
    transport = Transport(Calls(), clock, budget, metrics)
    cloudflare = Cloudflare(transport, sender, clock, metrics, options)
    client = CloudflareClient(transport, sender, credential, options.base_url)
    return World(
        cloud,
        owner,
        zone,
        tunnel,
        secret,
        credential,
        transport,
        cloudflare,
        client,
        sender,
        options.base_url,
    )


@asynccontextmanager
async def _living(world: World) -> AsyncIterator[World]:
    running = asyncio.create_task(world.cloudflare.run())
    try:
        yield world
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def gather(*waits: Awaitable[Any]) -> list[Any]:
    """All results, errors among them."""
    return list(await asyncio.gather(*waits, return_exceptions=True))
