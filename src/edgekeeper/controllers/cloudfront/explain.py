"""Say in the status why a pass failed, or how far a deletion is; once per fact, and never what a retry will mend.

error                                         conditions
Stall of DNS                                  Ready and DNSReady False, with the reason
Stall of anything else                        Ready and Synced False, with the reason
  of a connection group, with spec.dns        DNSReady False as well: records have nowhere to lead to
Wait for the domain to be validated, a quota  Ready False, with the reason
an outage (`unavailable`) of a minute         Synced False/CloudUnavailable, where there is something to do: `core.outages`
other Wait, Retry, Conflict                   none: they pass by themselves, and are counted
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from edgekeeper.api.cloudfront import InventoryRecord, read_tenant
from edgekeeper.cloud.aws.error_table import (
    DNS_ERROR,
    DOMAIN_VALIDATION_PENDING,
    NO_CONNECTION_GROUP,
    QUOTA_EXCEEDED,
)
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.decide import NAME_CONFLICT, Plan, is_ours
from edgekeeper.controllers.cloudfront.desk import DnsDesk
from edgekeeper.controllers.cloudfront.intervals import Intervals
from edgekeeper.controllers.cloudfront.inventory import inventory_of
from edgekeeper.controllers.cloudfront.metrics import TenantMetrics
from edgekeeper.controllers.cloudfront.report import (
    DECLARATION,
    DEPLOYED,
    DNS,
    DNS_REASONS,
    PAUSED,
    SYNCED,
    is_tried_again,
    resumed,
    tell_outage,
    told_removal,
)
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.clock import Clock
from edgekeeper.core.conditions import READY, Conditions
from edgekeeper.core.errors import Conflict, PassError, Stall, Wait
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.core.outages import CLOUD_UNAVAILABLE, Outages, has_work, outage_said
from edgekeeper.core.outcome import Event, Outcome, StatusWrite, done, requeue
from edgekeeper.runtime.contract import Request

_WORTH_TELLING: Final = frozenset({DOMAIN_VALIDATION_PENDING, QUOTA_EXCEEDED})
_PAUSED: Final = "reconciliation is paused by the annotation edgekeeper.io/paused"


@dataclass(frozen=True)
class Explainer:
    """Writes the status of passes that fail, of deletions, and of objects that are paused."""

    clock: Clock
    metrics: TenantMetrics
    intervals: Intervals
    desk: DnsDesk
    outages: Outages

    def explain(self, request: Request, error: PassError) -> Outcome:
        """The write and the event that tell of an error; the event once per fact."""
        if isinstance(error, Conflict):
            return done()
        if error.unavailable is not None:
            return self._explain_outage(request, error)
        is_told = isinstance(error, Stall) or error.reason in _WORTH_TELLING
        is_known = is_told and self._is_known(request, error)
        if error.error_type and not is_known:
            self.metrics.error(error.error_type)
        if not is_told:
            return done()
        outcome = done().writing(self._status(request, error))
        return outcome if is_known else outcome.saying(Event("Warning", error.reason, _told(error)))

    def _explain_outage(self, request: Request, error: PassError) -> Outcome:
        """Say why nothing happens to an object that has something to do; the event once per outage."""
        if error.error_type:
            self.metrics.error(error.error_type)
        said = outage_said(request.object, SYNCED)
        message = self.outages.message(uid_of(request.object), said) if has_work(request.object) else ""
        if not message:
            return done()
        conditions = resumed(request.object, self.clock.now())
        tell_outage(conditions, request.object, message)
        status = {**dig_object(request.object, "status"), **self._answered(request)}
        outcome = done().writing(StatusWrite({**status, "conditions": conditions.to_list()}))
        return outcome if said else outcome.saying(Event("Warning", CLOUD_UNAVAILABLE, message))

    def pause(self, request: Request) -> Outcome:
        """Say that the object is paused. What was known of it stays, as far as it speaks of the present spec."""
        conditions = Conditions.of(DECLARATION, request.object, self.clock.now())
        before = conditions.before(READY)
        if before is not None and before.observed_generation == request.generation:
            conditions.mark(DEPLOYED, before.status, before.reason, before.message)
        else:
            conditions.mark(DEPLOYED, "Unknown", PAUSED, _PAUSED)
        conditions.mark(PAUSED, True, PAUSED, _PAUSED)
        return done().writing(
            StatusWrite({**dig_object(request.object, "status"), "conditions": conditions.to_list()})
        )

    def _is_known(self, request: Request, error: PassError) -> bool:
        ready = Conditions.of(DECLARATION, request.object, self.clock.now()).before(READY)
        return (
            ready is not None
            and (ready.reason, ready.message) == (error.reason, _told(error))
            and ready.observed_generation == request.generation
        )

    def _status(self, request: Request, error: PassError) -> StatusWrite:
        conditions = resumed(request.object, self.clock.now())
        conditions.mark(DEPLOYED, False, error.reason, _told(error))
        if error.reason in DNS_REASONS:
            conditions.mark(DNS, False, error.reason, error.message)
        elif isinstance(error, Stall):
            conditions.mark(SYNCED, False, error.reason, error.message)
        if error.error_type == NO_CONNECTION_GROUP.error_type and dig(request.object, "spec", "dns"):
            conditions.mark(DNS, False, DNS_ERROR, error.message)
        status = {**dig_object(request.object, "status"), **self._answered(request)}
        if error.reason == NAME_CONFLICT:
            status.pop("creationStarted", None)  # the tenant that is there is not the one that was announced
        return StatusWrite({**status, "conditions": conditions.to_list()})

    def _answered(self, request: Request) -> JsonObject:
        """What has become of records meanwhile: it must not be lost because of the error."""
        try:
            obj = read_tenant(request.object)
        except msgspec.ValidationError:
            return {}
        before = inventory_of(obj.spec, obj.status)
        after, changes = self.desk.answered(uid_of(request.object), before)
        if after == before:
            return {}
        answered = _noted(after)
        if not changes:
            return answered
        told = msgspec.to_builtins(list(dict.fromkeys((*obj.status.dns_changes, *changes))))
        return {**answered, "dnsChangeId": changes[-1].id, "dnsChanges": told}

    # Deletion

    def removal(self, request: Request, after: Snapshot, plan: Plan, outage: str = "") -> Outcome:
        """How far a deletion is. What was written down about the tenant stays until it is gone.

        `outage` is what is to be said of an outage that keeps it waiting.
        """
        step = plan.next
        assert step is not None  # noqa: S101 - with nothing left to do there is nothing to tell
        status = {**dig_object(request.object, "status")}
        if not is_tried_again(request.object, step):
            status["conditions"] = self._progress(request, step, outage)
        status |= _noted(after.inventory)
        status["dnsChangeId"] = after.change_id
        status["dnsChanges"] = msgspec.to_builtins(list(after.dns_changes))
        if after.tenant is not None and is_ours(after, after.tenant):
            status["id"], status["arn"] = after.tenant.id, after.tenant.arn
            status["eTag"] = after.tenant.etag
            status["distributionTenantStatus"] = after.tenant.status
        return (
            requeue(self.intervals.after(step))
            .writing(StatusWrite(_without_empty(status)))
            .saying(*_events(step, after))
        )

    def _progress(self, request: Request, step: do.Step, outage: str) -> list[Any]:
        conditions = resumed(request.object, self.clock.now())
        reason = "Disabling" if isinstance(step, do.DisableTenant) else "Deleting"
        conditions.mark(DEPLOYED, False, reason, f"{step}: {step.reason}")
        if outage:
            tell_outage(conditions, request.object, outage)
        return conditions.to_list()


def _events(step: do.Step, after: Snapshot) -> Iterator[Event]:
    yield from told_removal(after)
    if isinstance(step, do.DisableTenant):
        yield Event("Normal", "Disabling", f"disabled tenant {step.tenant.id} before it is deleted")


def _told(error: PassError) -> str:
    if isinstance(error, Wait) and error.reason == DOMAIN_VALIDATION_PENDING:
        return f"{error.message}; DNS may still be propagating"
    return error.message


def uid_of(obj: JsonObject) -> str:
    return str(dig(obj, "metadata", "uid") or "")


def _noted(inventory: Sequence[InventoryRecord]) -> JsonObject:
    """The inventory in a status. A target without it would be taken for a status from before there was an inventory."""
    target = next((one.target for one in inventory), "")
    return {"inventory": msgspec.to_builtins(list(inventory)), "dnsTarget": target}


def _without_empty(status: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in status.items() if value not in ("", [], None)}
