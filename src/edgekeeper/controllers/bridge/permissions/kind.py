"""LambdaPermission as an external kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from edgekeeper.api.lambda_permission import LambdaPermissionStatus
from edgekeeper.controllers.bridge.cluster import REFERENCE_NOT_FOUND
from edgekeeper.controllers.bridge.failures import (
    FUNCTION_NOT_FOUND,
    RECOVERABLE,
    last_error,
    mark_degraded,
    with_ready,
)
from edgekeeper.controllers.bridge.permissions import report as told
from edgekeeper.controllers.bridge.permissions.decide import decide
from edgekeeper.controllers.bridge.permissions.observe import Base, Observer
from edgekeeper.controllers.bridge.permissions.perform import Performer
from edgekeeper.controllers.bridge.permissions.snapshot import Snapshot
from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.core.outcome import Event
from edgekeeper.core.steps import Plan, Step
from edgekeeper.lifecycle.kind import SYNCED, ExternalKind, Pass, Report, Wake
from edgekeeper.runtime.contract import Request


@dataclass(frozen=True)
class PermissionKind(ExternalKind[Base, Snapshot]):
    """The operations of the reconcile loop for LambdaPermissions."""

    name: ClassVar = "LambdaPermission"
    noun: ClassVar = "the statements"
    mark: ClassVar = "their entries in the status"
    status_type: ClassVar = LambdaPermissionStatus
    declaration: ClassVar[Declaration] = told.DECLARATION
    reported_waits: ClassVar = RECOVERABLE

    observer: Observer

    def begin(self, request: Request, wake: Wake) -> Base:
        return self.observer.begin(request)

    async def observe(self, base: Base, *, live: bool) -> Snapshot:
        return await self.observer.observe(base)

    def decide(self, snapshot: Snapshot) -> Plan[Step]:
        plan = decide(snapshot)
        if not snapshot.deleting and plan.next is None:
            told.confirm(snapshot)
        return plan

    async def perform(self, step: Step, snapshot: Snapshot, wake: Wake) -> Snapshot:
        after = await Performer(self.observer).perform(step, snapshot)
        if after.refused:
            told.confirm(after)
        return after

    async def release(self, snapshot: Snapshot) -> None:
        """Statements have no mark."""

    def report(self, result: Pass[Snapshot], conditions: Conditions) -> Report:
        return (told.removal if result.before.deleting else told.report)(result, conditions)

    def gone(self, snapshot: Snapshot) -> Iterable[Event]:
        return told.left(snapshot)

    def blame(self, error: PassError, obj: JsonObject, conditions: Conditions) -> None:
        is_carried = isinstance(error, told.RefusedPermissions | told.PendingPermissions)
        if error.reason in (FUNCTION_NOT_FOUND, REFERENCE_NOT_FOUND) and not is_carried:
            conditions.mark(told.FUNCTION_RESOLVED, False, error.reason, error.message)
        elif is_carried:
            conditions.mark(told.FUNCTION_RESOLVED, True, "Resolved", "the function exists")
        conditions.mark(told.PERMISSIONS_SYNCED, False, error.reason, error.message)
        mark_degraded(conditions, error)
        if isinstance(error, Stall):
            conditions.mark(SYNCED, False, error.reason, error.message)

    def status_after_error(self, request: Request, error: PassError | None) -> JsonObject:
        status = dig_object(request.object, "status")
        if error is None:
            return status
        if isinstance(error, told.RefusedPermissions | told.PendingPermissions):
            status = error.status
        return {**status, "lastError": last_error(error, request.object)}

    def derive(self, status: JsonObject, conditions: Sequence[JsonObject]) -> JsonObject:
        return with_ready(status, conditions)

    def forget(self, uid: str) -> None:
        self.observer.remembered.pop(uid, None)

    def remains(self, obj: JsonObject) -> Sequence[str]:
        entries = dig_list(obj, "status", "inventory")
        return [f"statement {dig(one, 'statementId')} of {dig(one, 'function')}" for one in entries]
