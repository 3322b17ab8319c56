"""Request limits as published: per account and lane, in each service's own words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from edgekeeper.core.clock import VirtualClock
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.cloudtime import CloudTime
from kubesim.aws.errors import AwsError
from kubesim.aws.identity import Credentials
from kubesim.aws.settings import PUBLISHED, Rate
from kubesim.aws.throttling import Throttle, lanes
from kubesim.virtual import LoopClock, virtual_time
from packages.kubesim.tests.aws.driver import Clients, clients, refusal

CALLS: list[Any] = [
    pytest.param(
        lambda aws: aws.cloudfront.list_connection_groups(), 40, 400, "Throttling", id="cloudfront-read"
    ),
    pytest.param(lambda aws: aws.route53.list_hosted_zones(), 50, 400, "Throttling", id="route53"),
    pytest.param(lambda aws: aws.acm.list_certificates(), 8, 400, "ThrottlingException", id="acm-list"),
    pytest.param(
        lambda aws: aws.apigateway.get_domain_names(), 40, 429, "TooManyRequestsException", id="apigateway"
    ),
]


@pytest.mark.parametrize(("call", "burst", "status", "refused"), CALLS)
@virtual_time
async def test_what_comes_too_fast_is_throttled(
    call: Callable[[Clients], Awaitable[Any]], burst: int, status: int, refused: str
) -> None:
    cloud = AwsCloud(LoopClock())
    async with clients(cloud) as aws:
        for _ in range(burst):
            await call(aws)
        assert (await refusal(call(aws)))[:2] == (status, refused)
        await asyncio.sleep(1)
        await call(aws)
        assert cloud.journal.codes == {refused: 1}


@virtual_time
async def test_accounts_have_limits_of_their_own() -> None:
    cloud = AwsCloud(LoopClock(), rates={"route53": Rate(1, 1)})
    async with clients(cloud) as aws, clients(cloud, Credentials("444455556666", "secret")) as other:
        await aws.route53.list_hosted_zones()
        await other.route53.list_hosted_zones()
        assert (await refusal(aws.route53.list_hosted_zones()))[1] == "Throttling"


@virtual_time
async def test_record_changes_have_a_budget_in_which_upserts_cost_double() -> None:
    cloud = AwsCloud(LoopClock(), rates={"route53-changes": Rate(4, 1)})
    zone = cloud.route53.add_zone("example.com")
    async with clients(cloud) as aws:

        async def change(action: Any, *names: str) -> None:
            records = [{"Value": "b.example.net"}]
            batch: Any = {
                "Changes": [
                    {
                        "Action": action,
                        "ResourceRecordSet": {
                            "Name": f"{name}.example.com",
                            "Type": "CNAME",
                            "TTL": 60,
                            "ResourceRecords": records,
                        },
                    }
                    for name in names
                ]
            }
            await aws.route53.change_resource_record_sets(HostedZoneId=zone.id, ChangeBatch=batch)

        await change("CREATE", "a", "b", "c")
        assert (await refusal(change("UPSERT", "a")))[1] == "Throttling"
        await change("CREATE", "d")
        await asyncio.sleep(2)
        await change("UPSERT", "a")


LANES = [
    ("cloudfront", "GetDistributionTenant", False, [("cloudfront-read", 1)]),
    ("cloudfront", "UpdateDistributionTenant", True, [("cloudfront-write", 1)]),
    ("route53", "GetChange", False, [("route53", 1)]),
    ("acm", "DescribeCertificate", False, [("acm", 1)]),
    ("acm", "RequestCertificate", True, [("acm-RequestCertificate", 1)]),
    ("apigateway", "CreateDomainName", True, [("apigateway-domains", 1), ("apigateway", 1)]),
    ("apigateway", "CreateApiMapping", True, [("apigateway", 1)]),
    ("lambda", "GetPolicy", False, [("lambda-GetPolicy", 1)]),
    ("lambda", "AddPermission", True, [("lambda", 1)]),
    ("sts", "AssumeRole", True, [("sts", 1)]),
]


@pytest.mark.parametrize(("service", "operation", "mutating", "expected"), LANES)
def test_every_call_has_its_lane(service: str, operation: str, mutating: bool, expected: list[Any]) -> None:
    assert lanes(service, operation, mutating, {}) == expected
    assert all(lane in PUBLISHED for lane, _ in expected)


def test_whoever_keeps_to_the_rate_is_never_refused() -> None:
    clock = VirtualClock()
    time = CloudTime(clock)
    throttle = Throttle(time, {"route53": Rate(1, 10)})
    for _ in range(1000):
        throttle.admit("1", "us-east-1", "route53", [("route53", 1)])
        clock.advance(timedelta(seconds=0.1))
    throttle.admit("1", "us-east-1", "route53", [("route53", 1)])
    with pytest.raises(AwsError, match="Throttling"):
        throttle.admit("1", "us-east-1", "route53", [("route53", 1)])


def test_a_refused_call_costs_nothing_in_any_lane() -> None:
    throttle = Throttle(CloudTime(VirtualClock()), {"a": Rate(1, 0), "b": Rate(1, 0)})
    throttle.admit("1", "r", "apigateway", [("a", 1)])
    for _ in range(3):
        with pytest.raises(AwsError, match="TooManyRequests"):
            throttle.admit("1", "r", "apigateway", [("b", 1), ("a", 1)])
    throttle.admit("1", "r", "apigateway", [("b", 1)])


def test_regional_services_count_by_region() -> None:
    throttle = Throttle(CloudTime(VirtualClock()), {"acm": Rate(1, 0), "route53": Rate(1, 0)})
    throttle.admit("1", "eu-west-1", "acm", [("acm", 1)])
    throttle.admit("1", "us-east-1", "acm", [("acm", 1)])
    throttle.admit("1", "eu-west-1", "route53", [("route53", 1)])
    with pytest.raises(AwsError):
        throttle.admit("1", "us-east-1", "route53", [("route53", 1)])
