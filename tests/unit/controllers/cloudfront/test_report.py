"""The status that a pass leaves behind, and the events that tell of it: one row for each moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import create_autospec

import pytest
from prometheus_client import CollectorRegistry

from edgekeeper.cloud.aws.dns.state import DnsWork
from edgekeeper.cloud.aws.tenants import Customizations, ManagedCertificate, TenantDomain, ValidationToken
from edgekeeper.controllers.cloudfront.decide import decide
from edgekeeper.controllers.cloudfront.kind import TenantKind
from edgekeeper.controllers.cloudfront.metrics import TenantMetrics
from edgekeeper.controllers.cloudfront.observe import Observer
from edgekeeper.controllers.cloudfront.perform import Performer
from edgekeeper.controllers.cloudfront.report import DECLARATION
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.conditions import status_violations
from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Event
from edgekeeper.lifecycle.kind import Pass
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.status import StatusWriter
from kubesim.virtual import START
from tests.unit.controllers.cloudfront.cases import (
    DNS,
    ENDPOINT,
    ISSUED_CERTIFICATE,
    MANAGED,
    NAME,
    PENDING_CHANGES,
    absent,
    altered,
    live,
    present,
    record,
    spec,
    status,
    zone,
)

WITH_DNS = spec(dns=DNS)
WRITTEN = (record(),)
WARNINGS = {"DriftCorrected", "DriftDetected", "ExternalDeletion"}
READY, SYNCED, CERTIFICATE, DNS_READY = "Ready", "Synced", "CertificateReady", "DNSReady"


def _object(snapshot: Snapshot, status: JsonObject | None = None) -> JsonObject:
    obj: JsonObject = {"metadata": {"name": NAME, "generation": snapshot.generation}}
    return obj if status is None else {**obj, "status": status}


@dataclass
class Told:
    """What was reported of a pass."""

    status: JsonObject
    events: Sequence[Event]
    is_correction: bool


class _Clock:
    """A clock that stands."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return 0.0


def _report(
    before: Snapshot, after: Snapshot | None = None, known: JsonObject | None = None, now: datetime = START
) -> Told:
    clock, obj = _Clock(now), _object(before, known)
    kind = TenantKind(create_autospec(Observer, instance=True), create_autospec(Performer, instance=True))
    writer = StatusWriter(kind, Memory(clock), TenantMetrics(CollectorRegistry()), clock)
    conditions = writer.conditions(obj)
    report = kind.report(Pass(obj, before, after or before, decide(before), now), conditions)
    status = writer.write(obj, report, conditions, "").status
    return Told(status, report.events, report.is_correction)


def _facts(told: Told) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in told.status["conditions"]}


def _certified(certificate_status: str, *, active: bool = True, **fields: Any) -> Snapshot:
    certificate = ManagedCertificate(ISSUED_CERTIFICATE, certificate_status, "cloudfront")
    domains = (TenantDomain("shop.example.com", "active" if active else "inactive"),)
    wanted = spec(
        managedCertificateRequest=MANAGED, customizations={"certificate": {"arn": ISSUED_CERTIFICATE}}
    )
    attached = live(customizations=Customizations(certificate_arn=ISSUED_CERTIFICATE), domains=domains)
    return present(**{"spec": wanted, "tenant": attached, "certificate": certificate, **fields})


@pytest.mark.parametrize(
    ("before", "after", "type_", "expected"),
    [
        pytest.param(
            absent(), absent(tenant=live(status="InProgress")), READY, ("False", "Creating"), id="created"
        ),
        pytest.param(
            absent(spec=WITH_DNS, zone=zone()),
            None,
            READY,
            ("False", "Creating"),
            id="records before the tenant",
        ),
        pytest.param(
            present(tenant=live(status="InProgress")), None, READY, ("False", "Deploying"), id="deploying"
        ),
        pytest.param(present(), None, READY, ("True", "Deployed"), id="deployed"),
        pytest.param(
            present(generation=2, spec=spec(enabled=False)),
            None,
            READY,
            ("False", "Deploying"),
            id="update sent",
        ),
        pytest.param(
            present(tenant=None, policy=Policy.REPORT),
            None,
            READY,
            ("False", "ExternalDeletion"),
            id="deleted by others",
        ),
        pytest.param(
            present(tenant=None),
            present(tenant=live(status="InProgress")),
            READY,
            ("False", "Creating"),
            id="deleted by others and created again",
        ),
        pytest.param(present(), None, SYNCED, ("True", "InSync"), id="in sync"),
        pytest.param(
            present(generation=2, spec=spec(enabled=False)),
            None,
            SYNCED,
            ("True", "UpdatePending"),
            id="pending",
        ),
        pytest.param(
            present(tenant=live(enabled=False)),
            None,
            SYNCED,
            ("False", "DriftDetected"),
            id="drift that is corrected",
        ),
        pytest.param(
            present(tenant=live(enabled=False), policy=Policy.REPORT),
            None,
            SYNCED,
            ("False", "DriftDetected"),
            id="drift that is reported",
        ),
        pytest.param(present(), None, CERTIFICATE, ("True", "NotConfigured"), id="no managed certificate"),
        pytest.param(_certified("issued"), None, CERTIFICATE, ("True", "Validated"), id="served"),
        pytest.param(
            _certified("issued", active=False), None, CERTIFICATE, ("False", "Attaching"), id="not served"
        ),
        pytest.param(
            _certified("pending-validation"),
            None,
            CERTIFICATE,
            ("False", "PendingValidation"),
            id="not validated",
        ),
        pytest.param(
            _certified("inactive"), None, CERTIFICATE, ("False", "PendingValidation"), id="another status"
        ),
        *(
            pytest.param(_certified(one), None, CERTIFICATE, ("False", "CertificateFailed"), id=one)
            for one in ("failed", "validation-timed-out", "revoked", "expired")
        ),
        pytest.param(present(), None, DNS_READY, ("True", "DNSNotConfigured"), id="no dns"),
        pytest.param(
            absent(
                spec=WITH_DNS,
                zone=zone(),
                inventory=(record(state="Planned"),),
                work=DnsWork(pending=True),
            ),
            None,
            DNS_READY,
            ("False", "DNSRecordCreating"),
            id="records handed in",
        ),
        pytest.param(
            absent(
                spec=WITH_DNS,
                zone=zone("shop.example.com"),
                inventory=WRITTEN,
                changes=PENDING_CHANGES,
            ),
            None,
            DNS_READY,
            ("False", "DNSPropagating"),
            id="records not known everywhere",
        ),
        pytest.param(
            present(spec=WITH_DNS, zone=zone("shop.example.com"), inventory=WRITTEN),
            None,
            DNS_READY,
            ("True", "DNSReady"),
            id="records known",
        ),
    ],
)
def test_condition_says_what_is(
    before: Snapshot, after: Snapshot | None, type_: str, expected: tuple[str, str]
) -> None:
    assert _facts(_report(before, after))[type_] == expected


def test_suspended_drift_leaves_synced_as_it_was() -> None:
    known = _report(present()).status
    before = present(tenant=live(enabled=False), policy=Policy.SUSPEND)
    assert _facts(_report(before, known=known))[SYNCED] == ("True", "InSync")


def test_status_that_has_not_changed_is_the_same_to_the_letter() -> None:
    first = _report(present()).status
    later = _report(present(), known=first, now=START + timedelta(hours=1))
    assert later.status == first


def test_time_of_the_last_look_is_written_beside_a_change() -> None:
    first = _report(present()).status
    before = present(tenant=live(enabled=False), policy=Policy.REPORT)
    later = _report(before, known=first, now=START + timedelta(hours=1))
    assert later.status["lastDriftCheckTime"] != first["lastDriftCheckTime"]


@pytest.mark.parametrize(
    ("before", "observed"),
    [
        pytest.param(present(generation=2), 2, id="nothing to do for it"),
        pytest.param(present(generation=2, spec=spec(enabled=False)), 2, id="sent"),
        pytest.param(present(generation=2, spec=WITH_DNS, zone=zone()), 1, id="records are left to write"),
        pytest.param(absent(spec=WITH_DNS, zone=zone()), None, id="not created yet"),
    ],
)
def test_generation_is_observed_once_it_is_carried_out(before: Snapshot, observed: int | None) -> None:
    assert _report(before).status.get("observedGeneration") == observed


def test_tokens_to_be_served_are_told_by_domain() -> None:
    token = ValidationToken("shop.example.com", "shop.example.com/from", "aws/to")
    certificate = ManagedCertificate(ISSUED_CERTIFICATE, "pending-validation", "self-hosted", (token,))
    wanted = spec(managedCertificateRequest={**MANAGED, "validationTokenHost": "self-hosted"})
    written = _report(present(spec=wanted, certificate=certificate)).status
    (message,) = (one["message"] for one in written["conditions"] if one["type"] == CERTIFICATE)
    assert "shop.example.com: redirect shop.example.com/from -> aws/to" in message


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param(absent(), absent(tenant=live()), ["Created"], id="created"),
        pytest.param(present(), None, [], id="nothing"),
        pytest.param(present(tenant=live(status="InProgress")), None, [], id="waiting"),
        pytest.param(present(generation=2, spec=spec(enabled=False)), None, ["Updated"], id="updated"),
        pytest.param(
            present(tenant=live(enabled=False)), None, ["DriftCorrected", "Updated"], id="corrected"
        ),
        pytest.param(present(tenant=live(enabled=False), may_correct=False), None, [], id="not fought"),
        pytest.param(
            present(tenant=live(enabled=False), policy=Policy.REPORT), None, ["DriftDetected"], id="reported"
        ),
        pytest.param(
            present(tenant=live(enabled=False), policy=Policy.REPORT, status=status(drift_detected=True)),
            None,
            [],
            id="reported before",
        ),
        pytest.param(
            present(tenant=None, policy=Policy.REPORT), None, ["ExternalDeletion"], id="deleted by others"
        ),
        pytest.param(
            present(tenant=None, policy=Policy.REPORT, status=status(drift_detected=True)),
            None,
            [],
            id="known to be",
        ),
        pytest.param(
            present(generation=2, spec=WITH_DNS, zone=zone(), inventory=(record(state="Planned"),)),
            None,
            ["DNSRecordCreating"],
            id="records handed in",
        ),
        pytest.param(present(generation=2, inventory=WRITTEN), None, [], id="records to be removed"),
        pytest.param(present(work=DnsWork(removed=2)), None, ["DNSCleaned"], id="records removed"),
        pytest.param(
            present(tenant=None), present(tenant=live()), ["ExternalDeletion", "Created"], id="created again"
        ),
        pytest.param(
            _certified("issued", spec=spec(managedCertificateRequest=MANAGED)),
            None,
            ["CertificateAttaching"],
            id="issued",
        ),
    ],
)
def test_events_tell_what_happened(before: Snapshot, after: Snapshot | None, told: list[str]) -> None:
    events = list(_report(before, after).events)
    assert [event.reason for event in events] == told
    assert {event.reason for event in events if event.type == "Warning"} == set(told) & WARNINGS


def _known(snapshot: Snapshot, reason: str = "", generation: int = 1) -> JsonObject:
    """A status that was written for a snapshot, and in which DNSReady has a reason."""
    known = _report(snapshot).status
    changed = {"reason": reason, "observedGeneration": generation} if reason else {}
    conditions = [one | changed if one["type"] == DNS_READY else one for one in known["conditions"]]
    return {**known, "conditions": conditions}


@pytest.mark.parametrize("reason", ["DNSError", "DNSConflict"])
def test_refusal_stands_while_records_are_tried_again(reason: str) -> None:
    before = present(generation=2, spec=WITH_DNS, zone=zone(), inventory=(record(state="Planned"),))
    known = _known(before, reason, generation=2)
    again = _report(before, known=known)
    assert again.status == known
    assert list(again.events) == []


def test_refusal_of_an_older_spec_says_nothing_about_the_present_one() -> None:
    before = present(generation=2, spec=WITH_DNS, zone=zone(), inventory=(record(state="Planned"),))
    again = _report(before, known=_known(before, "DNSError", generation=1))
    assert _facts(again)[DNS_READY] == ("False", "DNSRecordCreating")
    assert [event.reason for event in again.events] == ["DNSRecordCreating"]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(
            present(generation=2, spec=WITH_DNS, zone=zone(), inventory=(record(state="Planned"),)),
            id="new records",
        ),
        pytest.param(present(spec=WITH_DNS, zone=zone(), inventory=WRITTEN), id="drift"),
    ],
)
def test_records_that_are_tried_again_after_an_outage_are_told_once(before: Snapshot) -> None:
    first = _report(before)
    assert "DNSRecordCreating" in [event.reason for event in first.events]
    waiting = _report(altered(before, work=DnsWork(pending=True)), known=first.status)
    assert list(waiting.events) == []
    again = _report(before, known=waiting.status)
    assert list(again.events) == []
    assert not again.is_correction


@pytest.mark.parametrize(
    ("before", "is_correction"),
    [
        pytest.param(present(tenant=live(enabled=False)), True, id="tenant"),
        pytest.param(present(tenant=None), True, id="deleted tenant"),
        pytest.param(present(spec=WITH_DNS, zone=zone(), inventory=WRITTEN), True, id="records"),
        pytest.param(present(tenant=live(enabled=False), policy=Policy.REPORT), False, id="left"),
        pytest.param(present(generation=2, spec=spec(enabled=False)), False, id="a change of the spec"),
    ],
)
def test_corrections_of_drift_are_known_as_such(before: Snapshot, is_correction: bool) -> None:
    assert _report(before).is_correction == is_correction


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("createdTime", "2026-01-01T00:00:00Z"),
        ("lastModifiedTime", "2026-01-01T01:00:00Z"),
        ("id", "dt_1"),
        ("arn", "arn:aws:cloudfront::111122223333:distribution-tenant/dt_1"),
        ("eTag", "E1"),
        ("distributionTenantStatus", "Deployed"),
        ("domainResults", [{"domain": "shop.example.com", "status": "active"}]),
        ("dnsTarget", ENDPOINT),
        ("driftDetected", False),
        ("lastDriftCheckTime", "2026-01-01T00:00:00Z"),
        ("observedGeneration", 1),
    ],
)
def test_status_says_what_cloudfront_says(field: str, expected: object) -> None:
    tenant = live(created=START, modified=START + timedelta(hours=1))
    before = present(tenant=tenant, spec=WITH_DNS, zone=zone("shop.example.com"), inventory=WRITTEN)
    assert _report(before).status[field] == expected


@pytest.mark.parametrize(
    "snapshot",
    [
        absent(),
        absent(spec=WITH_DNS, zone=zone()),
        present(),
        present(generation=3, spec=spec("new.example.com")),
        present(tenant=live(enabled=False), policy=Policy.REPORT),
        present(tenant=None, policy=Policy.SUSPEND),
        _certified("issued", active=False),
        altered(present(spec=WITH_DNS, zone=zone(), inventory=WRITTEN), changes=PENDING_CHANGES),
    ],
)
def test_every_status_keeps_the_laws(snapshot: Snapshot) -> None:
    obj = _object(snapshot, _report(snapshot).status)
    assert status_violations(obj, declaration=DECLARATION, now=START) == []
