"""Connection groups: the default one that appears by itself, and those that are made."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock, virtual_time
from packages.kubesim.tests.aws.driver import DISTRIBUTION, Clients, clients, code, refusal

DEPLOYMENT = 60


def virgin_cloud() -> AwsCloud:
    cloud = AwsCloud(LoopClock(), rates=UNLIMITED)
    cloud.cloudfront.add_distribution(DISTRIBUTION)
    return cloud


async def tenant_in(aws: Clients, group: str | None = None) -> Any:
    details: dict[str, Any] = {"ConnectionGroupId": group} if group else {}
    created = await aws.cloudfront.create_distribution_tenant(
        DistributionId=DISTRIBUTION, Name="shop", Domains=[{"Domain": "shop.example.com"}], **details
    )
    return created["DistributionTenant"]


async def groups(aws: Clients) -> list[Any]:
    return list((await aws.cloudfront.list_connection_groups()).get("ConnectionGroups") or [])


@virtual_time
async def test_the_default_group_appears_with_the_first_tenant() -> None:
    async with clients(virgin_cloud()) as aws:
        assert await groups(aws) == []
        tenant = await tenant_in(aws)
        (default,) = await groups(aws)
        assert default["IsDefault"] is True
        assert default["Id"] == tenant["ConnectionGroupId"]
        assert default["RoutingEndpoint"].endswith(".cloudfront.net")


@pytest.mark.parametrize(
    "details",
    [
        {"Domains": [{"Domain": "shop.example.org"}]},
        {"ManagedCertificateRequest": {"ValidationTokenHost": "cloudfront"}},
        {"Parameters": [{"Name": "unknown", "Value": "x"}]},
    ],
    ids=["not-covered", "not-pointing", "unknown-parameter"],
)
@virtual_time
async def test_a_refused_tenant_brings_no_default_group(details: Any) -> None:
    wanted = {"DistributionId": DISTRIBUTION, "Name": "shop", "Domains": [{"Domain": "shop.example.com"}]}
    async with clients(virgin_cloud()) as aws:
        assert (
            await code(aws.cloudfront.create_distribution_tenant(**(wanted | details))) == "InvalidArgument"
        )
        assert await groups(aws) == []


@virtual_time
async def test_a_tenant_that_names_its_group_brings_no_default_group() -> None:
    async with clients(virgin_cloud()) as aws:
        made = (await aws.cloudfront.create_connection_group(Name="edge"))["ConnectionGroup"]
        assert (await tenant_in(aws, "edge"))["ConnectionGroupId"] == made["Id"]
        assert [each["IsDefault"] for each in await groups(aws)] == [False]


@virtual_time
async def test_a_group_is_found_by_id_name_arn_and_endpoint() -> None:
    async with clients(virgin_cloud()) as aws:
        made = (await aws.cloudfront.create_connection_group(Name="edge"))["ConnectionGroup"]
        for identifier in (made["Id"], made["Name"], made["Arn"]):
            found = await aws.cloudfront.get_connection_group(Identifier=identifier)
            assert found["ConnectionGroup"] == made
        by_endpoint = aws.cloudfront.get_connection_group_by_routing_endpoint
        assert (await by_endpoint(RoutingEndpoint=made["RoutingEndpoint"]))["ConnectionGroup"] == made
        assert await code(by_endpoint(RoutingEndpoint="dnone.cloudfront.net")) == "EntityNotFound"


@virtual_time
async def test_a_group_is_deployed_after_a_while_and_shows_its_etag() -> None:
    async with clients(virgin_cloud()) as aws:
        made = await aws.cloudfront.create_connection_group(Name="edge", Ipv6Enabled=False)
        assert made["ConnectionGroup"]["Status"] == "InProgress"
        await asyncio.sleep(DEPLOYMENT)
        found = await aws.cloudfront.get_connection_group(Identifier="edge")
        assert found["ConnectionGroup"]["Status"] == "Deployed"
        assert found["ConnectionGroup"]["Ipv6Enabled"] is False
        assert found["ETag"] == made["ETag"] == (await groups(aws))[0]["ETag"]


@virtual_time
async def test_a_group_in_use_is_neither_disabled_nor_deleted() -> None:
    async with clients(virgin_cloud()) as aws:
        made = await aws.cloudfront.create_connection_group(Name="edge")
        await tenant_in(aws, "edge")
        id_ = made["ConnectionGroup"]["Id"]
        update = aws.cloudfront.update_connection_group(Id=id_, IfMatch=made["ETag"], Enabled=False)
        assert (await refusal(update))[:2] == (409, "ResourceInUse")
        delete = aws.cloudfront.delete_connection_group(Id=id_, IfMatch=made["ETag"])
        assert (await refusal(delete))[:2] == (409, "CannotDeleteEntityWhileInUse")


@virtual_time
async def test_only_a_disabled_and_deployed_group_is_deleted() -> None:
    async with clients(virgin_cloud()) as aws:
        made = await aws.cloudfront.create_connection_group(Name="edge")
        id_, delete = made["ConnectionGroup"]["Id"], aws.cloudfront.delete_connection_group
        assert await code(delete(Id=id_, IfMatch=made["ETag"])) == "ResourceNotDisabled"
        disabled = await aws.cloudfront.update_connection_group(Id=id_, IfMatch=made["ETag"], Enabled=False)
        assert await code(delete(Id=id_, IfMatch=made["ETag"])) == "PreconditionFailed"
        assert await code(delete(Id=id_, IfMatch=disabled["ETag"])) == "ResourceNotDisabled"
        await asyncio.sleep(DEPLOYMENT)
        await delete(Id=id_, IfMatch=disabled["ETag"])
        assert await groups(aws) == []


@pytest.mark.parametrize(
    ("name", "refused"),
    [("edge", "EntityAlreadyExists"), ("-edge", "InvalidArgument"), ("third", "EntityLimitExceeded")],
    ids=["taken", "malformed", "too-many"],
)
@virtual_time
async def test_a_group_that_may_not_be_is_refused(name: str, refused: str) -> None:
    cloud = virgin_cloud()
    cloud.world.quotas.connection_groups = 2
    async with clients(cloud) as aws:
        await aws.cloudfront.create_connection_group(Name="edge")
        await aws.cloudfront.create_connection_group(Name="other")
        assert await code(aws.cloudfront.create_connection_group(Name=name)) == refused


@virtual_time
async def test_groups_are_filtered_by_anycast_list() -> None:
    async with clients(virgin_cloud()) as aws:
        await aws.cloudfront.create_connection_group(Name="edge")
        await aws.cloudfront.create_connection_group(Name="fixed", AnycastIpListId="aip_1")
        found = await aws.cloudfront.list_connection_groups(AssociationFilter={"AnycastIpListId": "aip_1"})
        assert [each["Name"] for each in found["ConnectionGroups"]] == ["fixed"]
