"""What AWS refuses is told in the conditions, in an event and in a counter: each once, and in AWS's own words."""

from __future__ import annotations

import pytest

from kubesim.aws.faults import error
from kubesim.virtual import virtual_time
from tests.tenants.estate import DISTRIBUTION
from tests.tenants.scene import playing
from tests.tenants.system import KEY, tenant

CREATE, UPDATE = "CreateDistributionTenant", "UpdateDistributionTenant"
CHANGE = "ChangeResourceRecordSets"


@pytest.mark.parametrize(
    ("code", "message", "reason", "error_type"),
    [
        ("AccessDenied", "not authorized", "AccessDenied", "access_denied"),
        ("AccessDeniedException", "not authorized", "AccessDenied", "access_denied"),
        ("InvalidAssociation", "not a multi-tenant distribution", "InvalidSpec", "invalid_spec"),
        ("InvalidTagging", "bad tag", "InvalidSpec", "invalid_spec"),
        ("EntityLimitExceeded", "too many tenants", "QuotaExceeded", "quota"),
        (
            "EntityNotFound",
            "The connection group does not exist",
            "InvalidSpec",
            "connection_group_not_found",
        ),
        ("EntityNotFound", "The distribution does not exist", "InvalidSpec", "distribution_not_found"),
        ("SomethingNew", "never heard of", "AWSError", "unknown"),
    ],
)
@virtual_time
async def test_refusal_has_a_reason_and_a_label(
    code: str, message: str, reason: str, error_type: str
) -> None:
    """W7: nothing that a person must mend is tried for ever in silence."""
    async with playing() as scene:
        scene.cloud.faults.add(error(code, message, 400), operation=CREATE, times=None)
        await scene.create(tenant())
        fact = await scene.says("Ready", reason)
        assert fact.status == "False"
        assert fact.message == f"AWS {CREATE} failed: {code}: {message}"
        await scene.elapse(minutes=16)
        assert scene.calls(CREATE) <= 4
        assert len(scene.events(reason)) == 1
        assert scene.errors(error_type) == 1


@pytest.mark.parametrize(
    ("code", "message", "error_type"),
    [
        ("InvalidInput", "not a record", "dns_invalid_input"),
        ("InvalidChangeBatch", "[the value is too long]", "dns_invalid_input"),
        ("NoSuchHealthCheck", "no such check", "dns_error"),
        ("AccessDeniedException", "not authorized", "dns_access_denied"),
        ("NoSuchHostedZone", "no such zone", "dns_zone_not_found"),
    ],
)
@virtual_time
async def test_refusal_of_dns_has_a_label_of_its_own(code: str, message: str, error_type: str) -> None:
    async with playing() as scene:
        scene.cloud.faults.add(error(code, message, 400), operation=CHANGE, times=None)
        await scene.create(tenant(dns=scene.dns()))
        fact = await scene.says("Ready", "DNSError")
        assert fact.message.startswith(f"DNS {CHANGE} failed: {code}: ")
        assert message.strip("[]") in fact.message
        assert scene.fact("DNSReady") == fact
        await scene.elapse(minutes=11)
        assert [scene.calls(CREATE), len(scene.events("DNSError")), scene.errors(error_type)] == [0, 1, 1]


@virtual_time
async def test_quota_is_asked_about_every_half_hour() -> None:
    async with playing() as scene:
        scene.cloud.world.quotas.distribution_tenants = 0
        await scene.create(tenant())
        await scene.says("Ready", "QuotaExceeded")
        await scene.elapse(minutes=29)
        assert scene.calls(CREATE) == 1
        scene.cloud.world.quotas.distribution_tenants = 1
        await scene.elapse(minutes=2)
        assert scene.names == [KEY.name]


@pytest.mark.parametrize("code", ["ThrottlingException", "TooManyRequestsException", "Throttling"])
@virtual_time
async def test_throttling_by_any_name_is_waited_for(code: str) -> None:
    async with playing() as scene:
        scene.cloud.faults.add(error(code, "Rate exceeded", 429), operation=CREATE, times=100)
        await scene.create(tenant())
        await scene.until(lambda: scene.errors("throttling") > 0)
        assert not scene.events()
        scene.cloud.faults.clear()
        await scene.ready()


@virtual_time
async def test_expired_credentials_are_an_outage_and_not_the_objects_fault() -> None:
    async with playing() as scene:
        rule = scene.cloud.faults.add(error("ExpiredToken", "expired", 403), operation=CREATE, times=3)
        await scene.create(tenant())
        await scene.ready()
        assert rule.struck == 3
        assert not scene.events("AccessDenied")


@virtual_time
async def test_refused_update_leaves_the_tenant_and_says_why() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        await scene.edit(connectionGroupId="cg_none")
        fact = await scene.says("Ready", "InvalidSpec")
        assert "connection group" in fact.message
        assert scene.errors("connection_group_not_found") == 1
        await scene.edit(connectionGroupId=None)
        await scene.ready()


@virtual_time
async def test_words_of_aws_are_told_as_they_are() -> None:
    """W14: a percent sign is a percent sign."""
    async with playing() as scene:
        told = "100% of %s and %(name)d are {wrong}"
        scene.cloud.faults.add(error("InvalidArgument", told), operation=CREATE, times=None)
        await scene.create(tenant())
        assert told in (await scene.says("Ready", "InvalidSpec")).message
        await scene.elapse(hours=1)
        (note,) = scene.events("InvalidSpec")
        assert told in note


@virtual_time
async def test_distribution_without_tenants_is_a_mistake_of_the_spec() -> None:
    async with playing() as scene:
        scene.cloud.cloudfront.change_distribution(DISTRIBUTION, tenant_only=False)
        await scene.create(tenant())
        assert "multi-tenant" in (await scene.says("Ready", "ValidationFailed")).message
        assert scene.calls("CreateDistributionTenant") == 0
