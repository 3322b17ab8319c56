"""The line about an object: its state in a word, and why."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject
from edgekeeper.web.rows import LONGEST_MESSAGE, State, object_row
from tests.unit.web.fleet import DEPLOYING, READY, REFUSED, condition, known, row, tenant

DELETED: dict[str, Any] = {"deletionTimestamp": "2026-01-03T00:00:00Z", "finalizers": ["x/y"]}


def drifted(obj: JsonObject) -> JsonObject:
    return {**obj, "status": {**obj["status"], "driftDetected": True}}


@pytest.mark.parametrize(
    ("obj", "state"),
    [
        (tenant("a", READY), State.READY),
        (tenant("a", DEPLOYING), State.PROGRESSING),
        (tenant("a"), State.PROGRESSING),
        (tenant("a", REFUSED), State.ATTENTION),
        (tenant("a", READY, **DELETED), State.DELETING),
        (tenant("a", REFUSED, **DELETED), State.ATTENTION),
        (tenant("a", READY, annotations={"edgekeeper.io/paused": "true"}), State.PAUSED),
        (tenant("a", REFUSED, annotations={"edgekeeper.io/paused": "true"}), State.PAUSED),
        (tenant("a", annotations={"edgekeeper.io/paused": "true"}, **DELETED), State.DELETING),
        (drifted(tenant("a", READY)), State.DRIFTED),
    ],
)
def test_row_has_the_state_that_people_care_about(obj: JsonObject, state: State) -> None:
    assert row(obj).state is state


def test_row_says_who_must_act_and_since_when() -> None:
    found = row(tenant("a", REFUSED))
    assert (found.reason, found.message) == ("ValidationFailed", "spec.domains: not allowed")
    assert (found.waits_for, found.since) == ("you", "2026-01-02T03:04:05Z")
    assert found.hostnames == ("a.example.com",)


def test_row_of_a_generation_that_was_not_observed_is_not_ready() -> None:
    assert row(tenant("a", READY, generation=2)).state is State.PROGRESSING


@pytest.mark.parametrize(
    ("policy", "default", "waits_for"),
    [
        ("report", "enforce", ""),
        ("", "report", ""),
        ("enforce", "report", "CloudFront"),
        ("", "enforce", "CloudFront"),
    ],
)
def test_drift_that_is_left_waits_for_nothing(policy: str, default: str, waits_for: str) -> None:
    annotations = {"edgekeeper.io/drift-policy": policy} if policy else {}
    found = object_row(drifted(tenant("a", DEPLOYING, annotations=annotations)), known(), Policy(default))
    assert (found.state, found.waits_for, bool(found.until)) == (State.DRIFTED, waits_for, bool(waits_for))


def test_row_is_redacted_and_cut() -> None:
    message = "the call failed: Authorization: Bearer eyJhbGciOi.eyJzdWIi.c2lnbmF0dXJl " + "x" * 1000
    found = row(tenant("a", condition("False", "Deploying", message)))
    assert "eyJ" not in found.message
    assert "eyJ" not in found.text
    assert len(found.message) <= LONGEST_MESSAGE + 1


def test_row_accepts_an_object_of_any_content() -> None:
    odd: JsonObject = {
        "metadata": {"name": "a", "namespace": "b", "annotations": 5},
        "spec": [],
        "status": "no",
    }
    assert row(odd).state is State.PROGRESSING
