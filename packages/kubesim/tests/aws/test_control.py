"""The controls over HTTP: a scenario in another process turns the cloud."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import boto3
import pytest
from botocore.exceptions import ClientError

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.control import COMMANDS, handle
from kubesim.aws.http import AwsServer, serve
from kubesim.aws.request import Request
from kubesim.aws.settings import PUBLISHED, UNLIMITED, Rate

REGION = "eu-central-1"


class Remote:
    """A scenario elsewhere."""

    def __init__(self, server: AwsServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self._session = session

    async def do(self, command: str, **arguments: Any) -> Any:
        async with self._session.post(f"{self.server.url}/_control/{command}", json=arguments) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def call(self, service: Any, operation: str, **params: Any) -> Any:
        """One call through boto3, in a thread."""
        client: Any = boto3.client(
            service,
            endpoint_url=self.server.url,
            region_name=REGION,
            aws_access_key_id="AKIAREMOTE",
            aws_secret_access_key="secret",
        )
        return await asyncio.to_thread(lambda: getattr(client, operation)(**params))


@pytest.fixture(name="remote")
async def remote_scenario() -> AsyncIterator[Remote]:
    cloud = AwsCloud(rates=UNLIMITED)
    async with serve(cloud) as server, aiohttp.ClientSession() as session:
        yield Remote(server, session)


async def tenant(remote: Remote) -> Any:
    await remote.do("distribution", name="E1", parameters=[{"name": "origin", "required": False}])
    wanted = {"DistributionId": "E1", "Name": "shop", "Domains": [{"Domain": "shop.example.com"}]}
    return (await remote.call("cloudfront", "create_distribution_tenant", **wanted))["DistributionTenant"]


async def test_time_passes_on_command(remote: Remote) -> None:
    assert (await tenant(remote))["Status"] == "InProgress"
    await remote.do("advance", seconds=120)
    read = await remote.call("cloudfront", "get_distribution_tenant", Identifier="shop")
    assert read["DistributionTenant"]["Status"] == "Deployed"


async def test_drift_is_scripted(remote: Remote) -> None:
    await tenant(remote)
    await remote.do("tenant", identifier="shop", enabled=False, domains=["rogue.example.com"])
    read = await remote.call("cloudfront", "get_distribution_tenant", Identifier="shop")
    assert read["DistributionTenant"]["Domains"][0]["Domain"] == "rogue.example.com"
    await remote.do("tenant", identifier="shop")
    with pytest.raises(ClientError, match="EntityNotFound"):
        await remote.call("cloudfront", "get_distribution_tenant", Identifier="shop")


async def test_failures_and_denials_are_planned_and_healed(remote: Remote) -> None:
    await remote.do(
        "fault", kind="error", code="InvalidInput", operation="ListHostedZones", times=None, until=3600
    )
    await remote.do("deny", action="acm:*")
    with pytest.raises(ClientError, match="InvalidInput"):
        await remote.call("route53", "list_hosted_zones")
    with pytest.raises(ClientError, match="AccessDenied"):
        await remote.call("acm", "list_certificates")
    await remote.do("heal")
    await remote.call("route53", "list_hosted_zones")
    await remote.call("acm", "list_certificates")


async def test_the_journal_is_read_and_cleared(remote: Remote) -> None:
    await remote.call("route53", "list_hosted_zones")
    shown = await remote.do("journal", operation="ListHostedZones", clear=True)
    assert shown["counts"] == {"ListHostedZones": 1}
    assert [call["status"] for call in shown["calls"]] == [200]
    assert (await remote.do("journal"))["counts"] == {}


async def test_records_and_names_are_written_from_outside(remote: Remote) -> None:
    zone = (await remote.do("zone", name="example.com"))["id"]
    record = {"zone": zone, "name": "a.example.com", "type": "CNAME"}
    await remote.do("record", **record, ttl=60, values=["b.example.net"])
    listed = await remote.call("route53", "list_resource_record_sets", HostedZoneId=zone)
    assert listed["ResourceRecordSets"][-1]["TTL"] == 60
    await remote.do("record", **record)
    listed = await remote.call("route53", "list_resource_record_sets", HostedZoneId=zone)
    assert len(listed["ResourceRecordSets"]) == 2
    await remote.do("point", name="c.example.com", target="d.example.net")


async def test_resources_and_people_are_made(remote: Remote) -> None:
    assert (await remote.do("function", name="hello", region=REGION))["arn"].endswith(":function:hello")
    assert (await remote.do("api", region=REGION, name="abc", stages=["live"])) == {"id": "abc"}
    arn = (await remote.do("certificate", names=["*.example.com"], region=REGION))["arn"]
    await remote.call(
        "apigatewayv2",
        "create_domain_name",
        DomainName="api.example.com",
        DomainNameConfigurations=[{"CertificateArn": arn}],
    )
    assert (await remote.do("user", policies=[]))["access_key"].startswith("AKIA")
    role = "arn:aws:iam::444455556666:role/far"
    await remote.do("role", arn=role, trusted=["111122223333"], external_id="secret")
    await remote.call("sts", "assume_role", RoleArn=role, RoleSessionName="test", ExternalId="secret")


@pytest.mark.parametrize(("status", "shown"), [("ISSUED", "ISSUED"), ("FAILED", "FAILED")])
async def test_certificates_end_on_command(remote: Remote, status: str, shown: str) -> None:
    arn = (await remote.call("acm", "request_certificate", DomainName="a.example.com"))["CertificateArn"]
    await remote.do("end-certificate", arn=arn, status=status, reason="CAA_ERROR")
    certificate = (await remote.call("acm", "describe_certificate", CertificateArn=arn))["Certificate"]
    assert certificate["Status"] == shown
    await remote.do("serve-token", domain="a.example.com")


def command(cloud: AwsCloud, name: str, body: bytes = b"{}") -> int:
    return handle(cloud, Request("POST", f"/_control/{name}", body=body)).status


def test_settings_are_changed_and_shown() -> None:
    cloud = AwsCloud()
    body = b'{"timings": {"tenant_deployment": 5}, "quotas": {"hosted_zones": 1}, "behaviour": {"page_size": 7}, "rates": {"acm": [1, 2]}}'
    assert command(cloud, "settings", body) == 200
    assert cloud.world.timings.tenant_deployment.total_seconds() == 5
    assert (cloud.world.quotas.hosted_zones, cloud.world.behaviour.page_size) == (1, 7)
    assert cloud.throttle.rates["acm"] == Rate(1, 2)
    assert command(cloud, "settings", b'{"rates": "unlimited"}') == 200
    assert cloud.throttle.rates == UNLIMITED
    assert command(cloud, "settings", b'{"rates": "published"}') == 200
    assert cloud.throttle.rates == PUBLISHED


WRONG = [
    ("nonsense", b"{}", 404),
    ("advance", b"{}", 400),
    ("advance", b'{"seconds": -1}', 400),
    ("advance", b"no json", 400),
    ("settings", b'{"quotas": {"nonsense": 1}}', 400),
    ("fault", b'{"kind": "nonsense"}', 400),
    ("fault", b'{"kind": "delay", "seconds": 1, "unknown": 2}', 400),
    ("tenant", b'{"identifier": "none"}', 400),
]


@pytest.mark.parametrize(("name", "body", "status"), WRONG)
def test_a_command_that_makes_no_sense_is_told_so(name: str, body: bytes, status: int) -> None:
    assert command(AwsCloud(), name, body) == status


def test_every_command_says_what_it_does() -> None:
    assert all(each.__doc__ for each in COMMANDS.values())
