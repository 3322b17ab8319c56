"""Installations to examine, in process: an embedded server and simulated clouds, in virtual time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import format_datetime
from io import StringIO
from typing import Any

from prometheus_client import CollectorRegistry
from rich.console import Console

from edgekeeper.cli.doctor import print_results
from edgekeeper.cli.kinds import DEFINITIONS, MODULES
from edgekeeper.cli.rbac import ALL, all_rules_of
from edgekeeper.cli.reaching import explain
from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.budget import Budget
from edgekeeper.cloud.cloudflare.accounts import Cloudflare, CloudflareOptions
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.reachability import Reached
from edgekeeper.cloud.transport import Transport as CloudTransport
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import Clock, micro_timestamp
from edgekeeper.core.json import JsonObject
from edgekeeper.diagnosis.checks import Result
from edgekeeper.diagnosis.dated import DatedTransport
from edgekeeper.diagnosis.doctor import Installation, examine
from edgekeeper.diagnosis.right_checks import Surroundings
from edgekeeper.kube.client import ClientOptions, KubeClient
from edgekeeper.kube.cluster import ClusterConfig
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.kinds import LEASE
from edgekeeper.kube.transport import ApiRequest, ApiResponse, Transport
from kubesim.transport import InProcessTransport
from tests.platform.world import HOME, World
from tests.unit.diagnosis.read_only import CloudReads, ReadOnly, confirm_no_writes

OPTIONS = frozenset({"leaderElection.enabled"})


class Answering:
    """A probe whose endpoints all answer, with a clock of their own."""

    def __init__(self, clock: Clock, ahead: timedelta = timedelta()) -> None:
        self._clock = clock
        self._ahead = ahead

    async def __call__(self, url: str) -> Reached:
        return Reached(http_date(self._clock.now() + self._ahead))


class WithDate(InProcessTransport):
    """A server that says what time it is, as real ones do."""

    def __init__(self, world: World, ahead: timedelta = timedelta()) -> None:
        super().__init__(world.plane)
        self._clock, self._ahead = world.clock, ahead

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        response = await super().send(request, deadline)
        date = http_date(self._clock.now() + self._ahead)
        return replace(response, headers={**response.headers, "date": date})


def http_date(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


def installation(world: World, transport: Transport | None = None, **changed: Any) -> Installation:
    """The operator of a world, with all kinds, as `edgekeeper doctor` finds it. Every call of it must be a read."""
    clock, metrics = world.clock, CloudMetrics(CollectorRegistry())
    dated, calls = DatedTransport(ReadOnly(transport or WithDate(world))), Calls(CloudReads())
    cloud = CloudTransport(calls, clock, Budget(), metrics, dry_run=True)
    clients = world.aws.clients()
    options = CloudflareOptions("https://cloudflare.test/client/v4")
    plain = Installation(
        KubeClient(dated, Calls(), clock, ClientOptions(dry_run=True, retries=False)),
        clock,
        MODULES,
        DEFINITIONS,
        all_rules_of(ALL),
        Surroundings(HOME, options=OPTIONS),
        described,
        dated,
        (AwsAccess(cloud, clients, clock), clients),
        Cloudflare(cloud, world.cloudflare.send, clock, metrics, options),
        {"aws sts": "https://sts.eu-west-1.amazonaws.com", "cloudflare": "https://cloudflare.test/client/v4"},
        Answering(clock),
    )
    return replace(plain, **changed)


def described(error: ApiError) -> tuple[str, str]:
    explained = explain(error, ClusterConfig("https://plane.test"))
    return explained.message, explained.remedy


async def examined(world: World, one: Installation | None = None) -> list[Result]:
    """The results."""
    patient = one or installation(world)
    try:
        return await examine(patient)
    finally:
        if patient.aws is not None:
            await patient.aws[1].close()
        confirm_no_writes()


def told(results: list[Result]) -> str:
    stream = StringIO()
    print_results(results, Console(file=stream, width=2000, color_system=None))
    return stream.getvalue()


def lease(renewed: datetime) -> JsonObject:
    """The Lease of an operator."""
    spec = {
        "holderIdentity": "edgekeeper-1",
        "leaseDurationSeconds": 15,
        "acquireTime": micro_timestamp(renewed),
        "renewTime": micro_timestamp(renewed),
    }
    return {
        "apiVersion": LEASE.api_version,
        "kind": LEASE.kind,
        "metadata": {"name": "edgekeeper", "namespace": HOME},
        "spec": spec,
    }
