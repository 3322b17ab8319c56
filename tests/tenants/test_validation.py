"""A spec that cannot work is refused before AWS is asked, with all that is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.kube.kinds import Key
from kubesim.aws.cloudfront.resources import ParameterDefinition
from kubesim.aws.faults import error
from kubesim.aws.identity import Role
from kubesim.virtual import virtual_time
from tests.tenants.estate import DISTRIBUTION, NEIGHBOUR
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

CREATE = "CreateDistributionTenant"
MANAGED = {"validationTokenHost": "self-hosted", "primaryDomainName": "shop.example.com"}


def _without_certificate(scene: Scene) -> None:
    scene.cloud.cloudfront.change_distribution(DISTRIBUTION, certificate=None)


def _with_parameters(scene: Scene) -> None:
    parameters = (ParameterDefinition("origin"), ParameterDefinition("tier", default="silver"))
    scene.cloud.cloudfront.change_distribution(DISTRIBUTION, parameters=parameters)


async def _refusal(scene: Scene, key: Key = KEY) -> str:
    fact = await scene.says("Ready", "ValidationFailed", key)
    assert fact.status == "False"
    assert scene.fact("Synced", key) == fact, "Synced says the same"
    assert scene.calls(CREATE) == 0
    return fact.message


@virtual_time
async def test_tenant_needs_a_certificate_where_the_distribution_has_none() -> None:
    async with playing() as scene:
        _without_certificate(scene)
        await scene.create(tenant())
        message = await _refusal(scene)
        assert "customizations.certificate.arn" in message
        assert "managedCertificateRequest" in message
        await scene.elapse(minutes=30)
        assert scene.calls(CREATE) == 0
        assert len(scene.events("ValidationFailed")) == 1
        assert len(scene.versions) == 3, "created, claimed, and told once"


@virtual_time
async def test_refused_tenant_is_looked_at_again_within_five_minutes() -> None:
    async with playing() as scene:
        _without_certificate(scene)
        await scene.create(tenant())
        await _refusal(scene)
        certificate = scene.cloud.account().certificates().add_issued("*.example.com")
        scene.cloud.cloudfront.change_distribution(DISTRIBUTION, certificate=certificate.arn)
        await scene.elapse(minutes=10, seconds=5)  # the distribution may be remembered for five of them
        assert scene.names == [KEY.name]


@virtual_time
async def test_refused_tenant_is_looked_at_at_once_when_it_is_edited() -> None:
    async with playing() as scene:
        _without_certificate(scene)
        await scene.create(tenant())
        await _refusal(scene)
        await scene.edit(managedCertificateRequest=MANAGED)
        await scene.elapse(seconds=1)
        assert scene.names == [KEY.name]


@virtual_time
async def test_managed_certificate_makes_up_for_a_distribution_without_one() -> None:
    async with playing() as scene:
        _without_certificate(scene)
        await scene.create(tenant(managedCertificateRequest=MANAGED))
        await scene.until(lambda: scene.names == [KEY.name])


@virtual_time
async def test_own_certificate_makes_up_for_a_distribution_without_one() -> None:
    async with playing() as scene:
        _without_certificate(scene)
        own = scene.cloud.account().certificates().add_issued("shop.example.com")
        await scene.create(tenant(customizations={"certificate": {"arn": own.arn}}))
        await scene.ready()
        assert scene.aws().certificate == own.arn


@virtual_time
async def test_required_parameters_are_asked_for_by_name_unless_they_have_a_default() -> None:
    async with playing() as scene:
        _with_parameters(scene)
        await scene.create(tenant())
        message = await _refusal(scene)
        assert "origin" in message
        assert "tier" not in message


@virtual_time
async def test_tenant_with_the_required_parameters_is_created() -> None:
    async with playing() as scene:
        _with_parameters(scene)
        await scene.create(tenant(parameters=[{"name": "origin", "value": "o.example.net"}]))
        await scene.ready()
        assert dict(scene.aws().parameters) == {"origin": "o.example.net"}


@pytest.mark.parametrize("name", ["ab", "a" * 129], ids=["too short", "too long"])
@virtual_time
async def test_name_that_no_tenant_can_have_is_refused(name: str) -> None:
    async with playing() as scene:
        key = Key("default", name)
        await scene.create(tenant(key))
        assert "resource name" in await _refusal(scene, key)


@virtual_time
async def test_name_with_dots_and_dashes_is_taken() -> None:
    async with playing() as scene:
        await scene.create(tenant(Key("default", "my-tenant.prod")))
        await scene.until(lambda: scene.names == ["my-tenant.prod"])


@virtual_time
async def test_bad_name_is_refused_though_the_distribution_cannot_be_read() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(
            error("ServiceUnavailable", status=503), operation="GetDistribution", times=None
        )
        await scene.create(tenant(Key("default", "ab")))
        assert "resource name" in await _refusal(scene, Key("default", "ab"))


@virtual_time
async def test_all_that_is_wrong_is_told_at_once() -> None:
    async with playing() as scene:
        _without_certificate(scene)
        _with_parameters(scene)
        await scene.create(tenant())
        message = await _refusal(scene)
        assert "certificate" in message
        assert "origin" in message


@virtual_time
async def test_distribution_that_is_not_there_is_a_mistake_of_the_spec() -> None:
    async with playing() as scene:
        await scene.create(tenant(distributionId="E0000000000000"))
        assert "E0000000000000" in await _refusal(scene)


GEO: dict[str, Any] = {"restrictionType": "whitelist"}


@pytest.mark.parametrize(
    ("domains", "spec", "told"),
    [
        pytest.param(
            ("shop.example.com",),
            {"managedCertificateRequest": {**MANAGED, "primaryDomainName": "www.example.com"}},
            "primaryDomainName 'www.example.com' is not one of spec.domains",
            id="primary domain of nobody",
        ),
        pytest.param(
            ("a.example.com", "A.example.com."), {}, "'a.example.com' is listed 2 times", id="twice the same"
        ),
        pytest.param(("shop example.com",), {}, "'shop example.com' is not a domain name", id="no domain"),
        pytest.param(
            ("shop.example.com",),
            {"customizations": {"geoRestrictions": {**GEO, "locations": ["DE", "XX"]}}},
            "'XX' is not an ISO 3166-1 alpha-2 country code",
            id="no country",
        ),
    ],
)
@virtual_time
async def test_what_only_fields_together_tell_is_refused(
    domains: tuple[str, ...], spec: dict[str, Any], told: str
) -> None:
    """W16: none of this is left for AWS to find out, even in an object that was stored before the server knew it."""
    async with playing(loose=True) as scene:
        await scene.create(tenant(KEY, *domains, **spec))
        assert told in await _refusal(scene)


UNLENT = f"arn:aws:iam::{NEIGHBOUR}:role/unlent"


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        pytest.param(
            {"parameters": [{"name": "teir", "value": "gold"}]},
            f"spec.parameters has parameters that distribution {DISTRIBUTION} does not define: teir; it defines tier",
            id="undefined parameter",
        ),
        pytest.param(
            {"tags": [{"key": f"k{number}"} for number in range(47)]},
            "spec.tags: 47 tags plus 4 ownership tags are 51, and AWS allows 50: remove 1",
            id="too many tags",
        ),
        pytest.param(
            {"customizations": {"webAcl": {"action": "override", "arn": "nonsense"}}},
            "spec.customizations.webAcl.arn 'nonsense' is not the ARN of a web ACL",
            id="web ACL",
        ),
    ],
)
@virtual_time
async def test_what_aws_would_refuse_is_refused_before_it_is_asked(spec: dict[str, Any], told: str) -> None:
    async with playing(loose=True) as scene:
        scene.cloud.cloudfront.change_distribution(
            DISTRIBUTION, parameters=(ParameterDefinition("tier", default="silver"),)
        )
        await scene.create(tenant(**spec))
        assert told in await _refusal(scene)
        await scene.edit(**dict.fromkeys(spec))
        await scene.ready()


@virtual_time
async def test_domain_in_unicode_is_refused_with_its_punycode() -> None:
    async with playing(loose=True) as scene:
        await scene.create(tenant(KEY, "bücher.example.com"))
        assert await _refusal(scene) == (
            "spec.domains: 'bücher.example.com' is not a domain name: write xn--bcher-kva.example.com"
        )


@virtual_time
async def test_connection_group_that_is_not_there_is_refused_without_dns_as_well() -> None:
    async with playing() as scene:
        await scene.create(tenant(connectionGroupId="cg_none"))
        fact = await scene.says("Ready", "InvalidSpec")
        assert fact.message == "spec.connectionGroupId: there is no connection group cg_none"
        assert scene.fact("Synced") == fact
        assert scene.calls(CREATE) == 0
        assert scene.errors("connection_group_not_found") == 1
        await scene.edit(connectionGroupId=None)
        await scene.ready()


@virtual_time
async def test_connection_group_that_may_not_be_looked_for_is_left_to_cloudfront() -> None:
    async with playing(start=False) as scene:
        cloudfront = scene.cloud.cloudfront
        group = cloudfront.keep_group(cloudfront.new_group("edge")).id
        for operation in ("GetConnectionGroup", "ListConnectionGroups"):
            scene.cloud.faults.add(error("AccessDenied", "no", 403), operation=operation, times=None)
        scene.stage.start_operator()
        await scene.create(tenant(connectionGroupId=group))
        await scene.ready()
        assert scene.aws().group == group


@virtual_time
async def test_role_that_may_not_be_assumed_stops_everything_until_it_may() -> None:
    async with playing() as scene:
        lent = scene.cloud.account(NEIGHBOUR).route53.add_zone("example.com", id="Z0LENT")
        await scene.create(tenant(dns={**scene.dns(), "hostedZoneId": lent.id, "assumeRoleArn": UNLENT}))
        fact = await scene.says("Ready", "DNSError")
        assert fact.message.startswith("spec.dns.assumeRoleArn: AWS AssumeRole failed: AccessDenied: ")
        assert scene.fact("DNSReady") == fact
        assert "inventory" not in scene.status()
        assert (scene.calls(CREATE), scene.calls("ChangeResourceRecordSets")) == (0, 0)
        scene.cloud.world.identities.add_role(Role(UNLENT))
        await scene.elapse(minutes=11)
        await scene.ready()
        assert scene.status()["inventory"][0]["role"] == UNLENT
