"""What a fleet costs: calls counted where they arrive, in virtual time. For tests, and in full size for benchmarks.

run_virtual(lambda: steady_fleet(1_000, timedelta(days=1)))
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from edgekeeper.cloud.aws.dns.changes import Action, Change, Present
from edgekeeper.cloud.aws.dns.records import Record
from edgekeeper.cloud.aws.dns.zone import Zone
from edgekeeper.cloud.aws.mirrors import RARE_LISTINGS, Tenants, connection_groups
from edgekeeper.cloud.aws.route53 import Route53
from edgekeeper.cloud.aws.tenants import TenantSettings
from edgekeeper.cloud.mirror import Mirror
from kubesim.aws.route53 import records as simulated
from kubesim.aws.settings import PUBLISHED, UNLIMITED
from kubesim.aws.throttling import Throttle
from tests.unit.cloud.aws.world import DISTRIBUTION, ENDPOINT, World, in_process


@dataclass(frozen=True)
class Bill:
    """Calls that arrived at the cloud."""

    by_operation: dict[str, int]
    by_service: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.by_service.values())

    @property
    def edge(self) -> int:
        """CloudFront and ACM."""
        return self.by_service.get("cloudfront", 0) + self.by_service.get("acm", 0)


def _bill(world: World) -> Bill:
    journal = world.cloud.journal
    return Bill(dict(journal.counts), dict(journal.services))


def _record(number: int) -> Record:
    return Record(f"n{number:05}.example.com", "CNAME", 300, (ENDPOINT,))


@dataclass
class Fleet:
    """The local copies that an operator keeps of one account."""

    tenants: Tenants
    zone: Zone
    changes: Counter[str]
    """Wake-ups, by what changed."""


@asynccontextmanager
async def watched(world: World, zone_id: str) -> AsyncIterator[Fleet]:
    """Keep the account in view, as a running operator does."""
    tenants = Tenants(world.cloudfront, world.clock, world.metrics)
    zone = Zone(zone_id, Route53(world.access.caller()), world.clock, world.metrics)
    groups = connection_groups(world.cloudfront, world.clock, world.metrics)
    issued = Mirror("certificates", world.acm.certificates, world.clock, world.metrics, options=RARE_LISTINGS)
    changes: Counter[str] = Counter()
    tenants.subscribe(lambda *_: changes.update(["tenant"]))
    zone.mirror.subscribe(lambda *_: changes.update(["record"]))
    running = [asyncio.create_task(part.run()) for part in (tenants, zone, groups, issued)]
    try:
        await tenants.mirror.wait_synced()
        await zone.mirror.wait_synced()
        yield Fleet(tenants, zone, changes)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def settle(world: World, count: int) -> str:
    """A fleet that has been there for long, with its records. Return the zone's id."""
    world.cloud.throttle = Throttle(world.cloud.time, UNLIMITED)
    world.cloud.cloudfront.add_distribution(DISTRIBUTION)
    zone = world.cloud.route53.add_zone("example.com")
    for number in range(count):
        settings = TenantSettings(DISTRIBUTION, (f"n{number:05}.example.com",))
        await world.cloudfront.create_tenant(f"tenant-{number:05}", settings, tags={})
    route53 = Route53(world.access.caller())
    for start in range(0, count, 1000):
        batch = range(start, min(start + 1000, count))
        await route53.change(zone.id, [Change(Action.CREATE, _record(number)) for number in batch])
    world.cloud.time.advance(timedelta(days=1))
    world.cloud.throttle = Throttle(world.cloud.time, PUBLISHED)
    world.cloud.journal.clear()
    return zone.id


async def steady_fleet(count: int, duration: timedelta) -> Bill:
    """What it costs to watch a fleet in which nothing happens."""
    async with in_process() as world:
        zone_id = await settle(world, count)
        async with watched(world, zone_id) as fleet:
            fleet.changes.clear()
            await asyncio.sleep(duration.total_seconds())
            assert not fleet.changes, "nothing has changed, and nobody is woken"
        return _bill(world)


async def create_records(count: int) -> Bill:
    """What it costs to create records and see them known to the world."""
    async with in_process() as world:
        remote = world.cloud.route53.add_zone("example.com")
        zone = Zone(remote.id, Route53(world.access.caller()), world.clock, world.metrics)
        running = asyncio.create_task(zone.run())
        await zone.mirror.wait_synced()
        tickets = [zone.submit(Present(_record(number))) for number in range(count)]
        for change_id in {(await ticket.wait()).change_id for ticket in tickets}:
            known = asyncio.Event()
            if not zone.in_sync(change_id, wake=known.set):
                await known.wait()
        bill = _bill(world)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return bill


async def isolate_bad_record(count: int) -> timedelta:
    """How long the others wait when one of so many records is somebody else's, unknown to our copy of the zone."""
    async with in_process() as world:
        remote = world.cloud.route53.add_zone("example.com")
        zone = Zone(remote.id, Route53(world.access.caller()), world.clock, world.metrics)
        running = asyncio.create_task(zone.run())
        await zone.mirror.wait_synced()
        foreign = _record(count // 2)
        taken = simulated.Record(f"{foreign.name}.", foreign.type, 60, ("elsewhere.example.net",))
        world.cloud.route53.put_record(remote, taken)
        began = world.clock.monotonic()
        tickets = [zone.submit(Present(_record(number))) for number in range(count)]
        await asyncio.gather(*[ticket.wait() for ticket in tickets], return_exceptions=True)
        late = timedelta(seconds=world.clock.monotonic() - began)
        assert len(remote.records) >= count, "all others are written"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return late
