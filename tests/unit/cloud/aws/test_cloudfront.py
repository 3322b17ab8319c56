"""Tenants over the wire: created once, replaced whole, never written on stale knowledge."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from edgekeeper.cloud.aws.distributions import TENANT_ONLY
from edgekeeper.cloud.aws.tenants import (
    Customizations,
    DistributionTenant,
    GeoRestrictions,
    ManagedCertificateRequest,
    TenantSettings,
    WebAcl,
)
from edgekeeper.core.errors import Conflict, Retry, Stall, Wait
from kubesim.aws import faults
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.aws.route53.records import Record
from tests.unit.cloud.aws.world import DISTRIBUTION, World, both_ways, in_virtual_time

SETTINGS = TenantSettings(DISTRIBUTION, ("shop.example.com",))
OWNER = {"edgekeeper.io/uid": "6f1c", "team": "a"}
ACL = "arn:aws:wafv2:us-east-1:111122223333:global/webacl/own/1"


async def _shop(world: World, settings: TenantSettings = SETTINGS) -> DistributionTenant:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION)
    return await world.cloudfront.create_tenant("shop", settings, tags=OWNER)


@both_ways
async def test_tenant_is_read_as_it_was_created(world: World) -> None:
    world.cloud.cloudfront.add_distribution(
        DISTRIBUTION, parameters=[ParameterDefinition("tier", required=True)]
    )
    full = TenantSettings(
        DISTRIBUTION,
        ("a.example.com", "b.example.com"),
        enabled=False,
        parameters={"tier": "gold"},
        customizations=Customizations(
            WebAcl("override", ACL), "", GeoRestrictions("whitelist", ("AT", "DE"))
        ),
    )
    created = await world.cloudfront.create_tenant("shop", full, tags=OWNER)
    found = await world.cloudfront.find_tenant(created.id)
    assert found == created
    assert replace(created.settings, connection_group_id="") == full
    assert created.tags == OWNER
    assert created.in_progress


@both_ways
async def test_tenant_is_found_by_id_arn_name_and_domain(world: World) -> None:
    created = await _shop(world)
    for identifier in (created.id, created.arn, "shop"):
        found = await world.cloudfront.find_tenant(identifier)
        assert found is not None
        assert found.id == created.id
    by_domain = await world.cloudfront.find_tenant_by_domain("shop.example.com")
    assert by_domain is not None
    assert by_domain.id == created.id


@both_ways
async def test_what_is_not_there_is_an_answer(world: World) -> None:
    created = await _shop(world)
    assert await world.cloudfront.find_tenant("nobody") is None
    assert await world.cloudfront.find_tenant_by_domain("nobody.example.com") is None
    assert await world.cloudfront.find_managed_certificate(created.id) is None
    assert await world.cloudfront.find_connection_group("cg_nobody") is None
    assert await world.cloudfront.find_distribution("E0NOBODY") is None
    assert not await world.cloudfront.delete_tenant("dt_nobody", created.etag)


@both_ways
async def test_name_and_domain_are_given_once(world: World) -> None:
    await _shop(world)
    with pytest.raises(Stall) as name:
        await world.cloudfront.create_tenant("shop", replace(SETTINGS, domains=("b.example.com",)), tags={})
    assert (name.value.reason, name.value.error_type) == ("NameConflict", "name_conflict")
    with pytest.raises(Stall) as domain:
        await world.cloudfront.create_tenant("other", SETTINGS, tags={})
    assert (domain.value.reason, domain.value.error_type) == ("DomainConflict", "domain_conflict")
    assert "already associated with a different resource" in domain.value.message


@both_ways
async def test_update_that_changes_one_field_leaves_the_others(world: World) -> None:
    created = await _shop(world, replace(SETTINGS, customizations=Customizations(WebAcl("override", ACL))))
    disabled = await world.cloudfront.update_tenant(
        created.id, created.etag, replace(created.settings, enabled=False)
    )
    assert disabled.settings == replace(created.settings, enabled=False)
    assert disabled.tags == OWNER
    assert disabled.etag != created.etag


@both_ways
async def test_stale_etag_is_a_conflict(world: World) -> None:
    created = await _shop(world)
    await world.cloudfront.update_tenant(created.id, created.etag, replace(created.settings, enabled=False))
    for etag in (created.etag, "ENEVERGIVEN"):
        with pytest.raises(Conflict):
            await world.cloudfront.update_tenant(created.id, etag, created.settings)
        with pytest.raises(Conflict):
            await world.cloudfront.delete_tenant(created.id, etag)


@both_ways
async def test_tenant_is_deleted_when_it_is_disabled_and_deployed(world: World) -> None:
    created = await _shop(world)
    world.pass_time(timedelta(hours=1))
    with pytest.raises(Wait) as enabled:
        await world.cloudfront.delete_tenant(created.id, created.etag)
    assert enabled.value.reason == "NotDisabled"
    live = await world.cloudfront.find_tenant(created.id)
    assert live is not None
    disabled = await world.cloudfront.update_tenant(live.id, live.etag, replace(live.settings, enabled=False))
    world.pass_time(timedelta(hours=1))
    assert await world.cloudfront.delete_tenant(created.id, disabled.etag)
    assert await world.cloudfront.find_tenant("shop") is None


@both_ways
async def test_tenants_are_listed_page_by_page(world: World) -> None:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION)
    other = world.cloud.cloudfront.add_distribution("E2OTHER").id
    world.cloud.world.behaviour.page_size = 3
    for number in range(7):
        settings = TenantSettings(DISTRIBUTION if number % 2 else other, (f"n{number}.example.com",))
        await world.cloudfront.create_tenant(f"tenant-{number}", settings, tags={})
    pages = [page async for page in world.cloudfront.tenants()]
    assert [len(page) for page in pages] == [3, 3, 1]
    listed = {tenant.name: tenant for page in pages for tenant in page.values()}
    assert sorted(listed) == [f"tenant-{number}" for number in range(7)]
    found = await world.cloudfront.find_tenant("tenant-4")
    assert found is not None
    assert listed["tenant-4"] == found.summary
    of_one = [tenant.name async for page in world.cloudfront.tenants(other) for tenant in page.values()]
    assert sorted(of_one) == ["tenant-0", "tenant-2", "tenant-4", "tenant-6"]


@both_ways
async def test_account_without_tenants_lists_none(world: World) -> None:
    assert [page async for page in world.cloudfront.tenants()] == [{}]
    assert [page async for page in world.cloudfront.connection_groups()] == [{}]


@both_ways
async def test_connection_groups_tell_where_dns_points_to(world: World) -> None:
    created = await _shop(world)
    (page,) = [page async for page in world.cloudfront.connection_groups()]
    group = page[created.connection_group_id]
    assert group.is_default
    assert group.routing_endpoint.endswith(".cloudfront.net")
    assert await world.cloudfront.find_connection_group(group.name) == group


@both_ways
async def test_distribution_tells_what_it_asks_of_tenants(world: World) -> None:
    definitions = [ParameterDefinition("tier", required=True), ParameterDefinition("size", True, "m")]
    world.cloud.cloudfront.add_distribution(DISTRIBUTION, parameters=definitions)
    distribution = await world.cloudfront.find_distribution(DISTRIBUTION)
    assert distribution is not None
    assert distribution.connection_mode == TENANT_ONLY
    assert distribution.covers_tenants
    assert [one.name for one in distribution.parameters if one.must_be_given] == ["tier"]


@both_ways
async def test_distribution_without_a_certificate_covers_nobody(world: World) -> None:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION, covers=())
    distribution = await world.cloudfront.find_distribution(DISTRIBUTION)
    assert distribution is not None
    assert not distribution.covers_tenants


@both_ways
async def test_missing_parameter_and_missing_group_stall(world: World) -> None:
    world.cloud.cloudfront.add_distribution(
        DISTRIBUTION, parameters=[ParameterDefinition("tier", required=True)]
    )
    with pytest.raises(Stall, match="tier") as parameter:
        await world.cloudfront.create_tenant("shop", SETTINGS, tags={})
    assert parameter.value.error_type == "invalid_spec"
    lost = replace(SETTINGS, connection_group_id="cg_nobody", parameters={"tier": "gold"})
    with pytest.raises(Stall) as group:
        await world.cloudfront.create_tenant("shop", lost, tags={})
    assert (group.value.reason, group.value.error_type) == ("InvalidSpec", "connection_group_not_found")


@both_ways
async def test_managed_certificate_waits_for_dns_and_then_for_its_issue(world: World) -> None:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION, covers=())
    zone = world.cloud.route53.add_zone("example.com")
    group = world.cloud.cloudfront.default_group()
    wanted = ManagedCertificateRequest("cloudfront", "shop.example.com")
    with pytest.raises(Wait) as early:
        await world.cloudfront.create_tenant("shop", SETTINGS, tags={}, certificate=wanted)
    assert early.value.reason == "DomainValidationPending"
    assert early.value.error_type == "domain_validation_pending"

    world.cloud.route53.put_record(zone, Record("shop.example.com.", "CNAME", 300, (group.endpoint,)))
    created = await world.cloudfront.create_tenant("shop", SETTINGS, tags={}, certificate=wanted)
    pending = await world.cloudfront.find_managed_certificate(created.id)
    assert pending is not None
    assert pending.status == "pending-validation"
    world.pass_time(timedelta(hours=1))
    issued = await world.cloudfront.find_managed_certificate(created.id)
    assert issued is not None
    assert issued.status == "issued"
    assert issued.arn


@both_ways
async def test_self_hosted_certificate_tells_its_tokens(world: World) -> None:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION, covers=())
    wanted = ManagedCertificateRequest("self-hosted", "shop.example.com", "disabled")
    created = await world.cloudfront.create_tenant("shop", SETTINGS, tags={}, certificate=wanted)
    details = await world.cloudfront.find_managed_certificate(created.id)
    assert details is not None
    assert details.validation_token_host == "self-hosted"
    (token,) = details.tokens
    assert token.domain == "shop.example.com"
    assert token.redirect_from.startswith("shop.example.com/")
    assert token.redirect_to


@both_ways
async def test_tags_are_added_replaced_and_removed(world: World) -> None:
    created = await _shop(world)
    await world.cloudfront.tag(created.arn, {"team": "b", "stage": ""})
    await world.cloudfront.untag(created.arn, ["edgekeeper.io/uid"])
    assert await world.cloudfront.tags(created.arn) == {"team": "b", "stage": ""}


@both_ways
async def test_create_is_sent_once_even_if_its_answer_is_lost(world: World) -> None:
    world.cloud.cloudfront.add_distribution(DISTRIBUTION)
    world.cloud.faults.add(faults.lost_response(), operation="CreateDistributionTenant")
    with pytest.raises(Retry):
        await world.cloudfront.create_tenant("shop", SETTINGS, tags=OWNER)
    assert world.counts["CreateDistributionTenant"] == 1
    found = await world.cloudfront.find_tenant("shop")
    assert found is not None
    assert found.tags == OWNER


@in_virtual_time
async def test_reads_are_repeated_until_they_are_answered(world: World) -> None:
    created = await _shop(world)
    for fault in (faults.lost_response(), faults.error("Throttling"), faults.html(502), faults.truncated()):
        world.cloud.faults.add(fault, operation="GetDistributionTenant")
    assert await world.cloudfront.find_tenant("shop") == created
    assert world.counts["GetDistributionTenant"] == 5
