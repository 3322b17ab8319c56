"""Drift: the two tables, row by row."""

from __future__ import annotations

import pytest

from edgekeeper.core.delta import ABSENT, Difference
from edgekeeper.core.drift import (
    Change,
    Decision,
    Policy,
    decide,
    detect_change,
    drift_event,
    drift_message,
)
from edgekeeper.core.outcome import Event

DIFFERENCES = (Difference("enabled", before=False, after=True), Difference("domains[a.io]", ABSENT, "a.io"))


@pytest.mark.parametrize(
    ("generation", "observed", "matches", "change"),
    [
        pytest.param(3, 3, True, Change.NO_CHANGE, id="steady state"),
        pytest.param(3, 2, False, Change.SPEC_CHANGE, id="the user changed the spec"),
        pytest.param(3, 2, True, Change.NO_OP_SPEC_CHANGE, id="changed and changed back"),
        pytest.param(3, 3, False, Change.DRIFT, id="somebody changed the remote object"),
        pytest.param(1, None, False, Change.SPEC_CHANGE, id="nothing was carried out yet"),
        pytest.param(1, None, True, Change.NO_OP_SPEC_CHANGE, id="carried out, but not recorded"),
        pytest.param(3, 4, False, Change.SPEC_CHANGE, id="an old view of the object is no drift"),
    ],
)
def test_change_is_told_by_generation_and_match(
    generation: int, observed: int | None, matches: bool, change: Change
) -> None:
    assert detect_change(generation, observed, matches=matches) is change


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize(
    ("change", "push"),
    [(Change.NO_CHANGE, False), (Change.NO_OP_SPEC_CHANGE, False), (Change.SPEC_CHANGE, True)],
)
def test_policy_only_matters_for_drift(change: Change, push: bool, policy: Policy) -> None:
    assert decide(change, policy) == Decision(change, push=push)


@pytest.mark.parametrize(
    ("policy", "known", "push", "unsynced", "event"),
    [
        pytest.param(Policy.ENFORCE, False, True, True, "DriftCorrected", id="enforce"),
        pytest.param(Policy.ENFORCE, True, True, True, "DriftCorrected", id="enforce again"),
        pytest.param(Policy.REPORT, False, False, True, "DriftDetected", id="report"),
        pytest.param(Policy.REPORT, True, False, True, "", id="report tells a fact once"),
        pytest.param(Policy.SUSPEND, False, False, False, "", id="suspend"),
    ],
)
def test_drift_is_answered_by_policy(
    policy: Policy, known: bool, push: bool, unsynced: bool, event: str
) -> None:
    expected = Decision(Change.DRIFT, push=push, unsynced=unsynced, drift_detected=True, event=event)
    assert decide(Change.DRIFT, policy, known=known) == expected


def test_drift_is_told_in_words() -> None:
    told = drift_message(DIFFERENCES)
    assert (
        told
        == "the remote object was changed outside the operator: enabled: false → true; domains[a.io] added"
    )
    assert drift_message(()) == "the remote object was changed outside the operator"


def test_event_is_told_where_the_decision_asks_for_one() -> None:
    decision = decide(Change.DRIFT, Policy.ENFORCE)
    assert drift_event(decision, DIFFERENCES) == Event(
        "Warning", "DriftCorrected", drift_message(DIFFERENCES)
    )
    assert drift_event(decide(Change.DRIFT, Policy.SUSPEND), DIFFERENCES) is None
