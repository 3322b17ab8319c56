"""Failures by plan, as clients meet them, in process and over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError, ReadTimeoutError
from botocore.parsers import ResponseParserError

from edgekeeper.core.clock import VirtualClock
from kubesim.aws import faults
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.cloudtime import CloudTime
from kubesim.aws.faults import FaultPlan
from kubesim.aws.http import serve
from kubesim.aws.request import Request
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock, run_virtual, virtual_time
from packages.kubesim.tests.aws.driver import Clients, clients, code, refusal

if TYPE_CHECKING:
    from types_aiobotocore_cloudfront.client import CloudFrontClient


def plain_cloud() -> AwsCloud:
    return AwsCloud(LoopClock(), rates=UNLIMITED)


def made(cloud: AwsCloud) -> int:
    return len(cloud.cloudfront.groups)


async def make(cloudfront: CloudFrontClient) -> object:
    return await cloudfront.create_connection_group(Name="edge")


BROKEN = [
    pytest.param(faults.lost_request(), ConnectionClosedError, 0, id="lost-request"),
    pytest.param(faults.lost_response(), ConnectionClosedError, 1, id="lost-response"),
    pytest.param(faults.truncated(), ConnectionClosedError, 1, id="truncated"),
    pytest.param(faults.cut(), ResponseParserError, 1, id="cut"),
    pytest.param(faults.silence(), ReadTimeoutError, 1, id="silence"),
    pytest.param(faults.refused(), EndpointConnectionError, 0, id="refused"),
]


@pytest.mark.parametrize(("fault", "error", "happened"), BROKEN)
def test_a_broken_connection_looks_like_one_in_process(
    fault: faults.Fault, error: type[Exception], happened: int
) -> None:
    async def scenario() -> None:
        cloud = plain_cloud()
        cloud.faults.add(fault, operation="CreateConnectionGroup")
        async with clients(cloud, read_timeout=10) as aws:
            with pytest.raises(error):
                await make(aws.cloudfront)
            assert made(cloud) == happened
            assert [entry.status for entry in cloud.journal.calls()] == [201 if fault.name == "cut" else 0]

    run_virtual(scenario)


@asynccontextmanager
async def over_http(cloud: AwsCloud) -> AsyncIterator[CloudFrontClient]:
    config = AioConfig(retries={"total_max_attempts": 1}, read_timeout=0.2)
    async with serve(cloud) as server:
        made_client = get_session().create_client(
            "cloudfront",
            region_name="us-east-1",
            endpoint_url=server.url,
            aws_access_key_id="AKIAHTTP",
            aws_secret_access_key="secret",
            config=config,
        )
        async with made_client as client:
            yield client


@pytest.mark.parametrize(("fault", "error", "happened"), BROKEN)
async def test_a_broken_connection_looks_like_one_over_http(
    fault: faults.Fault, error: type[Exception], happened: int
) -> None:
    cloud = AwsCloud(rates=UNLIMITED)
    cloud.faults.add(fault, operation="CreateConnectionGroup")
    # Behind a listening socket nobody can refuse: the connection closes instead.
    expected = ConnectionClosedError if fault.name == "refused" else error
    async with over_http(cloud) as cloudfront:
        with pytest.raises(expected):
            await make(cloudfront)
    assert made(cloud) == happened


@virtual_time
async def test_an_error_replaces_the_operation() -> None:
    cloud = plain_cloud()
    cloud.faults.add(faults.error("ServiceUnavailable", "try later", 503), operation="CreateConnectionGroup")
    async with clients(cloud) as aws:
        assert await refusal(make(aws.cloudfront)) == (503, "ServiceUnavailable", "try later")
        assert made(cloud) == 0
        await make(aws.cloudfront)


@virtual_time
async def test_a_declared_error_keeps_the_models_status() -> None:
    cloud = plain_cloud()
    cloud.faults.add(faults.error("PriorRequestNotComplete"))
    zone = cloud.route53.add_zone("example.com")
    async with clients(cloud) as aws:
        record: Any = {
            "Name": "a.example.com",
            "Type": "A",
            "TTL": 1,
            "ResourceRecords": [{"Value": "192.0.2.1"}],
        }
        batch: Any = {"Changes": [{"Action": "CREATE", "ResourceRecordSet": record}]}
        call = aws.route53.change_resource_record_sets(HostedZoneId=zone.id, ChangeBatch=batch)
        assert (await refusal(call))[:2] == (400, "PriorRequestNotComplete")


@pytest.mark.parametrize("service", ["cloudfront", "acm"])
@virtual_time
async def test_a_page_of_html_is_no_answer(service: str) -> None:
    cloud = plain_cloud()
    cloud.faults.add(faults.html(502))
    async with clients(cloud) as aws:
        call = (
            aws.cloudfront.list_connection_groups()
            if service == "cloudfront"
            else aws.acm.list_certificates()
        )
        with pytest.raises((ClientError, ResponseParserError)):
            await call


@virtual_time
async def test_a_delay_takes_the_loops_time() -> None:
    cloud = plain_cloud()
    cloud.faults.add(faults.delay(timedelta(seconds=20)), times=2)
    async with clients(cloud, read_timeout=30) as patient, clients(cloud, read_timeout=5) as hasty:
        began = cloud.time.monotonic()
        await make(patient.cloudfront)
        assert cloud.time.monotonic() - began == pytest.approx(20)
        with pytest.raises(ReadTimeoutError):
            await hasty.cloudfront.list_connection_groups()
        assert cloud.time.monotonic() - began == pytest.approx(25)
        assert [entry.status for entry in cloud.journal.calls()] == [201, 0]


async def outcomes(aws: Clients, count: int) -> str:
    """A dot for each call that went well, a cross for each that did not."""
    signs = ""
    for _ in range(count):
        try:
            await aws.cloudfront.list_connection_groups()
            signs += "."
        except ClientError:
            signs += "x"
    return signs


RULES = [
    pytest.param({}, "x.....", id="once"),
    pytest.param({"times": 2}, "xx....", id="twice"),
    pytest.param({"times": None}, "xxxxxx", id="always"),
    pytest.param({"skip": 2}, "..x...", id="third"),
    pytest.param({"operation": "GetDistribution", "times": None}, "......", id="other-operation"),
    pytest.param({"service": "route53", "times": None}, "......", id="other-service"),
    pytest.param({"account": "444455556666", "times": None}, "......", id="other-account"),
    pytest.param({"service": "cloudfront", "operation": "ListConnectionGroups"}, "x.....", id="both"),
]


@pytest.mark.parametrize(("conditions", "expected"), RULES)
@virtual_time
async def test_a_rule_strikes_what_it_names(conditions: dict[str, Any], expected: str) -> None:
    cloud = plain_cloud()
    cloud.faults.add(faults.error("InternalFailure"), **conditions)
    async with clients(cloud) as aws:
        assert await outcomes(aws, 6) == expected


@virtual_time
async def test_an_outage_ends_by_the_clock() -> None:
    cloud = plain_cloud()
    cloud.faults.add(faults.html(503), times=None, until=timedelta(minutes=5))
    async with clients(cloud) as aws:
        with pytest.raises((ClientError, ResponseParserError)):
            await aws.cloudfront.list_connection_groups()
        await asyncio.sleep(300)
        await aws.cloudfront.list_connection_groups()
        assert cloud.faults.rules == []


def test_chance_is_the_same_in_every_run() -> None:
    def struck(seed: int) -> list[bool]:
        plan = FaultPlan(CloudTime(VirtualClock()), seed)
        plan.add(faults.lost_response(), probability=0.3, times=None)
        return [plan.strike("acm", "ListCertificates", "1") is not None for _ in range(1000)]

    assert struck(1) == struck(1) != struck(2)
    assert 250 < sum(struck(1)) < 350


def test_the_first_rule_that_matches_strikes() -> None:
    plan = FaultPlan(CloudTime(VirtualClock()))
    plan.add(faults.lost_response(), operation="A")
    plan.add(faults.lost_request())
    names = [fault.name if (fault := plan.strike("s", operation, "1")) else "" for operation in "BAA"]
    assert names == ["lost-request", "lost-response", ""]
    plan.add(faults.silence())
    plan.clear()
    assert plan.strike("s", "A", "1") is None


# --- What is no call at all -----------------------------------------------------------------------------------------

SIGNED = (
    "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/{}/aws4_request, SignedHeaders=host, Signature=0"
)
STRANGE = [
    pytest.param(Request("GET", "/"), 404, b"UnknownService", id="unsigned"),
    pytest.param(
        Request("POST", "/", body=b"Action=GetCallerIdentity"),
        403,
        b"MissingAuthenticationToken",
        id="unsigned-form",
    ),
    pytest.param(
        Request("GET", "/", headers={"authorization": SIGNED.format("s3")}),
        404,
        b"UnknownService",
        id="service",
    ),
    pytest.param(
        Request("GET", "/nothing", headers={"authorization": SIGNED.format("cloudfront")}),
        404,
        b"UnknownOperation",
        id="path",
    ),
    pytest.param(
        Request("GET", "/2020-05-31/key-group", headers={"authorization": SIGNED.format("cloudfront")}),
        501,
        b"NotImplemented",
        id="not-simulated",
    ),
    pytest.param(
        Request(
            "POST",
            "/2020-05-31/connection-groups",
            headers={"authorization": SIGNED.format("cloudfront")},
            body=b"{}",
        ),
        400,
        b"MalformedXML",
        id="malformed-xml",
    ),
    pytest.param(
        Request(
            "POST",
            "/",
            headers={
                "authorization": SIGNED.format("acm"),
                "x-amz-target": "CertificateManager.ListCertificates",
            },
            body=b"<xml/>",
        ),
        400,
        b"SerializationException",
        id="malformed-json",
    ),
]


@pytest.mark.parametrize(("request_", "status", "text"), STRANGE)
async def test_what_is_no_call_is_told_so(request_: Request, status: int, text: bytes) -> None:
    answer = await AwsCloud(VirtualClock()).handle(request_)
    assert answer.status == status
    assert text in answer.body


async def test_the_server_survives_what_is_no_request() -> None:
    async with serve(AwsCloud()) as server, aiohttp.ClientSession() as session:
        async with session.get(server.url) as answer:
            assert answer.status == 404
        async with session.post(f"{server.url}/x", data=b"\x00" * 10) as answer:
            assert answer.status == 404


@virtual_time
async def test_refused_calls_are_in_the_journal() -> None:
    cloud = plain_cloud()
    async with clients(cloud, user_agent_extra="md/test#1") as aws:
        await code(aws.cloudfront.get_distribution(Id="E1"))
        await make(aws.cloudfront)
        first, second = cloud.journal.calls()
        assert (first.operation, first.status, first.code) == ("GetDistribution", 404, "NoSuchDistribution")
        assert (second.status, second.code, second.params["Name"]) == (201, "", "edge")
        assert second.user_agent.endswith("md/test#1")
        assert dict(cloud.journal.counts) == {"GetDistribution": 1, "CreateConnectionGroup": 1}
        assert list(cloud.journal.calls("GetDistribution", "cloudfront")) == [first]
        assert len(cloud.journal) == 2
        cloud.journal.clear()
        assert (len(cloud.journal), list(cloud.journal.calls())) == (0, [])
