"""Say in the status why a pass failed, or how far a deletion is; once per fact, and never what a retry will mend.

error                                         conditions
Stall of DNS                                  Ready and DNSReady False, with the reason
Stall of anything else                        Ready and Synced False, with the reason
  of a connection group, with spec.dns        DNSReady False as well: records have nowhere to lead to
Wait for the domain to be validated, a quota  Ready False, with the reason
other Wait, Retry, Conflict                   none: they pass by themselves, and are counted
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from edgekeeper.cloud.aws.meanings import (
    DNS_ERROR,
    DOMAIN_VALIDATION_PENDING,
    NO_CONNECTION_GROUP,
    QUOTA_EXCEEDED,
)
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.decide import Plan
from edgekeeper.controllers.cloudfront.intervals import Intervals
from edgekeeper.controllers.cloudfront.metrics import TenantMetrics
from edgekeeper.controllers.cloudfront.report import (
    DECLARATION,
    DEPLOYED,
    DNS,
    DNS_REASONS,
    SYNCED,
    is_tried_again,
    told_removal,
)
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.clock import Clock
from edgekeeper.core.conditions import READY, Conditions
from edgekeeper.core.errors import Conflict, PassError, Stall, Wait
from edgekeeper.core.json import dig, dig_object
from edgekeeper.core.outcome import Event, Outcome, StatusWrite, done, requeue
from edgekeeper.runtime.contract import Request

_WORTH_TELLING: Final = frozenset({DOMAIN_VALIDATION_PENDING, QUOTA_EXCEEDED})
_KEPT: Final = (
    "the tenant is kept, disabled, while names lead to it: let the records be removed, or leave everything as it is "
    "with the annotation edgekeeper.io/deletion-policy: Orphan"
)


@dataclass(frozen=True)
class Explainer:
    """Puts errors and farewells into words."""

    clock: Clock
    metrics: TenantMetrics
    intervals: Intervals

    def explain(self, request: Request, error: PassError) -> Outcome:
        """The write and the event that tell of an error; nothing where that has been told."""
        if isinstance(error, Conflict):
            return done()
        is_told = isinstance(error, Stall) or error.reason in _WORTH_TELLING
        if is_told and self._is_known(request, error):
            return done()
        if error.error_type:
            self.metrics.error(error.error_type)
        if not is_told:
            return done()
        event = Event("Warning", error.reason, _told(request, error))
        return done().writing(self._status(request, error)).saying(event)

    def _is_known(self, request: Request, error: PassError) -> bool:
        ready = Conditions.of(DECLARATION, request.object, self.clock.now()).before(READY)
        return (
            ready is not None
            and (ready.reason, ready.message) == (error.reason, _told(request, error))
            and ready.observed_generation == request.generation
        )

    def _status(self, request: Request, error: PassError) -> StatusWrite:
        conditions = Conditions.of(DECLARATION, request.object, self.clock.now())
        conditions.mark(DEPLOYED, False, error.reason, _told(request, error))
        if error.reason in DNS_REASONS:
            conditions.mark(DNS, False, error.reason, error.message)
        elif isinstance(error, Stall):
            conditions.mark(SYNCED, False, error.reason, error.message)
        if error.error_type == NO_CONNECTION_GROUP.error_type and dig(request.object, "spec", "dns"):
            conditions.mark(DNS, False, DNS_ERROR, error.message)
        status = {**dig_object(request.object, "status"), "conditions": conditions.to_list()}
        return StatusWrite(status)

    # Deletion

    def removal(self, request: Request, after: Snapshot, plan: Plan) -> Outcome:
        """How far a deletion is. What was written down about the tenant stays until it is gone."""
        step = plan.next
        assert step is not None  # noqa: S101 - with nothing left to do there is nothing to tell
        status = {**dig_object(request.object, "status")}
        if not is_tried_again(request.object, step):
            status["conditions"] = self._progress(request, step)
        status["inventory"] = msgspec.to_builtins(list(after.inventory))
        status["dnsChangeId"] = "" if after.dns_in_sync else after.change_id
        if after.tenant is not None:
            status["id"], status["arn"] = after.tenant.id, after.tenant.arn
            status["eTag"] = after.tenant.etag
            status["distributionTenantStatus"] = after.tenant.status
        return (
            requeue(self.intervals.after(step))
            .writing(StatusWrite(_without_empty(status)))
            .saying(*_events(step, after))
        )

    def _progress(self, request: Request, step: do.Step) -> list[Any]:
        conditions = Conditions.of(DECLARATION, request.object, self.clock.now())
        reason = "Disabling" if isinstance(step, do.DisableTenant) else "Deleting"
        conditions.mark(DEPLOYED, False, reason, f"{step}: {step.reason}")
        return conditions.to_list()


def _events(step: do.Step, after: Snapshot) -> Iterator[Event]:
    yield from told_removal(after)
    if isinstance(step, do.DisableTenant):
        yield Event("Normal", "Disabling", f"disabled tenant {step.tenant.id} before it is deleted")


def _told(request: Request, error: PassError) -> str:
    if request.deleting and error.reason in DNS_REASONS:
        return f"{error.message}; {_KEPT}"
    if isinstance(error, Wait) and error.reason == DOMAIN_VALIDATION_PENDING:
        return f"{error.message}; DNS may still be propagating"
    return error.message


def _without_empty(status: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in status.items() if value not in ("", [], None)}
