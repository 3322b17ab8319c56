"""Drift: has somebody changed the remote object behind our back, and what is to be done about it?

Three things are compared: the generation, which the API server raises with every change of the spec; the generation
that was carried out last, `status.observedGeneration`; and the spec with the remote object (see `delta`).

    generation == observed?   spec matches remote?   change            what it means
    yes                       yes                    NoChange          steady state
    no                        no                     SpecChange        the user changed the object
    no                        yes                    NoOpSpecChange    changed and changed back, changed in what is not
                                                                       remote, or carried out but not recorded
    yes                       no                     Drift             changed, or deleted, outside the operator

What follows depends on the policy for drift alone. A change of the spec is the user's word under every policy.

    change            policy     push the spec   Synced                event             driftDetected
    NoChange          any        no              -                     -                 false
    NoOpSpecChange    any        no              -                     -                 false
    SpecChange        any        yes             -                     -                 false
    Drift             enforce    yes             False DriftDetected   DriftCorrected    true
    Drift             report     no              False DriftDetected   DriftDetected     true
    Drift             suspend    no              left alone            -                 true

A dash is for the kind to say: it knows whether a push was accepted. A remote object that does not exist matches
nothing, so that the first pass is a SpecChange and creates it, and its deletion by others is Drift: made good under
enforce, reported under report, known under suspend. Under report an event is told once per fact, that is while status
does not yet say driftDetected; a correction is a new fact every time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from edgekeeper.core.delta import Difference, describe
from edgekeeper.core.outcome import Event

DRIFT_DETECTED = "DriftDetected"
DRIFT_CORRECTED = "DriftCorrected"


class Change(StrEnum):
    """Who changed what since the spec was last carried out."""

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
    """The first table. `observed_generation` is None before anything was carried out."""
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
    """Mark Synced False, DriftDetected. Otherwise the kind marks it as it finds it, or leaves it alone."""
    drift_detected: bool = False
    """For `status.driftDetected` and the counter of passes that found drift."""
    event: str = ""
    """The reason of the event to tell, if any."""


def decide(change: Change, policy: Policy, *, known: bool = False) -> Decision:
    """The second table. `known`: status says already that there is drift."""
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
    """Drift in words, for the condition and the event."""
    told = describe(differences)
    return f"the remote object was changed outside the operator{': ' if told else ''}{told}"


def drift_event(decision: Decision, differences: Iterable[Difference]) -> Event | None:
    """The event that a decision asks for."""
    if not decision.event:
        return None
    return Event("Warning", decision.event, drift_message(differences))
