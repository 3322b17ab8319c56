"""Local copies where rights are few, and of what everybody asks for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol

import pytest

from edgekeeper.cloud.aws.dns.changes import Present
from edgekeeper.cloud.aws.dns.records import Record
from edgekeeper.cloud.aws.dns.zones import Zones
from edgekeeper.cloud.aws.mirrors import (
    Distributions,
    Tenants,
    connection_groups,
    default_group,
)
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.aws.tenants import TenantSettings
from edgekeeper.cloud.mirror import NotSyncedError
from kubesim.aws import faults, identity
from tests.unit.cloud.aws.world import DISTRIBUTION, ENDPOINT, World, in_virtual_time

SETTINGS = TenantSettings(DISTRIBUTION, ("shop.example.com",))


class _Runs(Protocol):
    async def run(self) -> None: ...


@asynccontextmanager
async def _running(*parts: _Runs) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(part.run()) for part in parts]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _is_blind(tenants: Tenants) -> bool:
    return tenants.is_listing_denied


@in_virtual_time
async def test_tenants_that_may_not_be_listed_are_read_one_by_one(world: World) -> None:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION)
    created = await world.cloudfront.create_tenant("shop", SETTINGS, tags={})
    denied = faults.error("AccessDenied", "not yours", 403)
    rule = world.cloud.faults.add(denied, operation="ListDistributionTenants", times=None)
    tenants = Tenants(world.cloudfront, world.clock, world.metrics)
    async with _running(tenants):
        await asyncio.sleep(1)
        assert _is_blind(tenants)
        assert await tenants.details(created.id) == created
        assert await tenants.details("dt_nobody") is None
        world.cloud.faults.rules.remove(rule)
        await asyncio.sleep(600)
        assert not _is_blind(tenants)
        assert tenants.get_by_name("shop") is not None


@in_virtual_time
async def test_domain_leads_to_the_tenant_that_has_it_now(world: World) -> None:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION)
    first = await world.cloudfront.create_tenant("shop", SETTINGS, tags={})
    tenants = Tenants(world.cloudfront, world.clock, world.metrics)
    with pytest.raises(NotSyncedError):  # nothing is known yet, which does not mean that nobody has it
        tenants.holder_of("shop.example.com")
    async with _running(tenants):
        await asyncio.sleep(1)
        assert tenants.holder_of("shop.example.com") == first.summary
        moved = replace(SETTINGS, domains=("www.example.com",))
        tenants.put(await world.cloudfront.update_tenant(first.id, first.etag, moved))
        assert tenants.holder_of("shop.example.com") is None
        second = await world.cloudfront.create_tenant("kiosk", SETTINGS, tags={})
        tenants.put(second)
        assert tenants.holder_of("shop.example.com") == second.summary
        tenants.remove(second.id)
        assert tenants.holder_of("shop.example.com") is None


@in_virtual_time
async def test_tenant_in_doubt_is_read_again_once(world: World) -> None:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION)
    created = await world.cloudfront.create_tenant("shop", SETTINGS, tags={})
    tenants = Tenants(world.cloudfront, world.clock, world.metrics)
    async with _running(tenants):
        await asyncio.sleep(1)
        await tenants.details(created.id)
        changed = await world.cloudfront.update_tenant(
            created.id, created.etag, replace(SETTINGS, enabled=False)
        )
        tenants.mark_uncertain(created.id)
        assert tenants.is_doubted(created.id)
        assert await tenants.details(created.id) == changed
        reads = world.cloud.journal.counts["GetDistributionTenant"]
        assert await tenants.details(created.id) == changed
        assert world.cloud.journal.counts["GetDistributionTenant"] == reads


@in_virtual_time
async def test_nothing_is_known_before_the_first_listing(world: World) -> None:
    tenants = Tenants(world.cloudfront, world.clock, world.metrics)
    with pytest.raises(NotSyncedError):
        tenants.get_by_name("shop")
    with pytest.raises(NotSyncedError):
        await tenants.details("dt_1")


@in_virtual_time
async def test_tenant_that_is_read_and_gone_leaves_the_copy(world: World) -> None:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION)
    created = await world.cloudfront.create_tenant("shop", SETTINGS, tags={})
    tenants = Tenants(world.cloudfront, world.clock, world.metrics)
    await tenants.mirror.refresh()
    world.cloud.cloudfront.remove_tenant("shop")
    assert tenants.get(created.id) is not None
    assert await tenants.read("shop") is None
    assert tenants.get(created.id) is None


@in_virtual_time
async def test_distribution_is_read_once_for_all_who_ask(world: World) -> None:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION)
    distributions = Distributions(world.cloudfront, world.clock)
    found = await asyncio.gather(*(distributions.get(DISTRIBUTION) for _ in range(50)))
    assert {one.id for one in found if one} == {DISTRIBUTION}
    assert world.counts == {"GetDistribution": 1}
    await asyncio.sleep(301)
    await distributions.get(DISTRIBUTION)
    assert world.counts == {"GetDistribution": 2}
    distributions.forget(DISTRIBUTION)
    await distributions.get(DISTRIBUTION)
    assert world.counts == {"GetDistribution": 3}


@in_virtual_time
async def test_missing_distribution_is_looked_for_again_soon(world: World) -> None:
    distributions = Distributions(world.cloudfront, world.clock)
    assert await distributions.get(DISTRIBUTION) is None
    assert await distributions.get(DISTRIBUTION) is None
    assert world.counts == {"GetDistribution": 1}
    world.cloud.cloudfront.add_distribution(DISTRIBUTION)
    await asyncio.sleep(31)
    assert await distributions.get(DISTRIBUTION) is not None


@in_virtual_time
async def test_default_group_appears_with_the_first_tenant(world: World) -> None:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION)
    groups = connection_groups(world.cloudfront, world.clock, world.metrics)
    async with _running(groups):
        await groups.wait_synced()
        assert default_group(groups) is None
        created = await world.cloudfront.create_tenant("shop", SETTINGS, tags={})
        groups.poke()
        await asyncio.sleep(5)
        group = default_group(groups)
        assert group is not None
        assert group.id == created.connection_group_id


@in_virtual_time
async def test_zone_has_one_writer_per_role(world: World) -> None:
    mine = world.cloud.route53.add_zone("example.com")
    theirs = world.cloud.account("222222222222").route53.add_zone("example.org")
    role = Role("arn:aws:iam::222222222222:role/dns")
    world.cloud.world.identities.add_role(identity.Role(role.arn))
    zones = Zones(world.access, world.clock, world.metrics)
    async with _running(zones):
        assert zones.get(mine.id) is zones.get(mine.id)
        assert zones.get(theirs.id, role) is not zones.get(theirs.id)
        for remote, zone in ((mine, zones.get(mine.id)), (theirs, zones.get(theirs.id, role))):
            await zone.mirror.wait_synced()
            name = f"shop.{remote.name.removesuffix('.')}"
            await zone.submit(Present(Record(name, "CNAME", 300, (ENDPOINT,)))).wait()
            assert remote.target(f"{name}.") is not None
    assert world.counts["AssumeRole"] == 1
