"""A simulated cloud goes on after a restart where it was. That every other test's state survives, `conftest` shows."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import HTTPClientError

from edgekeeper.core.clock import VirtualClock
from kubesim.aws import control
from kubesim.aws.cloud import AwsCloud
from kubesim.aws.faults import lost_response
from kubesim.aws.identity import Role
from kubesim.aws.request import Request
from kubesim.aws.saving import UnreadableStateError, keep, restore, save
from kubesim.aws.settings import UNLIMITED
from kubesim.virtual import LoopClock, virtual_time
from packages.kubesim.tests.aws.driver import DISTRIBUTION, REGION, clients, code
from packages.kubesim.tests.aws.likeness import portrait
from packages.kubesim.tests.aws.tenancy import cloud_with_parent, create, read
from packages.kubesim.tests.aws.zones import change, cname


def restarted(cloud: AwsCloud, clock: Any = None) -> AwsCloud:
    another = AwsCloud(clock or LoopClock(), rates=UNLIMITED)
    another.world.timings = cloud.world.timings
    restore(another, save(cloud))
    return another


# What is kept


@virtual_time
async def test_everything_that_a_scenario_makes_is_there_again() -> None:
    cloud = cloud_with_parent(aliases=("www.example.net",))
    account, other = cloud.account(), cloud.account("222233334444")
    account.functions(REGION).add("hello")
    account.apigateway(REGION).add_api("abc", ("$default", "test"))
    account.certificates(REGION).request(("a.example.org", "*.example.org"), "DNS")
    other.cloudfront.add_distribution("EOTHER")
    other.route53.add_zone("internal.example.com", private=True)
    role = cloud.world.identities.add_role(
        Role("arn:aws:iam::222233334444:role/dns", policy={"Statement": []})
    )
    cloud.world.identities.open_session(role, "session", timedelta(hours=1))
    cloud.world.identities.add_user(
        policies=[{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}]
    )
    cloud.world.dns.publish("shop.example.org", "elsewhere.example.net")
    cloud.serve_token("shop.example.com")
    cloud.time.advance(timedelta(hours=3))
    assert portrait(restarted(cloud)) == portrait(cloud)


@virtual_time
async def test_tenant_is_read_as_it_was_and_its_old_versions_are_known_to_be_old() -> None:
    cloud = cloud_with_parent()
    async with clients(cloud) as aws:
        before = await create(aws, Tags={"Items": [{"Key": "team", "Value": "edge"}]})
        cloud.cloudfront.change_tenant("shop", enabled=False)
        shown = await read(aws)
    async with clients(restarted(cloud)) as aws:
        after = await read(aws)
        for one in (shown, after):
            one.pop("ResponseMetadata")
        assert after == shown
        delete = aws.cloudfront.delete_distribution_tenant
        assert (
            await code(delete(Id=after["DistributionTenant"]["Id"], IfMatch=before["ETag"]))
            == "PreconditionFailed"
        )
        assert await code(create(aws, "other", "shop.example.com")) == "CNAMEAlreadyExists"


@virtual_time
async def test_time_goes_on_while_nobody_runs() -> None:
    """The machine may have been started anew, so that its monotonic clock begins at zero."""
    clock = VirtualClock()
    clock.advance(timedelta(days=30))
    cloud = AwsCloud(clock, rates=UNLIMITED)
    cloud.cloudfront.add_distribution(DISTRIBUTION)
    zone = cloud.route53.add_zone("example.com")
    async with clients(cloud) as aws:
        await create(aws)
        pending = await change(aws, zone, ("CREATE", cname("shop.example.com")))
    for absence, status in ((timedelta(seconds=30), "InProgress"), (timedelta(minutes=2), "Deployed")):
        async with clients(restarted(cloud, VirtualClock(clock.now() + absence))) as aws:
            assert (await read(aws))["DistributionTenant"]["Status"] == status
            found = await aws.route53.get_change(Id=pending["Id"])
            assert found["ChangeInfo"]["Status"] == ("PENDING" if status == "InProgress" else "INSYNC")


@virtual_time
async def test_certificate_that_waits_is_issued_after_a_restart() -> None:
    cloud = AwsCloud(LoopClock(), rates=UNLIMITED)
    cloud.cloudfront.add_distribution(DISTRIBUTION, covers=())
    async with clients(cloud) as aws:
        await create(aws, ManagedCertificateRequest={"ValidationTokenHost": "self-hosted"})
    cloud = restarted(cloud)
    async with clients(cloud) as aws:
        cloud.serve_token("shop.example.com")
        await asyncio.sleep(200)
        found = await aws.cloudfront.get_managed_certificate_details(Identifier="shop")
        assert found["ManagedCertificateDetails"]["CertificateStatus"] == "issued"


@virtual_time
async def test_no_id_is_given_twice() -> None:
    cloud = cloud_with_parent()
    ids: set[str] = set()
    for number in range(3):
        async with clients(cloud) as aws:
            made = await create(aws, f"shop{number}")
        ids |= {made["DistributionTenant"]["Id"], made["ETag"]}
        cloud = restarted(cloud)
    assert len(ids) == 6


@virtual_time
async def test_session_of_a_role_stays_that_of_the_role() -> None:
    cloud = AwsCloud(LoopClock(), rates=UNLIMITED)
    role = cloud.world.identities.add_role(Role("arn:aws:iam::222233334444:role/dns"))
    credentials, _ = cloud.world.identities.open_session(role, "session", timedelta(hours=1))
    cloud = restarted(cloud)
    async with clients(cloud, credentials) as aws:
        assert (await aws.sts.get_caller_identity())["Account"] == "222233334444"
        await asyncio.sleep(3600)
    async with clients(restarted(cloud), credentials) as aws:
        assert await code(aws.sts.get_caller_identity()) == "ExpiredToken"


# The file


@virtual_time
async def test_change_is_in_the_file_before_its_caller_hears_of_it(tmp_path: Path) -> None:
    path = tmp_path / "aws.json"
    cloud = cloud_with_parent()
    assert keep(cloud, path) is False
    cloud.faults.add(lost_response(), operation="CreateDistributionTenant")
    async with clients(cloud) as aws:
        with pytest.raises(HTTPClientError):
            await create(aws)
    another = AwsCloud(LoopClock())
    assert keep(another, path) is True
    assert another.cloudfront.tenant("shop") == cloud.cloudfront.tenant("shop")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == [path.name]


@virtual_time
async def test_what_time_has_changed_is_in_the_file_once_somebody_saw_it(tmp_path: Path) -> None:
    path = tmp_path / "aws.json"
    cloud = AwsCloud(LoopClock(), rates=UNLIMITED)
    cloud.cloudfront.add_distribution(DISTRIBUTION, covers=())
    keep(cloud, path)
    async with clients(cloud) as aws:
        await create(aws, ManagedCertificateRequest={"ValidationTokenHost": "self-hosted"})
        cloud.serve_token("shop.example.com")
        await asyncio.sleep(200)
        await aws.cloudfront.get_managed_certificate_details(Identifier="shop")
        etag = (await read(aws))["ETag"]
    another = AwsCloud(LoopClock())
    keep(another, path)
    assert another.cloudfront.tenant("shop").etag == etag


def test_command_of_a_scenario_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "aws.json"
    cloud = AwsCloud(VirtualClock())
    keep(cloud, path)
    body = json.dumps({"name": "example.com"}).encode()
    answer = control.handle(cloud, Request("POST", f"{control.PREFIX}zone", body=body))
    another = AwsCloud(VirtualClock())
    assert keep(another, path)
    assert list(another.route53.zones) == [json.loads(answer.body)["id"]]


@virtual_time
async def test_reading_writes_nothing(tmp_path: Path) -> None:
    cloud = cloud_with_parent()
    keep(cloud, tmp_path / "aws.json")
    async with clients(cloud) as aws:
        await aws.cloudfront.list_distribution_tenants()
        await aws.sts.get_caller_identity()
    assert os.listdir(tmp_path) == []


@virtual_time
async def test_file_stays_whole_where_it_cannot_be_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "aws.json"
    cloud = cloud_with_parent()
    keep(cloud, path)
    cloud.changed()
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    async with clients(cloud) as aws:
        with pytest.raises(OSError, match="No space left"):
            await create(aws)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"{}", b'{"format": 2}', b"\xff", b"[1, 2"], ids=repr)
def test_file_that_cannot_be_read_is_refused_with_a_way_out(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "aws.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableStateError, match="move the file away to begin with a new one") as caught:
        keep(AwsCloud(), path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content
