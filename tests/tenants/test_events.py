"""Events tell each fact once, however often it is found; and two facts twice."""

from __future__ import annotations

from collections import Counter

from kubesim.aws.faults import error
from kubesim.virtual import virtual_time
from tests.tenants.scene import Fact, Scene, playing
from tests.tenants.system import KEY, tenant

SELF_HOSTED = {"validationTokenHost": "self-hosted", "primaryDomainName": "shop.example.com"}


def _told(scene: Scene) -> Counter[str]:
    """How often each reason was told, by type: `{"Normal Created": 1}`."""
    return Counter(f"{one.type} {one.reason}" for one in scene.facts_told())


@virtual_time
async def test_quiet_life_is_told_in_few_words() -> None:
    async with playing() as scene:
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.ready()
        await scene.edit(domains=[{"domain": "shop.example.com"}, {"domain": "new.example.com"}])
        await scene.ready()
        await scene.elapse(hours=6)
        await scene.delete()
        await scene.gone()
        await scene.elapse(minutes=1)
        assert _told(scene) == {
            "Normal DNSRecordCreating": 2,
            "Normal Created": 1,
            "Normal Updated": 1,
            "Normal DNSCleaned": 1,
            "Normal Disabling": 1,
            "Normal Deleted": 1,
        }


@virtual_time
async def test_created_and_updated_name_the_tenant() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        await scene.edit(enabled=False)
        await scene.ready()
        await scene.elapse(seconds=5)
        assert scene.aws().id in scene.events("Created")[0]
        (note,) = scene.events("Updated")
        assert "enabled" in note, "what was changed is told as well"


@virtual_time
async def test_certificate_is_told_when_it_is_attached() -> None:
    async with playing() as scene:
        await scene.create(tenant(managedCertificateRequest=SELF_HOSTED))
        await scene.ready()
        scene.cloud.serve_token("shop.example.com")
        await scene.says("CertificateReady", "Validated")
        await scene.elapse(hours=1)
        (note,) = scene.events("CertificateAttaching")
        assert scene.status()["certificateArn"] in note


@virtual_time
async def test_same_refusal_for_another_spec_is_another_fact() -> None:
    async with playing(loose=True) as scene:
        await scene.create(tenant(KEY, "not a domain"))
        await scene.says("Ready", "ValidationFailed")
        await scene.elapse(minutes=30)
        await scene.edit(domains=[{"domain": "neither this"}])
        await scene.elapse(minutes=30)
        assert len(scene.events("ValidationFailed")) == 2


@virtual_time
async def test_restart_tells_nothing_again() -> None:
    async with playing() as scene:
        scene.cloud.faults.add(
            error("AccessDenied", "no", 403), operation="CreateDistributionTenant", times=None
        )
        await scene.create(tenant())
        await scene.says("Ready", "AccessDenied")
        await scene.elapse(seconds=5)
        await scene.stage.operator.stop()
        scene.stage.start_operator()
        await scene.elapse(minutes=30)
        assert _told(scene) == {"Warning AccessDenied": 1}


@virtual_time
async def test_each_correction_of_drift_is_a_fact_of_its_own() -> None:
    async with playing() as scene:
        await scene.create(tenant())
        await scene.ready()
        for _ in range(2):
            scene.cloud.cloudfront.change_tenant(KEY.name, enabled=False)
            await scene.until(lambda: scene.aws().enabled)
            await scene.ready()
        await scene.elapse(seconds=5)
        assert _told(scene)["Warning DriftCorrected"] == 2
        assert _told(scene)["Normal Updated"] == 2, "and so is the update that it took"


@virtual_time
async def test_refused_records_are_told_once_however_often_they_are_tried() -> None:
    """W14: neither events nor conditions nor counters show that somebody keeps trying."""
    async with playing() as scene:
        denied = scene.cloud.guard.denied
        denied.add("route53:ChangeResourceRecordSets")
        await scene.create(tenant(KEY, "shop.example.com", "www.example.com", dns=scene.dns()))
        await scene.says("DNSReady", "DNSError")
        await scene.elapse(minutes=21)
        assert _told(scene) == {"Normal DNSRecordCreating": 1, "Warning DNSError": 1}
        assert scene.reasons("Ready") == [Fact("False", "Creating"), Fact("False", "DNSError")]
        assert scene.errors("dns_access_denied") == 1
        denied.clear()
        await scene.ready()

        denied.add("route53:ChangeResourceRecordSets")
        scene.estate.lose_record("shop.example.com")
        await scene.says("DNSReady", "DNSError")
        await scene.elapse(minutes=21)
        assert _told(scene)["Warning DriftCorrected"] == 1
        assert _told(scene)["Warning DNSError"] == 2
        denied.clear()
        await scene.ready()

        denied.add("route53:ChangeResourceRecordSets")
        await scene.edit(domains=[{"domain": "shop.example.com"}])
        await scene.says("DNSReady", "DNSError")
        await scene.elapse(minutes=21)
        assert _told(scene)["Warning DNSError"] == 3, "a record that cannot be removed is one more"
        assert "Normal DNSCleaned" not in _told(scene)
        denied.clear()
        await scene.ready()
        assert scene.events("DNSCleaned") == ["removed 1 record"]


@virtual_time
async def test_records_of_an_outage_are_told_once() -> None:
    async with playing() as scene:
        outage = error("ServiceUnavailable", status=503)
        scene.cloud.faults.add(outage, operation="ChangeResourceRecordSets", times=6)
        await scene.create(tenant(KEY, "shop.example.com", dns=scene.dns()))
        await scene.ready()
        told = {"Normal DNSRecordCreating": 1, "Warning CloudUnavailable": 1, "Normal Created": 1}
        assert _told(scene) == told
        assert scene.errors("dns_retryable") > 0
