"""The error table of the bridge, row by row: transient, recoverable, terminal, and of a deletion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key
from kubesim.aws import faults
from kubesim.aws.faults import Fault
from kubesim.aws.settings import PUBLISHED
from kubesim.virtual import virtual_time
from tests.bridge.world import API, DOMAIN, DOMAINS, NAME, OPTIONS, Scene, domain, playing

WRITES = ("CreateDomainName", "CreateApiMapping", "RequestCertificate")
CALLS = (*WRITES, "GetDomainName", "GetApiMappings", "DescribeCertificate", "ListHostedZones")


# Transient


@pytest.mark.parametrize("operation", CALLS)
@pytest.mark.parametrize(
    "fault",
    [
        faults.error("TooManyRequestsException", "Too Many Requests", 429),
        faults.error("InternalServerErrorException", "oops", 500),
        faults.lost_request(),
        faults.lost_response(),
    ],
    ids=["throttled", "failed", "timeout", "lost"],
)
@virtual_time
async def test_transient_error_is_retried_until_it_works(operation: str, fault: Fault) -> None:
    async with playing() as scene:
        scene.cloud.faults.add(fault, operation=operation, times=2)
        await scene.api()
        await scene.create(domain(certificateStrategy="create"))
        await scene.ready(DOMAIN)
        assert scene.mapped() == {"": (API, "$default")}
        assert scene.fact(DOMAIN, "Degraded").status == "False"


@virtual_time
async def test_transient_errors_are_retried_after_fifteen_thirty_sixty_seconds() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        failing = faults.error("InternalServerErrorException", "oops", 500)
        scene.cloud.faults.add(failing, operation="CreateApiMapping", times=4)
        await scene.create(domain())
        await scene.ready(DOMAIN)
        attempts = [one.moment for one in scene.cloud.journal.calls("CreateApiMapping")]
        pauses = [later - earlier for earlier, later in pairwise(attempts)]
        for pause, longest in zip(pauses, (15, 30, 60, 120), strict=True):
            assert 0.75 * longest <= pause <= longest + 2


@virtual_time
async def test_domain_that_is_being_updated_is_waited_for() -> None:
    async with playing() as scene:
        first, second = scene.certificate(), scene.certificate("*.example.com")
        await scene.api()
        await scene.create(domain(certificateStrategy="use-arn", certificateArn=first))
        await scene.ready(DOMAIN)
        await scene.edit(DOMAINS, DOMAIN, certificateArn=second)
        fact = await scene.says(DOMAIN, "DomainNameReady", "InProgress")
        assert "UPDATING" in fact.message
        assert scene.status(DOMAIN)["phase"] == "DOMAIN_CREATING"
        began = scene.stage.clock.monotonic()
        await scene.ready(DOMAIN)
        assert scene.stage.clock.monotonic() - began < 50


@virtual_time
async def test_rate_limit_of_domain_names_shows_the_expected_wait() -> None:
    """API Gateway takes one call in 30 seconds that creates, changes or deletes a domain name."""
    async with playing() as scene:
        scene.cloud.throttle.rates = PUBLISHED
        scene.certificate("*.example.com")
        await scene.api()
        keys = [Key("default", f"domain-{number}") for number in range(8)]
        for key in keys:
            await scene.create(domain(f"{key.name}.example.com", key=key))
        await scene.until(
            lambda: any(scene.fact(key, "DomainNameReady").reason == "BudgetExhausted" for key in keys)
        )
        waiting = next(key for key in keys if scene.fact(key, "DomainNameReady").reason == "BudgetExhausted")
        assert "expected to be sent in" in scene.fact(waiting, "DomainNameReady").message
        assert scene.fact(waiting, "Degraded").status == "False"
        assert scene.status(waiting)["lastError"]["class"] == "Recoverable"
        for key in keys:
            await scene.ready(key)
        assert scene.cloud.journal.codes["TooManyRequestsException"] == 0


# Recoverable


@virtual_time
async def test_missing_api_is_waited_for_and_its_coming_wakes_the_object() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.create(domain())
        fact = await scene.says(DOMAIN, "APIMappingReady", "ReferenceNotFound")
        assert "API default/shop" in fact.message
        assert scene.status(DOMAIN)["lastError"] == {
            "class": "Recoverable",
            "code": "ReferenceNotFound",
            "message": fact.message,
        }
        assert scene.fact(DOMAIN, "Degraded").status == "False"
        began = scene.stage.clock.monotonic()
        await scene.api()
        await scene.until(lambda: scene.names == [NAME])
        assert scene.stage.clock.monotonic() - began < 5
        await scene.ready(DOMAIN)
        assert "lastError" not in scene.status(DOMAIN)


@virtual_time
async def test_missing_certificate_is_waited_for() -> None:
    async with playing() as scene:
        await scene.api()
        await scene.create(domain())
        fact = await scene.says(DOMAIN, "CertificateReady", "CertificateNotFound")
        assert "certificateStrategy: create" in fact.message
        scene.certificate()
        began = scene.stage.clock.monotonic()
        await scene.ready(DOMAIN)
        assert scene.stage.clock.monotonic() - began < 480


# Terminal


def _region(scene: Scene) -> JsonObject:
    arn = scene.cloud.account().certificates("us-east-1").add_issued(NAME).arn
    return {"certificateStrategy": "use-arn", "certificateArn": arn}


def _absent(scene: Scene) -> JsonObject:
    arn = scene.certificate()
    scene.estate.certificates.delete(arn)
    return {"certificateStrategy": "use-arn", "certificateArn": arn}


def _expired(scene: Scene) -> JsonObject:
    arn = scene.certificate()
    scene.estate.certificates.fail(arn, "EXPIRED")
    return {"certificateStrategy": "use-arn", "certificateArn": arn}


def _uncovering(scene: Scene) -> JsonObject:
    return {"certificateStrategy": "use-arn", "certificateArn": scene.certificate("other.example.com")}


def _zone(scene: Scene) -> JsonObject:
    scene.certificate()
    return {"dnsConfig": {"hostedZoneId": "Z0NOSUCHZONE"}}


def _cname(scene: Scene) -> JsonObject:
    scene.certificate("example.com")
    return {"domain": "example.com", "dnsConfig": {"recordType": "CNAME"}}


def _unzoned(scene: Scene) -> JsonObject:
    scene.certificate("api.example.org")
    return {"domain": "api.example.org"}


TERMINAL: dict[str, tuple[Callable[[Scene], JsonObject], str, str, str]] = {
    "certificate of another region": (_region, "CertificateReady", "InvalidCertificate", "us-east-1"),
    "certificate that is gone": (_absent, "CertificateReady", "InvalidCertificate", "no certificate"),
    "certificate that has expired": (_expired, "CertificateReady", "InvalidCertificate", "EXPIRED"),
    "certificate for another name": (
        _uncovering,
        "CertificateReady",
        "InvalidCertificate",
        "other.example.com",
    ),
    "zone that does not exist": (_zone, "DNSReady", "DNSError", "Z0NOSUCHZONE"),
    "zone that cannot be found": (_unzoned, "DNSReady", "DNSError", "no public hosted zone"),
    "CNAME at the apex": (_cname, "DNSReady", "DNSError", "use ALIAS"),
}


@pytest.mark.parametrize("case", TERMINAL)
@virtual_time
async def test_terminal_error_is_told_and_looked_at_every_five_minutes(case: str) -> None:
    spec, type_, reason, word = TERMINAL[case]
    async with playing() as scene:
        await scene.api()
        wanted = spec(scene)
        await scene.create(domain(wanted.pop("domain", NAME), **wanted))
        fact = await scene.says(DOMAIN, type_, reason)
        assert word in fact.message
        assert scene.fact(DOMAIN, "Degraded")[:2] == ("True", reason)
        assert scene.fact(DOMAIN, "Ready")[:2] == ("False", reason)
        assert scene.status(DOMAIN)["lastError"]["class"] == "Terminal"
        assert scene.status(DOMAIN)["ready"] is False
        await scene.elapse(seconds=5)
        versions = len(scene.versions)
        scene.cloud.journal.clear()
        await scene.elapse(minutes=30)
        assert len(scene.versions) == versions
        assert scene.calls("GetDomainName") <= 7


@pytest.mark.parametrize(
    ("action", "type_"),
    [
        ("apigateway:GET", "DomainNameReady"),
        ("apigateway:POST", "DomainNameReady"),
        ("acm:RequestCertificate", "CertificateReady"),
        ("acm:DescribeCertificate", "CertificateReady"),
        ("route53:ChangeResourceRecordSets", "DNSReady"),
        ("route53:ListHostedZones", "DNSReady"),
    ],
)
@virtual_time
async def test_denied_right_is_a_visible_condition(action: str, type_: str) -> None:
    async with playing(start=False) as scene:
        allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        scene.estate.govern({"Statement": [allowed, {"Effect": "Deny", "Action": action, "Resource": "*"}]})
        scene.stage.start_operator()
        await scene.api()
        await scene.create(domain(certificateStrategy="create"))
        await scene.until(lambda: scene.fact(DOMAIN, "Degraded").status == "True")
        fact = scene.fact(DOMAIN, type_)
        assert fact.status == "False"
        assert action in fact.message


@virtual_time
async def test_failed_certificate_is_told_and_requested_anew_once_it_is_deleted() -> None:
    async with playing() as scene:
        await scene.api()
        await scene.create(domain(certificateStrategy="create", dnsConfig={"enabled": False}))
        await scene.says(DOMAIN, "CertificateReady", "PendingValidation")
        (first,) = scene.estate.certificates.shelf.values()
        scene.estate.certificates.fail(first.arn, "FAILED", "CAA_ERROR")
        fact = await scene.says(DOMAIN, "CertificateReady", "CertificateFailed")
        assert "CAA_ERROR" in fact.message
        scene.estate.certificates.delete(first.arn)
        await scene.says(DOMAIN, "CertificateReady", "PendingValidation")


# Deletion


@virtual_time
async def test_what_is_already_gone_does_not_keep_the_object() -> None:
    async with playing() as scene:
        await scene.api()
        await scene.create(domain(certificateStrategy="create"))
        await scene.ready(DOMAIN)
        scene.estate.gateway.domains.remove(NAME)
        for one in list(scene.estate.certificates.shelf.values()):
            scene.estate.certificates.delete(one.arn)
        for kind, name in [one.split() for one in scene.records]:
            scene.cloud.route53.remove_record(scene.estate.zone, f"{name}.", kind)
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)


@virtual_time
async def test_revoked_right_keeps_the_finalizer_and_after_an_hour_tells_what_remains() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        scene.cloud.guard.denied.add("apigateway:DELETE")
        await scene.delete(DOMAINS, DOMAIN)
        await scene.until(lambda: scene.fact(DOMAIN, "Degraded").status == "True")
        assert scene.status(DOMAIN)["lastError"]["class"] == "Cleanup"
        assert not scene.records
        scene.stage.patience = timedelta(hours=2)
        await scene.gone(DOMAIN)
        (event,) = scene.events(DOMAIN, "CleanupAbandoned")
        assert f"domain name {NAME}" in event


@virtual_time
async def test_deletion_tells_within_a_minute_that_aws_does_not_answer() -> None:
    async with playing(replace(OPTIONS, cleanup_timeout=timedelta(minutes=10))) as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        await scene.elapse(minutes=1)
        scene.cloud.faults.add(faults.refused(), times=None)
        await scene.delete(DOMAINS, DOMAIN)
        await scene.elapse(seconds=60)
        assert scene.fact(DOMAIN, "Synced").reason == "CloudUnavailable"
        await scene.gone(DOMAIN)
        assert scene.events(DOMAIN, "CleanupAbandoned")
