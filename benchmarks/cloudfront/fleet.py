"""A fleet of tenants, from nothing to Ready, a while of rest, and a restart: a process of its own, in virtual time.

    python -m benchmarks.cloudfront.fleet COUNT own|managed

The operator is production's, put together as `edgekeeper run` does it; the simulated AWS limits CloudFront's writes to
five a second, as the budget does. Calls are counted where they arrive. Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from benchmarks.runtime.processes import parse_peak_megabytes
from edgekeeper.cli.assembly import Operator, OperatorOptions, assembled
from edgekeeper.cli.crds import KINDS
from edgekeeper.cloud.aws.clients import AwsClients, AwsSettings
from edgekeeper.cloud.aws.credentials import static_session
from edgekeeper.cloud.budget import LaneRate
from edgekeeper.cloud.lanes import CLOUDFRONT_WRITE
from edgekeeper.controllers.cloudfront.wiring import TenantOptions
from edgekeeper.core.json import JsonObject
from edgekeeper.local.aws.cloud import ACCOUNT, AwsCloud
from edgekeeper.local.aws.session import session_class
from edgekeeper.local.aws.settings import PUBLISHED, Rate
from edgekeeper.local.plane import Plane, PlaneConfig
from edgekeeper.local.plane.resource import GroupResource
from edgekeeper.local.plane.store import Event, Key
from edgekeeper.local.transport import InProcessTransport
from edgekeeper.local.virtual import LoopClock, run_virtual
from edgekeeper.runtime.logs import configure
from edgekeeper.runtime.options import RuntimeOptions, ServerOptions

WRITES_PER_SECOND = 5
LOOK_SECONDS = 5.0
REST_SECONDS = 2 * 3600.0
PATIENCE_SECONDS = 24 * 3600.0
DISTRIBUTION, ZONE = "E1XNX8R2GOAABC", "Z0EXAMPLE"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TENANTS = "/apis/cloudfront-tenant-operator.io/v1alpha1/namespaces/default/distributiontenants"
RESOURCE = GroupResource("cloudfront-tenant-operator.io", "distributiontenants")
_READY = b'{"type":"Ready","status":"True"'
_RATES = {**PUBLISHED, "cloudfront-write": Rate(WRITES_PER_SECOND, WRITES_PER_SECOND)}
_OPTIONS = OperatorOptions(
    RuntimeOptions(server=ServerOptions(health_address=None, metrics_address=None, webhook_address=None)),
    TenantOptions(cluster="bench"),
    {CLOUDFRONT_WRITE: LaneRate(WRITES_PER_SECOND, WRITES_PER_SECOND)},
    signals=False,
)

Kind = Literal["own", "managed"]


@dataclass
class Fleet:
    """The server, the cloud, and which objects are Ready."""

    plane: Plane
    cloud: AwsCloud
    clock: LoopClock
    ready: set[Key] = field(default_factory=set)
    commits: int = 0

    def __post_init__(self) -> None:
        self.plane.store.listen(self._observe)

    def _observe(self, resource: GroupResource, event: Event) -> None:
        if resource == RESOURCE:
            self.commits += 1
            (self.ready.add if _READY in event.item.body else self.ready.discard)(event.item.key)

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[Operator]:
        clients = AwsClients(
            AwsSettings(region="eu-west-1"),
            session=static_session(ACCOUNT, "bench"),
            http_session_class=session_class(self.cloud),
        )
        transport = InProcessTransport(self.plane)
        async with assembled(_OPTIONS, transport, clients, clock=self.clock, host="embedded") as operator:
            working = asyncio.create_task(operator.manager.run())
            try:
                yield operator
            finally:
                operator.manager.stop()
                await working

    async def until_ready(self, count: int) -> float:
        began = self.clock.monotonic()
        while len(self.ready) < count:
            if self.clock.monotonic() - began > PATIENCE_SECONDS:
                raise RuntimeError(f"only {len(self.ready)} of {count} tenants became Ready")
            await asyncio.sleep(LOOK_SECONDS)
        return self.clock.monotonic() - began


def tenant(number: int, kind: Kind) -> JsonObject:
    """One object. A managed certificate needs the domain's DNS, so those have records."""
    domain = f"n{number:05}.example.com"
    spec: JsonObject = {"distributionId": DISTRIBUTION, "domains": [{"domain": domain}]}
    if kind == "managed":
        spec["dns"] = {"provider": "route53", "hostedZoneId": ZONE}
        spec["managedCertificateRequest"] = {"validationTokenHost": "cloudfront", "primaryDomainName": domain}
    return {
        "apiVersion": "cloudfront-tenant-operator.io/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": {"name": f"tenant-{number:05}"},
        "spec": spec,
    }


async def measure(count: int, kind: Kind) -> dict[str, Any]:
    clock = LoopClock()
    config = PlaneConfig(simulators=frozenset(), gateway_api=False, now=clock.now)
    async with Plane(config) as plane:
        fleet = Fleet(plane, AwsCloud(clock, rates=_RATES), clock)
        await _furnish(fleet, count, kind)
        figures: dict[str, Any] = {}
        async with fleet.operator():
            figures["seconds"] = await fleet.until_ready(count)
            figures["calls"] = dict(fleet.cloud.journal.counts)
            figures["throttled"] = fleet.cloud.journal.codes.get("Throttling", 0)
            figures["megabytes"] = _peak_megabytes()
            fleet.cloud.journal.clear()
            await asyncio.sleep(REST_SECONDS)
            figures["rest"] = len(fleet.cloud.journal)
        figures["restart"] = await _restart(fleet, count)
        return figures


def _peak_megabytes() -> float:
    return parse_peak_megabytes(Path("/proc/self/status").read_text())


async def _furnish(fleet: Fleet, count: int, kind: Kind) -> None:
    fleet.cloud.cloudfront.add_distribution(DISTRIBUTION)
    fleet.cloud.route53.add_zone("example.com", id=ZONE)
    fleet.cloud.world.quotas.distribution_tenants = 2 * count
    fleet.cloud.world.quotas.records_per_zone = 3 * count
    for definition in KINDS:
        await fleet.plane.client.create(CRDS, definition.definition())
    await fleet.plane.settle()
    for number in range(count):
        await fleet.plane.client.create(TENANTS, tenant(number, kind))


async def _restart(fleet: Fleet, count: int) -> dict[str, float]:
    """A new process finds everything as it should be: what it writes, and when every object has had its pass."""
    fleet.cloud.journal.clear()
    commits, began = fleet.commits, time.perf_counter()
    async with fleet.operator() as operator:
        tally = operator.metrics.controller("distributiontenant", 16)
        while sum(tally.results.values()) < count:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)
        seconds = time.perf_counter() - began
        await asyncio.sleep(60)
    reading = ("List", "Get", "Describe")
    writes = sum(n for name, n in fleet.cloud.journal.counts.items() if not name.startswith(reading))
    return {"seconds": seconds, "writes": writes + fleet.commits - commits}


if __name__ == "__main__":
    configure(level="error")
    size, chosen = int(sys.argv[1]), sys.argv[2]
    result = run_virtual(lambda: measure(size, "managed" if chosen == "managed" else "own"))
    print(msgspec.json.encode(result).decode())
