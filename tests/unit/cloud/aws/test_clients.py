"""Clients: made once, closed together, and never in the clear."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiobotocore.credentials import AioCredentials
from botocore.exceptions import NoCredentialsError

from edgekeeper import __version__
from edgekeeper.cloud.aws.clients import AwsClients
from edgekeeper.cloud.aws.credentials import new_session, static_session
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.aws.settings import AwsConfigError, AwsSettings, InsecureEndpointError
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.session import session_class
from kubesim.virtual import LoopClock, run_virtual
from tests.unit.cloud.aws.world import World, both_ways, session_of


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_ROLE_ARN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def _clients(settings: AwsSettings) -> AwsClients:
    cloud = AwsCloud(LoopClock())
    return AwsClients(settings, session=static_session("k", "s"), http_session_class=session_class(cloud))


def test_client_is_made_once_for_all_who_ask_at_once() -> None:
    async def main() -> None:
        clients = _clients(AwsSettings(region="eu-west-1"))
        made = await asyncio.gather(*(clients.get("route53") for _ in range(5)))
        assert len({id(client) for client in made}) == 1
        assert await clients.get("acm", "us-east-1") is not await clients.get("acm")
        assert await clients.get("acm") is await clients.get("acm", "eu-west-1")
        await clients.close()

    run_virtual(main)


@pytest.mark.parametrize(
    ("service", "asked", "region"),
    [
        ("cloudfront", "eu-west-1", "us-east-1"),
        ("route53", "", "us-east-1"),
        ("acm", "us-east-1", "us-east-1"),
        ("acm", "", "eu-central-1"),
        ("apigateway", "ap-south-1", "ap-south-1"),
        ("lambda", "", "eu-central-1"),
    ],
)
def test_global_services_have_one_region_whatever_is_asked(service: str, asked: str, region: str) -> None:
    clients = AwsClients(AwsSettings(region="eu-central-1"), session=session_of("k"))
    assert clients.region_of(service, asked) == region
    is_global = service in ("cloudfront", "route53")
    assert clients.budget_region(service, asked) == ("" if is_global else region)


def test_region_comes_from_the_environment_where_none_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert AwsClients(session=session_of("k")).region == "us-east-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    assert AwsClients(session=session_of("k")).region == "ap-south-1"
    assert AwsClients(AwsSettings(region="eu-west-1"), session=session_of("k")).region == "eu-west-1"


@pytest.mark.parametrize(
    ("url", "accepted"),
    [
        ("https://aws.example.com", True),
        ("http://127.0.0.1:4566", True),
        ("http://[::1]:4566", True),
        ("http://localhost:4566", True),
        ("http://aws.example.com", False),
        ("http://169.254.169.254", False),
        ("http://127.0.0.1.example.com", False),
    ],
)
def test_endpoint_in_the_clear_is_refused_unless_it_is_here(url: str, accepted: bool) -> None:
    async def main() -> None:
        if not accepted:
            with pytest.raises(InsecureEndpointError, match="refusing the endpoint"):
                _clients(AwsSettings(endpoint_url=url))
            return
        clients = _clients(AwsSettings(endpoint_url=url))
        await clients.get("route53")
        await clients.close()

    run_virtual(main)


def test_endpoint_of_the_environment_is_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://aws.example.com")

    async def main() -> None:
        clients = _clients(AwsSettings())
        for _ in range(2):
            with pytest.raises(InsecureEndpointError):
                await clients.get("cloudfront")
        await clients.close()
        allowed = _clients(AwsSettings(insecure_endpoint=True))
        await allowed.get("cloudfront")
        await allowed.close()

    run_virtual(main)


ROLE_WITHOUT_SOURCE = "[profile a]\nrole_arn = arn:aws:iam::111122223333:role/a\nsource_profile = gone\n"


@pytest.mark.parametrize(
    ("environ", "config", "region", "complaint"),
    [
        (
            {"AWS_PROFILE": "nobody"},
            "",
            "",
            "the AWS profile 'nobody' does not exist: create it in ~/.aws/config",
        ),
        ({}, "[half", "", "Unable to parse config file: .*: correct the environment, ~/.aws/config or"),
        (
            {"AWS_PROFILE": "a"},
            ROLE_WITHOUT_SOURCE,
            "",
            'source_profile "gone" referenced in the profile "a" does not',
        ),
        (
            {"AWS_ACCESS_KEY_ID": "k"},
            "",
            "",
            "Partial credentials found in env, missing: AWS_SECRET_ACCESS_KEY: correct",
        ),
        ({}, "", "eu west", "region_name 'eu west' doesn't match a supported format: correct"),
    ],
    ids=["profile", "file", "source profile", "half a key", "region"],
)
def test_configuration_that_cannot_be_used_is_told_before_the_work(
    environ: dict[str, str],
    config: str,
    region: str,
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "config").write_text(config)
    files = {"AWS_CONFIG_FILE": "config", "AWS_SHARED_CREDENTIALS_FILE": "credentials"}
    for name, value in {**{name: str(tmp_path / file) for name, file in files.items()}, **environ}.items():
        monkeypatch.setenv(name, value)

    async def main() -> None:
        clients = AwsClients(AwsSettings(region=region))
        with pytest.raises(AwsConfigError, match=complaint):
            await clients.confirm()
        await clients.close()

    run_virtual(main)


def test_session_with_a_key_of_its_own_reads_no_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text("[half")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "nobody")

    async def main() -> None:
        clients = _clients(AwsSettings())
        await clients.confirm()
        await clients.close()

    run_virtual(main)


def test_credentials_of_the_environment_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")

    async def main() -> str:
        credentials = await new_session().get_credentials()
        assert credentials is not None
        return str((await credentials.get_frozen_credentials()).access_key)

    assert run_virtual(main) == "AKIDENV"


@both_ways
async def test_calls_say_who_makes_them(world: World) -> None:
    await world.cloudfront.find_tenant("nobody")
    (call,) = world.cloud.journal.calls("GetDistributionTenant")
    assert call.user_agent.startswith(f"edgekeeper/{__version__} Botocore/")


@both_ways
async def test_every_service_has_a_client(world: World) -> None:
    await world.access.clients.warm_up("cloudfront", "route53", "acm", "apigateway", "lambda", "sts")
    role = Role("arn:aws:iam::222222222222:role/dns")
    credentials = await static_session("k", "s").get_credentials()
    assert await world.access.clients.get(
        "route53", "", role, credentials
    ) is not await world.access.clients.get("route53")


def test_released_role_is_left_without_clients_and_others_keep_theirs() -> None:
    async def main() -> None:
        closed: list[object] = []
        cloud = AwsCloud(LoopClock())

        class Session(session_class(cloud)):  # type: ignore[misc] # made by a function
            async def __aexit__(self, *ended: object) -> None:
                closed.append(self)
                await super().__aexit__(*ended)

        clients = AwsClients(
            AwsSettings(region="eu-west-1"), session=static_session("k", "s"), http_session_class=Session
        )
        role, other = (Role(f"arn:aws:iam::222222222222:role/{name}") for name in ("dns", "other"))
        credentials = await static_session("k", "s").get_credentials()
        lent = await clients.get("route53", "", role, credentials)
        acm = await clients.get("acm", "", role, credentials)
        own, others = await clients.get("route53"), await clients.get("route53", "", other, credentials)
        assert acm is not lent
        await clients.release(role)
        assert len(closed) == 2
        assert await clients.get("route53") is own
        assert await clients.get("route53", "", other, credentials) is others
        assert await clients.get("route53", "", role, credentials) is not lent
        await clients.close()
        assert len(closed) == 5

    run_virtual(main)


class _Purse:
    """Where credentials are, from some day on."""

    def __init__(self) -> None:
        self.credentials: AioCredentials | None = None
        self.looked = 0

    async def load_credentials(self) -> AioCredentials | None:
        self.looked += 1
        return self.credentials


def test_credentials_that_come_later_are_found_without_a_restart() -> None:
    """botocore's clients keep what they were made with, and be it nothing."""

    async def main() -> None:
        purse, session = _Purse(), new_session()
        session.register_component("credential_provider", purse)
        clients = AwsClients(session=session, http_session_class=session_class(AwsCloud(LoopClock())))
        await clients.confirm()  # nothing is wrong with the settings: there may be credentials later
        for service in ("cloudfront", "route53", "cloudfront"):
            with pytest.raises(NoCredentialsError):
                await clients.get(service)
        assert purse.looked == 1, "not once per call"
        purse.credentials = AioCredentials("key", "secret")
        await asyncio.sleep(6)
        client: Any = await clients.get("route53")
        assert (await client.list_hosted_zones())["HostedZones"] == []
        await clients.close()

    run_virtual(main)
