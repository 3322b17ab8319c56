"""Domains that change under a managed certificate: each is served in the end, and nothing is requested twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject
from kubesim.aws.acm.store import Certificates
from kubesim.aws.faults import lost_response
from kubesim.virtual import virtual_time
from tests.tenants.scene import Scene, playing
from tests.tenants.system import KEY, OPTIONS, tenant
from tests.tenants.test_rights import FEWEST

CREATE, UPDATE, ASK = (
    "CreateDistributionTenant",
    "UpdateDistributionTenant",
    "GetManagedCertificateDetails",
)
ONE, TWO, THREE = (f"{name}.shop.example.com" for name in ("one", "two", "three"))
"""In the zone, and not covered by the distribution's certificate."""
HOSTS = pytest.mark.parametrize("host", ["cloudfront", "self-hosted"])


def domains(*names: str) -> list[JsonObject]:
    return [{"domain": name} for name in names]


def wish(primary: str = ONE, host: str = "cloudfront") -> JsonObject:
    return {"validationTokenHost": host, "primaryDomainName": primary}


def acm(scene: Scene) -> Certificates:
    return scene.cloud.account().certificates()


def requests(scene: Scene) -> list[tuple[str, ...]]:
    """The domains of every request for a certificate that CloudFront has accepted."""
    return [
        tuple(sorted(item["Domain"] for item in entry.params["Domains"]))
        for entry in scene.cloud.journal.entries
        if entry.operation in (CREATE, UPDATE)
        and not entry.code
        and "ManagedCertificateRequest" in entry.params
    ]


def managed(scene: Scene) -> str:
    arn = scene.aws().managed_certificate
    assert arn is not None
    return arn


def active(scene: Scene) -> set[str]:
    return set(scene.cloud.cloudfront.active_domains(scene.aws())) if scene.names else set()


async def served(scene: Scene, *names: str) -> None:
    """Wait until these domains are served, by a certificate that is CloudFront's, the tenant's and the spec's."""
    await scene.until(lambda: active(scene) == set(names) == set(scene.aws().domains))
    await scene.says("CertificateReady", "Validated")
    await scene.ready()
    await scene.elapse(minutes=10)
    spec, status = scene.object()["spec"], scene.status()
    arns = (scene.aws().certificate, status["certificateArn"], spec["customizations"]["certificate"]["arn"])
    assert arns == (managed(scene),) * 3
    assert all(acm(scene).shelf[managed(scene)].covers(name) for name in names)
    assert scene.fact("CertificateReady")[:2] == ("True", "Validated")
    assert scene.fact("Ready")[:2] == ("True", "Deployed")


async def certified(scene: Scene, *names: str, host: str = "cloudfront") -> None:
    """A tenant whose domains are served by a managed certificate."""
    for name in (ONE, TWO, THREE):
        scene.cloud.serve_token(name)
    await scene.create(tenant(KEY, *names, dns=scene.dns(), managedCertificateRequest=wish(names[0], host)))
    await served(scene, *names)
    assert len(requests(scene)) == 1


async def pending(scene: Scene, *names: str) -> None:
    """A tenant whose certificate waits for somebody to prove the domains."""
    await scene.create(tenant(KEY, *names, managedCertificateRequest=wish(names[0], "self-hosted")))
    await scene.ready()
    assert scene.fact("CertificateReady").reason == "PendingValidation"


# Added


@HOSTS
@virtual_time
async def test_added_domain_gets_a_certificate_that_is_requested_with_it(host: str) -> None:
    async with playing() as scene:
        await certified(scene, ONE, host=host)
        first = managed(scene)
        dark: list[str] = []
        scene.estate.chronicle.listeners.append(lambda: dark.extend({ONE} - active(scene)))
        await scene.edit(domains=domains(ONE, TWO))
        fact = await scene.says("CertificateReady", "PendingValidation")
        assert fact.message == f"the certificate does not cover {TWO}: another one is requested"
        await served(scene, ONE, TWO)
        assert managed(scene) != first
        assert requests(scene) == [(ONE,), (ONE, TWO)]
        assert dark == [], "what is served is served on"
        assert scene.cloud.journal.codes["InvalidArgument"] == 0, (
            "CloudFront can see the records when it is asked"
        )
        assert scene.events("Updated")[1].endswith("; a certificate is requested")
        assert scene.calls(UPDATE) == 3, "to attach the first, to add the domain, to attach the second"


@HOSTS
@virtual_time
async def test_domain_added_while_the_certificate_is_pending_gets_into_the_next_one(host: str) -> None:
    async with playing() as scene:
        scene.cloud.world.timings.certificate_issuance = timedelta(hours=1)
        await scene.create(tenant(KEY, ONE, dns=scene.dns(), managedCertificateRequest=wish(ONE, host)))
        await scene.ready()
        await scene.edit(domains=domains(ONE, TWO))
        await scene.until(lambda: len(requests(scene)) == 2)
        scene.cloud.serve_token(ONE)
        scene.cloud.serve_token(TWO)
        scene.stage.patience = timedelta(hours=3)
        await served(scene, ONE, TWO)
        assert requests(scene) == [(ONE,), (ONE, TWO)]


@virtual_time
async def test_domain_added_after_a_certificate_has_failed_gets_a_new_one() -> None:
    async with playing() as scene:
        await pending(scene, ONE)
        acm(scene).fail(managed(scene), "VALIDATION_TIMED_OUT")
        await scene.says("CertificateReady", "CertificateFailed")
        scene.cloud.serve_token(ONE)
        scene.cloud.serve_token(TWO)
        await scene.edit(domains=domains(ONE, TWO))
        await served(scene, ONE, TWO)
        assert requests(scene) == [(ONE,), (ONE, TWO)]


@virtual_time
async def test_domain_that_the_certificate_covers_needs_no_other_one() -> None:
    wildcard = "*.shop.example.com"
    async with playing() as scene:
        scene.cloud.serve_token(wildcard)
        await scene.create(tenant(KEY, wildcard, managedCertificateRequest=wish(wildcard, "self-hosted")))
        await served(scene, wildcard)
        await scene.edit(domains=domains(wildcard, ONE))
        await served(scene, wildcard, ONE)
        assert len(requests(scene)) == 1


@pytest.mark.parametrize("policy", list(Policy))
@virtual_time
async def test_added_domain_is_served_whatever_the_policy_for_drift_is(policy: Policy) -> None:
    async with playing(replace(OPTIONS, drift_policy=policy)) as scene:
        await certified(scene, ONE)
        await scene.edit(domains=domains(ONE, TWO))
        await served(scene, ONE, TWO)
        assert len(requests(scene)) == 2
        assert scene.metric("cloudfront_tenant_operator_drift_detected_total") == 0


@virtual_time
async def test_domain_without_a_record_is_asked_for_until_it_leads_to_cloudfront() -> None:
    async with playing() as scene:
        await certified(scene, ONE)
        scene.estate.make_record(ONE, scene.endpoint)
        await scene.edit(dns=None, domains=domains(ONE, TWO))
        fact = await scene.says("Ready", "DomainValidationPending")
        assert "DNS may still be propagating" in fact.message
        assert active(scene) == {ONE}
        scene.estate.make_record(ONE, scene.endpoint)
        scene.estate.make_record(TWO, scene.endpoint)
        await served(scene, ONE, TWO)
        assert len(requests(scene)) == 2


@virtual_time
async def test_domain_added_together_with_another_connection_group_is_served() -> None:
    """Names follow a tenant to another endpoint, and CloudFront wants to see them before it is asked."""
    async with playing() as scene:
        await certified(scene, ONE)
        group = scene.cloud.cloudfront.keep_group(scene.cloud.cloudfront.new_group("fast"))
        await scene.edit(domains=domains(ONE, TWO), connectionGroupId=group.id)
        await served(scene, ONE, TWO)
        assert len(requests(scene)) == 2
        assert set(scene.records.values()) == {group.endpoint}
        assert scene.cloud.journal.codes["InvalidArgument"] == 0


@virtual_time
async def test_added_domain_that_was_anothers_is_served_once_it_is_free() -> None:
    async with playing() as scene:
        await certified(scene, ONE)
        scene.estate.make_tenant("theirs", TWO)
        await scene.edit(domains=domains(ONE, TWO))
        await scene.says("Ready", "DomainConflict")
        assert len(requests(scene)) == 1
        scene.estate.lose_tenant("theirs")
        await served(scene, ONE, TWO)
        assert len(requests(scene)) == 2


# Removed and replaced


@HOSTS
@virtual_time
async def test_removed_domain_needs_no_certificate(host: str) -> None:
    async with playing() as scene:
        await certified(scene, ONE, TWO, host=host)
        await scene.edit(domains=domains(ONE))
        await served(scene, ONE)
        assert requests(scene) == [(ONE, TWO)]
        await scene.edit(domains=domains(ONE, TWO))
        await served(scene, ONE, TWO)
        assert requests(scene) == [(ONE, TWO)], "nor does the same one that comes back"


@virtual_time
async def test_domain_removed_while_the_certificate_is_pending_does_not_hold_up_the_others() -> None:
    """Nobody will ever prove the domain that is gone."""
    async with playing() as scene:
        await pending(scene, ONE, TWO)
        scene.cloud.serve_token(ONE)
        await scene.edit(domains=domains(ONE))
        await served(scene, ONE)
        assert requests(scene) == [(ONE, TWO), (ONE,)]


@virtual_time
async def test_domain_removed_before_its_certificate_was_issued_leaves_a_settled_tenant() -> None:
    async with playing() as scene:
        await certified(scene, ONE, host="self-hosted")
        scene.cloud.world.served_tokens.discard(TWO)
        await scene.edit(domains=domains(ONE, TWO))
        await scene.until(lambda: len(requests(scene)) == 2)
        await scene.edit(domains=domains(ONE))
        await served(scene, ONE)
        assert requests(scene) == [(ONE,), (ONE, TWO), (ONE,)]


@HOSTS
@virtual_time
async def test_replaced_domain_gets_a_certificate_of_its_own(host: str) -> None:
    async with playing() as scene:
        await certified(scene, ONE, host=host)
        await scene.edit(domains=domains(TWO), managedCertificateRequest=wish(TWO, host))
        await served(scene, TWO)
        assert requests(scene) == [(ONE,), (TWO,)]
        assert set(scene.records) == {f"CNAME {TWO}"}


@virtual_time
async def test_secondary_domain_can_be_replaced_time_and_again() -> None:
    async with playing() as scene:
        await certified(scene, ONE, TWO)
        for name in (THREE, TWO, THREE):
            await scene.edit(domains=domains(ONE, name))
            await served(scene, ONE, name)
        assert requests(scene) == [(ONE, TWO), (ONE, THREE), (ONE, TWO), (ONE, THREE)]


@virtual_time
async def test_domain_replaced_before_the_issued_certificate_was_sent_is_served() -> None:
    """The spec names a certificate that is for none of its domains any more; it is still this tenant's."""
    async with playing() as scene:
        await scene.create(tenant(KEY, ONE, managedCertificateRequest=wish(ONE, "self-hosted")))
        await scene.ready()
        await scene.stage.operator.stop()
        for name in (ONE, TWO):
            scene.cloud.serve_token(name)
        await scene.elapse(minutes=5)
        attached = {"customizations": {"certificate": {"arn": managed(scene)}}}
        await scene.stage.patch(KIND, KEY, {"spec": attached})
        changed = {"domains": domains(TWO), "managedCertificateRequest": wish(TWO, "self-hosted")}
        await scene.edit(**changed)
        scene.stage.start_operator()
        await served(scene, TWO)


@virtual_time
async def test_issued_certificate_is_not_attached_to_a_spec_without_its_domains() -> None:
    async with playing() as scene:
        await pending(scene, ONE)
        first = managed(scene)
        await scene.stage.operator.stop()
        for name in (ONE, TWO):
            scene.cloud.serve_token(name)
        await scene.elapse(minutes=5)
        await scene.edit(domains=domains(TWO), managedCertificateRequest=wish(TWO, "self-hosted"))
        scene.stage.start_operator()
        await served(scene, TWO)
        attached = [dict(one["spec"].get("customizations") or {}) for one in scene.versions]
        assert {"certificate": {"arn": first}} not in attached


# Nothing is requested twice


@virtual_time
async def test_request_whose_answer_was_lost_is_not_repeated() -> None:
    async with playing() as scene:
        await certified(scene, ONE)
        scene.cloud.faults.add(lost_response(), operation=UPDATE)
        await scene.edit(domains=domains(ONE, TWO))
        await served(scene, ONE, TWO)
        assert requests(scene) == [(ONE,), (ONE, TWO)]


@virtual_time
async def test_request_that_was_changed_and_whose_answer_was_lost_is_not_repeated() -> None:
    async with playing() as scene:
        await certified(scene, ONE)
        first = managed(scene)
        scene.cloud.faults.add(lost_response(), operation=UPDATE)
        again = {**wish(), "certificateTransparencyLoggingPreference": "disabled"}
        await scene.edit(managedCertificateRequest=again)
        await scene.until(lambda: scene.aws().certificate != first)
        await served(scene, ONE)
        assert len(requests(scene)) == 2


@pytest.mark.parametrize("after", [1, 20, 60, 150, 300], ids="{} s".format)
@virtual_time
async def test_restart_requests_nothing_again(after: float) -> None:
    """The request may be sent, answered, issued or attached when nobody looks for an hour."""
    async with playing() as scene:
        await certified(scene, ONE, host="self-hosted")
        await scene.edit(domains=domains(ONE, TWO))
        await scene.elapse(seconds=60)
        await scene.until(lambda: TWO in scene.aws().domains)
        await scene.elapse(seconds=after)
        await scene.stage.operator.stop()
        await scene.elapse(hours=1)
        scene.stage.start_operator()
        await served(scene, ONE, TWO)
        await scene.stage.operator.stop()
        scene.stage.start_operator()
        await scene.elapse(hours=1)
        assert requests(scene) == [(ONE,), (ONE, TWO)]


@virtual_time
async def test_request_that_is_not_shown_yet_is_not_repeated() -> None:
    async with playing() as scene:
        await certified(scene, ONE)
        scene.cloud.world.behaviour.read_lag = timedelta(seconds=45)
        await scene.edit(domains=domains(ONE, TWO))
        await served(scene, ONE, TWO)
        assert requests(scene) == [(ONE,), (ONE, TWO)]


@virtual_time
async def test_request_that_cloudfront_makes_nothing_of_is_not_repeated() -> None:
    async with playing() as scene:
        await certified(scene, ONE, host="self-hosted")
        first = managed(scene)
        await scene.edit(domains=domains(ONE, TWO))
        await scene.until(lambda: len(requests(scene)) == 2)
        second = managed(scene)
        scene.cloud.cloudfront.change_tenant(KEY.name, managed_certificate=first)
        acm(scene).delete(second)
        await scene.elapse(hours=2)
        assert len(requests(scene)) == 2
        fact = scene.fact("CertificateReady")
        assert fact[:2] == ("False", "PendingValidation")
        assert TWO in fact.message


@virtual_time
async def test_certificate_that_cloudfront_attaches_itself_is_no_drift() -> None:
    async with playing(replace(OPTIONS, drift_policy=Policy.REPORT)) as scene:
        scene.cloud.world.behaviour.attach_managed_certificate = True
        await certified(scene, ONE)
        await scene.edit(domains=domains(ONE, TWO))
        await served(scene, ONE, TWO)
        assert len(requests(scene)) == 2
        assert scene.events("DriftDetected") == []
        assert scene.metric("cloudfront_tenant_operator_drift_detected_total") == 0


@pytest.mark.parametrize("shown", [True, False], ids=["tokens are shown", "tokens are not shown"])
@virtual_time
async def test_added_domain_is_served_with_the_fewest_rights(shown: bool) -> None:
    """Without listings certificates are described: CloudFront need not tell the domains of those that are issued."""
    async with playing(start=False) as scene:
        scene.cloud.world.behaviour.tokens_of_issued = shown
        scene.estate.restrict(*FEWEST)
        scene.stage.start_operator()
        await certified(scene, ONE)
        await scene.edit(domains=domains(ONE, TWO))
        await served(scene, ONE, TWO)
        assert requests(scene) == [(ONE,), (ONE, TWO)]


# What was left behind before


@pytest.mark.parametrize("policy", list(Policy))
@virtual_time
async def test_certificate_that_cannot_be_renewed_for_a_removed_domain_is_replaced(policy: Policy) -> None:
    """That is no drift: nobody has changed anything."""
    async with playing(replace(OPTIONS, drift_policy=policy)) as scene:
        await certified(scene, ONE, TWO)
        await scene.edit(domains=domains(ONE))
        await served(scene, ONE)
        acm(scene).fail(managed(scene), "EXPIRED")
        assert active(scene) == set()
        await served(scene, ONE)
        assert requests(scene) == [(ONE, TWO), (ONE,)]
        assert scene.events("DriftCorrected") == scene.events("DriftDetected") == []


@virtual_time
async def test_certificate_that_fails_for_the_domains_of_the_spec_is_left_to_people() -> None:
    async with playing() as scene:
        await certified(scene, ONE, TWO)
        acm(scene).fail(managed(scene), "EXPIRED")
        await scene.says("CertificateReady", "CertificateFailed")
        await scene.elapse(hours=3)
        assert len(requests(scene)) == 1


@virtual_time
async def test_adopted_tenant_gets_a_certificate_for_the_domains_that_its_own_lacks() -> None:
    async with playing() as scene:
        for name in (ONE, TWO):
            scene.cloud.serve_token(name)
        old = acm(scene).request((ONE,), "HTTP", managed_by="CLOUDFRONT", validation_host="self-hosted").arn
        await scene.elapse(minutes=3)
        attached = {"Certificate": {"Arn": old}}
        scene.estate.make_tenant(KEY.name, ONE, TWO, managed_certificate=old, customizations=attached)
        obj = tenant(KEY, ONE, TWO, managedCertificateRequest=wish(ONE, "self-hosted"))
        obj["metadata"]["annotations"] = {"edgekeeper.io/adopt": "true"}
        await scene.create(obj)
        await served(scene, ONE, TWO)
        assert requests(scene) == [(ONE, TWO)]


@virtual_time
async def test_steady_certificates_cost_no_calls() -> None:
    async with playing() as scene:
        await certified(scene, ONE, TWO)
        await scene.edit(domains=domains(ONE))
        await served(scene, ONE)
        before = scene.calls(ASK)
        await scene.elapse(hours=3)
        assert scene.calls(ASK) == before
        assert scene.calls("DescribeCertificate") == 0
