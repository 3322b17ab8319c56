"""What CloudFront refuses, whose a domain is, and how tenants are listed."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.virtual import virtual_time
from packages.kubesim.tests.aws.driver import DISTRIBUTION, clients, code, refusal
from packages.kubesim.tests.aws.tenancy import cloud_with_parent, create, wanted

ACL = "arn:aws:wafv2:us-east-1:111122223333:global/webacl/shop/a1b2c3d4-5678-90ab-cdef-EXAMPLE11111"


def _acl(action: str, arn: str = "") -> dict[str, Any]:
    return {"Customizations": {"WebAcl": {"Action": action, **({"Arn": arn} if arn else {})}}}


def _geo(restriction: str, *countries: str) -> dict[str, Any]:
    locations = {"Locations": list(countries)} if countries else {}
    return {"Customizations": {"GeoRestrictions": {"RestrictionType": restriction, **locations}}}


REFUSED = [
    pytest.param({"Name": "ab"}, 400, "InvalidArgument", id="short-name"),
    pytest.param({"Name": "a" * 129}, 400, "InvalidArgument", id="long-name"),
    pytest.param({"Name": "UPPER"}, 400, "InvalidArgument", id="name-in-capitals"),
    pytest.param({"Name": "taken"}, 409, "EntityAlreadyExists", id="name-taken"),
    pytest.param({"DistributionId": "EOTHER"}, 404, "EntityNotFound", id="no-parent"),
    pytest.param({"DistributionId": "EDIRECT"}, 409, "InvalidAssociation", id="parent-without-tenants"),
    pytest.param({"ConnectionGroupId": "cg_none"}, 404, "EntityNotFound", id="no-group"),
    pytest.param({"ConnectionGroupId": "switched-off"}, 409, "InvalidAssociation", id="group-disabled"),
    pytest.param({"Domains": []}, 400, "InvalidArgument", id="no-domain"),
    pytest.param({"Domains": [{"Domain": "a_b.example.com"}]}, 400, "InvalidArgument", id="no-such-domain"),
    pytest.param({"Domains": [{"Domain": "a.example.com"}] * 2}, 400, "InvalidArgument", id="domain-twice"),
    pytest.param(
        {"Domains": [{"Domain": f"a{n}.example.com"} for n in range(101)]},
        400,
        "EntityLimitExceeded",
        id="domains",
    ),
    pytest.param(
        {"Domains": [{"Domain": "taken.example.com"}]}, 409, "CNAMEAlreadyExists", id="domain-taken"
    ),
    pytest.param(
        {"Domains": [{"Domain": "direct.example.com"}]}, 409, "CNAMEAlreadyExists", id="alias-taken"
    ),
    pytest.param({"Domains": [{"Domain": "a.example.org"}]}, 400, "InvalidArgument", id="not-covered"),
    pytest.param({"Parameters": []}, 400, "InvalidArgument", id="parameter-missing"),
    pytest.param(
        {"Parameters": [{"Name": "origin", "Value": "a"}, {"Name": "x", "Value": "a"}]},
        400,
        "InvalidArgument",
        id="parameter-unknown",
    ),
    pytest.param(
        {"Customizations": {"Certificate": {"Arn": "arn:aws:acm:us-east-1:111122223333:certificate/none"}}},
        400,
        "InvalidArgument",
        id="no-certificate",
    ),
    pytest.param(_acl("override", "nonsense"), 400, "InvalidArgument", id="no-web-acl"),
    pytest.param(
        _acl("override", "arn:aws:wafv2:us-east-1:111122223333:regional/webacl/x/1"),
        400,
        "InvalidArgument",
        id="regional-web-acl",
    ),
    pytest.param(
        _acl("override", "a1b2c3d4-5678-90ab-cdef-EXAMPLE11111"), 400, "InvalidArgument", id="classic-web-acl"
    ),
    pytest.param(_acl("override"), 400, "InvalidArgument", id="override-without-web-acl"),
    pytest.param(_geo("whitelist", "Germany"), 400, "InvalidArgument", id="no-country"),
    pytest.param(_geo("whitelist", "de"), 400, "InvalidArgument", id="country-in-lower-case"),
    pytest.param(_geo("blacklist", "DE", "XX"), 400, "InvalidArgument", id="no-such-country"),
    pytest.param(_geo("blacklist"), 400, "InvalidArgument", id="blacklist-without-countries"),
    pytest.param(
        {"Tags": {"Items": [{"Key": "aws:x", "Value": "1"}]}}, 400, "InvalidTagging", id="reserved-tag"
    ),
    pytest.param(
        {"Tags": {"Items": [{"Key": "x", "Value": "a,b"}]}}, 400, "InvalidTagging", id="tag-with-a-comma"
    ),
    pytest.param(
        {"Tags": {"Items": [{"Key": "x", "Value": "a\tb"}]}}, 400, "InvalidTagging", id="tag-with-a-tab"
    ),
    pytest.param(
        {"Tags": {"Items": [{"Key": f"k{n}", "Value": ""} for n in range(51)]}},
        400,
        "InvalidTagging",
        id="tags",
    ),
]


@pytest.mark.parametrize(("details", "status", "refused"), REFUSED)
@virtual_time
async def test_what_cloudfront_refuses_leaves_nothing_behind(
    details: dict[str, Any], status: int, refused: str
) -> None:
    cloud = cloud_with_parent(
        parameters=[ParameterDefinition("origin"), ParameterDefinition("x-y", default="z")]
    )
    cloud.cloudfront.add_distribution("EDIRECT", aliases=("direct.example.com",), tenant_only=False)
    parameters = [{"Name": "origin", "Value": "a"}]
    async with clients(cloud) as aws:
        await aws.cloudfront.create_connection_group(Name="switched-off", Enabled=False)
        await create(aws, "taken", Parameters=parameters)
        call = aws.cloudfront.create_distribution_tenant(**(wanted("new", Parameters=parameters) | details))
        assert (await refusal(call))[:2] == (status, refused)
        assert len(cloud.cloudfront.tenants) == 1
        await create(aws, "good", Parameters=parameters)


@pytest.mark.parametrize(
    "details",
    [
        pytest.param(_acl("override", ACL), id="web-acl"),
        pytest.param(_acl("disable"), id="no-web-acl"),
        pytest.param(_geo("whitelist", "DE", "XK"), id="countries"),
        pytest.param(_geo("none"), id="no-restriction"),
        pytest.param({"Tags": {"Items": [{"Key": "Zürich 1", "Value": "a=b+c@d:/.-_"}]}}, id="tag"),
    ],
)
@virtual_time
async def test_what_cloudfront_takes_is_kept_and_told(details: dict[str, Any]) -> None:
    async with clients(cloud_with_parent()) as aws:
        tenant = (await create(aws, **details))["DistributionTenant"]
        assert details.items() <= tenant.items()


@pytest.mark.parametrize("details", [_acl("override", "nonsense"), _geo("whitelist", "Germany")])
@virtual_time
async def test_update_with_what_cloudfront_refuses_changes_nothing(details: dict[str, Any]) -> None:
    async with clients(cloud_with_parent()) as aws:
        made = await create(aws, **_geo("whitelist", "DE"))
        change = aws.cloudfront.update_distribution_tenant(
            Id=made["DistributionTenant"]["Id"], IfMatch=made["ETag"], **details
        )
        assert await code(change) == "InvalidArgument"
        found = await aws.cloudfront.get_distribution_tenant(Identifier=made["DistributionTenant"]["Id"])
        assert found["ETag"] == made["ETag"]


@virtual_time
async def test_web_acl_is_associated_only_by_its_arn() -> None:
    async with clients(cloud_with_parent()) as aws:
        id_ = (await create(aws))["DistributionTenant"]["Id"]
        associate = aws.cloudfront.associate_distribution_tenant_web_acl
        assert await code(associate(Id=id_, WebACLArn="nonsense")) == "InvalidArgument"
        assert (await associate(Id=id_, WebACLArn=ACL))["WebACLArn"] == ACL


@virtual_time
async def test_a_missing_parameter_is_named() -> None:
    cloud = cloud_with_parent(
        parameters=[ParameterDefinition("origin"), ParameterDefinition("ttl", default="60")]
    )
    async with clients(cloud) as aws:
        _, _, message = await refusal(create(aws))
        assert "origin" in message
        assert "ttl" not in message


@virtual_time
async def test_the_quota_of_tenants_is_kept() -> None:
    cloud = cloud_with_parent()
    cloud.world.quotas.distribution_tenants = 1
    async with clients(cloud) as aws:
        await create(aws, "one")
        assert (await refusal(create(aws, "two")))[:2] == (400, "EntityLimitExceeded")


@virtual_time
async def test_domains_are_unique_over_accounts() -> None:
    cloud = cloud_with_parent()
    cloud.account("444455556666").cloudfront.add_distribution(
        "EFAR", aliases=("far.example.com", "*.wild.example.com")
    )
    async with clients(cloud) as aws:
        assert await code(create(aws, "far")) == "CNAMEAlreadyExists"
        managed = {"ManagedCertificateRequest": {"ValidationTokenHost": "self-hosted"}}
        assert await code(create(aws, "deep", "deep.wild.example.com", **managed)) == "CNAMEAlreadyExists"
        assert (await create(aws, "near"))["DistributionTenant"]["Name"] == "near"


@virtual_time
async def test_an_own_wildcard_does_not_block_an_own_domain() -> None:
    async with clients(cloud_with_parent()) as aws:
        await create(aws, "everything", "*.example.com")
        assert (await create(aws, "shop"))["DistributionTenant"]["Name"] == "shop"


@virtual_time
async def test_a_domain_that_was_given_up_is_free() -> None:
    async with clients(cloud_with_parent()) as aws:
        one = await create(aws, "one", "a.example.com", "b.example.com")
        await aws.cloudfront.update_distribution_tenant(
            Id=one["DistributionTenant"]["Id"], IfMatch=one["ETag"], Domains=[{"Domain": "a.example.com"}]
        )
        assert (await create(aws, "two", "b.example.com"))["DistributionTenant"]["Name"] == "two"


@virtual_time
async def test_listings_come_in_pages_and_lose_nobody() -> None:
    async with clients(cloud_with_parent()) as aws:
        made = {(await create(aws, f"tenant-{n}"))["DistributionTenant"]["Id"] for n in range(25)}
        pages = aws.cloudfront.get_paginator("list_distribution_tenants").paginate(
            PaginationConfig={"PageSize": 10}
        )
        sizes, seen = [], set()
        async for page in pages:
            sizes.append(len(page["DistributionTenantList"]))
            seen |= {each["Id"] for each in page["DistributionTenantList"]}
        assert sizes == [10, 10, 5]
        assert seen == made


@virtual_time
async def test_a_tenant_that_goes_between_two_pages_costs_no_other() -> None:
    cloud = cloud_with_parent()
    async with clients(cloud) as aws:
        for n in range(4):
            await create(aws, f"tenant-{n}")
        first = await aws.cloudfront.list_distribution_tenants(MaxItems=2)
        cloud.cloudfront.remove_tenant(first["DistributionTenantList"][-1]["Id"])
        second = await aws.cloudfront.list_distribution_tenants(MaxItems=2, Marker=first["NextMarker"])
        assert len(second["DistributionTenantList"]) == 2


@virtual_time
async def test_listings_are_filtered_by_parent_and_group() -> None:
    cloud = cloud_with_parent()
    cloud.cloudfront.add_distribution("EOTHER")
    async with clients(cloud) as aws:
        group = (await aws.cloudfront.create_connection_group(Name="edge"))["ConnectionGroup"]["Id"]
        await create(aws, "one")
        await create(aws, "two", DistributionId="EOTHER", ConnectionGroupId=group)

        async def names(**wanted: str) -> list[str]:
            page = await aws.cloudfront.list_distribution_tenants(AssociationFilter=wanted)  # type: ignore[arg-type]
            return [each["Name"] for each in page.get("DistributionTenantList") or []]

        assert await names(DistributionId=DISTRIBUTION) == ["one"]
        assert await names(ConnectionGroupId="edge") == ["two"]
        assert await code(names(DistributionId="ENONE")) == "EntityNotFound"


@virtual_time
async def test_an_empty_listing_has_no_list() -> None:
    async with clients(cloud_with_parent()) as aws:
        assert "DistributionTenantList" not in await aws.cloudfront.list_distribution_tenants()
