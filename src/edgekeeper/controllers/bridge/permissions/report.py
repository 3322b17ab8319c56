"""What a pass over a LambdaPermission reports: the state of each permission, conditions and events.

A permission that conflicts, was refused, or waits for its source is an error of the object that carries the whole status,
since the other permissions may have been applied in the same pass.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from edgekeeper.api.lambda_permission import LambdaPermissionStatus
from edgekeeper.cloud.aws.error_table import NAME_CONFLICT
from edgekeeper.controllers.bridge.cluster import REFERENCE_NOT_FOUND, REFERENCE_PAUSE
from edgekeeper.controllers.bridge.failures import DEGRADED, mark_degraded
from edgekeeper.controllers.bridge.permissions.decide import conflicts, states, unmanaged
from edgekeeper.controllers.bridge.permissions.snapshot import Snapshot
from edgekeeper.controllers.bridge.permissions.steps import ChangePolicy
from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.errors import STALL_INTERVAL, Stall, Wait
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Event
from edgekeeper.lifecycle.kind import PAUSED, SYNCED, Pass, Report
from edgekeeper.lifecycle.synced import drift_events, mark_synced

FUNCTION_RESOLVED: Final = "FunctionResolved"
PERMISSIONS_SYNCED: Final = "PermissionsSynced"
DECLARATION: Final = Declaration(
    required=(FUNCTION_RESOLVED, PERMISSIONS_SYNCED),
    negative=(DEGRADED,),
    informative=(SYNCED, PAUSED),
    ready_reason="Ready",
    ready_message="all permissions are in the policy of the function",
)


class RefusedPermissions(Stall):
    """Some permissions cannot be applied until a person acts."""

    def __init__(self, reason: str, message: str, status: JsonObject) -> None:
        super().__init__(reason, message, STALL_INTERVAL)
        self.status = status


class PendingPermissions(Wait):
    """The sources of some permissions are not known yet."""

    def __init__(self, message: str, status: JsonObject, after: timedelta = REFERENCE_PAUSE) -> None:
        super().__init__(after, REFERENCE_NOT_FOUND, message)
        self.status = status


def confirm(snapshot: Snapshot) -> None:
    """Raise the error of permissions that are not applied and need something else first."""
    told = states(snapshot)
    refused = [one for one in told if one.state in ("Conflict", "Error")]
    if refused:
        reason = NAME_CONFLICT if conflicts(snapshot) else next(iter(snapshot.refused.values())).reason
        message = "; ".join(f"{one.statement_id}: {one.message}" for one in refused)
        raise RefusedPermissions(reason, message, facts(snapshot, snapshot.status.observed_generation))
    if snapshot.pending:
        message = "; ".join(wait.message for wait in snapshot.pending.values())
        raise PendingPermissions(message, facts(snapshot, snapshot.status.observed_generation))


def facts(snapshot: Snapshot, observed: int | None, *, drift: bool | None = None) -> JsonObject:
    """The status, without conditions."""
    status = LambdaPermissionStatus(
        observed_generation=observed,
        drift_detected=drift,
        function_arn=snapshot.seen.function_arn or _arn(snapshot) or snapshot.status.function_arn,
        permissions=list(states(snapshot)),
        inventory=list(snapshot.inventory),
    )
    fields: JsonObject = msgspec.to_builtins(status)
    return fields


def report(result: Pass[Snapshot], conditions: Conditions) -> Report:
    """The report of a pass over an object that is not being deleted."""
    after, plan, step = result.after, result.plan, result.step
    conditions.mark(FUNCTION_RESOLVED, True, "Resolved", f"the function is {after.function}")
    is_left = any(one.pushes for one in plan.steps[1:])
    is_done = not is_left and all(one.state == "Applied" for one in states(after))
    if is_done:
        conditions.mark(PERMISSIONS_SYNCED, True, "Synced", DECLARATION.ready_message)
    elif plan.drift.drift_detected and not plan.drift.push:
        conditions.mark(PERMISSIONS_SYNCED, False, "DriftDetected", "statements were changed by others")
    else:
        conditions.mark(PERMISSIONS_SYNCED, False, "InProgress", "statements are being written")
    mark_degraded(conditions, None)
    mark_synced(conditions, plan, DECLARATION.ready_message, in_progress=False)
    observed = after.generation if is_done else after.status.observed_generation
    is_correction = isinstance(step, ChangePolicy) and plan.drift.drift_detected
    events = [*drift_events(plan, is_correction=is_correction)]
    if step is not None and (event := step.event()) is not None:
        events.append(event)
    status = facts(after, observed, drift=plan.drift.drift_detected)
    return Report(status, events, is_correction=is_correction)


def removal(result: Pass[Snapshot], conditions: Conditions) -> Report:
    """The report of a step of a deletion."""
    conditions.mark(PERMISSIONS_SYNCED, False, "Deleting", f"{result.step}")
    after = result.after
    status = msgspec.structs.replace(after.status, inventory=list(after.inventory), last_error=None)
    return Report(msgspec.to_builtins(status))


def left(snapshot: Snapshot) -> list[Event]:
    """The events of a finished deletion."""
    gone = [one.statement_id for one in snapshot.status.permissions if one.message and one.state == "Applied"]
    if not gone:
        return []
    text = f"not removed, because they were there before this object: {', '.join(gone)}"
    return [Event("Warning", "StatementsLeft", text)]


def _arn(snapshot: Snapshot) -> str:
    function = snapshot.function
    return ":".join(function.split(":")[:7]) if function.startswith("arn:") else ""


__all__ = ["DECLARATION", "confirm", "left", "removal", "report", "unmanaged"]
