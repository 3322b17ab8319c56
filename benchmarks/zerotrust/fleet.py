"""Server and Cloudflare as one process: a fleet of routes grows on them in virtual time, and is then served in real time.

    python -m benchmarks.zerotrust.fleet DIRECTORY COUNT access|public|quota

Says how the fleet fared (`Growth`; for `quota`, `Excess`, and then it ends), and then where both can be reached (`Site`).
Then it takes a command:

    tally    what was written since the last time somebody asked, and how often Cloudflare was called

While the fleet grows the operator is in the same process, production's, put together as `edgekeeper run` does it, with its
default budget. The simulated Cloudflare has its real limits: 1,200 calls in five minutes, and 500 applications where the
fleet is not for larger accounts. Calls are counted where they arrive.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.cloudfront.fleet import CRDS, HandedOn
from benchmarks.runtime.commands import Figures, obey, tell, until
from benchmarks.zerotrust.workload import (
    DRIFT_INTERVAL,
    HOME,
    ROUTES,
    ZONE_NAME,
    Site,
    name_of,
    namespace,
    options,
    prefixed,
    route,
    tenant,
    token_secret,
)
from edgekeeper.cli.assembly import assembled
from edgekeeper.cli.kinds import DEFINITIONS
from edgekeeper.controllers.zerotrust.route_report import READY, REASON
from edgekeeper.controllers.zerotrust.worker import TENANT
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.kube.kinds import HTTP_ROUTE, NAMESPACE, SECRET, Key
from edgekeeper.runtime.logs import configure
from kubesim.cloudflare.cloud import CloudflareCloud
from kubesim.cloudflare.http import serving
from kubesim.plane import Plane, PlaneConfig
from kubesim.plane.kubeconfig import render_kubeconfig
from kubesim.plane.request import Request, Response
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Event
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock, run_virtual

LOOK_SECONDS = 0.1
PATIENCE_SECONDS = 3600.0
REST_SECONDS = 6 * DRIFT_INTERVAL.total_seconds()
ROUTE_RESOURCE = GroupResource(HTTP_ROUTE.group, HTTP_ROUTE.plural)
READING = frozenset({"GET", "HEAD"})
SETTLE_SECONDS = 60.0
"""From one change to the next."""
CHANGED = 7
"""The route that is changed by itself."""

CHANGES: dict[str, dict[str, str | None]] = {
    "other logins": {"allowEmails": "somebody@example.com"},
    "other session duration": {"sessionDuration": "8h"},
    "other origin": {"originService": "http://other.web.svc:80"},
    "other hostname": {"hostname": f"renamed.{ZONE_NAME}"},
}


class Change(msgspec.Struct, frozen=True):
    """What the change of a single route took, until the route said that it was published."""

    calls: int
    seconds: float


class Growth(msgspec.Struct, frozen=True):
    """How a fleet came to be, and what it costs from then on."""

    seconds: float
    """From the start of the operator until every route was published, in virtual time."""
    calls: dict[str, int]
    throttled: int
    kube_writes: dict[str, int]
    """Until then, by the plural of the kind."""
    rest_calls: float
    """In one drift interval, with nothing going on."""
    rest_writes: float
    """To the cluster and to Cloudflare, in six of them."""
    changes: dict[str, Change]


class Excess(msgspec.Struct, frozen=True):
    """One application more than the account may have."""

    reason: str
    """What the route says."""
    published: int
    """How many of the others are."""
    other_seconds: float
    """How long a change of another route took meanwhile."""
    hourly_writes: int
    """What the route costs from then on."""


class ObservedPlane(Plane):
    """A server that counts what is written, and knows what every route says about itself."""

    def __init__(self, config: PlaneConfig) -> None:
        super().__init__(config)
        self.writes: Counter[str] = Counter()
        self.said: dict[str, JsonObject] = {}
        """The annotations of every route, by name."""
        self.published: Counter[str] = Counter()
        """How often each route became ready."""
        self.store.listen(self._observe)

    async def handle(self, request: Request) -> Response:
        if request.method not in READING:
            self.writes[_plural_of(request.path)] += 1
        return await super().handle(request)

    def ready(self) -> int:
        return sum(annotations.get(READY) == "True" for annotations in self.said.values())

    def _observe(self, resource: GroupResource, event: Event) -> None:
        if resource == ROUTE_RESOURCE:
            obj = event.item.decode()
            name = str(dig(obj, "metadata", "name"))
            was_ready = self.said.get(name, {}).get(READY) == "True"
            self.said[name] = dig_object(obj, "metadata", "annotations")
            self.published[name] += self.said[name].get(READY) == "True" and not was_ready
            if event.type == "DELETED":
                del self.said[name]


@dataclass
class Fleet:
    """The server and the cloud."""

    plane: ObservedPlane
    cloud: CloudflareCloud
    clock: LoopClock
    account: str = field(init=False)

    async def furnish(self, *, roomy: bool) -> None:
        """What is there before the routes: an account with a zone and a tunnel, and a tenant."""
        account = self.cloud.add_account("bench")
        self.account = account.id
        if roomy:
            account.quotas.applications = account.quotas.policies = 100_000
        self.cloud.add_zone(account.id, ZONE_NAME, plan="enterprise")
        tunnel, token = self.cloud.add_tunnel(account.id), self.cloud.add_token()
        client = self.plane.client
        for definition in DEFINITIONS:
            await client.create(CRDS, definition.definition())
        await self.plane.settle()
        for name in (HOME, ROUTES):
            await client.create(NAMESPACE.collection_path(""), namespace(name))
        await client.create(SECRET.collection_path(HOME), token_secret(token.value))
        await client.create(TENANT.collection_path(HOME), tenant(account.id, tunnel))

    async def add(self, *numbers: int, access: bool, **annotations: str) -> None:
        for number in numbers:
            await self.plane.client.create(
                HTTP_ROUTE.collection_path(ROUTES), route(number, access=access, **annotations)
            )

    @asynccontextmanager
    async def operator(self) -> AsyncIterator[None]:
        transport, chosen = InProcessTransport(self.plane), options(self.cloud.send)
        async with (
            assembled(chosen, transport, None, clock=self.clock, host="embedded") as operator,
            operator.manager.running(),
        ):
            yield

    async def until_ready(self, count: int) -> float:
        began = self.clock.monotonic()
        while self.plane.ready() < count:
            if self.clock.monotonic() - began > PATIENCE_SECONDS:
                reasons = Counter(str(one.get(REASON)) for one in self.plane.said.values())
                raise RuntimeError(f"only {self.plane.ready()} of {count} routes were published: {reasons}")
            await asyncio.sleep(LOOK_SECONDS)
        return self.clock.monotonic() - began

    async def change(self, number: int, annotations: dict[str, str | None]) -> Change:
        """Change one route, and wait until it is published as it says now."""
        self.cloud.journal.clear()
        name = name_of(number)
        published, began = self.plane.published[name], self.clock.monotonic()
        patch = {"metadata": {"annotations": prefixed(dict(annotations))}}
        await self.plane.client.merge(HTTP_ROUTE.path(Key(ROUTES, name)), patch)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await until(lambda: self.plane.published[name] > published, LOOK_SECONDS)
        return Change(self.cloud.journal.count(), self.clock.monotonic() - began)

    async def tally(self) -> Figures:
        """Writes to the cluster and to Cloudflare, and calls of it, since the last time; then start anew."""
        journal = self.cloud.journal
        written = self.plane.writes.total() + len(journal.writes())
        figures = {"writes": float(written), "calls": float(journal.count())}
        journal.clear()
        self.plane.writes.clear()
        return figures


async def grow(directory: Path, count: int, *, access: bool) -> tuple[Growth, CloudflareCloud]:
    """A fleet from nothing to its end, at rest, and with a few changes."""
    clock = LoopClock()
    handed_on = HandedOn(clock)
    async with ObservedPlane(_config(directory, now=clock.now)) as plane:
        fleet = Fleet(plane, CloudflareCloud(handed_on), clock)
        await fleet.furnish(roomy=True)
        await fleet.add(*range(count), access=access)
        plane.writes.clear()
        async with fleet.operator():
            seconds = await fleet.until_ready(count)
            journal = fleet.cloud.journal
            calls, throttled = journal.counts(), sum(one.status == 429 for one in journal.entries)
            writes = dict(plane.writes)
            await asyncio.sleep(DRIFT_INTERVAL.total_seconds())
            await fleet.tally()
            await asyncio.sleep(REST_SECONDS)
            rest = await fleet.tally()
            changes = await _change(fleet, count) if access else {}
        per_interval = rest["calls"] * DRIFT_INTERVAL.total_seconds() / REST_SECONDS
        growth = Growth(seconds, calls, throttled, writes, per_interval, rest["writes"], changes)
    handed_on.go_on_in_real_time()
    return growth, fleet.cloud


async def _change(fleet: Fleet, count: int) -> dict[str, Change]:
    changes = {}
    for name, edit in CHANGES.items():
        changes[name] = await fleet.change(CHANGED, edit)
        await asyncio.sleep(SETTLE_SECONDS)
    fleet.cloud.journal.clear()
    await fleet.add(count, access=True)
    seconds = await fleet.until_ready(count + 1)
    changes["new route"] = Change(fleet.cloud.journal.count(), seconds)
    await asyncio.sleep(SETTLE_SECONDS)  # the tenant counts its routes some seconds later
    return changes


async def exceed(directory: Path, count: int) -> Excess:
    """As many routes as a standard account has room for, and then one more."""
    clock = LoopClock()
    async with ObservedPlane(_config(directory, now=clock.now)) as plane:
        fleet = Fleet(plane, CloudflareCloud(clock), clock)
        await fleet.furnish(roomy=False)
        await fleet.add(*range(count), access=True)
        async with fleet.operator():
            await fleet.until_ready(count)
            await fleet.add(count, access=True)
            await asyncio.sleep(60)
            change = await fleet.change(CHANGED, CHANGES["other session duration"])
            fleet.cloud.journal.clear()
            await asyncio.sleep(3600)
            reason = str(plane.said[name_of(count)].get(REASON))
            return Excess(reason, plane.ready(), change.seconds, len(fleet.cloud.journal.writes()))


async def serve_fleet(directory: Path, cloud: CloudflareCloud) -> None:
    """Server and cloud as the fleet has left them, for operators in other processes."""
    async with ObservedPlane(_config(directory)) as plane, serving(cloud) as url:
        fleet = Fleet(plane, cloud, LoopClock())
        kubeconfig = directory / "kubeconfig"
        kubeconfig.write_text(render_kubeconfig(await plane.serve(), "bench"))
        await fleet.tally()
        tell(Site(str(kubeconfig), url))
        await obey({"tally": fleet.tally})


def _plural_of(path: str) -> str:
    """The kind that a path is about: `…/namespaces/web/httproutes/shop/status` is `httproutes`."""
    parts = path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    return parts[2] if parts[0] == "namespaces" and len(parts) > 2 else parts[0]


def _config(directory: Path, **settings: Any) -> PlaneConfig:
    return PlaneConfig(directory / "plane", simulators=frozenset(), gateway_api=True, **settings)


def main(directory: Path, count: int, kind: str) -> None:
    start = datetime.now(UTC)
    if kind == "quota":
        tell(run_virtual(lambda: exceed(directory, count), start=start))
        return
    growth, cloud = run_virtual(lambda: grow(directory, count, access=kind == "access"), start=start)
    tell(growth)
    asyncio.run(serve_fleet(directory, cloud))


if __name__ == "__main__":
    configure(level="error")
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
