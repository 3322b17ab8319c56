"""The simulated AWS and everything that production puts before it, in two ways: in process and over HTTP.

    @both_ways
    async def test_…(world: World) -> None: …

In process time is virtual, and over HTTP it is real, so tests let time pass by `world.pass_time`, which sets the cloud's
clock forward, and never by sleeping.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps

import pytest
from aiobotocore.session import AioSession
from botocore.loaders import Loader
from prometheus_client import CollectorRegistry

from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.acm import Acm
from edgekeeper.cloud.aws.apigateway import ApiGateway
from edgekeeper.cloud.aws.clients import AwsClients
from edgekeeper.cloud.aws.cloudfront import CloudFront
from edgekeeper.cloud.aws.credentials import static_session
from edgekeeper.cloud.aws.http import GuardedSession
from edgekeeper.cloud.aws.lambda_policy import LambdaPolicies
from edgekeeper.cloud.aws.roles import OWN, Role
from edgekeeper.cloud.aws.route53 import Route53
from edgekeeper.cloud.aws.settings import AwsSettings
from edgekeeper.cloud.budget import Budget, LaneRate
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.rates import DEFAULT_RATES
from edgekeeper.cloud.transport import Transport
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import Clock, SystemClock
from kubesim.aws.cloud import ACCOUNT, AwsCloud
from kubesim.aws.http import serve
from kubesim.aws.session import session_class
from kubesim.aws.settings import PUBLISHED, UNLIMITED, Rates
from kubesim.virtual import LoopClock, run_virtual

REGION = "eu-west-1"
DISTRIBUTION = "E1XNX8R2GOAABC"
ENDPOINT = "d111111abcdef8.cloudfront.net"

_FREE = {name: LaneRate(10_000, 10_000, within=lane.within) for name, lane in DEFAULT_RATES.items()}


_LOADER = Loader()
"""Shared by all tests: reading the models of the services takes longer than most of them."""


def session_of(key_id: str) -> AioSession:
    session = static_session(key_id, "secret")
    session.register_component("data_loader", _LOADER)
    return session


@dataclass
class World:
    """One account and somebody who works in it."""

    cloud: AwsCloud
    clock: Clock
    calls: Calls
    metrics: CloudMetrics
    transport: Transport
    access: AwsAccess

    def __post_init__(self) -> None:
        self.cloudfront = CloudFront(self.access.caller())
        self.acm = Acm(self.access.caller(region="us-east-1"))
        self.gateway = ApiGateway(self.access.caller(region=REGION))
        self.policies = LambdaPolicies(self.access.caller(region=REGION))

    def route53(self, role: Role = OWN) -> Route53:
        return Route53(self.access.caller(role=role))

    def pass_time(self, interval: timedelta) -> None:
        """Let time pass in the cloud."""
        self.cloud.time.advance(interval)

    @property
    def counts(self) -> dict[str, int]:
        """Calls that reached the cloud, by operation."""
        return dict(self.cloud.journal.counts)


def _access(clients: AwsClients, clock: Clock, cloud: AwsCloud, rates: dict[str, LaneRate] | None) -> World:
    calls, metrics = Calls(), CloudMetrics(CollectorRegistry())
    transport = Transport(calls, clock, Budget(rates), metrics)
    return World(cloud, clock, calls, metrics, transport, AwsAccess(transport, clients, clock))


@asynccontextmanager
async def in_process(*, rates: Rates = PUBLISHED, key_id: str = ACCOUNT) -> AsyncIterator[World]:
    """Production's clients talk straight to the cloud, in the time of the loop."""
    clock = LoopClock()
    cloud = AwsCloud(clock, rates=rates)
    clients = AwsClients(
        AwsSettings(region=REGION),
        session=session_of(key_id),
        http_session_class=session_class(cloud),
    )
    try:
        yield _access(clients, clock, cloud, None)
    finally:
        await clients.close()


@asynccontextmanager
async def over_http(*, key_id: str = ACCOUNT) -> AsyncIterator[World]:
    """The same over a socket, in real time, and so without limits that would take time."""
    clock = SystemClock()
    cloud = AwsCloud(clock, rates=UNLIMITED)
    async with serve(cloud) as server:
        clients = AwsClients(
            AwsSettings(region=REGION, endpoint_url=server.url),
            session=session_of(key_id),
            http_session_class=GuardedSession,
        )
        try:
            yield _access(clients, clock, cloud, _FREE)
        finally:
            await clients.close()


Scenario = Callable[[World], Awaitable[None]]


def _run_in_process(scenario: Scenario) -> None:
    async def main() -> None:
        async with in_process() as world:
            await scenario(world)

    run_virtual(main)


def _run_over_http(scenario: Scenario) -> None:
    async def main() -> None:
        async with over_http() as world, asyncio.timeout(60):
            await scenario(world)

    asyncio.run(main())


WAYS: dict[str, Callable[[Scenario], None]] = {"in process": _run_in_process, "over http": _run_over_http}


def both_ways(scenario: Scenario) -> Callable[[str], None]:
    """Run a test both ways."""

    @pytest.mark.parametrize("way", sorted(WAYS))
    @wraps(scenario)
    def test(way: str) -> None:
        WAYS[way](scenario)

    del test.__wrapped__  # or pytest would look for a fixture called world
    return test


def in_virtual_time(scenario: Scenario) -> Callable[[], None]:
    """Run a test in process alone, because time passes in it."""

    @wraps(scenario)
    def test() -> None:
        _run_in_process(scenario)

    del test.__wrapped__
    return test
