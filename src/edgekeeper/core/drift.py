"""Drift: detects whether the remote object was changed outside the operator, and decides what to do about it.

Two comparisons are made: the generation, which the API server raises with every change of the spec, with the generation
that was applied last, `status.observedGeneration`; and the spec with the remote object (see `delta`).

    generation == observed?   spec matches remote?   change            what it means
    yes                       yes                    NoChange          steady state
    no                        no                     SpecChange        the user changed the object
    no                        yes                    NoOpSpecChange    changed and changed back, changed in fields that
                                                                       are not remote, or applied but not recorded
    yes                       no                     Drift             changed, or deleted, outside the operator

The policy matters for drift only. A change of the spec is applied under every policy.

    change            policy     push the spec   Synced                event             driftDetected
    NoChange          any        no              -                     -                 false
    NoOpSpecChange    any        no              -                     -                 false
    SpecChange        any        yes             -                     -                 false
    Drift             enforce    yes             False DriftDetected   DriftCorrected    true
    Drift             report     no              False DriftDetected   DriftDetected     true
    Drift             suspend    no              left alone            -                 true

A dash means that the kind decides: it knows whether a push was accepted. A remote object that does not exist matches
nothing, so the first pass is a SpecChange and creates it, and its deletion by others is Drift: it is created again under
enforce, reported under report, and only recorded under suspend. Under report an event is recorded once per drift, that
is, while status does not have driftDetected yet; under enforce every correction is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from edgekeeper.core.delta import Difference, describe
from edgekeeper.core.outcome import Event

DRIFT_DETECTED = "DriftDetected"
DRIFT_CORRECTED = "DriftCorrected"


class Change(StrEnum):
    """What has changed since the spec was last applied."""

    NO_CHANGE = "NoChange"
    SPEC_CHANGE = "SpecChange"
    NO_OP_SPEC_CHANGE = "NoOpSpecChange"
    DRIFT = "Drift"


class Policy(StrEnum):
    """What is done about drift."""

    ENFORCE = "enforce"
    REPORT = "report"
    SUSPEND = "suspend"


def detect_change(generation: int, observed_generation: int | None, *, matches: bool) -> Change:
    """Classify a change by the first table. `observed_generation` is None before the spec was first applied."""
    if generation == observed_generation:
        return Change.NO_CHANGE if matches else Change.DRIFT
    return Change.NO_OP_SPEC_CHANGE if matches else Change.SPEC_CHANGE


@dataclass(frozen=True, slots=True)
class Decision:
    """What a pass does about a change: a row of the second table."""

    change: Change
    push: bool = False
    """Write the spec to the remote object."""
    unsynced: bool = False
    """Mark Synced False, DriftDetected. Otherwise the kind marks it, or leaves it unchanged."""
    drift_detected: bool = False
    """The value of `status.driftDetected`; also counted in the metric of passes that detected drift."""
    event: str = ""
    """The reason of the event to record, if any."""


def decide(change: Change, policy: Policy, *, known: bool = False, may_correct: bool = True) -> Decision:
    """Decide by the second table. `known`: status has driftDetected already.

    Without `may_correct` drift is neither corrected nor recorded as an event, for example because somebody undoes every
    correction; the status still reports it.
    """
    decision = _decide(change, policy, known=known)
    is_held_back = decision.drift_detected and not may_correct
    return replace(decision, push=False, event="") if is_held_back else decision


def _decide(change: Change, policy: Policy, *, known: bool) -> Decision:
    match change, policy:
        case Change.NO_CHANGE | Change.NO_OP_SPEC_CHANGE, _:
            return Decision(change)
        case Change.SPEC_CHANGE, _:
            return Decision(change, push=True)
        case _, Policy.ENFORCE:
            return Decision(change, push=True, unsynced=True, drift_detected=True, event=DRIFT_CORRECTED)
        case _, Policy.REPORT:
            return Decision(change, unsynced=True, drift_detected=True, event="" if known else DRIFT_DETECTED)
        case _:
            return Decision(change, drift_detected=True)


def drift_message(differences: Iterable[Difference]) -> str:
    """The message about drift, for the condition and the event."""
    description = describe(differences)
    return f"the remote object was changed outside the operator{': ' if description else ''}{description}"


def drift_event(decision: Decision, differences: Iterable[Difference]) -> Event | None:
    """The event that a decision asks for, if any."""
    if not decision.event:
        return None
    return Event("Warning", decision.event, drift_message(differences))
