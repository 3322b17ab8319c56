"""Where credentials come from: the ways that Kubernetes offers, as botocore follows them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from edgekeeper.cloud.aws.access import AwsAccess
from edgekeeper.cloud.aws.clients import AwsClients
from edgekeeper.cloud.aws.credentials import new_session
from edgekeeper.cloud.aws.route53 import Route53
from edgekeeper.cloud.aws.settings import AwsSettings
from edgekeeper.cloud.budget import Budget
from edgekeeper.cloud.metrics import CloudMetrics
from edgekeeper.cloud.transport import Transport
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.core.errors import Cause, Wait
from kubesim.aws import identity
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.http import serve

ROLE = "arn:aws:iam::111122223333:role/edgekeeper"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))


@asynccontextmanager
async def _access(url: str) -> AsyncIterator[AwsAccess]:
    """As production makes it, with nothing but the environment to know us by."""
    clock = SystemClock()
    transport = Transport(Calls(), clock, Budget(), CloudMetrics(CollectorRegistry()))
    clients = AwsClients(AwsSettings(endpoint_url=url), session=new_session())
    try:
        yield AwsAccess(transport, clients, clock)
    finally:
        await clients.close()


def _whoever(cloud: AwsCloud) -> set[str]:
    return {call.principal for call in cloud.journal.calls("ListHostedZones")}


async def test_token_of_a_service_account_is_exchanged_for_its_role(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("eyJhbGciOiJub25lIn0.e30.")
    cloud = AwsCloud(strict=True)
    cloud.world.identities.add_role(identity.Role(ROLE, web_identity=True))
    async with serve(cloud) as server:
        monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
        monkeypatch.setenv("AWS_ROLE_SESSION_NAME", "edgekeeper-prod")
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
        async with _access(server.url) as access:
            [page async for page in Route53(access.caller()).zones()]
    assert _whoever(cloud) == {"arn:aws:sts::111122223333:assumed-role/edgekeeper/edgekeeper-prod"}


async def test_pod_identity_is_asked_with_the_pods_token(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("pod-token")
    cloud = AwsCloud(strict=True)
    user = cloud.world.identities.add_user("pod")
    asked: list[str] = []

    async def service_of_the_node(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.headers.get("authorization", ""))
        expires = datetime.now(UTC) + timedelta(hours=6)
        keys = {
            "AccessKeyId": user.access_key,
            "SecretAccessKey": user.secret_key,
            "Token": "session",
            "Expiration": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        return web.Response(text=json.dumps(keys), content_type="application/json")

    runner = web.ServerRunner(web.Server(service_of_the_node, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        uri = f"http://127.0.0.1:{runner.addresses[0][1]}/v1/credentials"
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri)
        monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(token))
        async with serve(cloud) as server, _access(server.url) as access:
            [page async for page in Route53(access.caller()).zones()]
    finally:
        await runner.cleanup()
    assert asked == ["pod-token"]
    assert _whoever(cloud) == {"arn:aws:iam::111122223333:user/pod"}


@pytest.mark.parametrize("profile", ["", "nowhere"], ids=["nobody", "a profile that is not there"])
async def test_nobody_at_all_waits_for_credentials(monkeypatch: pytest.MonkeyPatch, profile: str) -> None:
    if profile:
        monkeypatch.setenv("AWS_PROFILE", profile)
    async with _access("http://127.0.0.1:9") as access:
        with pytest.raises(Wait) as nobody:
            await access.identify()
    assert (nobody.value.reason, nobody.value.unavailable) == ("CredentialsRefused", Cause.CREDENTIALS)
    assert (profile or "credentials") in nobody.value.message


async def test_token_that_is_not_exchanged_is_a_matter_of_credentials(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The role does not trust the service account: that is the operator's problem, and no object's."""
    token = tmp_path / "token"
    token.write_text("eyJhbGciOiJub25lIn0.e30.")
    async with serve(AwsCloud(strict=True)) as server:
        monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
        monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", server.url)
        async with _access(server.url) as access:
            with pytest.raises(Wait) as refused:
                await access.identify()
    assert refused.value.unavailable is Cause.CREDENTIALS
    assert "AssumeRoleWithWebIdentity: AccessDenied" in refused.value.message
