"""Certificates by region: one listing for all objects that ask, and what was requested is found again by its tags."""

from __future__ import annotations

import asyncio

from edgekeeper.cloud.aws.regional_certificates import RegionalCertificates
from edgekeeper.core.ownership import Owner
from tests.unit.cloud.aws.world import REGION, World, in_virtual_time

OWNER = Owner("cluster", "shop", "orders", "6f1c")


def _certificates(world: World) -> RegionalCertificates:
    return RegionalCertificates(world.access, world.clock)


@in_virtual_time
async def test_discovery_takes_what_is_issued_and_covers_the_domain_in_the_region(world: World) -> None:
    certificates, store = _certificates(world), world.cloud.account().certificates(REGION)
    world.cloud.account().certificates("us-east-1").add_issued("api.example.com")
    store.request(["api.example.com"], "DNS")
    store.fail(store.add_issued("api.example.com").arn, "EXPIRED")
    assert await certificates.discover(REGION, "api.example.com") is None
    await asyncio.sleep(61)
    wildcard = store.add_issued("*.example.com")
    found = await certificates.discover(REGION, "api.example.com")
    assert found is not None
    assert found.arn == wildcard.arn
    assert await certificates.discover(REGION, "a.b.example.com") is None


@in_virtual_time
async def test_one_listing_serves_all_that_ask_within_a_minute(world: World) -> None:
    certificates = _certificates(world)
    await asyncio.gather(*(certificates.discover(REGION, f"{one}.example.com") for one in range(20)))
    assert world.counts == {"ListCertificates": 1}


@in_virtual_time
async def test_requested_certificate_is_found_by_its_tags(world: World) -> None:
    certificates = _certificates(world)
    assert await certificates.requested(REGION, "api.example.com", OWNER) == ""
    arn = await certificates.request(REGION, "api.example.com", OWNER, OWNER.tags())
    assert await certificates.requested(REGION, "api.example.com", OWNER) == arn
    other = Owner("cluster", "shop", "orders", "another")
    assert await certificates.requested(REGION, "api.example.com", other) == ""
    await certificates.delete(REGION, arn)
    assert await certificates.find(REGION, arn) is None
