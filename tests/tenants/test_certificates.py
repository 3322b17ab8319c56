"""Managed certificates, from the request to domains that are served; and certificates that do not fit."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.aws.faults import error, lost_response
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, tenant

UPDATE, DESCRIBE = "UpdateDistributionTenant", "DescribeCertificate"
DOMAIN = "shop.other.example"
"""A domain that the distribution's certificate does not cover."""
SELF_HOSTED = {"validationTokenHost": "self-hosted", "primaryDomainName": DOMAIN}


def _arn(scene: Scene) -> str:
    arn = scene.aws().managed_certificate
    assert arn is not None
    return arn


@virtual_time
async def test_pending_certificate_tells_which_tokens_are_to_be_served() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, DOMAIN, managedCertificateRequest=SELF_HOSTED))
        await scene.ready()
        fact = scene.fact("CertificateReady")
        assert fact[:2] == ("False", "PendingValidation")
        assert "validation tokens" in fact.message
        assert f"{DOMAIN}: redirect {DOMAIN}/.well-known/pki-validation/" in fact.message
        assert scene.status()["managedCertificateStatus"] == "pending-validation"
        assert scene.status()["certificateArn"] == _arn(scene)


@virtual_time
async def test_issued_certificate_is_attached_to_the_spec_then_sent_once() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, DOMAIN, managedCertificateRequest=SELF_HOSTED))
        await scene.ready()
        scene.cloud.serve_token(DOMAIN)
        await scene.until(lambda: "customizations" in scene.object()["spec"])
        assert scene.object()["spec"]["customizations"] == {"certificate": {"arn": _arn(scene)}}
        await scene.says("CertificateReady", "Validated")
        assert scene.aws().certificate == _arn(scene)
        assert scene.calls(UPDATE) == 1
        status = scene.status()
        assert (status["certificateArn"], status["managedCertificateStatus"]) == (_arn(scene), "issued")
        assert status["domainResults"] == [{"domain": DOMAIN, "status": "active"}]
        await scene.ready()
        assert len(scene.events("CertificateAttaching")) == 1


@virtual_time
async def test_attached_certificate_belongs_to_a_field_manager_of_its_own() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, DOMAIN, managedCertificateRequest=SELF_HOSTED))
        await scene.ready()
        scene.cloud.serve_token(DOMAIN)
        await scene.says("CertificateReady", "Validated")
        managers = {one["manager"]: one["fieldsV1"] for one in scene.object()["metadata"]["managedFields"]}
        owned: JsonObject = {"f:spec": {"f:customizations": {"f:certificate": {"f:arn": {}}}}}
        assert managers["edgekeeper-certificate"] == owned


@pytest.mark.parametrize("status", ["VALIDATION_TIMED_OUT", "FAILED", "REVOKED", "EXPIRED"])
@virtual_time
async def test_certificate_that_ends_badly_is_told_by_its_status(status: str) -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, DOMAIN, managedCertificateRequest=SELF_HOSTED))
        await scene.ready()
        scene.cloud.account().certificates().fail(_arn(scene), status)
        fact = await scene.says("CertificateReady", "CertificateFailed")
        assert fact.status == "False"
        assert status.lower().replace("_", "-") in fact.message
        assert scene.status()["managedCertificateStatus"] == status.lower().replace("_", "-")


@virtual_time
async def test_certificate_that_failed_is_replaced_by_the_one_that_is_requested_next() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, DOMAIN, managedCertificateRequest=SELF_HOSTED))
        await scene.ready()
        failed = _arn(scene)
        scene.cloud.account().certificates().fail(failed, "VALIDATION_TIMED_OUT")
        await scene.says("CertificateReady", "CertificateFailed")
        scene.cloud.serve_token(DOMAIN)
        again = {**SELF_HOSTED, "certificateTransparencyLoggingPreference": "disabled"}
        await scene.edit(managedCertificateRequest=again)
        await scene.says("CertificateReady", "Validated")
        assert scene.aws().certificate == scene.status()["certificateArn"] == _arn(scene) != failed


@virtual_time
async def test_certificate_that_is_attached_is_replaced_by_the_one_that_is_requested_next() -> None:
    async with playing() as scene:
        scene.cloud.serve_token(DOMAIN)
        await scene.create(tenant(KEY, DOMAIN, managedCertificateRequest=SELF_HOSTED))
        await scene.says("CertificateReady", "Validated")
        first = _arn(scene)
        again = {**SELF_HOSTED, "certificateTransparencyLoggingPreference": "disabled"}
        await scene.edit(managedCertificateRequest=again)
        await scene.until(lambda: scene.aws().certificate not in (None, first))
        await scene.says("CertificateReady", "Validated")
        await scene.ready()
        assert scene.aws().certificate == scene.status()["certificateArn"] == _arn(scene)
        assert scene.object()["spec"]["customizations"]["certificate"]["arn"] == _arn(scene)


@pytest.mark.parametrize("status", ["EXPIRED", "REVOKED"])
@virtual_time
async def test_certificate_that_was_attached_and_failed_is_replaced_by_the_one_that_is_requested_next(
    status: str,
) -> None:
    """CloudFront takes no update that names a certificate which has failed."""
    async with playing() as scene:
        scene.cloud.serve_token(DOMAIN)
        await scene.create(tenant(KEY, DOMAIN, managedCertificateRequest=SELF_HOSTED))
        await scene.says("CertificateReady", "Validated")
        failed = _arn(scene)
        scene.cloud.account().certificates().fail(failed, status)
        await scene.says("CertificateReady", "CertificateFailed")
        await scene.edit(enabled=False)
        await scene.until(lambda: not scene.aws().enabled)
        again = {**SELF_HOSTED, "certificateTransparencyLoggingPreference": "disabled"}
        await scene.edit(enabled=True, managedCertificateRequest=again)
        await scene.says("CertificateReady", "Validated")
        await scene.ready()
        assert scene.aws().certificate == scene.status()["certificateArn"] == _arn(scene) != failed
        assert scene.object()["spec"]["customizations"]["certificate"]["arn"] == _arn(scene)
        assert scene.cloud.journal.codes["InvalidArgument"] == 0


@virtual_time
async def test_tenant_whose_certificate_has_expired_can_be_deleted() -> None:
    async with playing() as scene:
        scene.cloud.serve_token(DOMAIN)
        await scene.create(tenant(KEY, DOMAIN, managedCertificateRequest=SELF_HOSTED))
        await scene.says("CertificateReady", "Validated")
        scene.cloud.account().certificates().fail(_arn(scene), "EXPIRED")
        await scene.delete()
        await scene.gone()
        assert scene.names == []


@virtual_time
async def test_names_of_a_managed_certificate_are_not_looked_up() -> None:
    async with playing() as scene:
        wish = {"validationTokenHost": "cloudfront", "primaryDomainName": "shop.example.com"}
        await scene.create(tenant(managedCertificateRequest=wish, dns=scene.dns()))
        await scene.says("CertificateReady", "Validated")
        assert scene.calls(DESCRIBE) == 0


@virtual_time
async def test_certificate_that_does_not_cover_a_domain_stops_everything() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com", "a.b.example.com", dns=scene.dns()))
        fact = await scene.says("Ready", "CertificateSANMismatch")
        assert fact.status == "False"
        assert "a.b.example.com" in fact.message
        assert "cover shop.example.com" not in fact.message
        await scene.elapse(minutes=20)
        assert scene.names == []
        assert scene.records == {}
        assert len(scene.events("CertificateSANMismatch")) == 1


@virtual_time
async def test_names_that_may_not_be_looked_up_are_left_to_cloudfront() -> None:
    async with playing() as scene:
        scene.cloud.guard.denied.add("acm:DescribeCertificate")
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.ready()
        assert scene.errors("access_denied") == 0


@virtual_time
async def test_names_that_cannot_be_looked_up_now_are_waited_for_without_a_word() -> None:
    """W7: ACM throttles by another name than CloudFront."""
    async with playing() as scene:
        scene.cloud.faults.add(
            error("ThrottlingException", "Rate exceeded", 400), operation=DESCRIBE, times=100
        )
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.until(lambda: scene.errors("throttling") > 0)
        assert ("status" in scene.object(), scene.events()) == (False, [])
        scene.cloud.faults.clear()
        await scene.ready()


@virtual_time
async def test_wildcard_of_a_certificate_covers_one_label() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.ready()
        assert scene.calls(DESCRIBE) == 1


@virtual_time
async def test_own_certificate_is_checked_in_place_of_the_distributions() -> None:
    async with playing() as scene:
        own = scene.cloud.account().certificates().add_issued("www.example.com")
        custom = {"certificate": {"arn": own.arn}}
        await scene.create(tenant(KEY, "shop.example.com", customizations=custom, dns=scene.dns()))
        assert "www.example.com" in (await scene.says("Ready", "CertificateSANMismatch")).message


@virtual_time
async def test_domain_added_later_must_be_covered_as_well() -> None:
    """W12: the check is not for the first creation only."""
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.ready()
        await scene.edit(domains=[{"domain": "shop.example.com"}, {"domain": "a.b.example.com"}])
        await scene.says("Ready", "CertificateSANMismatch")
        assert set(scene.records) == {"CNAME shop.example.com"}
        assert scene.aws().domains == ("shop.example.com",)


@virtual_time
async def test_names_are_looked_up_where_cloudfront_has_its_certificates() -> None:
    """W12: whatever region the operator runs in."""
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.ready()
        regions = {one.region for one in scene.cloud.journal.calls(service="acm")}
        assert regions == {"us-east-1"}


@virtual_time
async def test_certificate_is_followed_until_its_domains_are_served_however_long_that_takes() -> None:
    """W1: nothing stops once the certificate is in the spec."""
    async with playing() as scene:
        scene.cloud.world.timings.tenant_deployment *= 20
        await scene.create(tenant(KEY, DOMAIN, managedCertificateRequest=SELF_HOSTED))
        await scene.says("Ready", "Deploying")
        scene.cloud.serve_token(DOMAIN)
        await scene.says("CertificateReady", "Attaching")
        seen = len(scene.versions)
        await scene.elapse(minutes=25)
        assert len(scene.versions) <= seen + 4, "waiting writes nothing"
        await scene.elapse(minutes=20)
        assert scene.fact("CertificateReady")[:2] == ("True", "Validated")
        assert scene.fact("Ready")[:2] == ("True", "Deployed")


@virtual_time
async def test_request_whose_answer_was_lost_is_not_taken_for_deployed() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        scene.cloud.faults.add(lost_response(), operation=UPDATE)
        wish = {"validationTokenHost": "self-hosted", "primaryDomainName": "shop.example.com"}
        await scene.edit(managedCertificateRequest=wish)
        await scene.until(lambda: scene.aws().managed_certificate is not None)
        deployed_at = scene.aws().deployed_at
        await scene.ready()
        assert scene.stage.clock.monotonic() >= deployed_at
        accepted = [one for one in scene.cloud.journal.entries if one.operation == UPDATE and not one.code]
        assert len(accepted) == 1
