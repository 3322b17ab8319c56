"""Server and AWS as one process, in real time, with new objects that nobody has looked at yet.

    python -m benchmarks.cloudfront.arrivals DIRECTORY COUNT

Says where both can be reached (`Surroundings`). Then it takes commands:

    await_settled LIMIT    wait until every condition of every tenant is true, and say how many are
    tally                  requests since the last time somebody asked, without watches, and the most status writes of one
                           object

The objects have a certificate of their own and records in Route 53. What AWS takes minutes for takes seconds here.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import msgspec

from benchmarks.cloudfront.fleet import CRDS, TENANTS
from benchmarks.cloudfront.workload import (
    ACCOUNT,
    DISTRIBUTION,
    NAMESPACE,
    WRITES_PER_SECOND,
    ZONE,
    ZONE_NAME,
    tenant,
)
from benchmarks.runtime.commands import Figures, obey, tell, until
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.json import dig_list
from edgekeeper.runtime.logs import configure
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.http import serve
from kubesim.aws.settings import PUBLISHED, Rate
from kubesim.plane import Plane, PlaneConfig
from kubesim.plane.kubeconfig import render_kubeconfig
from kubesim.plane.request import Request, Response
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event, Key

LOOK_SECONDS = 0.2
RATES = {**PUBLISHED, "cloudfront-write": Rate(2 * WRITES_PER_SECOND, WRITES_PER_SECOND)}
"""In real time calls do not arrive as evenly as they are sent: with a burst no larger than the operator's own some would
be throttled, and what that writes is no part of a creation."""
DEPLOYMENT, PROPAGATION = timedelta(seconds=10), timedelta(seconds=5)


class Surroundings(msgspec.Struct, frozen=True):
    """What an operator has to be told."""

    kubeconfig: str
    aws: str


class ObservedPlane(Plane):
    """A server that knows what was asked of it over the wire, and which tenants are as they should be."""

    def __init__(self, config: PlaneConfig) -> None:
        super().__init__(config)
        self.settled: set[Key] = set()
        self._requests = 0
        self._status_writes: Counter[str] = Counter()
        self.store.listen(self._observe)

    async def handle(self, request: Request) -> Response:
        self._requests += "watch" not in request.query
        if (
            request.method != "GET"
            and f"/{KIND.plural}/" in request.path
            and request.path.endswith("/status")
        ):
            self._status_writes[request.path] += 1
        return await super().handle(request)

    async def await_settled(self, count: int, limit: float) -> Figures:
        due = time.monotonic() + limit
        await until(lambda: len(self.settled) == count or time.monotonic() >= due, LOOK_SECONDS)
        return {"settled": float(len(self.settled))}

    async def tally(self) -> Figures:
        figures = {
            "requests": float(self._requests),
            "status writes": float(max(self._status_writes.values(), default=0)),
        }
        self._requests = 0
        self._status_writes.clear()
        return figures

    def _observe(self, resource: GroupResource, event: Event) -> None:
        if resource == TENANTS:
            conditions = dig_list(event.item.decode(), "status", "conditions")
            is_settled = bool(conditions) and all(one["status"] == "True" for one in conditions)
            (self.settled.add if is_settled else self.settled.discard)(event.item.key)


async def furnish(plane: Plane, cloud: AwsCloud, count: int) -> None:
    """What is there before the operator starts."""
    timings = cloud.world.timings
    timings.tenant_deployment, timings.record_propagation = DEPLOYMENT, PROPAGATION
    cloud.cloudfront.add_distribution(DISTRIBUTION)
    cloud.cloudfront.default_group()
    cloud.route53.add_zone(ZONE_NAME, id=ZONE)
    for definition in DEFINITIONS:
        await plane.client.create(CRDS, definition.definition())
    await plane.settle()
    for number in range(count):
        await plane.client.create(KIND.collection_path(NAMESPACE), tenant(number, "own", dns=True))


async def main(directory: Path, count: int) -> None:
    config = PlaneConfig(directory / "plane", simulators=frozenset(), gateway_api=False)
    cloud = AwsCloud(SystemClock(), account=ACCOUNT, rates=RATES)
    async with ObservedPlane(config) as plane, serve(cloud) as aws:
        await furnish(plane, cloud, count)
        kubeconfig = directory / "kubeconfig"
        kubeconfig.write_text(render_kubeconfig(await plane.serve(), "bench"))
        await plane.tally()
        tell(Surroundings(str(kubeconfig), aws.url))
        await obey({"await_settled": lambda limit: plane.await_settled(count, limit), "tally": plane.tally})


if __name__ == "__main__":
    configure(level="error")
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
