"""What is not trusted: the size, the end, the language and the address of an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from botocore.session import get_session
from prometheus_client import CollectorRegistry

from edgekeeper.cloud.aws import http
from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.acm import PAGE_SIZE, Acm
from edgekeeper.cloud.aws.clients import AwsClients
from edgekeeper.cloud.aws.cloudfront import CloudFront
from edgekeeper.cloud.aws.dns.changes import Action, Change
from edgekeeper.cloud.aws.dns.records import Record
from edgekeeper.cloud.aws.lambda_policy import LambdaPolicies
from edgekeeper.cloud.aws.route53 import Route53
from edgekeeper.cloud.aws.settings import AwsSettings
from edgekeeper.cloud.budget import Budget
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.transport import Transport
from edgekeeper.core.calls import CallRecord, Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.errors import PassError
from tests.unit.cloud.aws.world import session_of

Respond = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
XML = {"content-type": "text/xml"}
CERTIFICATE = "arn:aws:acm:us-east-1:111122223333:certificate/11111111-1111-1111-1111-111111111111"


class _OneAttempt:
    """Ends a call that was to be repeated: these tests ask what a single answer means."""

    def __init__(self) -> None:
        self.calls = 0

    async def before(self, _: CallRecord) -> None:
        self.calls += 1
        if self.calls > 1:
            raise _RepeatedError

    async def after(self, _: CallRecord) -> None:
        return


class _RepeatedError(Exception):
    """The call was repeated, so that its first answer was not believed."""


@asynccontextmanager
async def _hostile(respond: Respond) -> AsyncIterator[tuple[AwsAccess, list[str]]]:
    """AWS, as somebody plays it who means no good. Also the paths that were asked for."""
    seen: list[str] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(request.path)
        return await respond(request)

    runner = web.ServerRunner(web.Server(handle, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    clock = SystemClock()
    transport = Transport(Calls(_OneAttempt()), clock, Budget(), CloudMetrics(CollectorRegistry()))
    settings = AwsSettings(endpoint_url=url, read_timeout=timedelta(seconds=0.5))
    clients = AwsClients(settings, session=session_of("k"))
    try:
        yield AwsAccess(transport, clients, clock), seen
    finally:
        await clients.close()
        await runner.cleanup()


def _answer(status: int = 200, body: bytes = b"", **headers: str) -> Respond:
    async def respond(_: web.BaseRequest) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, body=body, headers={**XML, **named})

    return respond


async def _endless(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse(headers=XML)
    await response.prepare(request)
    while True:  # until the other side has had enough
        await response.write(b"<a>" * 10_000)


async def _silent(_: web.BaseRequest) -> web.StreamResponse:
    await asyncio.sleep(30)
    return web.Response()


async def _dripping(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse(headers=XML)
    await response.prepare(request)
    await response.write(b"<ListDistributionTenantsResult>")
    await asyncio.sleep(30)
    return response


async def _hang_up(request: web.BaseRequest) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


PAGE = b"<html><head><title>Sign in</title></head><body>Please sign in.</body></html>"


@pytest.mark.parametrize(
    "respond",
    [
        pytest.param(_answer(200, b""), id="nothing"),
        pytest.param(_answer(200, b"   \n"), id="blanks"),
        pytest.param(_answer(200, PAGE), id="a page"),
        pytest.param(_answer(200, b"<!DOCTYPE html>\n" + PAGE), id="a page with its type"),
        pytest.param(_answer(200, b"just a moment"), id="prose"),
        pytest.param(_answer(200, b"<ErrorResponse><Error/></ErrorResponse>"), id="an error called success"),
        pytest.param(_answer(200, b"<Anything><Else>1</Else></Anything>"), id="a result of something else"),
        pytest.param(_answer(200, b"<x:Anything xmlns:x='y'/>"), id="nothing of something else"),
        pytest.param(_answer(200, b"<ListDistributionTenantsResult><DistributionTen"), id="cut off"),
        pytest.param(_answer(200, b"\x1f\x8b\x08\x00" + b"\x00" * 64, content_encoding="gzip"), id="packed"),
        pytest.param(_answer(503, PAGE), id="a page with an error"),
        pytest.param(_answer(302, location="http://169.254.169.254/latest/meta-data"), id="a redirect"),
        pytest.param(_answer(307, location="/elsewhere"), id="a redirect that keeps the method"),
        pytest.param(_endless, id="no end"),
        pytest.param(_silent, id="no answer"),
        pytest.param(_dripping, id="no more"),
        pytest.param(_hang_up, id="no connection"),
    ],
)
async def test_broken_answer_is_never_an_empty_listing(
    respond: Respond, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "LARGEST_ANSWER", 256 * 1024)
    async with _hostile(respond) as (access, seen):
        with pytest.raises(_RepeatedError):  # which says that it was not believed
            [page async for page in CloudFront(access.caller()).tenants()]
        assert seen == ["/2020-05-31/distribution-tenants"]


@pytest.mark.parametrize(
    "body",
    [
        b"<ListResourceRecordSetsResponse></ListResourceRecordSetsResponse>",
        b"<ListResourceRecordSetsResponse><IsTruncated>true</IsTruncated></ListResourceRecordSetsResponse>",
        b"<ListResourceRecordSetsResponse><IsTruncated>false</IsTruncated></ListResourceRecordSetsResponse>",
    ],
    ids=["without its sign", "that goes on nowhere", "without its records"],
)
async def test_listing_of_records_must_say_that_it_is_complete(body: bytes) -> None:
    async with _hostile(_answer(200, body)) as (access, _):
        with pytest.raises(PassError, match="the answer lacks something"):
            [page async for page in Route53(access.caller()).records("Z1")]


@pytest.mark.parametrize(
    "body",
    [
        b"<DistributionTenant/>",
        b"<DistributionTenant><Id>dt_1</Id></DistributionTenant>",
        b"<DistributionTenant><Id>dt_1</Id><Arn>a</Arn><Name>n</Name></DistributionTenant>",
    ],
    ids=["empty", "incomplete", "without its distribution and ETag"],
)
async def test_tenant_that_lacks_what_it_must_have_is_none(body: bytes) -> None:
    async with _hostile(_answer(200, body)) as (access, _):
        with pytest.raises(PassError, match="the answer lacks something"):
            await CloudFront(access.caller()).find_tenant("shop")


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"null", PAGE], ids=["list", "text", "null", "page"])
async def test_json_answer_must_be_an_object(body: bytes) -> None:
    async with _hostile(_answer(200, body)) as (access, _):
        with pytest.raises(_RepeatedError):
            await LambdaPolicies(access.caller()).read("shop")


@pytest.mark.parametrize(
    "body",
    [
        b'{"Tags":[{"Key":',
        b'{"Tags":[]',
        b'{"Tags":[]}}',
        b'{"Tags":[{"Key":"\xff"}]}',
        b'{"Tags":' + b"[" * 5000,
    ],
    ids=["in a tag", "before its end", "after its end", "no text", "nested"],
)
async def test_json_that_does_not_decode_is_never_an_absence_of_tags(body: bytes) -> None:
    async with _hostile(_answer(200, body)) as (access, _):
        with pytest.raises(_RepeatedError):
            await Acm(access.caller()).tags(CERTIFICATE)


async def test_tags_of_a_certificate_are_always_listed() -> None:
    async with _hostile(_answer(200, b'{"Tags":[]}')) as (access, _):
        assert await Acm(access.caller()).tags(CERTIFICATE) == {}
    async with _hostile(_answer(200, b"{}")) as (access, _):
        with pytest.raises(PassError, match="the answer lacks something"):
            await Acm(access.caller()).tags(CERTIFICATE)


async def test_entity_in_json_is_text() -> None:
    function = {"FunctionArn": "arn:aws:lambda:eu-west-1:1:function:shop", "Description": "reads <!ENTITY>"}
    async with _hostile(_answer(200, json.dumps({"Configuration": function}).encode())) as (access, _):
        assert await LambdaPolicies(access.caller()).find_function("shop") == function["FunctionArn"]


async def test_entity_in_xml_is_refused() -> None:
    body = b'<!DOCTYPE a [<!ENTITY b "c">]><ListDistributionTenantsResult/>'
    async with _hostile(_answer(200, body)) as (access, _):
        with pytest.raises(_RepeatedError):
            [page async for page in CloudFront(access.caller()).tenants()]


def _longest(shape: Any) -> Any:
    """The longest value that a shape of an API allows."""
    match shape.type_name:
        case "structure":
            return {name: _longest(member) for name, member in shape.members.items()}
        case "list":
            return list(shape.member.enum) or [_longest(shape.member)] * shape.metadata["max"]
        case "string":
            return max(shape.enum, key=len) if shape.enum else "a" * shape.metadata["max"]
        case "timestamp":
            return 1_767_270_600.123
        case _:
            return False


async def test_largest_page_of_certificates_is_read() -> None:
    acm = get_session().get_service_model("acm")
    output: Any = acm.operation_model("ListCertificates").output_shape
    summary = _longest(output.members["CertificateSummaryList"].member)
    listed = [{**summary, "CertificateArn": f"{number:02048}"} for number in range(PAGE_SIZE)]
    body = {"NextToken": _longest(output.members["NextToken"]), "CertificateSummaryList": listed}
    async with _hostile(_answer(200, json.dumps(body).encode())) as (access, _):
        page = await anext(Acm(access.caller()).certificates())
    assert len(page) == PAGE_SIZE


def _refused_batch(count: int) -> bytes:
    """A batch of so many records with the longest names, as Route 53 refuses it."""
    name = ".".join(["a" * 63] * 4)
    text = f"[Tried to create resource record set [name='{name}', type='CNAME'] but it already exists]"
    error = f"<Error><Code>InvalidChangeBatch</Code><Message>[{', '.join([text] * count)}]</Message></Error>"
    return f"<ErrorResponse>{error}</ErrorResponse>".encode()


async def test_longest_refusal_is_read_and_a_longer_one_is_none() -> None:
    change = Change(Action.CREATE, Record("a.example.com", "CNAME", 300, ("b.example.com",)))
    async with _hostile(_answer(400, _refused_batch(1_000))) as (access, _):
        with pytest.raises(PassError, match="already exists"):
            await Route53(access.caller()).change("Z1", [change])
    async with _hostile(_answer(400, _refused_batch(2_000))) as (access, _):
        with pytest.raises(PassError, match="larger than 524288 bytes"):
            await Route53(access.caller()).change("Z1", [change])


async def test_page_that_leads_to_itself_ends_the_listing() -> None:
    body = (
        b"<ListDistributionTenantsResult><NextMarker>again</NextMarker>"
        b"<DistributionTenantList/></ListDistributionTenantsResult>"
    )
    async with _hostile(_answer(200, body)) as (access, _):
        hook = access.transport._calls.hooks[0]
        assert isinstance(hook, _OneAttempt)
        hook.calls = -1
        with pytest.raises(_RepeatedError):  # the second page was asked for again, since it was not believed
            [page async for page in CloudFront(access.caller()).tenants()]


async def test_dead_connection_is_not_used_twice_behind_our_back() -> None:
    asked = 0

    async def respond(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal asked
        asked += 1
        if asked == 1:
            return web.Response(
                status=404,
                headers=XML,
                body=b"<ErrorResponse><Error><Code>EntityNotFound</Code>"
                b"<Message>none</Message></Error></ErrorResponse>",
            )
        return await _hang_up(request)

    async with _hostile(respond) as (access, _):
        hook = access.transport._calls.hooks[0]
        assert await CloudFront(access.caller()).find_tenant("shop") is None
        assert isinstance(hook, _OneAttempt)
        hook.calls = 0
        with pytest.raises(_RepeatedError):
            await CloudFront(access.caller()).find_tenant("shop")
        assert asked == 2


def test_certificates_are_always_checked() -> None:
    with pytest.raises(ValueError, match="always checked"):
        http.GuardedSession(verify=False)
