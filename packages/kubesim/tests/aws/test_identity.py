"""Who asks: keys, roles across accounts, and sessions that end."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from kubesim.aws.cloud import AwsCloud
from kubesim.aws.identity import Credentials, Role, scope_of
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock, virtual_time
from packages.kubesim.tests.aws.driver import Clients, clients, code, refusal

OTHER = "444455556666"
ROLE = f"arn:aws:iam::{OTHER}:role/edgekeeper-dns"


def plain_cloud(**details: Any) -> AwsCloud:
    return AwsCloud(LoopClock(), rates=UNLIMITED, **details)


async def assume(aws: Clients, **details: Any) -> Credentials:
    answer = await aws.sts.assume_role(RoleArn=ROLE, RoleSessionName="test", **details)
    found = answer["Credentials"]
    return Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])


# --- Keys -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "account"),
    [("AKIAANY", "111122223333"), ("999988887777", "999988887777")],
    ids=["any", "account"],
)
@virtual_time
async def test_an_unknown_key_stands_for_an_account(key: str, account: str) -> None:
    async with clients(plain_cloud(), Credentials(key, "secret")) as aws:
        assert (await aws.sts.get_caller_identity())["Account"] == account


@virtual_time
async def test_a_strict_cloud_knows_its_keys() -> None:
    cloud = plain_cloud(strict=True)
    known = cloud.world.identities.add_user("ci")
    async with clients(cloud) as stranger, clients(cloud, known) as friend:
        assert (await refusal(stranger.sts.get_caller_identity()))[:2] == (403, "InvalidClientTokenId")
        assert (await refusal(stranger.acm.list_certificates()))[1] == "InvalidClientTokenId"
        assert (await friend.sts.get_caller_identity())["Arn"] == "arn:aws:iam::111122223333:user/ci"


@virtual_time
async def test_accounts_do_not_see_each_other() -> None:
    cloud = plain_cloud()
    cloud.route53.add_zone("example.com")
    async with clients(cloud, Credentials(OTHER, "secret")) as aws:
        assert (await aws.route53.list_hosted_zones())["HostedZones"] == []


def test_a_signature_says_key_region_and_service() -> None:
    header = "AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-west-1/acm/aws4_request, SignedHeaders=host, Signature=0"
    scope = scope_of({"authorization": header})
    assert scope is not None
    assert (scope.access_key, scope.region, scope.service) == ("AKIA", "eu-west-1", "acm")
    assert scope_of({}) is None
    assert scope_of({"authorization": "Bearer x"}) is None


# --- Roles ----------------------------------------------------------------------------------------------------------


@virtual_time
async def test_an_assumed_role_works_in_its_own_account() -> None:
    cloud = plain_cloud()
    cloud.world.identities.add_role(Role(ROLE))
    zone = cloud.account(OTHER).route53.add_zone("example.com")
    async with clients(cloud) as aws:
        async with clients(cloud, await assume(aws)) as there:
            identity = await there.sts.get_caller_identity()
            assert identity["Arn"] == f"arn:aws:sts::{OTHER}:assumed-role/edgekeeper-dns/test"
            assert (await there.route53.get_hosted_zone(Id=zone.id))["HostedZone"]["Name"] == "example.com."
        assert await code(aws.route53.get_hosted_zone(Id=zone.id)) == "NoSuchHostedZone"


@virtual_time
async def test_a_session_ends() -> None:
    cloud = plain_cloud()
    cloud.world.identities.add_role(Role(ROLE))
    async with clients(cloud) as aws, clients(cloud, await assume(aws, DurationSeconds=900)) as there:
        await asyncio.sleep(899)
        await there.sts.get_caller_identity()
        await asyncio.sleep(1)
        assert (await refusal(there.route53.list_hosted_zones()))[:2] == (403, "ExpiredToken")
        assert cloud.journal.codes["ExpiredToken"] == 1


ROLES = [
    pytest.param(None, {}, "AccessDenied", id="no-such-role"),
    pytest.param(Role(ROLE, trusted=("999988887777",)), {}, "AccessDenied", id="not-trusted"),
    pytest.param(Role(ROLE, external_id="secret"), {}, "AccessDenied", id="external-id-missing"),
    pytest.param(
        Role(ROLE, external_id="secret"), {"ExternalId": "wrong"}, "AccessDenied", id="external-id-wrong"
    ),
    pytest.param(Role(ROLE), {"DurationSeconds": 7200}, "ValidationError", id="too-long"),
]


@pytest.mark.parametrize(("role", "details", "refused"), ROLES)
@virtual_time
async def test_a_role_that_may_not_be_assumed_is_denied(
    role: Role | None, details: Any, refused: str
) -> None:
    cloud = plain_cloud()
    if role:
        cloud.world.identities.add_role(role)
    async with clients(cloud) as aws:
        assert await code(assume(aws, **details)) == refused


TRUSTED = ["*", "111122223333", "arn:aws:iam::111122223333:root"]


@pytest.mark.parametrize("trusted", TRUSTED)
@virtual_time
async def test_a_role_trusts_accounts_and_principals(trusted: str) -> None:
    cloud = plain_cloud()
    cloud.world.identities.add_role(Role(ROLE, trusted=(trusted,), external_id="secret"))
    async with clients(cloud) as aws:
        assert (await assume(aws, ExternalId="secret")).access_key.startswith("ASIA")


@virtual_time
async def test_a_chained_session_lasts_an_hour_at_most() -> None:
    cloud = plain_cloud()
    cloud.world.identities.add_role(Role(ROLE, longest_session=timedelta(hours=12)))
    async with clients(cloud) as aws:
        long = await assume(aws, DurationSeconds=7200)
        async with clients(cloud, long) as chained:
            assert await code(assume(chained, DurationSeconds=3601)) == "ValidationError"
            await assume(chained, DurationSeconds=3600)


@virtual_time
async def test_a_token_of_the_cluster_is_enough_where_the_role_says_so() -> None:
    cloud = plain_cloud(strict=True)
    cloud.world.identities.add_role(Role(ROLE, web_identity=True))
    async with clients(cloud) as aws:
        call = aws.sts.assume_role_with_web_identity
        answer = await call(RoleArn=ROLE, RoleSessionName="pod", WebIdentityToken="eyJhbGciOi")
        assert answer["AssumedRoleUser"]["Arn"].endswith("/edgekeeper-dns/pod")
        expired = call(RoleArn=ROLE, RoleSessionName="pod", WebIdentityToken="expired-token")
        assert await code(expired) == "ExpiredTokenException"
        other = call(RoleArn=ROLE + "x", RoleSessionName="pod", WebIdentityToken="token")
        assert (await refusal(other))[:2] == (403, "AccessDenied")
