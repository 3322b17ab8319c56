"""Managed certificates: what they wait for, how their tenants change when they come, and how they fail."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.route53.state import Zone
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock, virtual_time
from packages.kubesim.tests.aws.driver import DISTRIBUTION, Clients, clients, code, refusal

ISSUANCE = 120
DEPLOYMENT = 120
NOT_POINTING = (
    "Could not verify Domain Name ownership. It may not be pointing to a valid CloudFront resource."
)


def bare_cloud() -> tuple[AwsCloud, Zone]:
    """A distribution without a certificate of its own, and a zone."""
    cloud = AwsCloud(LoopClock(), rates=UNLIMITED)
    cloud.cloudfront.add_distribution(DISTRIBUTION, covers=())
    return cloud, cloud.route53.add_zone("example.com")


async def endpoint(aws: Clients) -> str:
    group = await aws.cloudfront.create_connection_group(Name="edge")
    return str(group["ConnectionGroup"]["RoutingEndpoint"])


async def point(aws: Clients, zone: Zone, domain: str, target: str, action: Any = "UPSERT") -> None:
    record: Any = {"Name": domain, "Type": "CNAME", "TTL": 300, "ResourceRecords": [{"Value": target}]}
    await aws.route53.change_resource_record_sets(
        HostedZoneId=zone.id, ChangeBatch={"Changes": [{"Action": action, "ResourceRecordSet": record}]}
    )


async def create(aws: Clients, host: str, *domains: str, **details: Any) -> Any:
    request: Any = {"ValidationTokenHost": host, **details}
    return await aws.cloudfront.create_distribution_tenant(
        DistributionId=DISTRIBUTION,
        Name="shop",
        Domains=[{"Domain": domain} for domain in domains or ("shop.example.com",)],
        ConnectionGroupId="edge",
        ManagedCertificateRequest=request,
    )


async def details(aws: Clients) -> Any:
    found = await aws.cloudfront.get_managed_certificate_details(Identifier="shop")
    return found["ManagedCertificateDetails"]


@virtual_time
async def test_cloudfront_serves_the_token_once_dns_points_to_it() -> None:
    cloud, zone = bare_cloud()
    async with clients(cloud) as aws:
        target = await endpoint(aws)
        assert await refusal(create(aws, "cloudfront")) == (400, "InvalidArgument", NOT_POINTING)
        await point(aws, zone, "shop.example.com", target)
        created = await create(aws, "cloudfront")
        assert (await details(aws))["CertificateStatus"] == "pending-validation"
        await asyncio.sleep(ISSUANCE)
        issued = await details(aws)
        assert issued["CertificateStatus"] == "issued"
        tenant = await aws.cloudfront.get_distribution_tenant(Identifier="shop")
        assert tenant["ETag"] != created["ETag"]
        assert [each["Status"] for each in tenant["DistributionTenant"]["Domains"]] == ["inactive"]


@virtual_time
async def test_issuance_waits_while_dns_points_elsewhere() -> None:
    cloud, zone = bare_cloud()
    async with clients(cloud) as aws:
        target = await endpoint(aws)
        await point(aws, zone, "shop.example.com", target)
        await create(aws, "cloudfront")
        await point(aws, zone, "shop.example.com", "elsewhere.example.net")
        await asyncio.sleep(10 * ISSUANCE)
        assert (await details(aws))["CertificateStatus"] == "pending-validation"
        await point(aws, zone, "shop.example.com", target)
        await asyncio.sleep(ISSUANCE - 1)
        assert (await details(aws))["CertificateStatus"] == "pending-validation"
        await asyncio.sleep(1)
        assert (await details(aws))["CertificateStatus"] == "issued"


@virtual_time
async def test_an_issued_certificate_serves_after_it_is_attached() -> None:
    cloud, zone = bare_cloud()
    async with clients(cloud) as aws:
        await point(aws, zone, "shop.example.com", await endpoint(aws))
        id_ = (await create(aws, "cloudfront"))["DistributionTenant"]["Id"]
        await asyncio.sleep(ISSUANCE)
        arn = (await details(aws))["CertificateArn"]
        etag = (await aws.cloudfront.get_distribution_tenant(Identifier="shop"))["ETag"]
        await aws.cloudfront.update_distribution_tenant(
            Id=id_, IfMatch=etag, ConnectionGroupId="edge", Customizations={"Certificate": {"Arn": arn}}
        )
        await asyncio.sleep(DEPLOYMENT)
        tenant = (await aws.cloudfront.get_distribution_tenant(Identifier="shop"))["DistributionTenant"]
        assert tenant["Domains"] == [{"Domain": "shop.example.com", "Status": "active"}]


@virtual_time
async def test_cloudfront_may_attach_the_certificate_itself() -> None:
    cloud, zone = bare_cloud()
    cloud.world.behaviour.attach_managed_certificate = True
    async with clients(cloud) as aws:
        await point(aws, zone, "shop.example.com", await endpoint(aws))
        await create(aws, "cloudfront")
        await asyncio.sleep(ISSUANCE)
        arn = (await details(aws))["CertificateArn"]
        tenant = (await aws.cloudfront.get_distribution_tenant(Identifier="shop"))["DistributionTenant"]
        assert tenant["Customizations"] == {"Certificate": {"Arn": arn}}


@virtual_time
async def test_a_self_hosted_token_must_be_served_by_the_domain() -> None:
    cloud, _ = bare_cloud()
    async with clients(cloud) as aws:
        await endpoint(aws)
        await create(aws, "self-hosted", "shop.example.com", "www.example.com")
        pending = await details(aws)
        assert pending["ValidationTokenHost"] == "self-hosted"
        assert [each["Domain"] for each in pending["ValidationTokenDetails"]] == [
            "shop.example.com",
            "www.example.com",
        ]
        assert all("RedirectFrom" in each for each in pending["ValidationTokenDetails"])
        cloud.serve_token("shop.example.com")
        await asyncio.sleep(2 * ISSUANCE)
        assert (await details(aws))["CertificateStatus"] == "pending-validation"
        cloud.serve_token("www.example.com")
        await asyncio.sleep(ISSUANCE - 1)
        assert (await details(aws))["CertificateStatus"] == "pending-validation"
        await asyncio.sleep(1)
        assert (await details(aws))["CertificateStatus"] == "issued"


@virtual_time
async def test_validation_ends_after_three_days() -> None:
    cloud, _ = bare_cloud()
    async with clients(cloud) as aws:
        await endpoint(aws)
        before = await create(aws, "self-hosted")
        await asyncio.sleep(timedelta(hours=72).total_seconds())
        assert (await details(aws))["CertificateStatus"] == "validation-timed-out"
        assert (await aws.cloudfront.get_distribution_tenant(Identifier="shop"))["ETag"] != before["ETag"]


@pytest.mark.parametrize("status", ["FAILED", "REVOKED", "EXPIRED", "INACTIVE"])
@virtual_time
async def test_any_other_end_can_be_scripted(status: str) -> None:
    cloud, _ = bare_cloud()
    async with clients(cloud) as aws:
        await endpoint(aws)
        await create(aws, "self-hosted")
        cloud.account().certificates().fail((await details(aws))["CertificateArn"], status, "CAA_ERROR")
        assert (await details(aws))["CertificateStatus"] == status.lower()
        certificate = await aws.acm.describe_certificate(
            CertificateArn=(await details(aws))["CertificateArn"]
        )
        assert certificate["Certificate"]["FailureReason"] == "CAA_ERROR"


@virtual_time
async def test_a_tenant_without_managed_certificate_has_no_details() -> None:
    cloud, _ = bare_cloud()
    cloud.cloudfront.add_distribution("ECOVERED")
    async with clients(cloud) as aws:
        await aws.cloudfront.create_distribution_tenant(
            DistributionId="ECOVERED", Name="shop", Domains=[{"Domain": "shop.example.com"}]
        )
        assert (await refusal(details(aws)))[:2] == (404, "EntityNotFound")


@virtual_time
async def test_managed_certificates_are_listed_by_acm() -> None:
    cloud, _ = bare_cloud()
    async with clients(cloud) as aws:
        await endpoint(aws)
        await create(aws, "self-hosted")
        await aws.acm.request_certificate(DomainName="other.example.com", ValidationMethod="DNS")
        listed = await aws.acm.list_certificates(Includes={"managedBy": "CLOUDFRONT"})
        assert [each["CertificateArn"] for each in listed["CertificateSummaryList"]] == [
            (await details(aws))["CertificateArn"]
        ]
        assert listed["CertificateSummaryList"][0]["Status"] == "PENDING_VALIDATION"


@virtual_time
async def test_asking_again_while_one_is_under_way_keeps_it() -> None:
    cloud, _ = bare_cloud()
    async with clients(cloud) as aws:
        await endpoint(aws)
        created = await create(aws, "self-hosted")
        first = (await details(aws))["CertificateArn"]
        again: Any = {
            "Id": created["DistributionTenant"]["Id"],
            "ConnectionGroupId": "edge",
            "ManagedCertificateRequest": {"ValidationTokenHost": "self-hosted"},
        }
        updated = await aws.cloudfront.update_distribution_tenant(IfMatch=created["ETag"], **again)
        assert (await details(aws))["CertificateArn"] == first
        more: Any = [{"Domain": "shop.example.com"}, {"Domain": "more.example.com"}]
        await aws.cloudfront.update_distribution_tenant(IfMatch=updated["ETag"], Domains=more, **again)
        assert (await details(aws))["CertificateArn"] != first


async def update(aws: Clients, *domains: str, arn: str = "", **details: Any) -> None:
    """A full update of the tenant to these domains, and this certificate of its own."""
    found = await aws.cloudfront.get_distribution_tenant(Identifier="shop")
    own: Any = {"Customizations": {"Certificate": {"Arn": arn}}} if arn else {}
    await aws.cloudfront.update_distribution_tenant(
        Id=found["DistributionTenant"]["Id"],
        IfMatch=found["ETag"],
        ConnectionGroupId="edge",
        Domains=[{"Domain": domain} for domain in domains],
        **own,
        **details,
    )


async def statuses(aws: Clients) -> dict[str, str]:
    found = await aws.cloudfront.get_distribution_tenant(Identifier="shop")
    return {each["Domain"]: each["Status"] for each in found["DistributionTenant"]["Domains"]}


async def served(aws: Clients, cloud: AwsCloud) -> str:
    """A tenant whose one domain is served by its managed certificate. Return that certificate's ARN."""
    await endpoint(aws)
    cloud.serve_token("shop.example.com")
    await create(aws, "self-hosted")
    await asyncio.sleep(ISSUANCE)
    arn = str((await details(aws))["CertificateArn"])
    await update(aws, "shop.example.com", arn=arn)
    await asyncio.sleep(DEPLOYMENT)
    assert await statuses(aws) == {"shop.example.com": "active"}
    return arn


BOTH = ("shop.example.com", "more.example.com")
SELF_HOSTED: Any = {"ManagedCertificateRequest": {"ValidationTokenHost": "self-hosted"}}


@virtual_time
async def test_a_domain_that_is_added_without_a_request_is_not_served() -> None:
    cloud, _ = bare_cloud()
    async with clients(cloud) as aws:
        arn = await served(aws, cloud)
        cloud.serve_token("more.example.com")
        await update(aws, *BOTH, arn=arn)
        await asyncio.sleep(timedelta(days=1).total_seconds())
        assert await statuses(aws) == {"shop.example.com": "active", "more.example.com": "inactive"}
        assert (await details(aws))["CertificateArn"] == arn


@virtual_time
async def test_a_domain_that_is_added_with_a_request_is_served_once_its_certificate_is_attached() -> None:
    cloud, _ = bare_cloud()
    async with clients(cloud) as aws:
        first = await served(aws, cloud)
        await update(aws, *BOTH, arn=first, **SELF_HOSTED)
        second = (await details(aws))["CertificateArn"]
        assert second != first
        await asyncio.sleep(10 * ISSUANCE)
        assert (await details(aws))["CertificateStatus"] == "pending-validation"
        cloud.serve_token("more.example.com")
        await asyncio.sleep(10 * ISSUANCE)
        assert (await details(aws))["CertificateStatus"] == "issued"
        assert await statuses(aws) == {"shop.example.com": "active", "more.example.com": "inactive"}
        await update(aws, *BOTH, arn=second)
        await asyncio.sleep(DEPLOYMENT)
        assert await statuses(aws) == {"shop.example.com": "active", "more.example.com": "active"}


@virtual_time
async def test_cloudfront_may_replace_the_certificate_that_was_requested_before() -> None:
    cloud, _ = bare_cloud()
    cloud.world.behaviour.attach_managed_certificate = True
    async with clients(cloud) as aws:
        first = await served(aws, cloud)
        cloud.serve_token("more.example.com")
        await update(aws, *BOTH, arn=first, **SELF_HOSTED)
        await asyncio.sleep(ISSUANCE + DEPLOYMENT)
        second = (await details(aws))["CertificateArn"]
        tenant = (await aws.cloudfront.get_distribution_tenant(Identifier="shop"))["DistributionTenant"]
        assert tenant["Customizations"] == {"Certificate": {"Arn": second}}
        assert set((await statuses(aws)).values()) == {"active"}


@virtual_time
async def test_tokens_may_be_shown_until_the_certificate_is_issued() -> None:
    cloud, _ = bare_cloud()
    cloud.world.behaviour.tokens_of_issued = False
    async with clients(cloud) as aws:
        await endpoint(aws)
        await create(aws, "self-hosted")
        assert len((await details(aws))["ValidationTokenDetails"]) == 1
        cloud.serve_token("shop.example.com")
        await asyncio.sleep(ISSUANCE)
        assert (await details(aws)).get("ValidationTokenDetails", []) == []


@virtual_time
async def test_the_primary_domain_must_be_one_of_the_tenants() -> None:
    cloud, _ = bare_cloud()
    async with clients(cloud) as aws:
        await endpoint(aws)
        assert await code(create(aws, "self-hosted", PrimaryDomainName="x.example.com")) == "InvalidArgument"


@virtual_time
async def test_the_quota_of_certificates_counts_managed_ones() -> None:
    cloud, _ = bare_cloud()
    cloud.world.quotas.certificates = 0
    async with clients(cloud) as aws:
        await endpoint(aws)
        assert await code(create(aws, "self-hosted")) == "EntityLimitExceeded"
        assert len(cloud.cloudfront.tenants) == 0
