"""Distribution tenants: their life from InProgress to gone, their ETags, and what readers see of them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.virtual import virtual_time
from packages.kubesim.tests.aws.driver import DISTRIBUTION, clients, code, refusal
from packages.kubesim.tests.aws.tenancy import cloud_with_parent, create, read

DEPLOYMENT = 120


@virtual_time
async def test_a_tenant_is_in_progress_until_it_is_deployed() -> None:
    async with clients(cloud_with_parent()) as aws:
        created = await create(aws)
        assert created["DistributionTenant"]["Status"] == "InProgress"
        await asyncio.sleep(DEPLOYMENT - 1)
        assert (await read(aws))["DistributionTenant"]["Status"] == "InProgress"
        await asyncio.sleep(1)
        deployed = await read(aws)
        assert deployed["DistributionTenant"]["Status"] == "Deployed"
        assert deployed["ETag"] == created["ETag"]


@virtual_time
async def test_durations_can_be_changed() -> None:
    cloud = cloud_with_parent()
    cloud.world.timings.tenant_deployment = timedelta(seconds=7)
    async with clients(cloud) as aws:
        await create(aws)
        await asyncio.sleep(7)
        assert (await read(aws))["DistributionTenant"]["Status"] == "Deployed"


@virtual_time
async def test_a_tenant_is_found_by_id_name_arn_and_domain() -> None:
    async with clients(cloud_with_parent()) as aws:
        tenant = (await create(aws))["DistributionTenant"]
        for identifier in (tenant["Id"], tenant["Name"], tenant["Arn"]):
            assert (await read(aws, identifier))["DistributionTenant"]["Id"] == tenant["Id"]
        by_domain = await aws.cloudfront.get_distribution_tenant_by_domain(Domain="SHOP.example.com")
        assert by_domain["DistributionTenant"]["Id"] == tenant["Id"]
        assert (
            await code(aws.cloudfront.get_distribution_tenant_by_domain(Domain="x.example.com"))
            == "EntityNotFound"
        )


@virtual_time
async def test_a_tenant_shows_everything_that_it_was_given() -> None:
    cloud = cloud_with_parent(parameters=[ParameterDefinition("origin")])
    details: dict[str, Any] = {
        "Customizations": {"GeoRestrictions": {"RestrictionType": "whitelist", "Locations": ["DE", "FR"]}},
        "Parameters": [{"Name": "origin", "Value": "a"}],
        "Tags": {"Items": [{"Key": "team", "Value": "edge"}]},
        "Enabled": False,
    }
    async with clients(cloud) as aws:
        shown = (await create(aws, **details))["DistributionTenant"]
        assert {key: shown[key] for key in details} == details
        summary = (await aws.cloudfront.list_distribution_tenants())["DistributionTenantList"][0]
        assert "Parameters" not in summary
        assert "Tags" not in summary
        assert summary["Customizations"] == details["Customizations"]


@virtual_time
async def test_listed_and_read_etags_are_the_same() -> None:
    async with clients(cloud_with_parent()) as aws:
        created = await create(aws)
        listed = (await aws.cloudfront.list_distribution_tenants())["DistributionTenantList"][0]
        assert listed["ETag"] == created["ETag"] == (await read(aws))["ETag"]


@virtual_time
async def test_an_update_replaces_all_that_it_does_not_name() -> None:
    cloud = cloud_with_parent(parameters=[ParameterDefinition("origin", required=False)])
    async with clients(cloud) as aws:
        group = (await aws.cloudfront.create_connection_group(Name="edge"))["ConnectionGroup"]["Id"]
        before = await create(
            aws,
            ConnectionGroupId=group,
            Parameters=[{"Name": "origin", "Value": "a"}],
            Customizations={"GeoRestrictions": {"RestrictionType": "none"}},
        )
        after = await aws.cloudfront.update_distribution_tenant(
            Id=before["DistributionTenant"]["Id"], IfMatch=before["ETag"], Enabled=False
        )
        tenant = after["DistributionTenant"]
        assert "Parameters" not in tenant
        assert "Customizations" not in tenant
        assert tenant["ConnectionGroupId"] != group
        assert tenant["Domains"] == before["DistributionTenant"]["Domains"]
        assert tenant["Enabled"] is False


@virtual_time
async def test_an_update_moves_the_etag_and_deploys_again() -> None:
    async with clients(cloud_with_parent()) as aws:
        created = await create(aws)
        await asyncio.sleep(DEPLOYMENT)
        updated = await aws.cloudfront.update_distribution_tenant(
            Id=created["DistributionTenant"]["Id"], IfMatch=created["ETag"], Enabled=True
        )
        assert updated["ETag"] != created["ETag"]
        assert updated["DistributionTenant"]["Status"] == "InProgress"
        assert (
            updated["DistributionTenant"]["LastModifiedTime"]
            > created["DistributionTenant"]["LastModifiedTime"]
        )


@virtual_time
async def test_a_served_domain_stays_active_while_a_change_is_deployed() -> None:
    async with clients(cloud_with_parent()) as aws:
        created = await create(aws)
        assert [each["Status"] for each in created["DistributionTenant"]["Domains"]] == ["inactive"]
        await asyncio.sleep(DEPLOYMENT)
        updated = await aws.cloudfront.update_distribution_tenant(
            Id=created["DistributionTenant"]["Id"],
            IfMatch=created["ETag"],
            Domains=[{"Domain": "shop.example.com"}, {"Domain": "new.example.com"}],
        )
        assert [each["Status"] for each in updated["DistributionTenant"]["Domains"]] == ["active", "inactive"]
        await asyncio.sleep(DEPLOYMENT)
        assert [each["Status"] for each in (await read(aws))["DistributionTenant"]["Domains"]] == [
            "active",
            "active",
        ]


@virtual_time
async def test_a_write_based_on_an_older_version_is_refused() -> None:
    async with clients(cloud_with_parent()) as aws:
        created = await create(aws)
        id_ = created["DistributionTenant"]["Id"]
        update = aws.cloudfront.update_distribution_tenant
        await update(Id=id_, IfMatch=created["ETag"], Enabled=True)
        assert await refusal(update(Id=id_, IfMatch=created["ETag"], Enabled=True)) == (
            412,
            "PreconditionFailed",
            "The request failed because it didn't meet the preconditions in one or more request-header fields.",
        )
        assert (await refusal(update(Id=id_, IfMatch="ENEVER", Enabled=True)))[:2] == (
            400,
            "InvalidIfMatchVersion",
        )
        delete = aws.cloudfront.delete_distribution_tenant
        assert await code(delete(Id=id_, IfMatch=created["ETag"])) == "PreconditionFailed"
        assert await code(delete(Id=id_, IfMatch="ENEVER")) == "InvalidIfMatchVersion"


@virtual_time
async def test_the_etag_of_another_tenant_is_not_valid() -> None:
    async with clients(cloud_with_parent()) as aws:
        one, other = await create(aws, "one"), await create(aws, "other")
        call = aws.cloudfront.update_distribution_tenant(
            Id=one["DistributionTenant"]["Id"], IfMatch=other["ETag"], Enabled=True
        )
        assert await code(call) == "InvalidIfMatchVersion"


@virtual_time
async def test_only_a_disabled_and_deployed_tenant_is_deleted() -> None:
    async with clients(cloud_with_parent()) as aws:
        created = await create(aws)
        id_ = created["DistributionTenant"]["Id"]
        delete = aws.cloudfront.delete_distribution_tenant
        await asyncio.sleep(DEPLOYMENT)
        assert (await refusal(delete(Id=id_, IfMatch=created["ETag"])))[:2] == (409, "ResourceNotDisabled")
        disabled = await aws.cloudfront.update_distribution_tenant(
            Id=id_, IfMatch=created["ETag"], Enabled=False
        )
        assert await code(delete(Id=id_, IfMatch=disabled["ETag"])) == "ResourceNotDisabled"
        await asyncio.sleep(DEPLOYMENT)
        await delete(Id=id_, IfMatch=disabled["ETag"])
        assert (await refusal(read(aws)))[:2] == (404, "EntityNotFound")
        assert (await create(aws))["DistributionTenant"]["Id"] != id_


@virtual_time
async def test_readers_may_see_the_past() -> None:
    cloud = cloud_with_parent()
    cloud.world.behaviour.read_lag = timedelta(seconds=5)
    async with clients(cloud) as aws:
        created = await create(aws)
        id_ = created["DistributionTenant"]["Id"]
        assert await code(read(aws, id_)) == "EntityNotFound"
        assert "DistributionTenantList" not in await aws.cloudfront.list_distribution_tenants()
        assert await code(create(aws)) == "EntityAlreadyExists"
        await asyncio.sleep(5)
        assert (await read(aws, id_))["ETag"] == created["ETag"]
        updated = await aws.cloudfront.update_distribution_tenant(
            Id=id_, IfMatch=created["ETag"], Enabled=False
        )
        assert (await read(aws, id_))["ETag"] == created["ETag"]
        await asyncio.sleep(5)
        assert (await read(aws, id_))["ETag"] == updated["ETag"]


@virtual_time
async def test_drift_looks_like_somebody_elses_update() -> None:
    cloud = cloud_with_parent()
    async with clients(cloud) as aws:
        created = await create(aws)
        cloud.cloudfront.change_tenant("shop", enabled=False, domains=("rogue.example.com",))
        drifted = await read(aws)
        assert drifted["ETag"] != created["ETag"]
        assert drifted["DistributionTenant"]["Enabled"] is False
        assert [each["Domain"] for each in drifted["DistributionTenant"]["Domains"]] == ["rogue.example.com"]


@virtual_time
async def test_a_web_acl_comes_and_goes_with_a_new_version_each_time() -> None:
    acl = "arn:aws:wafv2:us-east-1:111122223333:global/webacl/x/1"
    async with clients(cloud_with_parent()) as aws:
        created = await create(aws, Customizations={"GeoRestrictions": {"RestrictionType": "none"}})
        id_ = created["DistributionTenant"]["Id"]
        stale = aws.cloudfront.associate_distribution_tenant_web_acl(Id=id_, WebACLArn=acl, IfMatch="ENEVER")
        assert await code(stale) == "InvalidIfMatchVersion"
        with_acl = await aws.cloudfront.associate_distribution_tenant_web_acl(Id=id_, WebACLArn=acl)
        shown = (await read(aws))["DistributionTenant"]["Customizations"]
        assert shown == {
            "WebAcl": {"Action": "override", "Arn": acl},
            "GeoRestrictions": {"RestrictionType": "none"},
        }
        without = await aws.cloudfront.disassociate_distribution_tenant_web_acl(
            Id=id_, IfMatch=with_acl["ETag"]
        )
        assert len({created["ETag"], with_acl["ETag"], without["ETag"]}) == 3
        assert "WebAcl" not in (await read(aws))["DistributionTenant"]["Customizations"]


@virtual_time
async def test_tags_change_without_a_new_version() -> None:
    async with clients(cloud_with_parent()) as aws:
        created = await create(aws, Tags={"Items": [{"Key": "a", "Value": "1"}]})
        arn = created["DistributionTenant"]["Arn"]
        await aws.cloudfront.tag_resource(Resource=arn, Tags={"Items": [{"Key": "b", "Value": "2"}]})
        await aws.cloudfront.untag_resource(Resource=arn, TagKeys={"Items": ["a"]})
        after = await read(aws)
        assert after["DistributionTenant"]["Tags"]["Items"] == [{"Key": "b", "Value": "2"}]
        assert after["ETag"] == created["ETag"]
        gone = aws.cloudfront.list_tags_for_resource(Resource=arn + "x")
        assert (await refusal(gone))[:2] == (404, "NoSuchResource")


@pytest.mark.parametrize("kind", ["tenant", "group", "distribution"])
@virtual_time
async def test_everything_that_has_an_arn_has_tags(kind: str) -> None:
    cloud = cloud_with_parent()
    async with clients(cloud) as aws:
        tenant = (await create(aws))["DistributionTenant"]
        group = cloud.cloudfront.default_group()
        distribution = cloud.cloudfront.distribution(DISTRIBUTION)
        arn = {"tenant": tenant["Arn"], "group": group.arn, "distribution": distribution.arn}[kind]
        await aws.cloudfront.tag_resource(Resource=arn, Tags={"Items": [{"Key": "a", "Value": "1"}]})
        tags = await aws.cloudfront.list_tags_for_resource(Resource=arn)
        assert tags["Tags"]["Items"] == [{"Key": "a", "Value": "1"}]
        odd = aws.cloudfront.tag_resource(Resource=arn, Tags={"Items": [{"Key": "a*", "Value": "1"}]})
        assert await code(odd) == "InvalidTagging"


@virtual_time
async def test_a_listing_by_customization_needs_one() -> None:
    async with clients(cloud_with_parent()) as aws:
        assert await code(aws.cloudfront.list_distribution_tenants_by_customization()) == "InvalidArgument"


@virtual_time
async def test_a_distribution_shows_what_its_tenants_must_fill_in() -> None:
    cloud = cloud_with_parent(
        parameters=[ParameterDefinition("origin", comment="where"), ParameterDefinition("ttl", default="60")]
    )
    async with clients(cloud) as aws:
        config = (await aws.cloudfront.get_distribution(Id=DISTRIBUTION))["Distribution"][
            "DistributionConfig"
        ]
        assert config["ConnectionMode"] == "tenant-only"
        assert config["TenantConfig"]["ParameterDefinitions"] == [
            {"Name": "origin", "Definition": {"StringSchema": {"Required": True, "Comment": "where"}}},
            {"Name": "ttl", "Definition": {"StringSchema": {"Required": True, "DefaultValue": "60"}}},
        ]
        arn = config["ViewerCertificate"]["ACMCertificateArn"]
        certificate = (await aws.acm.describe_certificate(CertificateArn=arn))["Certificate"]
        assert certificate["SubjectAlternativeNames"] == ["example.com", "*.example.com"]
        assert (await refusal(aws.cloudfront.get_distribution(Id="ENONE")))[:2] == (404, "NoSuchDistribution")


@virtual_time
async def test_a_distribution_without_certificate_has_cloudfronts_own() -> None:
    cloud = cloud_with_parent(covers=())
    async with clients(cloud) as aws:
        config = (await aws.cloudfront.get_distribution_config(Id=DISTRIBUTION))["DistributionConfig"]
        assert config["ViewerCertificate"]["CloudFrontDefaultCertificate"] is True
        assert await code(create(aws)) == "InvalidArgument"
