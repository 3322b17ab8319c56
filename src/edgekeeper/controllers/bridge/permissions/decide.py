"""Decide which statements of a function's policy have to be added, changed or removed. Pure.

    absent                     added
    present, ours              removed and added again if it differs
    present, not ours          equal: left as it is, unless it may be adopted; otherwise a conflict
    ours, not in the spec      removed, also from a function that the spec does not name any more

A statement is ours if the inventory has it as Written, or as Planned with exactly this content. It is in the inventory
before it is added. A conflict concerns one permission: the others are applied.

Statements have no mark, so that nothing tells which cluster has left one. While the operator recovers a lost cluster
(`--adopt-from-cluster`), those that are exactly as the spec says are adopted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from edgekeeper.api.lambda_permission import OwnedStatement, PermissionState
from edgekeeper.cloud.aws.error_table import NAME_CONFLICT
from edgekeeper.cloud.aws.lambda_policy import Statement
from edgekeeper.controllers.bridge.cluster import REFERENCE_PAUSE
from edgekeeper.controllers.bridge.failures import FUNCTION_NOT_FOUND
from edgekeeper.controllers.bridge.permissions.snapshot import Snapshot
from edgekeeper.controllers.bridge.permissions.steps import ChangePolicy, RecordStatements, RemoveStatements
from edgekeeper.core.delta import ABSENT, Difference
from edgekeeper.core.drift import decide as decide_drift
from edgekeeper.core.drift import detect_change
from edgekeeper.core.errors import Stall, Wait
from edgekeeper.core.steps import Plan, Step
from edgekeeper.lifecycle.adoption import FLAG

_REMEDY: Final = 'choose another statementId, or take it over with the annotation edgekeeper.io/adopt: "true"'


def decide(snapshot: Snapshot) -> Plan[Step]:
    """Return the remaining steps. Raise Stall if a person must act first, Wait if something is missing."""
    if snapshot.deleting:
        return Plan(tuple(_removal(snapshot, snapshot.inventory, "the object is being deleted")))
    _refuse(snapshot)
    differing = [one for one in snapshot.wanted if _differs(snapshot, one)]
    obsolete = _obsolete(snapshot)
    changes = (*_differences(snapshot, differing), *(_surplus(one) for one in obsolete))
    change = detect_change(snapshot.generation, snapshot.status.observed_generation, matches=not changes)
    known = bool(snapshot.status.drift_detected)
    drift = decide_drift(change, snapshot.policy, known=known, may_correct=snapshot.may_correct)
    inventory = recorded(snapshot, differing if drift.push else [])
    steps: list[Step] = []
    if inventory != snapshot.inventory:
        taken = tuple(_adopted(snapshot))
        reason = _reason_of_adoption(snapshot) if taken else "a statement is ours only if the status has it"
        steps.append(RecordStatements(inventory, taken, reason=reason))
    if drift.push:
        reason = "they were changed outside the operator" if drift.drift_detected else "the spec says so"
        steps += _pushing(snapshot, differing, obsolete, reason)
    return Plan(tuple(steps), drift, changes)


def conflicts(snapshot: Snapshot) -> dict[str, str]:
    """Permissions whose ids belong to statements of others, with a message."""
    return {
        one.id: f"statement {one.id} exists and was not created by this object: {_REMEDY}"
        for one in snapshot.wanted
        if _is_anothers(snapshot, one)
    }


def unmanaged(snapshot: Snapshot) -> list[str]:
    """Statements of others that are as wanted."""
    seen = snapshot.seen
    return [
        one.id
        for one in snapshot.wanted
        if seen.statements.get(one.id) == one.fingerprint
        and snapshot.entry(snapshot.function, one.id) is None
    ]


def states(snapshot: Snapshot) -> tuple[PermissionState, ...]:
    """The state of each permission, as far as the snapshot tells."""
    taken, free = conflicts(snapshot), set(unmanaged(snapshot))
    told = [PermissionState(id_, "Pending", wait.message) for id_, wait in snapshot.pending.items()]
    for one in snapshot.wanted:
        if one.id in snapshot.refused:
            told.append(PermissionState(one.id, "Error", snapshot.refused[one.id].message))
        elif one.id in taken:
            told.append(PermissionState(one.id, "Conflict", taken[one.id]))
        elif snapshot.seen.statements.get(one.id) == one.fingerprint:
            told.append(PermissionState(one.id, "Applied", _UNMANAGED if one.id in free else ""))
        else:
            told.append(PermissionState(one.id, "Pending"))
    return tuple(sorted(told, key=lambda state: state.statement_id))


_UNMANAGED: Final = (
    "it was there before, and stays when this object is deleted; to take it over, annotate the object with "
    f'edgekeeper.io/adopt: "true", or if a lost cluster has left it, run the operator with {FLAG}'
)


def recorded(snapshot: Snapshot, planned: list[Statement]) -> tuple[OwnedStatement, ...]:
    """The inventory as it should be: without what is gone, and with what is about to be written."""
    function = snapshot.function
    kept = [
        _as_present(snapshot, entry)
        for entry in snapshot.inventory
        if snapshot.owns(entry) and not _is_replaced(snapshot, entry)
    ]
    places = {(entry.function, entry.statement_id) for entry in kept}
    adopted = _adopted(snapshot)
    found = [
        OwnedStatement(function, one.id, one.fingerprint) for one in snapshot.wanted if one.id in adopted
    ]
    new = [
        OwnedStatement(function, one.id, one.fingerprint, "Planned")
        for one in planned
        if (function, one.id) not in places
    ]
    return tuple(sorted((*kept, *found, *new), key=lambda one: (one.function, one.statement_id)))


def _adopted(snapshot: Snapshot) -> list[str]:
    """Statements that are as wanted and become ours."""
    return unmanaged(snapshot) if snapshot.may_adopt or snapshot.lost_clusters else []


def _reason_of_adoption(snapshot: Snapshot) -> str:
    if snapshot.may_adopt:
        return "the object has edgekeeper.io/adopt set"
    return f"they are as declared, and {FLAG} {', '.join(sorted(snapshot.lost_clusters))} allows it"


def _refuse(snapshot: Snapshot) -> None:
    for rival in snapshot.rivals:
        raise Stall(
            NAME_CONFLICT,
            f"statement {rival.value} belongs to {rival.holder}, which is older: choose another statementId",
        )
    if snapshot.problem is not None:
        raise snapshot.problem
    if not snapshot.seen.exists:
        message = f"waiting for function {snapshot.function}, which does not exist"
        raise Wait(REFERENCE_PAUSE, FUNCTION_NOT_FOUND, message)


def _differs(snapshot: Snapshot, statement: Statement) -> bool:
    """Is the statement to be written?"""
    is_there = snapshot.seen.statements.get(statement.id) == statement.fingerprint
    return not is_there and not _is_anothers(snapshot, statement)


def _is_anothers(snapshot: Snapshot, statement: Statement) -> bool:
    """Is there a statement of that id that is neither as wanted nor ours?"""
    present = snapshot.seen.statements.get(statement.id)
    entry = snapshot.entry(snapshot.function, statement.id)
    is_ours = entry is not None and snapshot.owns(entry)
    return present is not None and present != statement.fingerprint and not is_ours and not snapshot.may_adopt


def _as_present(snapshot: Snapshot, entry: OwnedStatement) -> OwnedStatement:
    """The entry of a statement of ours that is there, with the content that it has if that is the wanted one."""
    wanted = {(snapshot.function, one.id): one.fingerprint for one in snapshot.wanted}
    present = snapshot.policies[entry.function].statements.get(entry.statement_id)
    is_wanted = present == wanted.get((entry.function, entry.statement_id))
    content = present if present is not None and is_wanted else entry.fingerprint
    return replace(entry, state="Written", fingerprint=content)


def _is_replaced(snapshot: Snapshot, entry: OwnedStatement) -> bool:
    """Has somebody else replaced a statement that we had only planned?"""
    present = snapshot.policies[entry.function].statements.get(entry.statement_id)
    return entry.state == "Planned" and present != entry.fingerprint


def _obsolete(snapshot: Snapshot) -> list[OwnedStatement]:
    """Our statements that the spec does not have. What it may have, once its source is known, stays."""
    kept = {one.id for one in snapshot.wanted} | set(snapshot.pending)
    return [
        entry
        for entry in snapshot.inventory
        if snapshot.owns(entry) and (entry.function != snapshot.function or entry.statement_id not in kept)
    ]


def _pushing(
    snapshot: Snapshot, differing: list[Statement], obsolete: list[OwnedStatement], reason: str
) -> Iterator[Step]:
    function, present = snapshot.function, snapshot.seen.statements
    replaced = [one.id for one in differing if one.id in present]
    removed = [entry.statement_id for entry in obsolete if entry.function == function]
    if differing or removed:
        yield ChangePolicy(function, tuple(sorted((*replaced, *removed))), tuple(differing), reason=reason)
    elsewhere = [entry for entry in obsolete if entry.function != function]
    yield from _removal(snapshot, elsewhere, "the spec names another function")


def _removal(
    snapshot: Snapshot, entries: list[OwnedStatement] | tuple[OwnedStatement, ...], reason: str
) -> Iterator[Step]:
    functions = sorted({entry.function for entry in entries})
    for function in functions:
        there = [one.statement_id for one in entries if one.function == function and snapshot.owns(one)]
        if there:
            yield RemoveStatements(function, tuple(sorted(there)), reason=reason)


def _differences(snapshot: Snapshot, differing: list[Statement]) -> Iterator[Difference]:
    present = snapshot.seen.statements
    for one in differing:
        before = "different" if one.id in present else ABSENT
        yield Difference(f"statements[{one.id}]", before, one.source_arn or one.principal)


def _surplus(entry: OwnedStatement) -> Difference:
    return Difference(f"statements[{entry.statement_id}]", "present", ABSENT)
