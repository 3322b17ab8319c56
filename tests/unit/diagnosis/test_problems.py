"""What an object says about not being ready. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from edgekeeper.cli.kinds import MODULES
from edgekeeper.core.json import JsonObject
from edgekeeper.diagnosis.catalog import Catalog, KnownKind, composed_kind, known_kinds
from edgekeeper.diagnosis.problems import Problem, problems_of
from edgekeeper.diagnosis.rows import row_of

CATALOG = Catalog(tuple(known_kinds(MODULES)))
SINCE = "2026-01-01T00:00:00Z"


def known(name: str) -> KnownKind:
    (found,) = CATALOG.find(name)
    return found


def condition(type_: str, status: str, reason: str = "Because", message: str = "words") -> JsonObject:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": SINCE,
    }


def obj(*conditions: JsonObject, **metadata: Any) -> JsonObject:
    named = {"name": "x", "namespace": "n", "generation": 1, "creationTimestamp": SINCE, **metadata}
    return {"metadata": named, "status": {"conditions": list(conditions)}}


def told(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(one.source, one.reason) for one in problems]


def test_ready_comes_first_and_others_only_where_they_say_something_else() -> None:
    found = problems_of(
        obj(
            condition("Synced", "True"),
            condition("DNSReady", "False", "DNSError"),
            condition("Deployed", "False", "Deploying"),
            condition("Ready", "False", "Deploying"),
        ),
        known("dt"),
    )
    assert told(found) == [("Ready", "Deploying"), ("DNSReady", "DNSError")]
    assert found[0].remedy is not None
    assert found[0].until == datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=15)
    assert found[1].until is None, "a person must act"


def test_negative_conditions_are_wrong_when_they_are_true() -> None:
    found = problems_of(obj(condition("Ready", "True"), condition("Degraded", "False")), known("agd"))
    assert found == []
    found = problems_of(obj(condition("Ready", "False"), condition("Paused", "True", "Paused")), known("agd"))
    assert told(found) == [("Ready", "Because"), ("Paused", "Paused")]


def test_objects_of_ack_say_what_keeps_them() -> None:
    """Their other conditions mean nothing unless they are True."""
    quiet = obj(condition("ACK.ResourceSynced", "True"), condition("ACK.Terminal", "False"))
    assert problems_of(quiet, None) == []
    stopped = obj(
        condition("ACK.ResourceSynced", "Unknown", "", "unable to determine"),
        condition("ACK.Terminal", "True", "", "BadRequestException: the certificate is not valid"),
        condition("ACK.LateInitialized", "False"),
    )
    messages = [one.message for one in problems_of(stopped, None)]
    assert messages == ["unable to determine", "BadRequestException: the certificate is not valid"]


def test_route_is_judged_by_its_annotations() -> None:
    annotations = {
        "cfzt.cloudflare.com/enabled": "true",
        "edgekeeper.io/ready": "False",
        "edgekeeper.io/reason": "Progressing",
        "edgekeeper.io/message": "the changes are being made at Cloudflare",
    }
    row = row_of(obj(annotations=annotations), known("route"))
    assert (row.ready, row.reason, row.waits_for) == (False, "Progressing", "the cloudflare-worker")
    assert row.until is None, "annotations do not say since when"


def test_object_that_nobody_has_looked_at_waits_for_the_operator_since_it_exists() -> None:
    row = row_of(obj(), known("dt"))
    assert (row.reason, row.waits_for) == ("Pending", "the operator")
    assert row.until == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


def test_deletion_and_outdated_status_are_not_ready() -> None:
    ready = obj(condition("Ready", "True"))
    deleted = obj(condition("Ready", "True"), deletionTimestamp=SINCE)
    assert row_of(ready, known("dt")).ready
    assert row_of(deleted, known("dt")).reason == "Terminating"
    ready["status"]["observedGeneration"] = 1
    ready["metadata"]["generation"] = 2
    row = row_of(ready, known("dt"))
    assert (row.ready, row.message) == (False, "generation 2 has not been observed yet")


def test_reason_without_an_entry_is_shown_as_it_is() -> None:
    row = row_of(obj(condition("Ready", "False", "Unheard", "of")), known("dt"))
    assert (row.reason, row.message, row.waits_for) == ("Unheard", "of", "")


@pytest.mark.parametrize(
    ("message", "waits_for"),
    [
        ("resource web: Deployment default/a is not ready: 0 of 2", "the resource that the message names"),
        (
            "resource cdn: DistributionTenant a/b is not ready: x; it says: Deploying: CloudFront deploys it",
            "the resource that the message names",
        ),
        ("resource cdn: DistributionTenant a/b is not ready: x; it says: ValidationFailed: spec.domains", ""),
        ("resource a waits for b to be ready", "the resource that the message names"),
        ("resource a: waits for schema.spec.name, which is not set", ""),
        ("resource a: configmaps is forbidden", ""),
    ],
)
def test_instance_waits_for_somebody_only_if_its_resource_does(message: str, waits_for: str) -> None:
    spec = {"schema": {"apiVersion": "v1", "kind": "WebApp", "spec": {}}, "resources": []}
    known = composed_kind({"metadata": {"name": "web-apps"}, "spec": spec})
    assert known is not None
    condition = {"type": "Ready", "status": "False", "reason": "NotReady", "message": message}
    (problem,) = problems_of({"status": {"conditions": [condition]}}, known)
    assert problem.remedy is not None
    assert problem.remedy.waits_for == waits_for
