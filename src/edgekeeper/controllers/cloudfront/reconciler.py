"""The pass of a DistributionTenant: gather → decide → one effect → one write.

    observe    what is wanted and what is there        reads, mostly from memory
    decide     the steps that are left                 pure
    observe, decide once more, wholly from live reads  before a tenant is changed that is there, and before a conflict
                                                       about one is reported
    perform    the first of them                       at most one change in AWS
    report     one status, and what happened           at most one write of the object

What goes wrong is one of the four errors; `explain` says it in the conditions. Where AWS cannot be used at all, an object
that has something to do says so after a minute (`core.outages`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, Protocol

from edgekeeper.cloud.call_context import Actor, acting_for
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.account import Account
from edgekeeper.controllers.cloudfront.decide import DOMAIN_CONFLICT, NAME_CONFLICT, Plan, decide
from edgekeeper.controllers.cloudfront.explain import Explainer, uid_of
from edgekeeper.controllers.cloudfront.intervals import Intervals
from edgekeeper.controllers.cloudfront.metrics import TenantMetrics
from edgekeeper.controllers.cloudfront.observe import Base, Observer
from edgekeeper.controllers.cloudfront.perform import Performer
from edgekeeper.controllers.cloudfront.report import SYNCED, Reporter, told_removal, told_unmanaged
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.core.annotations import DeletionPolicy, Wishes
from edgekeeper.core.clock import Clock
from edgekeeper.core.duration import format_duration
from edgekeeper.core.errors import Conflict, PassError, Stall
from edgekeeper.core.json import dig, dig_list
from edgekeeper.core.outages import has_work, outage_said, silence
from edgekeeper.core.outcome import ApplyWrite, Event, Outcome, done, requeue
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.contract import Request

CERTIFICATE_MANAGER: Final = "edgekeeper-certificate"
"""The field manager that owns the certificate's ARN in the spec, and nothing else."""
ORPHAN_PATIENCE: Final = timedelta(minutes=1)
"""For how long an object that is to be orphaned is kept because its tenant cannot be reached to remove our mark."""


class Wake(Protocol):
    """Asks for another pass of an object."""

    def __call__(self, key: Key, *, after: timedelta = ...) -> None: ...


@dataclass(frozen=True)
class TenantReconciler:
    """Keeps tenants as declared."""

    observer: Observer
    performer: Performer
    explainer: Explainer
    metrics: TenantMetrics
    clock: Clock
    wake: Wake
    intervals: Intervals
    cleanup_timeout: timedelta
    """For how long a deletion may fail before it is given up; zero for ever."""

    @property
    def account(self) -> Account:
        return self.performer.account

    async def reconcile(self, request: Request) -> Outcome:
        return await self._attempted(request, self._reconcile)

    async def finalize(self, request: Request) -> Outcome:
        return await self._attempted(request, self._finalize)

    def explain(self, request: Request, error: PassError) -> Outcome:
        return self.explainer.explain(request, error)

    def pause(self, request: Request) -> Outcome:
        return self.explainer.pause(request)

    async def _reconcile(self, request: Request, began: float) -> Outcome:
        with acting_for(_actor(request)):
            wake = partial(self.wake, request.key)
            base = self.observer.begin(request, wake)
            before, plan = await self._decide(base)
            after = await self.performer.perform(plan.next, before, wake)
        outage = self._outage_after(plan.next, after, request, began)
        if plan.refusal is not None:
            raise plan.refusal
        reporter = Reporter(request.object, before, after, plan, self.clock.now(), outage)
        if plan.drift.drift_detected:
            self.metrics.drift_detected()
        if reporter.is_correction:
            self.account.corrections.note(before.owner.uid)
        return self._outcome(reporter)

    async def _finalize(self, request: Request, began: float) -> Outcome:
        if Wishes.of(request.object).deletion_policy is DeletionPolicy.ORPHAN:
            return await self._orphan(request)
        failures, uid = self.account.failing_deletions, _uid(request)
        try:
            return await self._remove(request, began)
        except Conflict:
            raise
        except PassError as error:
            lasting = failures.note(uid)
            if not self.cleanup_timeout or lasting <= self.cleanup_timeout:
                raise
            return self._given_up(request, error)

    async def _decide(self, base: Base) -> tuple[Snapshot, Plan]:
        """What to do, and about what: nothing is changed, and no conflict reported, that was not looked at just now."""
        snapshot = await self._look(base)
        try:
            plan = decide(snapshot)
            refusal = plan.refusal
        except Stall as raised:
            if not _is_doubtful(snapshot, raised):
                raise
        else:
            if _is_certain(snapshot, plan.next) and not (refusal and _is_doubtful(snapshot, refusal)):
                return snapshot, plan
        confirmed = await self._look(base, live=True)
        return confirmed, decide(confirmed)

    async def _look(self, base: Base, *, live: bool = False) -> Snapshot:
        """Look, but not for longer than it takes to say in time that there is no answer: nothing is lost with a read."""
        request = base.request
        left = self.account.outages.time_left(_uid(request)) if has_work(request.object) else None
        try:
            async with asyncio.timeout(None if left is None else left.total_seconds()) as limit:
                return await self.observer.look(base, live=live)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise silence() from error

    def _outcome(self, reporter: Reporter) -> Outcome:
        step = reporter.step
        outcome = requeue(self.intervals.after(step)).saying(*reporter.events())
        if isinstance(step, do.AttachCertificate):
            fields = {"spec": {"customizations": {"certificate": {"arn": step.arn}}}}
            return outcome.writing(ApplyWrite(fields, CERTIFICATE_MANAGER))
        return outcome.writing(reporter.status())

    # Outages

    async def _attempted(
        self, request: Request, attempt: Callable[[Request, float], Awaitable[Outcome]]
    ) -> Outcome:
        """A pass that may find that AWS cannot be used: that is told in time, and tried again however long it lasts."""
        if has_work(request.object) and (overdue := self.account.outages.due(_uid(request))) is not None:
            raise overdue
        began = self.clock.monotonic()
        try:
            return await attempt(request, began)
        except PassError as error:
            if error.unavailable is not None:
                self._note_outage(request, error, began)
            elif error.error_type or isinstance(error, Stall):  # so there was an answer
                self.account.outages.clear(_uid(request))
            raise

    def _note_outage(self, request: Request, error: PassError, began: float) -> None:
        outages, uid = self.account.outages, _uid(request)
        if has_work(request.object):
            outages.note(uid, error, began)
            self._come_back(request)

    def _come_back(self, request: Request) -> None:
        """Ask for the pass that tells of an outage, or finds that it is over, if no other comes first."""
        after = self.account.outages.next_look(_uid(request))
        if after is not None:
            self.wake(request.key, after=after)

    def _outage_after(self, step: do.Step | None, after: Snapshot, request: Request, began: float) -> str:
        """What to say of an outage after a pass that did not fail: it may be one that needed no answer of AWS."""
        outages, uid = self.account.outages, _uid(request)
        obstacle = self.observer.obstacle(step, after)
        if not has_work(request.object) or (obstacle is None and not do.asks_nothing(step)):
            outages.clear(uid)
            return ""
        if obstacle is not None:
            self._note_outage(request, obstacle, began)
        else:
            outages.expect(uid, began)
            self._come_back(request)
        return outages.message(uid, outage_said(request.object, SYNCED))

    # Deletion

    async def _remove(self, request: Request, began: float) -> Outcome:
        with acting_for(_actor(request)):
            wake = partial(self.wake, request.key)
            before, plan = await self._decide(self.observer.begin(request, wake))
            if plan.next is None:
                return self._gone(before)
            after = await self.performer.perform(plan.next, before, wake)
        if not isinstance(plan.next, do.RemoveRecords | do.AwaitRecords):  # their answers are still to come
            self.account.failing_deletions.clear(before.owner.uid)
        outage = self._outage_after(plan.next, after, request, began)
        return self.explainer.removal(request, after, plan, outage)

    async def _orphan(self, request: Request) -> Outcome:
        """Leave everything as it is, without our mark: whoever has it next must not be told that it is ours."""
        uid = _uid(request)
        try:
            with acting_for(_actor(request)):
                base = self.observer.begin(request, partial(self.wake, request.key))
                await self.performer.unmark(await self.observer.look(base, live=True))
        except Conflict:
            raise
        except PassError as error:
            lasting = self.account.failing_deletions.note(uid)
            if not isinstance(error, Stall) and lasting <= ORPHAN_PATIENCE:
                raise
            self._forget(uid)
            message = f"the tenant and its records are left as they are, but its tags could not be removed: {error.message}"
            return done().saying(Event("Warning", "Orphaned", message))
        self._forget(uid)
        return done().saying(Event("Normal", "Orphaned", "the tenant and its records are left as they are"))

    def _given_up(self, request: Request, error: PassError) -> Outcome:
        """The object may go; what it leaves behind is told."""
        self._forget(_uid(request))
        known = dig(request.object, "status", "id")
        left = [
            *([f"tenant {known}"] if known else []),
            *(
                f"{dig(one, 'type')} {dig(one, 'name')}"
                for one in dig_list(request.object, "status", "inventory")
            ),
        ]
        message = f"giving up after {format_duration(self.cleanup_timeout)}: {error.message}; what may remain: {', '.join(left) or 'nothing'}"
        return done().saying(Event("Warning", "CleanupAbandoned", message))

    def _gone(self, snapshot: Snapshot) -> Outcome:
        self._forget(snapshot.owner.uid)
        outcome = done().saying(*told_removal(snapshot), *told_unmanaged(snapshot))
        known, tenant = snapshot.status.id, snapshot.tenant
        if tenant is not None and tenant.id == known:
            told = f"tenant {tenant.name} ({known}) is left as it is: nothing proves that it is this object's"
            return outcome.saying(Event("Warning", "Orphaned", told))
        return outcome.saying(Event("Normal", "Deleted", f"tenant {known} is gone")) if known else outcome

    def _forget(self, uid: str) -> None:
        self.account.desk.forget(uid)
        self.account.failing_deletions.clear(uid)
        self.account.outages.clear(uid)
        self.account.corrections.forget(uid)


def _is_doubtful(snapshot: Snapshot, refusal: Stall) -> bool:
    """Could the conflict be over? Tags are cached by ETag, which a change of tags does not move."""
    is_conflict = refusal.reason in (NAME_CONFLICT, DOMAIN_CONFLICT)
    return is_conflict and snapshot.tenant is not None and not snapshot.is_live


def _is_certain(snapshot: Snapshot, step: do.Step | None) -> bool:
    """Is enough known for a step? A status alone is enough for nothing but to leave things as they are.

    Nor is a listing enough to let go of an object: the answer to the creation of its tenant may have been lost.
    """
    if do.changes_tenant(step) or (step is None and snapshot.deleting):
        return snapshot.is_live
    if not do.changes_records(step):
        return True
    # That a tenant is gone which was there is believed only after a live read.
    return snapshot.is_live if snapshot.is_missed else snapshot.tenant is None or snapshot.details is not None


def _actor(request: Request) -> Actor:
    return Actor(
        "DistributionTenant", request.key.namespace, request.key.name, _uid(request), request.generation
    )


def _uid(request: Request) -> str:
    return uid_of(request.object)
