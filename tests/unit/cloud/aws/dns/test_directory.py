"""The zone of a domain name: the public one with the longest name that contains it."""

from __future__ import annotations

import pytest

from edgekeeper.cloud.aws.dns.directory import ZoneDirectory
from edgekeeper.core.errors import Stall
from tests.unit.cloud.aws.world import World, in_virtual_time


@in_virtual_time
async def test_zone_is_the_public_one_with_the_longest_name(world: World) -> None:
    route53 = world.cloud.route53
    short, long = route53.add_zone("example.com"), route53.add_zone("eu.example.com")
    route53.add_zone("api.eu.example.com", private=True)
    directory = ZoneDirectory(world.access, world.clock)
    assert await directory.zone_of("api.eu.example.com") == long.id
    assert await directory.zone_of("*.eu.example.com") == long.id
    assert await directory.zone_of("eu.example.com") == long.id
    assert await directory.zone_of("neu.example.com") == short.id
    assert world.counts == {"ListHostedZones": 1}


@in_virtual_time
async def test_missing_and_ambiguous_zones_are_refused_with_a_remedy(world: World) -> None:
    directory = ZoneDirectory(world.access, world.clock)
    first, second = (world.cloud.route53.add_zone("example.com") for _ in range(2))
    with pytest.raises(Stall, match="no public hosted zone"):
        await directory.zone_of("api.example.org")
    with pytest.raises(Stall, match="choose one of") as refusal:
        await directory.zone_of("api.example.com")
    assert first.id in str(refusal.value)
    assert second.id in str(refusal.value)
