"""APIGatewayDomain: from the certificate to the record, what changes later, and what is left when it goes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from edgekeeper.api.bridge import DOMAIN_FINALIZER, PHASES
from edgekeeper.controllers.bridge.domains.children import child_name, sanitised
from edgekeeper.core.drift import Policy
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.kinds import NAMESPACE, REFERENCE_GRANT, Key
from kubesim.aws import faults
from kubesim.aws.apigateway.state import Mapped
from kubesim.virtual import virtual_time
from tests.bridge.world import API, APIS, CLUSTER, DOMAIN, DOMAINS, NAME, OPTIONS, domain, made, playing

ENDPOINT = ".execute-api.eu-west-1.amazonaws.com"


@virtual_time
async def test_domain_becomes_ready_in_the_order_of_its_phases() -> None:
    async with playing() as scene:
        arn = scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        live, status = scene.live(), scene.status(DOMAIN)
        assert scene.object(DOMAIN)["metadata"]["finalizers"] == [DOMAIN_FINALIZER]
        assert live.configuration["CertificateArn"] == arn
        assert scene.mapped() == {"": (API, "$default")}
        assert scene.records == {f"CNAME {NAME}": live.target}
        assert status["endpoint"] == status["domainNameEndpoint"] == live.target
        assert status["domainNameEndpoint"].endswith(ENDPOINT)
        assert (status["hostedZoneId"], status["dnsRecordName"]) == (scene.estate.zone.id, NAME)
        assert (status["certificateArn"], status["certificateStatus"]) == (arn, "ISSUED")
        assert status["apiMappingId"] == live.mappings[0].id
        uid = scene.object(DOMAIN)["metadata"]["uid"]
        marks = {"cluster": CLUSTER, "namespace": "default", "name": DOMAIN.name, "uid": uid}
        assert live.tags == {TAG_PREFIX + key: one for key, one in marks.items()}
        types = ("CertificateReady", "DomainNameReady", "APIMappingReady", "DNSReady", "Ready", "Degraded")
        assert [scene.fact(DOMAIN, type_).status for type_ in types] == ["True"] * 5 + ["False"]
        assert scene.phases() == ["MAPPING_CREATING", "DNS_CREATING", "READY"]


@virtual_time
async def test_gold_created_deleted_and_created_again_ten_times() -> None:
    """Apply → Ready within 300 s → delete → gone within 60 s, and nothing is left. Then again."""
    async with playing() as scene:
        await scene.api()
        before = scene.estate.state()
        for _ in range(10):
            began = scene.stage.clock.monotonic()
            await scene.create(domain(certificateStrategy="create"))
            await scene.ready(DOMAIN)
            assert scene.stage.clock.monotonic() - began < 300
            assert scene.names == [NAME]
            began = scene.stage.clock.monotonic()
            await scene.delete(DOMAINS, DOMAIN)
            await scene.gone(DOMAIN)
            assert scene.stage.clock.monotonic() - began <= 60
            assert scene.estate.state() == before


@pytest.mark.parametrize("strategy", ["discover", "create", "use-arn"])
@virtual_time
async def test_every_strategy_leads_to_ready(strategy: str) -> None:
    async with playing() as scene:
        await scene.api()
        spec: dict[str, Any] = {"certificateStrategy": strategy}
        if strategy != "create":
            arn = scene.certificate("*.example.com")
            spec |= {"certificateArn": arn} if strategy == "use-arn" else {}
        await scene.create(domain(**spec))
        await scene.ready(DOMAIN)
        assert len(scene.estate.certificates.shelf) == 1
        order = [PHASES.index(phase) for phase in scene.phases()]
        assert order == sorted(order)
        assert ("CERTIFICATE_PENDING" in scene.phases()) == (strategy == "create")


@virtual_time
async def test_pending_certificate_shows_its_validation_records() -> None:
    async with playing() as scene:
        await scene.api()
        await scene.create(domain(certificateStrategy="create", dnsConfig={"enabled": False}))
        fact = await scene.says(DOMAIN, "CertificateReady", "PendingValidation")
        await scene.until(lambda: "validationRecords" in scene.status(DOMAIN))
        (record,) = scene.status(DOMAIN)["validationRecords"]
        assert record["type"] == "CNAME"
        assert record["name"].endswith(NAME)
        assert scene.status(DOMAIN)["phase"] == "CERTIFICATE_PENDING"
        assert scene.status(DOMAIN)["ready"] is False
        assert fact.status == "False"
        assert not scene.records
        scene.estate.make_record(record["name"], record["value"])
        await scene.ready(DOMAIN)
        assert "validationRecords" not in scene.status(DOMAIN)
        assert scene.fact(DOMAIN, "DNSReady").reason == "DNSNotConfigured"


@virtual_time
async def test_first_pass_of_a_new_domain_requeues() -> None:
    async with playing() as scene:
        await scene.create(domain())
        await scene.says(DOMAIN, "APIMappingReady", "ReferenceNotFound")
        assert scene.metric("bridge_reconcile_total", kind="APIGatewayDomain", result="requeue_after") >= 1
        assert scene.status(DOMAIN)["phase"] == "CREATED"


# What changes later (B3)


@virtual_time
async def test_changed_api_stage_and_key_are_carried_through() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        other = scene.estate.gateway.add_api("other", ("$default", "beta"))
        await scene.api(other, "other")
        await scene.create(domain())
        await scene.ready(DOMAIN)
        await scene.edit(DOMAINS, DOMAIN, apiRef={"name": "other"}, stage="beta")
        await scene.until(lambda: scene.mapped() == {"": (other, "beta")})
        await scene.edit(DOMAINS, DOMAIN, apiMappingKey="v2/shop")
        await scene.until(lambda: scene.mapped() == {"v2/shop": (other, "beta")})
        await scene.ready(DOMAIN)
        assert scene.calls("CreateApiMapping") == 1
        assert scene.calls("CreateDomainName") == 1


@virtual_time
async def test_changed_certificate_and_policy_are_carried_through() -> None:
    async with playing() as scene:
        first, second = scene.certificate(), scene.certificate("*.example.com")
        await scene.api()
        await scene.create(domain(certificateStrategy="use-arn", certificateArn=first))
        await scene.ready(DOMAIN)
        await scene.edit(DOMAINS, DOMAIN, certificateArn=second, securityPolicy="TLS_1_0")
        await scene.until(lambda: scene.live().configuration["CertificateArn"] == second)
        await scene.ready(DOMAIN)
        assert scene.live().configuration["SecurityPolicy"] == "TLS_1_0"
        assert scene.calls("UpdateDomainName") == 1
        assert scene.status(DOMAIN)["certificateArn"] == second


@virtual_time
async def test_requested_certificate_goes_when_another_one_is_asked_for() -> None:
    async with playing() as scene:
        await scene.api()
        await scene.create(domain(certificateStrategy="create"))
        await scene.ready(DOMAIN)
        arn = scene.certificate()
        await scene.edit(DOMAINS, DOMAIN, certificateStrategy="use-arn", certificateArn=arn)
        await scene.until(lambda: [one.arn for one in scene.estate.certificates.shelf.values()] == [arn])
        await scene.ready(DOMAIN)
        assert scene.records == {f"CNAME {NAME}": scene.live().target}


@virtual_time
async def test_records_follow_their_settings() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        await scene.edit(DOMAINS, DOMAIN, dnsConfig={"ttl": 60})
        await scene.until(lambda: next(iter(scene.estate.zone.at(f"{NAME}."))).ttl == 60)
        await scene.edit(DOMAINS, DOMAIN, dnsConfig={"recordType": "ALIAS"})
        await scene.until(lambda: set(scene.records) == {f"A {NAME}", f"AAAA {NAME}"})
        await scene.ready(DOMAIN)
        zone = scene.cloud.route53.add_zone(NAME)
        await scene.edit(DOMAINS, DOMAIN, dnsConfig={"hostedZoneId": zone.id, "recordType": None})
        await scene.until(lambda: not scene.records)
        await scene.ready(DOMAIN)
        assert {one.type for one in zone.at(f"{NAME}.")} >= {"A", "AAAA"}
        await scene.edit(DOMAINS, DOMAIN, dnsConfig={"enabled": False})
        await scene.says(DOMAIN, "DNSReady", "DNSNotConfigured")
        assert not {one.type for one in zone.at(f"{NAME}.")} & {"A", "AAAA", "CNAME"}


@virtual_time
async def test_api_that_gets_another_id_is_followed() -> None:
    """B6: ACK has made the API anew; its watch wakes the object."""
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        other = scene.estate.gateway.add_api("another")
        began = scene.stage.clock.monotonic()
        await made(scene.stage, APIS, "shop", {"apiID": other})
        await scene.until(lambda: scene.mapped() == {"": (other, "$default")})
        assert scene.stage.clock.monotonic() - began < 10


# Drift


@virtual_time
async def test_drift_of_domain_mapping_and_record_is_corrected() -> None:
    async with playing() as scene:
        arn, other = scene.certificate(), scene.certificate("*.example.com")
        await scene.api()
        foreign = scene.estate.gateway.add_api("foreign")
        await scene.create(domain(certificateStrategy="use-arn", certificateArn=arn))
        await scene.ready(DOMAIN)
        live, gateway = scene.live(), scene.estate.gateway
        (mapped,) = live.mappings
        gateway.keep(
            live,
            configuration={**live.configuration, "CertificateArn": other},
            mappings=(replace(mapped, api=foreign),),
        )
        scene.estate.lose_record(f"{NAME}.")
        await scene.until(lambda: scene.live().configuration["CertificateArn"] == arn)
        await scene.until(lambda: scene.mapped() == {"": (API, "$default")} and bool(scene.records))
        await scene.ready(DOMAIN)
        assert scene.events(DOMAIN, "DriftCorrected")


@virtual_time
async def test_deleted_domain_is_created_again() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        scene.estate.gateway.domains.remove(NAME)
        scene.estate.lose_record(f"{NAME}.")
        await scene.until(lambda: scene.names == [NAME] and bool(scene.records))
        await scene.ready(DOMAIN)
        assert scene.records == {f"CNAME {NAME}": scene.live().target}


@virtual_time
async def test_drift_is_only_told_under_report() -> None:
    async with playing(replace(OPTIONS, drift_policy=Policy.REPORT)) as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        live = scene.live()
        scene.estate.gateway.keep(live, mappings=())
        await scene.says(DOMAIN, "Synced", "DriftDetected")
        await scene.elapse(minutes=10)
        assert scene.mapped() == {}


@virtual_time
async def test_expired_certificate_is_replaced_by_a_good_one() -> None:
    """B7: discovery takes what is issued, valid, of the region, and covers the domain; and keeps it while it is good."""
    async with playing() as scene:
        first = scene.certificate("*.example.com")
        scene.cloud.account().certificates("us-east-1").add_issued(NAME)
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        assert scene.live().configuration["CertificateArn"] == first
        second = scene.certificate()
        await scene.elapse(minutes=20)
        assert scene.live().configuration["CertificateArn"] == first
        scene.estate.certificates.fail(first, "EXPIRED")
        await scene.until(lambda: scene.live().configuration["CertificateArn"] == second)
        await scene.ready(DOMAIN)


# Rest (B4)


@virtual_time
async def test_ready_domain_is_written_by_nobody() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        await scene.elapse(minutes=5)
        versions, writes = len(scene.versions), scene.estate.writes
        scene.cloud.journal.clear()
        await scene.elapse(hours=1)
        assert (len(scene.versions), scene.estate.writes) == (versions, writes)
        assert scene.calls("GetDomainName") <= 13
        assert scene.calls("ListCertificates") == 0


@virtual_time
async def test_any_annotation_forces_a_pass() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        await scene.elapse(minutes=1)
        before = scene.calls("GetDomainName")
        await scene.stage.patch(DOMAINS, DOMAIN, {"metadata": {"annotations": {"force": "now"}}})
        await scene.elapse(seconds=2)
        assert scene.calls("GetDomainName") == before + 1


# DNS (B2, B7)


@virtual_time
async def test_apex_gets_aliases_with_the_zone_of_the_endpoint() -> None:
    async with playing() as scene:
        scene.certificate("example.com")
        await scene.api()
        await scene.create(domain("example.com"))
        await scene.ready(DOMAIN)
        assert set(scene.records) == {"A example.com", "AAAA example.com"}
        zones = {one.alias.zone for one in scene.estate.zone.at("example.com.") if one.alias}
        assert zones == {"ZLY8HYME6SFDD"}
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert not scene.records


@virtual_time
async def test_zone_is_the_public_one_with_the_longest_name() -> None:
    async with playing() as scene:
        scene.certificate("shop.eu.example.com")
        long = scene.cloud.route53.add_zone("eu.example.com")
        scene.cloud.route53.add_zone("shop.eu.example.com", private=True)
        await scene.api()
        await scene.create(domain("shop.eu.example.com"))
        await scene.ready(DOMAIN)
        assert scene.status(DOMAIN)["hostedZoneId"] == long.id
        assert not scene.records


@virtual_time
async def test_record_of_somebody_else_is_neither_replaced_nor_removed() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        scene.estate.make_record(NAME, "elsewhere.example.net")
        await scene.create(domain())
        fact = await scene.says(DOMAIN, "DNSReady", "DNSConflict")
        assert NAME in fact.message
        assert scene.fact(DOMAIN, "Degraded").status == "True"
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert scene.records == {f"CNAME {NAME}": "elsewhere.example.net"}
        assert not scene.names


@virtual_time
async def test_record_that_somebody_has_changed_stays_when_the_object_goes() -> None:
    async with playing(replace(OPTIONS, drift_policy=Policy.REPORT)) as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        scene.estate.make_record(NAME, "elsewhere.example.net")
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert scene.records == {f"CNAME {NAME}": "elsewhere.example.net"}
        assert scene.events(DOMAIN, "RecordsLeft")


# A domain name that was there before (B5)


@virtual_time
async def test_existing_domain_that_leads_to_the_same_api_is_used_and_stays() -> None:
    async with playing() as scene:
        scene.estate.make_domain(NAME, API, scene.certificate())
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        assert scene.status(DOMAIN)["managed"] is False
        assert "not managed" in scene.fact(DOMAIN, "DomainNameReady").message
        assert scene.records == {f"CNAME {NAME}": f"d-old{ENDPOINT}"}
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert scene.mapped() == {"": (API, "$default")}
        assert not scene.records
        assert scene.events(DOMAIN, "Orphaned")


@virtual_time
async def test_existing_domain_without_a_mapping_gets_one_that_goes_again() -> None:
    async with playing() as scene:
        scene.estate.make_domain(NAME, "", scene.certificate())
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        assert scene.mapped() == {"": (API, "$default")}
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert scene.names == [NAME]
        assert scene.mapped() == {}


@virtual_time
async def test_existing_domain_that_leads_to_another_api_is_a_conflict() -> None:
    async with playing() as scene:
        other = scene.estate.gateway.add_api("other")
        scene.estate.make_domain(NAME, other, scene.certificate())
        await scene.api()
        await scene.create(domain())
        fact = await scene.says(DOMAIN, "DomainNameReady", "DomainConflict")
        assert "API other" in fact.message
        await scene.elapse(minutes=10)
        assert scene.mapped() == {"": (other, "$default")}
        await scene.edit(DOMAINS, DOMAIN, adoptExisting=True)
        await scene.ready(DOMAIN)
        assert scene.mapped() == {"": (API, "$default")}
        assert scene.status(DOMAIN)["managed"] is True
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert not scene.names


@virtual_time
async def test_existing_domain_with_another_certificate_is_a_conflict() -> None:
    async with playing() as scene:
        scene.estate.make_domain(NAME, API, scene.certificate("*.example.com"))
        arn = scene.certificate()
        await scene.api()
        await scene.create(domain(certificateStrategy="use-arn", certificateArn=arn))
        fact = await scene.says(DOMAIN, "DomainNameReady", "DomainConflict")
        assert "certificateArn" in fact.message


@virtual_time
async def test_lost_response_of_a_creation_is_found_again() -> None:
    async with playing() as scene:
        for operation in ("RequestCertificate", "CreateDomainName", "CreateApiMapping"):
            scene.cloud.faults.add(faults.lost_response(), operation=operation)
        await scene.api()
        await scene.create(domain(certificateStrategy="create"))
        await scene.ready(DOMAIN)
        assert scene.estate.tally()[f"domain {NAME}"] == (1, 0)
        assert len(scene.estate.certificates.shelf) == 1
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert not scene.names
        assert not scene.estate.certificates.shelf


# References (B9), claims (B12), names (B8)


@virtual_time
async def test_api_of_another_namespace_needs_a_grant() -> None:
    async with playing() as scene:
        scene.certificate()
        shared = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shared"}}
        await scene.stage.user.create(NAMESPACE, shared)
        await scene.api()
        await scene.api(namespace="shared")
        await scene.create(domain(apiRef={"name": "shop", "namespace": "shared"}))
        fact = await scene.says(DOMAIN, "APIMappingReady", "ReferenceNotGranted")
        assert "ReferenceGrant" in fact.message
        await scene.elapse(minutes=10)
        assert not scene.names
        grant = {
            "apiVersion": REFERENCE_GRANT.api_version,
            "kind": "ReferenceGrant",
            "metadata": {"name": "domains", "namespace": "shared"},
            "spec": {
                "from": [{"group": DOMAINS.group, "kind": DOMAINS.kind, "namespace": "default"}],
                "to": [{"group": APIS.group, "kind": "API"}],
            },
        }
        await scene.stage.user.create(REFERENCE_GRANT, grant)
        await scene.ready(DOMAIN)
        await scene.stage.user.delete(REFERENCE_GRANT, Key("shared", "domains"))
        await scene.says(DOMAIN, "APIMappingReady", "ReferenceNotGranted")


@virtual_time
async def test_domain_belongs_to_the_older_of_two_objects() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        younger = Key("default", "younger")
        await scene.create(domain(key=younger))
        fact = await scene.says(younger, "Ready", "DomainConflict")
        assert str(DOMAIN) in fact.message
        await scene.delete(DOMAINS, DOMAIN)
        await scene.ready(younger)
        assert scene.estate.tally()[f"domain {NAME}"] == (2, 1)


def test_names_of_children_are_readable_and_differ() -> None:
    assert sanitised("api.example.com") == child_name("api.example.com") == "api-example-com"
    assert sanitised("*.example.com") == child_name("*.example.com") == "wildcard-example-com"
    assert sanitised("Test_Resource") == "testresource"
    ambiguous = [
        "a-b.example.com",
        "a.b.example.com",
        "wildcard.example.com",
        "*.example.com",
        "a_b.example.com",
    ]
    long = [f"{'x' * 60}.{label}.example.com" for label in ("one", "two")]
    names = [child_name(one) for one in (*ambiguous, *long)]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 63 for name in names)


# Deletion


@virtual_time
async def test_retained_domain_stays_without_our_tags() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain(deletionPolicy="Retain"))
        await scene.ready(DOMAIN)
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert scene.mapped() == {"": (API, "$default")}
        assert not scene.live().tags
        assert set(scene.records) == {f"CNAME {NAME}"}


@virtual_time
async def test_orphaned_domain_stays_without_our_tags() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        await scene.annotate(DOMAINS, DOMAIN, deletion_policy="Orphan")
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert not scene.live().tags


@virtual_time
async def test_mapping_of_somebody_else_keeps_the_domain() -> None:
    async with playing() as scene:
        scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        live = scene.live()
        foreign = Mapped("m9", API, "$default", "theirs")
        scene.estate.gateway.keep(live, mappings=(*live.mappings, foreign))
        await scene.delete(DOMAINS, DOMAIN)
        fact = await scene.says(DOMAIN, "DomainNameReady", "DomainInUse")
        assert "theirs" in fact.message
        scene.estate.gateway.keep(scene.live(), mappings=())
        await scene.gone(DOMAIN)
        assert not scene.names


@virtual_time
async def test_certificate_of_somebody_else_is_not_deleted_whatever_the_status_says() -> None:
    async with playing() as scene:
        arn = scene.certificate()
        await scene.api()
        await scene.create(domain())
        await scene.ready(DOMAIN)
        theirs = scene.certificate("theirs.example.com")
        forged = {"status": {"requestedCertificateArn": theirs, "region": "evil.example.com/"}}
        await scene.stage.user.merge_patch(DOMAINS, DOMAIN, forged, subresource="status")
        await scene.elapse(minutes=10)
        await scene.delete(DOMAINS, DOMAIN)
        await scene.gone(DOMAIN)
        assert {one.arn for one in scene.estate.certificates.shelf.values()} == {arn, theirs}
        assert not scene.names
