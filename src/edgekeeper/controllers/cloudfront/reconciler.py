"""The pass of a DistributionTenant: gather → decide → one effect → one write.

    observe    what is wanted and what is there        reads, mostly from memory
    decide     the steps that are left                 pure
    observe, decide once more, from a live reading     before a tenant is changed that is there
    perform    the first of them                       at most one change in AWS
    report     one status, and what happened           at most one write of the object

What goes wrong is one of the four errors; `explain` says it in the conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from edgekeeper.api.cloudfront import DistributionTenant
from edgekeeper.cloud.origin import Actor, acting_for
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.account import Account
from edgekeeper.controllers.cloudfront.decide import Plan, decide
from edgekeeper.controllers.cloudfront.explain import Explainer
from edgekeeper.controllers.cloudfront.intervals import Intervals
from edgekeeper.controllers.cloudfront.metrics import TenantMetrics
from edgekeeper.controllers.cloudfront.observe import Observer
from edgekeeper.controllers.cloudfront.perform import Performer
from edgekeeper.controllers.cloudfront.report import Reporter, told_removal
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.clock import Clock, parse_timestamp
from edgekeeper.core.errors import PassError
from edgekeeper.core.json import dig
from edgekeeper.core.outcome import ApplyWrite, Event, Outcome, done, requeue
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.contract import Request

CERTIFICATE_MANAGER: Final = "edgekeeper-certificate"
"""The field manager that owns the certificate's ARN in the spec, and nothing else."""
DELETION_POLICY: Final = "edgekeeper.io/deletion-policy"


@dataclass(frozen=True)
class TenantReconciler:
    """Keeps tenants as declared."""

    observer: Observer
    performer: Performer
    explainer: Explainer
    metrics: TenantMetrics
    clock: Clock
    wake: Callable[[Key], None]
    intervals: Intervals
    cleanup_timeout: timedelta
    """After which a deletion that fails is given up; zero for never."""

    @property
    def account(self) -> Account:
        return self.performer.account

    async def reconcile(self, request: Request) -> Outcome:
        with acting_for(_actor(request)):
            wake = partial(self.wake, request.key)
            before = await self.observer.observe(request, wake)
            if before.dns_work.error is not None:
                raise before.dns_work.error
            before, plan = await self._decide(before)
            after = await self.performer.perform(plan.next, before, wake)
        reporter = Reporter(request.object, before, after, plan, self.clock.now())
        if plan.drift.drift_detected:
            self.metrics.drift_detected()
        if reporter.is_correction:
            self.account.corrections.note(before.owner.uid)
        return self._outcome(reporter)

    async def finalize(self, request: Request) -> Outcome:
        if dig(request.object, "metadata", "annotations", DELETION_POLICY) == "Orphan":
            self.account.desk.forget(_uid(request))
            return done().saying(
                Event("Normal", "Orphaned", "the tenant and its records are left as they are")
            )
        try:
            return await self._remove(request)
        except PassError as error:
            if not self._is_overdue(request):
                raise
            return self._given_up(request, error)

    async def _remove(self, request: Request) -> Outcome:
        with acting_for(_actor(request)):
            wake = partial(self.wake, request.key)
            before, plan = await self._decide(await self.observer.observe(request, wake))
            if plan.next is None:
                return self._gone(before)
            if before.dns_work.error is not None and not isinstance(plan.next, do.DisableTenant):
                raise before.dns_work.error
            after = await self.performer.perform(plan.next, before, wake)
        return self.explainer.removal(request, after, plan)

    async def _decide(self, snapshot: Snapshot) -> tuple[Snapshot, Plan]:
        """What to do, and about what: nothing is changed that was not looked at a moment ago."""
        plan = decide(snapshot)
        if _is_certain(snapshot, plan.next):
            return snapshot, plan
        confirmed = await self.observer.confirm(snapshot)
        return confirmed, decide(confirmed)

    def explain(self, request: Request, error: PassError) -> Outcome:
        return self.explainer.explain(request, error)

    def _outcome(self, reporter: Reporter) -> Outcome:
        step = reporter.step
        outcome = requeue(self.intervals.after(step)).saying(*reporter.events())
        if isinstance(step, do.AttachCertificate):
            fields = {"spec": {"customizations": {"certificate": {"arn": step.arn}}}}
            return outcome.writing(ApplyWrite(fields, CERTIFICATE_MANAGER))
        return outcome.writing(reporter.status())

    def _is_overdue(self, request: Request) -> bool:
        since = dig(request.object, "metadata", "deletionTimestamp")
        if not self.cleanup_timeout or not isinstance(since, str):
            return False
        return self.clock.now() - parse_timestamp(since) > self.cleanup_timeout

    def _given_up(self, request: Request, error: PassError) -> Outcome:
        """The object may go; what it leaves behind is told."""
        self.account.desk.forget(_uid(request))
        status = request.decode(DistributionTenant).status
        left = [
            *([f"tenant {status.id}"] if status.id else []),
            *(f"{one.type} {one.name}" for one in status.inventory),
        ]
        message = f"giving up after {self.cleanup_timeout}: {error.message}; what may remain: {', '.join(left) or 'nothing'}"
        return done().saying(Event("Warning", "CleanupAbandoned", message))

    def _gone(self, snapshot: Snapshot) -> Outcome:
        self.account.desk.forget(snapshot.owner.uid)
        outcome = done().saying(*told_removal(snapshot))
        known, tenant = snapshot.status.id, snapshot.tenant
        if tenant is not None and tenant.id == known:
            told = f"tenant {tenant.name} ({known}) is left as it is: nothing proves that it is this object's"
            return outcome.saying(Event("Warning", "Orphaned", told))
        return outcome.saying(Event("Normal", "Deleted", f"tenant {known} is gone")) if known else outcome


def _is_certain(snapshot: Snapshot, step: do.Step | None) -> bool:
    """Is enough known for a step? A status alone is enough for nothing but to leave things as they are."""
    if do.changes_tenant(step):
        return snapshot.is_live
    return snapshot.tenant is None or snapshot.details is not None or not do.changes_records(step)


def _actor(request: Request) -> Actor:
    return Actor(
        "DistributionTenant", request.key.namespace, request.key.name, _uid(request), request.generation
    )


def _uid(request: Request) -> str:
    return str(dig(request.object, "metadata", "uid") or "")
