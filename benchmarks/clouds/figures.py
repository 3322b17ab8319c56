"""The clouds: how few calls they take, how fast their simulators are, and what the code weighs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta

from benchmarks.clouds.importing import measure_loading
from benchmarks.clouds.speed import at_the_handler, through_aiobotocore
from benchmarks.row import ROUNDS, Absent, Goal, Row, best_of
from edgekeeper.cloud.cloudflare.record_plan import RecordChange, WantedRecord
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange
from edgekeeper.cloud.cloudflare.tunnel_rules import TunnelRule
from edgekeeper.runtime.logs import configure
from kubesim.virtual import run_virtual
from tests.unit.cloud.aws.fleet import Bill, create_records, isolate_bad_record, steady_fleet
from tests.unit.cloud.cloudflare.world import World, alive

MANY = 1_000
HOSTNAMES, CALLERS = 60, 32


def measure() -> Iterator[Row | Absent]:
    """Yield every figure of the group; the long day comes last."""
    configure(level="warning")  # a line for every call would be measured as well
    loads = [measure_loading() for _ in range(ROUNDS)]
    yield _row("loading the production code, CPU", min(load.seconds for load in loads), "s", Goal("≤", 0.6))
    yield _row(
        "loading the production code, memory", min(load.megabytes for load in loads), "MB", Goal("≤", 80)
    )
    yield _row("simulated AWS at its handler", best_of(at_the_handler, max), "calls/s", Goal("≥", 1_500))
    yield _row(
        "simulated AWS through aiobotocore", best_of(through_aiobotocore, max), "calls/s", Goal("≥", 400)
    )
    yield from _batches()
    yield from _day()


def _row(name: str, value: float, unit: str, goal: Goal | None = None) -> Row:
    return Row("clouds", name, value, unit, goal)


def _batches() -> Iterator[Row]:
    records: Bill = run_virtual(lambda: create_records(MANY))
    yield _row("1,000 records in Route 53", records.total, "calls", Goal("≤", 10))
    yield _row("1,000 records in Cloudflare", _calls(_write_records), "calls", Goal("≤", 10))
    yield _row("1,000 hostnames on one tunnel", _calls(_write_hostnames), "calls", Goal("≤", 3))
    yield _row("60 hostnames by 32 callers: lost", _calls(_race_hostnames), "hostnames", Goal("=", 0))
    late = run_virtual(lambda: isolate_bad_record(500))
    yield _row("a bad record among 500: the others wait", late.total_seconds(), "s", Goal("≤", 5))


def _day() -> Iterator[Row]:
    bill: Bill = run_virtual(lambda: steady_fleet(MANY, timedelta(days=1)))
    yield _row("1,000 steady tenants, a day: CloudFront and ACM", bill.edge, "calls", Goal("≤", 4_000))
    yield _row("1,000 steady tenants, a day: with their DNS", bill.total, "calls", Goal("≤", 5_500))


# Cloudflare


def _calls(scenario: Callable[[World], Awaitable[int]]) -> int:
    async def main() -> int:
        async with alive() as world:
            return await scenario(world)

    return run_virtual(main)


async def _write_records(world: World) -> int:
    writer = world.account.zone(world.zone.id)
    await writer.mirror.wait_synced()
    wanted = (WantedRecord("CNAME", "t.cfargotunnel.com", proxied=True),)
    changes = [RecordChange(f"host-{number}.example.com", "edgekeeper", wanted) for number in range(MANY)]
    await asyncio.gather(*[writer.submit(change).wait() for change in changes])
    return world.count()


async def _write_hostnames(world: World) -> int:
    writer = world.account.tunnel(world.tunnel)
    names = [f"host-{number:04}.example.com" for number in range(MANY)]
    await asyncio.gather(*[writer.submit(_hostname(name)).wait() for name in names])
    return world.count()


async def _race_hostnames(world: World) -> int:
    writer = world.account.tunnel(world.tunnel)
    left = iter([f"host-{number}.example.com" for number in range(HOSTNAMES)])

    async def caller() -> None:
        for name in left:
            await writer.submit(_hostname(name)).wait()

    await asyncio.gather(*[caller() for _ in range(CALLERS)])
    return HOSTNAMES - len(world.hostnames())


def _hostname(name: str) -> HostnameChange:
    return HostnameChange(name, (TunnelRule(name, "http://origin:80"),), ours=False)
