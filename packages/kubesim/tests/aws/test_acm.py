"""Certificates: issued when DNS says so, requested once per token, deleted when nobody uses them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.aws.acm.certificate import covers, validation_record
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.route53.records import Record
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock, virtual_time
from packages.kubesim.tests.aws.driver import DISTRIBUTION, Clients, clients, code, refusal

RECORD_KNOWN = 5
ISSUANCE = 120


def empty_cloud() -> AwsCloud:
    return AwsCloud(LoopClock(), rates=UNLIMITED)


async def request(aws: Clients, *names: str, **details: Any) -> str:
    first, *others = names or ("shop.example.com",)
    more: Any = {"SubjectAlternativeNames": others} if others else {}
    made = await aws.acm.request_certificate(
        DomainName=first, **({"ValidationMethod": "DNS"} | more | details)
    )
    return str(made["CertificateArn"])


async def describe(aws: Clients, arn: str) -> Any:
    return (await aws.acm.describe_certificate(CertificateArn=arn))["Certificate"]


async def validate(aws: Clients, cloud: AwsCloud, arn: str) -> None:
    """Write the records that a certificate asks for into a zone."""
    zone = next(iter(cloud.route53.zones.values()), None) or cloud.route53.add_zone("example.com")
    for option in (await describe(aws, arn))["DomainValidationOptions"]:
        shown = option["ResourceRecord"]
        cloud.route53.put_record(zone, Record(shown["Name"], shown["Type"], 300, (shown["Value"],)))


@virtual_time
async def test_validation_records_are_known_after_some_seconds() -> None:
    async with clients(empty_cloud()) as aws:
        arn = await request(aws)
        (option,) = (await describe(aws, arn))["DomainValidationOptions"]
        assert "ResourceRecord" not in option
        await asyncio.sleep(RECORD_KNOWN)
        (option,) = (await describe(aws, arn))["DomainValidationOptions"]
        assert option["ResourceRecord"]["Name"].endswith(".shop.example.com.")
        assert option["ResourceRecord"]["Value"].endswith(".acm-validations.aws.")


@virtual_time
async def test_a_certificate_is_issued_only_when_its_record_is_in_a_zone() -> None:
    cloud = empty_cloud()
    async with clients(cloud) as aws:
        arn = await request(aws)
        await asyncio.sleep(10 * ISSUANCE)
        assert (await describe(aws, arn))["Status"] == "PENDING_VALIDATION"
        await validate(aws, cloud, arn)
        validated = await describe(aws, arn)
        assert validated["Status"] == "PENDING_VALIDATION"
        assert [each["ValidationStatus"] for each in validated["DomainValidationOptions"]] == ["SUCCESS"]
        await asyncio.sleep(ISSUANCE)
        issued = await describe(aws, arn)
        assert issued["Status"] == "ISSUED"
        assert issued["NotAfter"] > issued["IssuedAt"]


@virtual_time
async def test_a_certificate_waits_for_the_last_of_its_names() -> None:
    cloud = empty_cloud()
    async with clients(cloud) as aws:
        arn = await request(aws, "example.com", "*.example.com", "other.org")
        await asyncio.sleep(RECORD_KNOWN)
        options = (await describe(aws, arn))["DomainValidationOptions"]
        assert options[0]["ResourceRecord"] == options[1]["ResourceRecord"] != options[2]["ResourceRecord"]
        zone = cloud.route53.add_zone("example.com")
        shown = options[0]["ResourceRecord"]
        cloud.route53.put_record(zone, Record(shown["Name"], "CNAME", 300, (shown["Value"],)))
        await asyncio.sleep(ISSUANCE)
        states = [each["ValidationStatus"] for each in (await describe(aws, arn))["DomainValidationOptions"]]
        assert states == ["SUCCESS", "SUCCESS", "PENDING_VALIDATION"]
        shown = options[2]["ResourceRecord"]
        cloud.world.dns.publish(shown["Name"], shown["Value"])
        await asyncio.sleep(ISSUANCE)
        assert (await describe(aws, arn))["Status"] == "ISSUED"


@virtual_time
async def test_the_date_of_issue_does_not_depend_on_who_looks() -> None:
    cloud = empty_cloud()
    async with clients(cloud) as aws:
        arn = await request(aws)
        await asyncio.sleep(RECORD_KNOWN)
        await validate(aws, cloud, arn)
        expected = cloud.time.now() + timedelta(seconds=ISSUANCE)
        await asyncio.sleep(100 * ISSUANCE)
        assert (await describe(aws, arn))["IssuedAt"] == expected


@virtual_time
async def test_a_record_that_goes_too_late_changes_nothing() -> None:
    cloud = empty_cloud()
    async with clients(cloud) as aws:
        early, late = await request(aws, "early.example.com"), await request(aws, "late.example.com")
        await asyncio.sleep(RECORD_KNOWN)
        for arn, pause in ((early, ISSUANCE - 1), (late, ISSUANCE)):
            await validate(aws, cloud, arn)
            (option,) = (await describe(aws, arn))["DomainValidationOptions"]
            await asyncio.sleep(pause)
            (zone,) = cloud.route53.zones.values()
            cloud.route53.remove_record(zone, option["ResourceRecord"]["Name"], "CNAME")
        assert (await describe(aws, early))["Status"] == "PENDING_VALIDATION"
        assert (await describe(aws, late))["Status"] == "ISSUED"


@virtual_time
async def test_a_certificate_nobody_validates_times_out() -> None:
    async with clients(empty_cloud()) as aws:
        arn = await request(aws)
        await asyncio.sleep(72 * 3600)
        timed_out = await describe(aws, arn)
        assert timed_out["Status"] == "VALIDATION_TIMED_OUT"
        assert [each["ValidationStatus"] for each in timed_out["DomainValidationOptions"]] == ["FAILED"]


@virtual_time
async def test_without_a_method_somebody_must_answer_an_email() -> None:
    cloud = empty_cloud()
    async with clients(cloud) as aws:
        arn = (await aws.acm.request_certificate(DomainName="shop.example.com"))["CertificateArn"]
        await asyncio.sleep(RECORD_KNOWN)
        (option,) = (await describe(aws, arn))["DomainValidationOptions"]
        assert option["ValidationMethod"] == "EMAIL"
        assert "ResourceRecord" not in option
        cloud.account().certificates().approve(arn)
        assert (await describe(aws, arn))["Status"] == "ISSUED"


@virtual_time
async def test_a_token_means_the_same_certificate_for_an_hour() -> None:
    async with clients(empty_cloud()) as aws:
        first = await request(aws, IdempotencyToken="abc")
        assert await request(aws, IdempotencyToken="abc") == first
        assert await request(aws, "other.example.com", IdempotencyToken="abc") != first
        assert await request(aws) != first
        await asyncio.sleep(3600)
        assert await request(aws, IdempotencyToken="abc") != first


@virtual_time
async def test_certificates_of_a_region_are_known_there_only() -> None:
    cloud = empty_cloud()
    far = cloud.account().certificates("eu-west-1").add_issued("a.example.com").arn
    async with clients(cloud) as aws:
        assert await code(describe(aws, far)) == "ResourceNotFoundException"
        assert await code(describe(aws, "arn:aws:acm:nonsense")) == "ValidationException"
        other = "arn:aws:acm:us-east-1:111122223333:something/else"
        assert await code(describe(aws, other)) == "InvalidArnException"


@virtual_time
async def test_a_certificate_in_use_stays() -> None:
    cloud = empty_cloud()
    distribution = cloud.cloudfront.add_distribution(DISTRIBUTION)
    assert distribution.certificate
    async with clients(cloud) as aws:
        shown = await describe(aws, distribution.certificate)
        assert shown["InUseBy"] == [distribution.arn]
        call = aws.acm.delete_certificate(CertificateArn=distribution.certificate)
        assert (await refusal(call))[:2] == (400, "ResourceInUseException")
        free = await request(aws)
        await aws.acm.delete_certificate(CertificateArn=free)
        assert await code(describe(aws, free)) == "ResourceNotFoundException"


@pytest.mark.parametrize(
    ("quota", "names"), [("certificates", ["b.example.com"]), ("names_per_certificate", ["c.org", "d.org"])]
)
@virtual_time
async def test_quotas_are_limits_and_not_throttling(quota: str, names: list[str]) -> None:
    cloud = empty_cloud()
    async with clients(cloud) as aws:
        await request(aws)
        setattr(cloud.world.quotas, quota, 1)
        assert (await refusal(request(aws, *names)))[:2] == (400, "LimitExceededException")


@virtual_time
async def test_listings_are_filtered_sorted_and_paged() -> None:
    cloud = empty_cloud()
    async with clients(cloud) as aws:
        old = await request(aws, "old.example.com")
        await asyncio.sleep(1)
        new = await request(aws, "new.example.com")
        curve = await request(aws, "curve.example.com", KeyAlgorithm="EC_prime256v1")
        imported = cloud.account().certificates().add_issued("imported.example.com").arn

        async def arns(**params: Any) -> list[str]:
            page = await aws.acm.list_certificates(**params)
            return [each["CertificateArn"] for each in page["CertificateSummaryList"]]

        assert await arns(CertificateStatuses=["ISSUED"]) == [imported]
        assert await arns(Includes={"keyTypes": ["EC_prime256v1"]}) == [curve]
        assert curve not in await arns()
        pending: Any = {"CertificateStatuses": ["PENDING_VALIDATION"], "SortBy": "CREATED_AT"}
        assert await arns(**pending, SortOrder="DESCENDING") == [new, old]
        assert await arns(**pending, SortOrder="ASCENDING") == [old, new]
        pages = aws.acm.get_paginator("list_certificates").paginate(PaginationConfig={"PageSize": 2})
        assert [len(page["CertificateSummaryList"]) async for page in pages] == [2, 1]
        assert await code(aws.acm.list_certificates(NextToken="nonsense")) == "ValidationException"


@virtual_time
async def test_tags_come_and_go() -> None:
    async with clients(empty_cloud()) as aws:
        arn = await request(aws, Tags=[{"Key": "a", "Value": "1"}])
        await aws.acm.add_tags_to_certificate(CertificateArn=arn, Tags=[{"Key": "b", "Value": "2"}])
        await aws.acm.remove_tags_from_certificate(CertificateArn=arn, Tags=[{"Key": "a", "Value": "other"}])
        await aws.acm.remove_tags_from_certificate(CertificateArn=arn, Tags=[{"Key": "b", "Value": "2"}])
        assert (await aws.acm.list_tags_for_certificate(CertificateArn=arn))["Tags"] == [
            {"Key": "a", "Value": "1"}
        ]


COVERED = [
    ("example.com", "example.com", True),
    ("*.example.com", "a.example.com", True),
    ("*.example.com", "A.Example.com", True),
    ("*.example.com", "example.com", False),
    ("*.example.com", "a.b.example.com", False),
    ("*.example.com", "*.example.com", True),
    ("*.b.example.com", "*.example.com", False),
    ("a.example.com", "*.example.com", False),
]


@pytest.mark.parametrize(("name", "domain", "covered"), COVERED)
def test_an_asterisk_stands_for_one_label(name: str, domain: str, covered: bool) -> None:
    assert covers(name, domain) is covered


@given(
    st.sampled_from(["111122223333", "444455556666"]),
    st.from_regex(r"[a-z]{1,8}\.example\.com", fullmatch=True),
)
def test_validation_records_belong_to_account_and_domain(account: str, domain: str) -> None:
    record = validation_record(account, domain)
    assert record == validation_record(account, f"*.{domain.upper()}")
    assert record != validation_record("999999999999", domain)
    assert record.name.endswith(f".{domain}.")
