"""The condition Synced, and the events about drift, of a pass that did not fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from edgekeeper.core.conditions import Conditions
from edgekeeper.core.drift import DRIFT_DETECTED, Change, drift_event, drift_message
from edgekeeper.core.outcome import Event
from edgekeeper.core.steps import Plan, Step
from edgekeeper.lifecycle.kind import SYNCED

UPDATE_PENDING: Final = "UpdatePending"


def mark_synced(conditions: Conditions, plan: Plan[Step], in_sync: str, *, in_progress: bool) -> None:
    """Mark Synced. `in_sync` is the message where nothing differs; `in_progress`: the cloud is applying a change."""
    drift, synced, step = plan.drift, conditions.get(SYNCED), plan.next
    if drift.unsynced:
        conditions.mark(SYNCED, False, DRIFT_DETECTED, drift_message(plan.differences))
    elif drift.change is Change.DRIFT:
        return  # policy suspend: the condition is not changed
    elif step is not None and step.pushes and drift.push:
        conditions.mark(SYNCED, True, UPDATE_PENDING, "the change is being applied")
    elif in_progress and synced and synced.reason == UPDATE_PENDING:
        conditions.mark(SYNCED, True, UPDATE_PENDING, synced.message)
    else:
        conditions.mark(SYNCED, True, "InSync", in_sync)


def drift_events(plan: Plan[Step], *, is_correction: bool) -> Iterator[Event]:
    """The event about drift, if there is one: when it is detected, and when this pass corrects it."""
    event = drift_event(plan.drift, plan.differences)
    if event is not None and (plan.drift.event == DRIFT_DETECTED or is_correction):
        yield event
