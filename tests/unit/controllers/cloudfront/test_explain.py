"""Why a pass failed, in conditions, an event and a counter: one row for each sort of error, and each fact once."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from unittest.mock import Mock, create_autospec

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from edgekeeper.cloud.aws import error_table
from edgekeeper.cloud.aws.dns.state import DnsWork
from edgekeeper.cloud.error_table import ErrorRow, error_for
from edgekeeper.controllers.cloudfront.decide import decide
from edgekeeper.controllers.cloudfront.kind import TenantKind
from edgekeeper.controllers.cloudfront.metrics import TenantMetrics
from edgekeeper.controllers.cloudfront.observe import Observer
from edgekeeper.controllers.cloudfront.perform import Performer
from edgekeeper.controllers.cloudfront.report import DECLARATION
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.conditions import status_violations
from edgekeeper.core.errors import Cause, Conflict, PassError, Retry, Stall, Wait
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Outcome, StatusWrite, done
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.kind import Pass
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.status import StatusWriter
from edgekeeper.runtime.contract import Request
from kubesim.virtual import START
from tests.unit.controllers.cloudfront.cases import DNS, NAME, live, present, record

DISABLED = live(enabled=False)


class _Still:
    """A clock that stands."""

    def now(self) -> datetime:
        return START

    def monotonic(self) -> float:
        return 0.0


class Witness:
    """An explainer, and what it counts."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        observer = create_autospec(Observer, instance=True)
        observer.account = Mock()
        observer.account.dns.outbox.answered.side_effect = lambda _, inventory: (inventory, "")
        self._kind = TenantKind(observer, create_autospec(Performer, instance=True))
        memory = Memory(_Still())
        self.outages = memory.outages
        self._writer = StatusWriter(self._kind, memory, TenantMetrics(self._registry), _Still())

    def explain(self, error: PassError, obj: JsonObject) -> Outcome:
        return self._writer.explain(_request(obj), error)

    def removal(self, snapshot: Snapshot, obj: JsonObject) -> Outcome:
        deleting = replace(snapshot, deleting=True)
        conditions = self._writer.conditions(obj)
        report = self._kind.report(Pass(obj, deleting, deleting, decide(deleting), START), conditions)
        return done().writing(self._writer.write(obj, report, conditions, "")).with_events(*report.events)

    def counted(self, error_type: str) -> float:
        name = "cloudfront_tenant_operator_reconcile_errors_total"
        return self._registry.get_sample_value(name, {"error_type": error_type}) or 0.0


def _request(obj: JsonObject) -> Request:
    return Request(Key("default", NAME), msgspec.json.encode(obj), obj, reconcile_id="")


def _object(status: JsonObject | None = None, generation: int = 1, **spec: object) -> JsonObject:
    obj: JsonObject = {"metadata": {"name": NAME, "generation": generation}, "spec": spec}
    return obj if status is None else {**obj, "status": status}


def _status(outcome: Outcome) -> JsonObject:
    assert isinstance(outcome.write, StatusWrite)
    return outcome.write.status


def _facts(outcome: Outcome) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in _status(outcome)["conditions"]}


@pytest.mark.parametrize(
    ("error", "elsewhere"),
    [
        *(
            pytest.param(Stall(reason, "no"), {"Synced": reason}, id=reason)
            for reason in (
                *("ValidationFailed", "NameConflict", "DomainConflict", "CertificateSANMismatch"),
                *("AccessDenied", "InvalidSpec", "AWSError"),
            )
        ),
        pytest.param(Stall("DNSError", "no"), {"DNSReady": "DNSError"}, id="DNSError"),
        pytest.param(Stall("DNSConflict", "no"), {"DNSReady": "DNSConflict"}, id="DNSConflict"),
        pytest.param(
            error_for(error_table.NO_CONNECTION_GROUP, "no"),
            {"Synced": "InvalidSpec", "DNSReady": "DNSError"},
            id="connection group",
        ),
        pytest.param(error_for(error_table.UNVALIDATED, "no"), {}, id="DomainValidationPending"),
        pytest.param(error_for(error_table.QUOTA, "no"), {}, id="QuotaExceeded"),
    ],
)
def test_what_waits_for_somebody_is_told_in_conditions_and_a_warning(
    error: PassError, elsewhere: dict[str, str]
) -> None:
    outcome = Witness().explain(error, _object(dns=DNS))
    told = {"Ready": error.reason, **elsewhere}
    assert _facts(outcome) == {type_: ("False", reason) for type_, reason in told.items()}
    assert [(one.type, one.reason) for one in outcome.events] == [("Warning", error.reason)]
    assert all("no" in one["message"] for one in _status(outcome)["conditions"])
    obj = _object(_status(outcome), dns=DNS)
    assert status_violations(obj, declaration=DECLARATION, now=START) == []


def test_missing_connection_group_without_dns_says_nothing_of_dns() -> None:
    outcome = Witness().explain(error_for(error_table.NO_CONNECTION_GROUP, "no"), _object())
    assert "DNSReady" not in _facts(outcome)


def test_domain_that_cannot_be_validated_yet_is_told_with_its_likely_cause() -> None:
    outcome = Witness().explain(error_for(error_table.UNVALIDATED, "no"), _object())
    assert outcome.events[0].message == "no; DNS may still be propagating"


@pytest.mark.parametrize(
    ("error", "counted"),
    [
        pytest.param(error_for(error_table.THROTTLING, "slow down"), "throttling", id="throttling"),
        pytest.param(error_for(error_table.DNS_THROTTLING, "slow down"), "dns_throttling", id="of DNS"),
        pytest.param(error_for(error_table.BUSY, "oops"), "retryable", id="outage"),
        pytest.param(error_for(error_table.DNS_BUSY, "oops"), "dns_retryable", id="outage of DNS"),
        pytest.param(Wait(timedelta(seconds=5), "MirrorNotSynced"), "", id="not listed yet"),
        pytest.param(Retry("oops"), "", id="anything"),
        pytest.param(Conflict(), "", id="lost race"),
    ],
)
def test_what_passes_by_itself_is_counted_and_changes_nothing(error: PassError, counted: str) -> None:
    witness = Witness()
    outcome = witness.explain(error, _object())
    assert (outcome.write, outcome.events) == (None, ())
    assert not counted or witness.counted(counted) == 1


@pytest.mark.parametrize(
    "meaning",
    [
        *(
            error_table.DENIED,
            error_table.INVALID,
            error_table.QUOTA,
            error_table.TAKEN_NAME,
            error_table.UNKNOWN,
        ),
        *(error_table.UNVALIDATED, error_table.NO_DISTRIBUTION, error_table.NO_CONNECTION_GROUP),
        *(error_table.DNS_DENIED, error_table.DNS_INVALID, error_table.DNS_NO_ZONE, error_table.DNS_UNKNOWN),
        error_table.BY_SERVICE["cloudfront"]["CNAMEAlreadyExists"],
    ],
    ids=lambda meaning: meaning.error_type,
)
def test_fact_is_told_and_counted_once_and_once_more_for_another_spec(meaning: ErrorRow) -> None:
    witness, error = Witness(), error_for(meaning, "no")
    status = _status(witness.explain(error, _object(dns=DNS)))
    again = witness.explain(error, _object(status, dns=DNS))
    assert (_status(again), again.events, witness.counted(meaning.error_type)) == (status, (), 1)
    newer = witness.explain(error, _object(status, generation=2, dns=DNS))
    assert (len(newer.events), witness.counted(meaning.error_type)) == (1, 2)


# Outages

LONG = -timedelta(hours=1).total_seconds()
"""Since when something has not been answered, by a clock that stands at zero."""


def _outage(message: str = "no route") -> PassError:
    error = error_for(error_table.BUSY, message)
    error.unavailable = Cause.UNREACHABLE
    return error


def _told_of_outage(witness: Witness, obj: JsonObject) -> Outcome:
    witness.outages.note("6f1c", _outage(), LONG)
    return witness.explain(_outage(), obj)


def _tenant(generation: int, *conditions: JsonObject, **status: object) -> JsonObject:
    metadata = {"name": NAME, "generation": generation, "uid": "6f1c"}
    return {"metadata": metadata, "spec": {}, "status": {"conditions": list(conditions), **status}}


def _ready(status: str, reason: str, generation: int) -> JsonObject:
    told = {"status": status, "reason": reason, "message": "so", "observedGeneration": generation}
    return {"type": "Ready", **told, "lastTransitionTime": "2025-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("obj", "ready"),
    [
        pytest.param(_tenant(1), ("Unknown", "CloudUnavailable"), id="new"),
        pytest.param(
            _tenant(1, _ready("False", "Creating", 1)), ("Unknown", "CloudUnavailable"), id="being created"
        ),
        pytest.param(
            _tenant(2, _ready("True", "Deployed", 1), id="dt_1", observedGeneration=1),
            ("Unknown", "CloudUnavailable"),
            id="changed",
        ),
        pytest.param(
            _tenant(2, _ready("False", "Deploying", 2), id="dt_1", observedGeneration=1),
            ("False", "Deploying"),
            id="changed, and known to be at work",
        ),
    ],
)
def test_outage_says_of_ready_only_what_is_known(obj: JsonObject, ready: tuple[str, str]) -> None:
    outcome = _told_of_outage(Witness(), obj)
    assert _facts(outcome) == {"Ready": ready, "Synced": ("False", "CloudUnavailable")}
    assert [(one.type, one.reason) for one in outcome.events] == [("Warning", "CloudUnavailable")]
    after = {**obj, "status": _status(outcome)}
    assert status_violations(after, obj, declaration=DECLARATION, now=START) == []


def test_outage_is_written_and_told_once() -> None:
    witness, obj = Witness(), _tenant(1)
    first = _told_of_outage(witness, obj)
    witness.outages.note("6f1c", _outage("another route"), LONG)
    again = witness.explain(_outage("another route"), {**obj, "status": _status(first)})
    assert _status(again) == _status(first)
    assert again.events == ()
    assert witness.counted("retryable") == 2


def test_outage_is_not_told_of_an_object_at_rest() -> None:
    obj = _tenant(1, _ready("True", "Deployed", 1), id="dt_1", observedGeneration=1)
    outcome = _told_of_outage(Witness(), obj)
    assert (outcome.write, outcome.events) == (None, ())


def test_refusal_ends_what_was_said_of_an_outage() -> None:
    witness = Witness()
    status = _status(_told_of_outage(witness, _tenant(1)))
    refused = witness.explain(error_for(error_table.DNS_DENIED, "no"), {**_tenant(1), "status": status})
    assert _facts(refused) == {"Ready": ("False", "DNSError"), "DNSReady": ("False", "DNSError")}


# Deletion


@pytest.mark.parametrize(
    ("snapshot", "reason", "told"),
    [
        pytest.param(present(inventory=(record(),)), "Deleting", [], id="records"),
        pytest.param(present(work=DnsWork(removed=1)), "Disabling", ["DNSCleaned", "Disabling"], id="gone"),
        pytest.param(present(), "Disabling", ["Disabling"], id="no records"),
        pytest.param(present(tenant=replace(DISABLED, status="InProgress")), "Deleting", [], id="disabled"),
        pytest.param(present(tenant=DISABLED), "Deleting", [], id="deleted"),
    ],
)
def test_deletion_tells_how_far_it_is(snapshot: Snapshot, reason: str, told: list[str]) -> None:
    outcome = Witness().removal(snapshot, _object())
    assert _facts(outcome) == {"Ready": ("False", reason)}
    assert [(one.type, one.reason) for one in outcome.events] == [("Normal", one) for one in told]


def test_refusal_to_remove_records_stands_while_that_is_tried_again() -> None:
    witness, snapshot = Witness(), present(inventory=(record(),))
    refused = _status(witness.explain(error_for(error_table.DNS_DENIED, "no"), _object(dns=DNS)))
    outcome = witness.removal(snapshot, _object(refused, dns=DNS))
    assert _status(outcome)["conditions"] == refused["conditions"]
    assert outcome.events == ()
