"""Server and AWS as one process: a fleet grows on them in virtual time, and is then served in real time.

    python -m benchmarks.cloudfront.fleet DIRECTORY COUNT own|managed

Says two lines: how the fleet grew (`Growth`), and where both can be reached (`Site`). Then it takes a command:

    tally    what was written since the last time somebody asked, and how often AWS was called

While the fleet grows the operator is in the same process, production's, put together as `edgekeeper run` does it. The
simulated AWS limits CloudFront's writes to five a second, as the operator's budget does, and everything else as AWS is
known to. Calls are counted where they arrive.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.cloudfront.workload import (
    ACCOUNT,
    DISTRIBUTION,
    NAMESPACE,
    OPTIONS,
    WRITES_PER_SECOND,
    ZONE,
    ZONE_NAME,
    Certificate,
    Site,
    new_clients,
    tenant,
)
from benchmarks.plane.target import Target
from benchmarks.runtime.commands import Figures, obey, tell
from benchmarks.runtime.server import CountingPlane
from edgekeeper.cli.assembly import assembled
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.core.json import dig_list
from edgekeeper.runtime.logs import configure
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.http import serve
from kubesim.aws.session import session_class
from kubesim.aws.settings import PUBLISHED, Rate
from kubesim.plane import PlaneConfig
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event, Key
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock, run_virtual

LOOK_SECONDS = 1.0
REST_SECONDS = 1800.0
PATIENCE_SECONDS = 24 * 3600.0
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TENANTS = GroupResource(KIND.group, KIND.plural)
READING = ("List", "Get", "Describe")
RATES = {**PUBLISHED, "cloudfront-write": Rate(WRITES_PER_SECOND, WRITES_PER_SECOND)}


class Growth(msgspec.Struct, frozen=True):
    """How a fleet came to be."""

    seconds: float
    """From the start of the operator until every condition of every tenant was true, in virtual time."""
    waits: float
    """How much of that AWS takes for one tenant, however few there are."""
    calls: dict[str, int]
    throttled: int
    rest_calls: int
    """In half an hour in which nothing happened."""
    rest_writes: float
    """To the cluster and to AWS, in the same time."""


class HandedOn:
    """The cloud's clock: virtual time while there is any, then real time from where that ended."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall_ahead, self._ahead = timedelta(), 0.0

    def now(self) -> datetime:
        return self._clock.now() + self._wall_ahead

    def monotonic(self) -> float:
        return self._clock.monotonic() + self._ahead

    def go_on_in_real_time(self) -> None:
        real = SystemClock()
        self._wall_ahead, self._ahead = self.now() - real.now(), self.monotonic() - real.monotonic()
        self._clock = real


@dataclass
class Fleet:
    """The server, the cloud, and which objects have come to their end."""

    plane: CountingPlane
    cloud: AwsCloud
    clock: LoopClock
    settled: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.plane.store.listen(self._observe)

    def _observe(self, resource: GroupResource, event: Event) -> None:
        if resource == TENANTS:
            conditions = dig_list(event.item.decode(), "status", "conditions")
            is_settled = bool(conditions) and all(one["status"] == "True" for one in conditions)
            (self.settled.add if is_settled else self.settled.discard)(event.item.key)

    async def furnish(self, count: int, certificate: Certificate) -> None:
        """What is there before the operator starts: a distribution, a zone, and all objects."""
        self.cloud.cloudfront.add_distribution(DISTRIBUTION)
        self.cloud.route53.add_zone(ZONE_NAME, id=ZONE)
        quotas = self.cloud.world.quotas
        quotas.distribution_tenants = quotas.certificates = 2 * count
        quotas.records_per_zone = 3 * count
        for definition in DEFINITIONS:
            await self.plane.client.create(CRDS, definition.definition())
        await self.plane.settle()
        for number in range(count):
            await self.plane.client.create(KIND.collection_path(NAMESPACE), tenant(number, certificate))

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[None]:
        clients = new_clients(http_session_class=session_class(self.cloud))
        transport = InProcessTransport(self.plane)
        async with (
            assembled(OPTIONS, transport, clients, clock=self.clock, host="embedded") as operator,
            operator.manager.running(),
        ):
            yield

    async def until_settled(self, count: int) -> float:
        began = self.clock.monotonic()
        while len(self.settled) < count:
            if self.clock.monotonic() - began > PATIENCE_SECONDS:
                raise RuntimeError(f"only {len(self.settled)} of {count} tenants became Ready")
            await asyncio.sleep(LOOK_SECONDS)
        return self.clock.monotonic() - began

    def waits(self, certificate: Certificate) -> float:
        """A managed certificate: its records become known, it is issued, and the tenant is deployed with it."""
        timings = self.cloud.world.timings
        waits = [timings.tenant_deployment]
        if certificate == "managed":
            waits += [timings.record_propagation, timings.certificate_issuance]
        return sum(wait.total_seconds() for wait in waits)

    async def tally(self) -> Figures:
        """Writes to the cluster and to AWS, and calls of AWS, since the last time; then start anew."""
        counts = self.cloud.journal.counts
        written = sum(number for name, number in counts.items() if not name.startswith(READING))
        figures = {"writes": (await self.plane.tally())["writes"] + written, "calls": float(counts.total())}
        self.cloud.journal.clear()
        return figures


async def grow(directory: Path, count: int, certificate: Certificate) -> tuple[Growth, AwsCloud]:
    """A fleet from nothing to its end, and half an hour after it."""
    clock = LoopClock()
    handed_on = HandedOn(clock)
    async with CountingPlane(_config(directory, now=clock.now)) as plane:
        fleet = Fleet(plane, AwsCloud(handed_on, account=ACCOUNT, rates=RATES), clock)
        await fleet.furnish(count, certificate)
        async with fleet.operator():
            seconds = await fleet.until_settled(count)
            journal = fleet.cloud.journal
            calls, throttled = dict(journal.counts), journal.codes.get("Throttling", 0)
            await fleet.tally()
            await asyncio.sleep(REST_SECONDS)
            rest = await fleet.tally()
        growth = Growth(
            seconds, fleet.waits(certificate), calls, throttled, int(rest["calls"]), rest["writes"]
        )
    handed_on.go_on_in_real_time()
    return growth, fleet.cloud


async def serve_fleet(directory: Path, cloud: AwsCloud) -> None:
    """Server and cloud as the fleet has left them, for operators in other processes."""
    async with CountingPlane(_config(directory)) as plane, serve(cloud) as aws:
        fleet = Fleet(plane, cloud, LoopClock())
        endpoint = await plane.serve()
        ca_file = directory / "ca.pem"
        ca_file.write_bytes(endpoint.ca_pem)
        await fleet.tally()
        tell(Site(Target(endpoint.url, str(ca_file)), aws.url))
        await obey({"tally": fleet.tally})


def _config(directory: Path, **settings: Any) -> PlaneConfig:
    return PlaneConfig(directory / "plane", simulators=frozenset(), gateway_api=False, **settings)


def main(directory: Path, count: int, certificate: Certificate) -> None:
    growth, cloud = run_virtual(lambda: grow(directory, count, certificate), start=datetime.now(UTC))
    tell(growth)
    asyncio.run(serve_fleet(directory, cloud))


if __name__ == "__main__":
    configure(level="error")
    main(Path(sys.argv[1]), int(sys.argv[2]), "managed" if sys.argv[3] == "managed" else "own")
