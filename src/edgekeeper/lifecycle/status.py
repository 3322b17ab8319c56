"""The status and events of failed passes, pauses and outages.

error                                    conditions
Stall, and Wait that the kind reports    those that `blame` marks, and an event if they changed
outage (`unavailable`) of a minute       Synced=False/CloudUnavailable, if the object has work: `core.outages`
other Wait, Retry, Conflict              unchanged: counted only
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from edgekeeper.core.clock import Clock, timestamp
from edgekeeper.core.conditions import READY, Conditions, Declaration
from edgekeeper.core.errors import Conflict, PassError, Stall
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.core.outages import CLOUD_UNAVAILABLE, reported_outage
from edgekeeper.core.outcome import Event, Outcome, StatusWrite, done
from edgekeeper.lifecycle.kind import PAUSED, SYNCED, ExternalKind, KindMetrics, Report
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.runtime.contract import Request

_PAUSED: Final = "reconciliation is paused by the annotation edgekeeper.io/paused"


@dataclass(frozen=True)
class StatusWriter:
    """Creates the status write of a pass from its report, error or pause."""

    kind: ExternalKind[Any, Any]
    memory: Memory
    metrics: KindMetrics
    clock: Clock

    def conditions(self, obj: JsonObject) -> Conditions:
        """The conditions of an object, without those of a pause or an outage."""
        return resumed(self.kind.declaration, obj, self.clock.now())

    def write(self, obj: JsonObject, report: Report, conditions: Conditions, outage: str) -> StatusWrite:
        """The status write of a pass. `outage` is the message of an outage to report; empty for none."""
        if report.keeps_conditions:
            present = dig_list(obj, "status", "conditions")
            marked = [condition for condition in present if not _is_pause(condition)]
        else:
            if outage:
                self._mark_outage(obj, conditions, outage)
            marked = conditions.to_list()
        status = {**self._unknown(obj), **self._complete(report.status, marked)}
        return StatusWrite(_stamped(status, obj, report, self.clock.now()))

    def explain(self, request: Request, error: PassError) -> Outcome:
        """The status write and the event for an error. The event is omitted if the status reports the error already."""
        if isinstance(error, Conflict):
            return done()
        if error.unavailable is not None:
            return self._explain_outage(request, error)
        is_reported = isinstance(error, Stall) or error.reason in self.kind.reported_waits
        is_repeated = is_reported and self._is_already_reported(request, error)
        if error.error_type and not is_repeated:
            self.metrics.error(error.error_type)
        if not is_reported:
            return done()
        conditions = self.conditions(request.object)
        self.kind.blame(error, request.object, conditions)
        outcome = done().writing(self._status(request, error, conditions))
        return (
            outcome
            if is_repeated
            else outcome.with_events(Event("Warning", error.reason, self.kind.describe(error)))
        )

    def pause(self, request: Request) -> Outcome:
        """Report the pause. Conditions stay if they are about the current generation."""
        declaration = self.kind.declaration
        conditions = Conditions.of(declaration, request.object, self.clock.now())
        before = conditions.before(READY)
        for type_ in declaration.unpublished:
            if before is not None and before.observed_generation == request.generation:
                conditions.mark(type_, before.status, before.reason, before.message)
            else:
                conditions.mark(type_, "Unknown", PAUSED, _PAUSED)
        conditions.mark(PAUSED, True, PAUSED, _PAUSED)
        status = dig_object(request.object, "status")
        return done().writing(StatusWrite(self._complete(status, conditions.to_list())))

    def _explain_outage(self, request: Request, error: PassError) -> Outcome:
        """Report the outage for an object that has work. The event is recorded once per outage."""
        if error.error_type:
            self.metrics.error(error.error_type)
        obj = request.object
        reported = reported_outage(obj, SYNCED)
        uid = str(dig(obj, "metadata", "uid") or "")
        message = self.memory.outages.message(uid, reported) if self.kind.has_work(obj) else ""
        if not message:
            return done()
        conditions = self.conditions(obj)
        self._mark_outage(obj, conditions, message)
        outcome = done().writing(self._status(request, None, conditions))
        return outcome if reported else outcome.with_events(Event("Warning", CLOUD_UNAVAILABLE, message))

    def _mark_outage(self, obj: JsonObject, conditions: Conditions, message: str) -> None:
        """Mark that the cloud cannot be used. Ready stays if it is about the current generation."""
        conditions.mark(SYNCED, False, CLOUD_UNAVAILABLE, message)
        ready = conditions.before(READY)
        is_current = ready is not None and ready.observed_generation == dig(obj, "metadata", "generation")
        was_unavailable = ready is not None and ready.reason == CLOUD_UNAVAILABLE
        for type_ in self.kind.declaration.unpublished:
            if ready is None or not is_current or was_unavailable or not self.kind.was_created(obj):
                conditions.mark(type_, "Unknown", CLOUD_UNAVAILABLE, message)
            elif conditions.get(type_) is None:
                conditions.mark(type_, ready.status, ready.reason, ready.message)

    def _status(self, request: Request, error: PassError | None, conditions: Conditions) -> StatusWrite:
        status = self.kind.status_after_error(request, error)
        return StatusWrite(self._complete(status, conditions.to_list()))

    def _complete(self, status: JsonObject, conditions: list[Any]) -> JsonObject:
        return {**self.kind.derive(status, conditions), "conditions": conditions}

    def _unknown(self, obj: JsonObject) -> JsonObject:
        """Fields of the status that a later version has written, before it was rolled back to this one."""
        if self.kind.status_type is None:
            return {}
        known = {field.encode_name for field in msgspec.structs.fields(self.kind.status_type)}
        return {name: value for name, value in dig_object(obj, "status").items() if name not in known}

    def _is_already_reported(self, request: Request, error: PassError) -> bool:
        ready = Conditions.of(self.kind.declaration, request.object, self.clock.now()).before(READY)
        return (
            ready is not None
            and (ready.reason, ready.message) == (error.reason, self.kind.describe(error))
            and ready.observed_generation == request.generation
        )


def resumed(declaration: Declaration, obj: JsonObject, now: datetime) -> Conditions:
    """The conditions of an object, without those of a pause or an outage."""
    conditions = Conditions.of(declaration, obj, now)
    conditions.forget(PAUSED)
    synced = conditions.get(SYNCED)
    if synced is not None and synced.reason == CLOUD_UNAVAILABLE:
        conditions.forget(SYNCED)
    return conditions


def _stamped(status: JsonObject, obj: JsonObject, report: Report, now: datetime) -> JsonObject:
    """The status with its timestamp fields, which are updated only if anything else has changed."""
    present = dig_object(obj, "status")
    status |= {field: present[field] for field in report.timestamps if field in present}
    if status != present:
        status |= {field: timestamp(now) for field in report.timestamps}
    return status


def _is_pause(condition: Any) -> bool:
    return isinstance(condition, dict) and condition.get("type") == PAUSED
