"""A fleet costs pages, not tenants; and only what changed costs more."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

from edgekeeper.cloud.aws.route53 import RECORDS_PER_PAGE
from edgekeeper.cloud.aws.tenants import DistributionTenant
from kubesim.aws import faults
from kubesim.aws.route53.records import Record as RemoteRecord
from kubesim.virtual import run_virtual
from tests.unit.cloud.aws.fleet import Fleet, create_records, settle, steady_fleet, watched
from tests.unit.cloud.aws.world import World, in_virtual_time

SWEEPS = 13
"""In an hour: one at the start, then every five minutes or a bit less."""


def test_fleet_in_which_nothing_happens_costs_its_pages() -> None:
    bill = run_virtual(lambda: steady_fleet(201, timedelta(hours=1)))
    assert SWEEPS - 1 <= bill.by_operation["ListResourceRecordSets"] <= SWEEPS + 1
    assert 3 * (SWEEPS - 1) <= bill.by_operation["ListDistributionTenants"] <= 3 * (SWEEPS + 1)
    assert bill.by_operation["ListConnectionGroups"] <= 8
    assert bill.by_operation["ListCertificates"] <= 8
    assert set(bill.by_operation) == {
        *("ListResourceRecordSets", "ListDistributionTenants", "ListConnectionGroups", "ListCertificates")
    }


def test_thousand_tenants_stay_within_their_budget_of_a_day() -> None:
    """A quarter of a day of a few, worked out: a sweep of a thousand tenants is ten pages, and four of records."""
    bill = run_virtual(lambda: steady_fleet(5, timedelta(hours=6)))
    tenants = 4 * bill.by_operation["ListDistributionTenants"] * 10
    others = 4 * (bill.by_operation["ListConnectionGroups"] + bill.by_operation["ListCertificates"])
    records = 4 * bill.by_operation["ListResourceRecordSets"] * (1_002 // RECORDS_PER_PAGE + 1)
    assert tenants + others <= 4_000
    assert tenants + others + records <= 5_500


def test_thousand_records_are_created_in_ten_calls() -> None:
    bill = run_virtual(lambda: create_records(1_000))
    assert bill.total <= 10
    assert bill.by_operation["ChangeResourceRecordSets"] == 1


@in_virtual_time
async def test_drift_of_one_tenant_wakes_one_and_costs_one_read(world: World) -> None:
    zone_id = await settle(world, 30)
    async with watched(world, zone_id) as fleet:
        await asyncio.sleep(60)
        fleet.changes.clear()
        summary = fleet.tenants.get_by_name("tenant-00007")
        assert summary is not None
        before = await fleet.tenants.details(summary.id)
        world.cloud.cloudfront.change_tenant("tenant-00007", enabled=False)
        await asyncio.sleep(310)
        assert fleet.changes["tenant"] >= 1
        world.cloud.journal.clear()
        after = await fleet.tenants.details(summary.id)
        assert before is not None
        assert after is not None
        assert (before.enabled, after.enabled) == (True, False)
        assert await fleet.tenants.details(summary.id) == after
        assert world.counts == {"GetDistributionTenant": 1}


@in_virtual_time
async def test_drift_of_a_record_is_seen_within_its_interval(world: World) -> None:
    zone_id = await settle(world, 5)
    async with watched(world, zone_id) as fleet:
        fleet.changes.clear()
        zone = world.cloud.route53.zone(zone_id)
        world.cloud.route53.put_record(
            zone, RemoteRecord("n00001.example.com.", "CNAME", 60, ("x.example.",))
        )
        await asyncio.sleep(301)
        assert fleet.changes == {"record": 1}


async def _disable(world: World, fleet: Fleet, name: str) -> DistributionTenant:
    live = await fleet.tenants.read(name)
    assert live is not None
    updated = await world.cloudfront.update_tenant(live.id, live.etag, replace(live.settings, enabled=False))
    fleet.tenants.put(updated)
    return updated


@in_virtual_time
async def test_tenant_in_progress_is_followed_closely_and_alone(world: World) -> None:
    zone_id = await settle(world, 5)
    async with watched(world, zone_id) as fleet:
        updated = await _disable(world, fleet, "tenant-00001")
        world.cloud.journal.clear()
        deployment = world.cloud.world.timings.tenant_deployment.total_seconds()
        await asyncio.sleep(deployment + 35)
        details = await fleet.tenants.details(updated.id)
        assert details is not None
        assert (details.status, details.enabled) == ("Deployed", False)
        assert world.counts["GetDistributionTenant"] <= deployment / 30 + 1
        assert world.counts.get("ListDistributionTenants", 0) <= 1


@in_virtual_time
async def test_many_tenants_in_progress_are_followed_by_listings(world: World) -> None:
    zone_id = await settle(world, 8)
    async with watched(world, zone_id) as fleet:
        updated = [await _disable(world, fleet, f"tenant-{number:05}") for number in range(8)]
        world.cloud.journal.clear()
        deployment = world.cloud.world.timings.tenant_deployment.total_seconds()
        await asyncio.sleep(deployment + 35)
        summaries = [fleet.tenants.get(tenant.id) for tenant in updated]
        assert {summary.status for summary in summaries if summary} == {"Deployed"}
        assert world.counts["ListDistributionTenants"] <= deployment / 30 + 2
        assert world.counts.get("GetDistributionTenant", 0) <= 2


@in_virtual_time
async def test_own_write_is_seen_at_once_and_not_undone(world: World) -> None:
    zone_id = await settle(world, 5)
    async with watched(world, zone_id) as fleet:
        listing = asyncio.create_task(fleet.tenants.mirror.refresh())
        updated = await _disable(world, fleet, "tenant-00001")
        await listing
        assert fleet.tenants.get(updated.id) == updated.summary


@in_virtual_time
async def test_renamed_and_deleted_tenants_leave_the_index(world: World) -> None:
    zone_id = await settle(world, 8)
    async with watched(world, zone_id) as fleet:
        summary = fleet.tenants.get_by_name("tenant-00003")
        assert summary is not None
        world.cloud.cloudfront.remove_tenant("tenant-00003")
        await asyncio.sleep(310)
        assert fleet.tenants.get(summary.id) is None
        assert fleet.tenants.get_by_name("tenant-00003") is None
        assert await fleet.tenants.details(summary.id) is None


@in_virtual_time
async def test_listing_that_is_empty_by_mistake_makes_nobody_disappear(world: World) -> None:
    zone_id = await settle(world, 60)
    async with watched(world, zone_id) as fleet:
        fleet.changes.clear()
        for fault in (
            faults.html(200),
            faults.html(503),
            faults.truncated(),
            faults.cut(),
            faults.lost_response(),
        ):
            world.cloud.faults.add(fault, service="cloudfront", times=8)
        await asyncio.sleep(1200)
        assert not fleet.changes
        assert fleet.tenants.mirror.count == 60


@in_virtual_time
async def test_throttled_fleet_is_watched_at_the_pace_that_is_allowed(world: World) -> None:
    zone_id = await settle(world, 120)
    async with watched(world, zone_id) as fleet:
        throttling = faults.error("Throttling", "Rate exceeded", 400)
        world.cloud.faults.add(throttling, probability=0.3, times=None)
        await asyncio.sleep(1800)
        world.cloud.faults.add(throttling, times=None, until=timedelta(minutes=5))
        await asyncio.sleep(1800)
        fleet.changes.clear()
        world.cloud.cloudfront.change_tenant("tenant-00007", enabled=False)
        await asyncio.sleep(900)
        assert fleet.changes["tenant"] >= 1
    per_second: dict[tuple[str, int], int] = {}
    for call in world.cloud.journal.calls():
        second = (call.service, int(call.moment))
        per_second[second] = per_second.get(second, 0) + 1
    assert max(per_second.values()) <= 20
