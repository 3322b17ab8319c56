"""Domains between resources and accounts: who has them, how they move, and where DNS sends them."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.route53.records import CLOUDFRONT_ZONE, Alias, Record
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock, virtual_time
from packages.kubesim.tests.aws.driver import DISTRIBUTION, Clients, clients, code, refusal

OTHER = "444455556666"


def two_accounts(**foreign: Any) -> AwsCloud:
    cloud = AwsCloud(LoopClock(), rates=UNLIMITED)
    cloud.cloudfront.add_distribution(DISTRIBUTION)
    cloud.account(OTHER).cloudfront.add_distribution(
        "EFOREIGN", aliases=("far.example.com",), tenant_only=False
    )
    return cloud


async def tenant(aws: Clients, name: str = "shop") -> str:
    created = await aws.cloudfront.create_distribution_tenant(
        DistributionId=DISTRIBUTION, Name=name, Domains=[{"Domain": f"{name}.example.com"}]
    )
    return str(created["DistributionTenant"]["Id"])


async def conflicts(aws: Clients, domain: str, **resource: str) -> list[Any]:
    found = await aws.cloudfront.list_domain_conflicts(
        Domain=domain,
        DomainControlValidationResource=resource,  # type: ignore[arg-type] # one of two keys
    )
    return list(found.get("DomainConflicts") or [])


@virtual_time
async def test_a_conflict_in_the_own_account_is_named() -> None:
    async with clients(two_accounts()) as aws:
        one, other = await tenant(aws, "one"), await tenant(aws, "other")
        assert await conflicts(aws, "other.example.com", DistributionTenantId=one) == [
            {
                "Domain": "other.example.com",
                "ResourceType": "distribution-tenant",
                "ResourceId": other,
                "AccountId": "111122223333",
            }
        ]
        assert await conflicts(aws, "one.example.com", DistributionTenantId=one) == []


@virtual_time
async def test_a_conflict_with_another_account_is_half_hidden() -> None:
    async with clients(two_accounts()) as aws:
        (found,) = await conflicts(aws, "far.example.com", DistributionId=DISTRIBUTION)
        assert found == {
            "Domain": "far.example.com",
            "ResourceType": "distribution",
            "ResourceId": "**OREIGN",
            "AccountId": "******556666",
        }


@virtual_time
async def test_a_wildcard_conflicts_with_what_it_stands_for() -> None:
    async with clients(two_accounts()) as aws:
        one, other = await tenant(aws, "one"), await tenant(aws, "other")
        found = await conflicts(aws, "*.example.com", DistributionTenantId=one)
        assert [each["Domain"] for each in found] == ["far.example.com", "other.example.com"]
        assert other == found[1]["ResourceId"]


@virtual_time
async def test_conflicts_come_in_pages() -> None:
    async with clients(two_accounts()) as aws:
        one = await tenant(aws, "one")
        for number in range(4):
            await tenant(aws, f"more{number}")
        pages = aws.cloudfront.get_paginator("list_domain_conflicts").paginate(
            Domain="*.example.com",
            DomainControlValidationResource={"DistributionTenantId": one},
            PaginationConfig={"PageSize": 2},
        )
        sizes = [len(page["DomainConflicts"]) async for page in pages]
        assert sizes == [2, 2, 1]


@virtual_time
async def test_only_somebody_with_a_certificate_learns_about_conflicts() -> None:
    async with clients(two_accounts()) as aws:
        one = await tenant(aws, "one")
        assert await code(conflicts(aws, "a.example.org", DistributionTenantId=one)) == "InvalidArgument"
        assert await code(conflicts(aws, "a.example.com")) == "InvalidArgument"
        assert await code(conflicts(aws, "a.example.com", DistributionTenantId="dt_none")) == "EntityNotFound"


@virtual_time
async def test_a_domain_moves_between_resources_of_an_account() -> None:
    cloud = two_accounts()
    cloud.cloudfront.add_distribution("EOLD", aliases=("www.example.com",), tenant_only=False)
    async with clients(cloud) as aws:
        id_ = await tenant(aws)
        before = (await aws.cloudfront.get_distribution_tenant(Identifier=id_))["ETag"]
        target: Any = {"Domain": "www.example.com", "TargetResource": {"DistributionTenantId": id_}}
        assert await code(aws.cloudfront.update_domain_association(**target)) == "IllegalUpdate"
        cloud.cloudfront.change_distribution("EOLD", enabled=False)
        moved = await aws.cloudfront.update_domain_association(**target, IfMatch=before)
        after = await aws.cloudfront.get_distribution_tenant(Identifier=id_)
        assert (moved["Domain"], moved["ResourceId"], moved["ETag"]) == (
            "www.example.com",
            id_,
            after["ETag"],
        )
        assert [each["Domain"] for each in after["DistributionTenant"]["Domains"]] == [
            "shop.example.com",
            "www.example.com",
        ]
        assert not cloud.cloudfront.distributions["EOLD"].aliases
        cloud.cloudfront.change_tenant(id_, enabled=False)
        await aws.cloudfront.update_domain_association(
            Domain="www.example.com", TargetResource={"DistributionId": "EOLD"}
        )
        assert cloud.cloudfront.distributions["EOLD"].aliases == ("www.example.com",)
        assert cloud.cloudfront.tenant(id_).domains == ("shop.example.com",)


@virtual_time
async def test_a_domain_of_another_account_moves_only_with_proof() -> None:
    cloud = two_accounts()
    async with clients(cloud) as aws:
        id_ = await tenant(aws)
        target: Any = {"Domain": "far.example.com", "TargetResource": {"DistributionTenantId": id_}}
        assert (await refusal(aws.cloudfront.update_domain_association(**target)))[:2] == (
            400,
            "IllegalUpdate",
        )
        cloud.account(OTHER).cloudfront.change_distribution("EFOREIGN", enabled=False)
        status, refused, message = await refusal(aws.cloudfront.update_domain_association(**target))
        assert (status, refused) == (400, "IllegalUpdate")
        assert "TXT record _far.example.com" in message
        group = cloud.cloudfront.default_group()
        zone = cloud.route53.add_zone("example.com")
        cloud.route53.put_record(zone, Record("_far.example.com.", "TXT", 300, (f'"{group.endpoint}"',)))
        moved = await aws.cloudfront.update_domain_association(**target)
        assert moved["ResourceId"] == id_
        assert cloud.account(OTHER).cloudfront.distributions["EFOREIGN"].aliases == ()


@pytest.mark.parametrize(
    ("domain", "etag", "refused"),
    [
        ("nobody.example.com", None, "EntityNotFound"),
        ("outside.example.org", None, "InvalidArgument"),
        ("www.example.com", "ENEVER", "InvalidIfMatchVersion"),
    ],
    ids=["nobodys", "not-covered", "stale"],
)
@virtual_time
async def test_a_move_that_cannot_be_is_refused(domain: str, etag: str | None, refused: str) -> None:
    cloud = two_accounts()
    cloud.cloudfront.add_distribution(
        "EOLD", aliases=("www.example.com", "outside.example.org"), tenant_only=False
    )
    async with clients(cloud) as aws:
        match: Any = {"IfMatch": etag} if etag else {}
        call = aws.cloudfront.update_domain_association(
            Domain=domain, TargetResource={"DistributionTenantId": await tenant(aws)}, **match
        )
        assert await code(call) == refused


@virtual_time
async def test_dns_is_verified_along_the_whole_chain() -> None:
    cloud = two_accounts()
    zone = cloud.route53.add_zone("example.com")
    names = ("cname", "alias", "wild.card", "wrong", "none", "elsewhere")
    domains: Any = [{"Domain": f"{name}.example.com"} for name in names]
    async with clients(cloud) as aws:
        created = await aws.cloudfront.create_distribution_tenant(
            DistributionId=DISTRIBUTION,
            Name="shop",
            Domains=domains,
            Customizations={"Certificate": {"Arn": covering(cloud)}},
        )
        target = cloud.cloudfront.default_group().endpoint
        for record in (
            Record("cname.example.com.", "CNAME", 300, ("hop.example.com",)),
            Record("hop.example.com.", "CNAME", 300, (target,)),
            Record("alias.example.com.", "A", alias=Alias(CLOUDFRONT_ZONE, f"{target}.")),
            Record("*.card.example.com.", "CNAME", 300, (target,)),
            Record("wrong.example.com.", "CNAME", 300, ("d000.cloudfront.net",)),
        ):
            cloud.route53.put_record(zone, record)
        cloud.world.dns.publish("elsewhere.example.com", target)
        id_ = created["DistributionTenant"]["Id"]
        found = (await aws.cloudfront.verify_dns_configuration(Identifier=id_))["DnsConfigurationList"]
        assert {each["Domain"].removesuffix(".example.com"): each["Status"] for each in found} == {
            "cname": "valid-configuration",
            "alias": "valid-configuration",
            "wild.card": "valid-configuration",
            "wrong": "invalid-configuration",
            "none": "unknown-configuration",
            "elsewhere": "valid-configuration",
        }
        one = await aws.cloudfront.verify_dns_configuration(Identifier=id_, Domain="wrong.example.com")
        assert "d000.cloudfront.net" in one["DnsConfigurationList"][0]["Reason"]
        other = aws.cloudfront.verify_dns_configuration(Identifier=id_, Domain="x.example.com")
        assert await code(other) == "InvalidArgument"


def covering(cloud: AwsCloud) -> str:
    return cloud.account().certificates().add_issued("*.card.example.com", "*.example.com").arn


def test_a_loop_of_names_ends() -> None:
    dns = AwsCloud().world.dns
    dns.publish("a.example.com", "b.example.com")
    dns.publish("b.example.com", "a.example.com")
    assert dns.chain("a.example.com") == ["b.example.com.", "a.example.com."]
    assert not dns.leads_to("a.example.com", "c.example.com")
