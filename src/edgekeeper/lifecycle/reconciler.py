"""The pass of an object that represents something outside the cluster.

    observe    read the desired and the actual state     mostly from memory
    decide     compute the steps that are left           pure
    observe and decide again, with live reads only       before an external object is changed, and before a conflict about
                                                         it is reported
    perform    perform the first step                    at most one change in the cloud
    report     write status and events                   at most one write of the object

Failures are raised as one of the four errors, and `status` reports them in the conditions. If the cloud cannot be used at
all, an object that has work reports that after a minute (`core.outages`). A deletion that keeps failing is abandoned after
`cleanup_timeout`; its event lists what may remain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, Generic, Protocol

from edgekeeper.cloud.call_context import Actor, acting_for
from edgekeeper.core.annotations import DeletionPolicy, Wishes
from edgekeeper.core.clock import Clock
from edgekeeper.core.duration import format_duration
from edgekeeper.core.errors import Cause, Conflict, PassError, Stall, Wait
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.core.log import get_logger
from edgekeeper.core.notes import notes
from edgekeeper.core.outages import no_response, reported_outage
from edgekeeper.core.outcome import Event, Outcome, done, requeue
from edgekeeper.core.steps import Effect, Plan, Sight, Step
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.store import NotSyncedError
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.lifecycle.kind import SYNCED, BaseT, ExternalKind, KindMetrics, Pass, SnapshotT
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.status import StatusWriter
from edgekeeper.runtime.contract import Request

_log = get_logger(__name__)

ORPHAN_TIMEOUT: Final = timedelta(minutes=1)
"""How long the removal of the ownership mark may fail before an object is orphaned with the mark."""

UNLISTED_PAUSE: Final = timedelta(seconds=2)
"""When to try again while other objects are not listed."""


class WakeObject(Protocol):
    """Requeues an object."""

    def __call__(self, key: Key, *, after: timedelta = ...) -> None: ...


@dataclass(frozen=True)
class ExternalReconciler(Generic[BaseT, SnapshotT]):
    """Reconciles the objects of one kind."""

    kind: ExternalKind[BaseT, SnapshotT]
    memory: Memory
    metrics: KindMetrics
    clock: Clock
    wake: WakeObject
    intervals: Intervals
    cleanup_timeout: timedelta
    """How long a deletion may fail before it is abandoned; zero for no limit."""

    async def reconcile(self, request: Request) -> Outcome:
        return await self._tracking_outage(request, self._reconcile)

    async def finalize(self, request: Request) -> Outcome:
        return await self._tracking_outage(request, self._finalize)

    def explain(self, request: Request, error: PassError) -> Outcome:
        return self._status.explain(request, error)

    def pause(self, request: Request) -> Outcome:
        return self._status.pause(request)

    @property
    def _status(self) -> StatusWriter:
        return StatusWriter(self.kind, self.memory, self.metrics, self.clock)

    async def _reconcile(self, request: Request, began: float) -> Outcome:
        with acting_for(self._actor(request)):
            before, plan = await self._decide(request)
            after = await self._perform(plan.next, before, request)
        outage = self._outage_after(plan.next, after, request, began)
        if plan.refusal is not None:
            raise plan.refusal
        if plan.drift.drift_detected:
            self.metrics.drift_detected()
            notes().drift(plan.differences)
        return self._reported(Pass(request.object, before, after, plan, self.clock.now()), outage)

    def _reported(self, result: Pass[SnapshotT], outage: str) -> Outcome:
        conditions = self._status.conditions(result.obj)
        report = self.kind.report(result, conditions)
        if report.is_correction:
            self.memory.corrections.note(_uid(result.obj))
        write = report.write or self._status.write(result.obj, report, conditions, outage)
        return requeue(self.intervals.after(result.step)).writing(write).with_events(*report.events)

    # Deciding

    async def _decide(self, request: Request) -> tuple[SnapshotT, Plan[Step]]:
        """The snapshot and the plan. A change, or a conflict to report, is based on a live observation."""
        base = self.kind.begin(request, partial(self.wake, request.key))
        snapshot = await self._observe(base, request)
        try:
            plan = self.kind.decide(snapshot)
            refusal = plan.refusal
        except Stall as raised:
            if not self._is_doubtful(snapshot, raised):
                raise
        else:
            is_doubtful = refusal is not None and self._is_doubtful(snapshot, refusal)
            if _is_certain(snapshot, plan.next) and not is_doubtful:
                return snapshot, plan
        confirmed = await self._observe(base, request, live=True)
        return confirmed, self.kind.decide(confirmed)

    async def _observe(self, base: BaseT, request: Request, *, live: bool = False) -> SnapshotT:
        """Observe, but no longer than until an outage has to be reported. Reads can be cancelled safely."""
        left = (
            self.memory.outages.time_left(_uid(request.object))
            if self.kind.has_work(request.object)
            else None
        )
        try:
            async with asyncio.timeout(None if left is None else left.total_seconds()) as limit:
                return await self.kind.observe(base, live=live)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise no_response() from error

    async def _perform(self, step: Step | None, snapshot: SnapshotT, request: Request) -> SnapshotT:
        if step is None:
            return snapshot
        after = await self.kind.perform(step, snapshot, partial(self.wake, request.key))
        write = _log.info if step.effect is Effect.CHANGE else _log.debug
        write("Step performed", step=str(step), why=step.reason, **_changes(step))
        if step.effect is not Effect.WAIT:
            notes().step(str(step), step.reason, step.changes())
        return after

    def _is_doubtful(self, snapshot: SnapshotT, refusal: Stall) -> bool:
        """Whether a conflict may be outdated: the ownership mark may come from an older cache than the rest."""
        is_conflict = refusal.reason in self.kind.conflicts
        return is_conflict and snapshot.exists and snapshot.sight < Sight.LIVE

    # Outages

    async def _tracking_outage(
        self, request: Request, attempt: Callable[[Request, float], Awaitable[Outcome]]
    ) -> Outcome:
        """Run a pass, and record whether the cloud could be used. Raise the error of an outage that is due to be reported."""
        outages, uid = self.memory.outages, _uid(request.object)
        if self.kind.has_work(request.object) and (overdue := outages.due(uid)) is not None:
            raise overdue
        began = self.clock.monotonic()
        try:
            return await self._with_objects(attempt(request, began))
        except PassError as error:
            if error.unavailable is not None:
                self._note_outage(request, error, began)
            elif error.error_type or isinstance(error, Stall):  # the cloud has responded
                outages.clear(uid)
            raise

    async def _with_objects(self, attempt: Awaitable[Outcome]) -> Outcome:
        """Treat it as an outage if other objects, which may want the same, are not listed: it may last, and is shown."""
        try:
            return await attempt
        except NotSyncedError as error:
            wait = Wait(UNLISTED_PAUSE, "ObjectsNotListed", str(error))
            wait.unavailable = Cause.OBJECTS_UNLISTED
            raise wait from error

    def _note_outage(self, request: Request, error: PassError, began: float) -> None:
        if self.kind.has_work(request.object):
            self.memory.outages.note(_uid(request.object), error, began)
            self._requeue_for_outage(request)

    def _requeue_for_outage(self, request: Request) -> None:
        """Requeue the object in time to report the outage, or to see that it is over."""
        after = self.memory.outages.next_look(_uid(request.object))
        if after is not None:
            self.wake(request.key, after=after)

    def _outage_after(self, step: Step | None, after: SnapshotT, request: Request, began: float) -> str:
        """The message of an outage to report after a pass that succeeded, possibly without a response of the cloud."""
        outages, uid = self.memory.outages, _uid(request.object)
        obstacle = self.kind.obstacle(step, after)
        is_answered = step is None or step.answered
        if not self.kind.has_work(request.object) or (obstacle is None and is_answered):
            outages.clear(uid)
            return ""
        if obstacle is not None:
            self._note_outage(request, obstacle, began)
        else:
            outages.expect(uid, began)
            self._requeue_for_outage(request)
        return outages.message(uid, reported_outage(request.object, SYNCED))

    # Deletion

    async def _finalize(self, request: Request, began: float) -> Outcome:
        if Wishes.of(request.object).deletion_policy is DeletionPolicy.ORPHAN:
            return await self._orphan(request)
        try:
            return await self._remove(request, began)
        except Conflict:
            raise
        except PassError as error:
            lasting = self.memory.failing_deletions.note(_uid(request.object))
            if not self.cleanup_timeout or lasting <= self.cleanup_timeout:
                raise
            return self._abandon_cleanup(request, error)

    async def _remove(self, request: Request, began: float) -> Outcome:
        with acting_for(self._actor(request)):
            before, plan = await self._decide(request)
            if plan.next is None:
                self._forget(request)
                return done().with_events(*self.kind.gone(before))
            after = await self._perform(plan.next, before, request)
        if plan.next.answered:
            self.memory.failing_deletions.clear(_uid(request.object))
        outage = self._outage_after(plan.next, after, request, began)
        return self._reported(Pass(request.object, before, after, plan, self.clock.now()), outage)

    async def _orphan(self, request: Request) -> Outcome:
        """Remove the ownership mark, so that others can adopt the external object, and nothing else."""
        noun = self.kind.noun
        try:
            with acting_for(self._actor(request)):
                base = self.kind.begin(request, partial(self.wake, request.key))
                await self.kind.release(await self.kind.observe(base, live=True))
        except Conflict:
            raise
        except PassError as error:
            lasting = self.memory.failing_deletions.note(_uid(request.object))
            if not isinstance(error, Stall) and lasting <= ORPHAN_TIMEOUT:
                raise
            self._forget(request)
            message = (
                f"{noun} are left as they are, but {self.kind.mark} could not be removed: {error.message}"
            )
            return done().with_events(Event("Warning", "Orphaned", message))
        self._forget(request)
        return done().with_events(Event("Normal", "Orphaned", f"{noun} are left as they are"))

    def _abandon_cleanup(self, request: Request, error: PassError) -> Outcome:
        """Let the object be deleted, with an event that lists what may remain."""
        self._forget(request)
        remains = ", ".join(self.kind.remains(request.object)) or "nothing"
        after = format_duration(self.cleanup_timeout)
        message = f"giving up after {after}: {error.message}; what may remain: {remains}"
        return done().with_events(Event("Warning", "CleanupAbandoned", message))

    def _forget(self, request: Request) -> None:
        uid = _uid(request.object)
        self.kind.forget(uid)
        self.memory.forget(uid)

    def _actor(self, request: Request) -> Actor:
        key = request.key
        return Actor(self.kind.name, key.namespace, key.name, _uid(request.object), request.generation)


def _is_certain(snapshot: SnapshotT, step: Step | None) -> bool:
    """Whether the snapshot is sufficient for a step. To finish a deletion, a live observation is required.

    A listing is not sufficient for that, because the response to the creation of the external object may have been lost.
    """
    needed = (Sight.LIVE if snapshot.deleting else Sight.CACHED) if step is None else step.needs
    return snapshot.sight >= needed


def _uid(obj: object) -> str:
    return str(dig(obj, "metadata", "uid") or "")


def _changes(step: Step) -> JsonObject:
    changes = step.changes()
    return {"changes": changes} if changes else {}
