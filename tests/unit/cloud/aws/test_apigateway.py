"""Domain names of API Gateway: at a crawl, and no faster."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from edgekeeper.cloud.aws.apigateway import DomainSettings
from edgekeeper.core.errors import Stall, Wait
from tests.unit.cloud.aws.world import REGION, World, both_ways, in_virtual_time


def _settings(world: World) -> DomainSettings:
    certificate = world.cloud.account().certificates(REGION).add_issued("*.example.com", "example.com")
    return DomainSettings(certificate.arn)


def _api(world: World) -> str:
    return world.cloud.account().apigateway(REGION).add_api("shop")


@both_ways
async def test_domain_is_read_as_it_was_created(world: World) -> None:
    settings = _settings(world)
    created = await world.gateway.create_domain("api.example.com", settings, tags={"team": "a"})
    assert created.settings == settings
    assert created.endpoint
    assert created.hosted_zone_id
    world.pass_time(timedelta(minutes=2))
    found = await world.gateway.find_domain("api.example.com")
    assert found is not None
    assert found.available
    assert found.tags == {"team": "a"}
    (page,) = [page async for page in world.gateway.domains()]
    assert page == {"api.example.com": found}


@both_ways
async def test_domain_is_changed_and_deleted(world: World) -> None:
    settings = _settings(world)
    await world.gateway.create_domain("api.example.com", settings, tags={})
    other = replace(settings, certificate_arn=_settings(world).certificate_arn)
    world.pass_time(timedelta(minutes=2))
    changed = await world.gateway.update_domain("api.example.com", other)
    assert changed.settings == other
    world.pass_time(timedelta(minutes=2))
    assert await world.gateway.delete_domain("api.example.com")
    world.pass_time(timedelta(minutes=2))
    assert await world.gateway.find_domain("api.example.com") is None
    assert not await world.gateway.delete_domain("api.example.com")


@both_ways
async def test_domain_name_is_given_once(world: World) -> None:
    settings = _settings(world)
    await world.gateway.create_domain("api.example.com", settings, tags={})
    world.pass_time(timedelta(minutes=2))
    with pytest.raises(Stall) as taken:
        await world.gateway.create_domain("api.example.com", settings, tags={})
    assert taken.value.reason == "NameConflict"


@both_ways
async def test_mappings_come_in_pages_and_are_all_seen(world: World) -> None:
    api = _api(world)
    await world.gateway.create_domain("api.example.com", _settings(world), tags={})
    for number in range(105):
        await world.gateway.create_mapping("api.example.com", api, "$default", f"v{number}")
    mappings = await world.gateway.mappings("api.example.com")
    assert {mapping.key for mapping in mappings} == {f"v{number}" for number in range(105)}
    assert world.counts["GetApiMappings"] == 2


@both_ways
async def test_mapping_is_changed_and_deleted(world: World) -> None:
    api = _api(world)
    await world.gateway.create_domain("api.example.com", _settings(world), tags={})
    mapping = await world.gateway.create_mapping("api.example.com", api, "$default")
    with pytest.raises(Stall) as taken:
        await world.gateway.create_mapping("api.example.com", api, "$default")
    assert taken.value.reason == "NameConflict"
    moved = await world.gateway.update_mapping("api.example.com", replace(mapping, key="v2"))
    assert await world.gateway.mappings("api.example.com") == (moved,)
    assert await world.gateway.delete_mapping("api.example.com", mapping.id)
    assert not await world.gateway.delete_mapping("api.example.com", mapping.id)
    assert await world.gateway.mappings("api.example.com") == ()


@in_virtual_time
async def test_domain_calls_keep_to_one_per_half_minute(world: World) -> None:
    settings = _settings(world)

    async def create(number: int) -> float:
        while True:
            try:
                await world.gateway.create_domain(f"n{number}.example.com", settings, tags={})
            except Wait as wait:
                await asyncio.sleep(wait.after.total_seconds())
            else:
                return world.clock.monotonic()

    moments = sorted(await asyncio.gather(*map(create, range(6))))
    assert all(later - earlier >= 30 for earlier, later in pairwise(moments))
    assert moments[-1] < 6 * 40
    assert world.cloud.journal.codes == {}


@in_virtual_time
async def test_wait_for_a_domain_call_is_known_beforehand(world: World) -> None:
    settings = _settings(world)
    assert world.gateway.expected_wait() == timedelta()
    await world.gateway.create_domain("a.example.com", settings, tags={})
    assert timedelta(seconds=25) < world.gateway.expected_wait() < timedelta(seconds=35)
    waiting = [
        asyncio.create_task(world.gateway.create_domain(f"n{number}.example.com", settings, tags={}))
        for number in range(4)
    ]
    results = await asyncio.gather(*waiting, return_exceptions=True)
    waits = [result.after for result in results if isinstance(result, Wait)]
    assert 2 <= len(waits) <= 3
    assert all(later - earlier > timedelta(seconds=25) for earlier, later in pairwise(sorted(waits)))


@both_ways
async def test_domain_is_tagged_and_untagged(world: World) -> None:
    created = await world.gateway.create_domain("api.example.com", _settings(world), tags={"team": "a"})
    await world.gateway.tag(created.arn, {"uid": "1"})
    found = await world.gateway.find_domain("api.example.com")
    assert found is not None
    assert found.tags == {"team": "a", "uid": "1"}
    await world.gateway.untag(created.arn, ["uid"])
    found = await world.gateway.find_domain("api.example.com")
    assert found is not None
    assert found.tags == {"team": "a"}
