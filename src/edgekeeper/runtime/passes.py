"""One pass: calls the reconciler for an object, performs its write, and records its events.

    paused               report it in the status, if the reconciler can; no finalizer is added or removed
    invalid annotation   `Stall`: nothing is created, changed or deleted
    nested too deeply    `Stall`, unless it is being deleted: deletions go by the status
    being deleted        `finalize` until it is complete, then remove our finalizer; without our finalizer: nothing
    no finalizer yet     add our finalizer, in a write of its own, and requeue, if the reconciler manages the object
    otherwise            `reconcile`

then one write with a precondition, or none if nothing would change; then, if it succeeded, the events.

Guarantees
    - Whatever a reconciler does, a pass ends in an `Outcome` or in one of the four errors: exceptions of any other
      kind are logged, counted and become `Retry`, and so does a pass that takes too long.
    - Only a cancellation from outside is passed on: the process or the controller is stopping.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeAlias

import msgspec

from edgekeeper.core.annotations import Wishes
from edgekeeper.core.duration import format_duration
from edgekeeper.core.errors import Conflict, PassError, Retry, Stall
from edgekeeper.core.log import get_logger
from edgekeeper.core.notes import notes
from edgekeeper.core.outcome import Event, Outcome, done, requeue
from edgekeeper.kube.deadlines import Deadlines
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.lease import LostLeadershipError
from edgekeeper.kube.nesting import MOST_LEVELS, is_cut
from edgekeeper.kube.store import NotSyncedError
from edgekeeper.runtime.contract import (
    ControllerMetrics,
    ControllerOptions,
    EventSink,
    Explaining,
    Finalizing,
    Pausing,
    Reconciler,
    Request,
    Selective,
)
from edgekeeper.runtime.finalizers import claim, has_finalizer, release
from edgekeeper.runtime.queue import AT_ONCE
from edgekeeper.runtime.read_your_writes import OutdatedKeys
from edgekeeper.runtime.writer import Writer, as_pass_error, plan_write, read_for

INTERNAL_ERROR = "InternalError"
DEADLINE_EXCEEDED = "DeadlineExceeded"
VALIDATION_FAILED = "ValidationFailed"
UNFINISHED = timedelta(seconds=1)
"""When to continue a deletion that recorded progress without a requeue time."""
DRY_PAUSE = timedelta(seconds=30)
"""The shortest requeue time of a dry run: nothing was written, so the next pass has the same result."""

Ending: TypeAlias = Outcome | PassError

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PassRunner:
    """Runs the passes of one controller."""

    options: ControllerOptions
    reconciler: Reconciler
    writer: Writer
    outdated: OutdatedKeys
    recorder: EventSink
    metrics: ControllerMetrics
    dry_run: bool = False
    """Nothing is written, so objects are treated as if they had the finalizer."""
    deadlines: Deadlines = field(default_factory=Deadlines)

    async def run(self, request: Request) -> Ending:
        """Run the reconciler, write, record events. A failed write is the ending, unless the pass had failed before."""
        notes().about(request.generation)
        ending = await self._attempt(request)
        report = ending if isinstance(ending, Outcome) else self._explained(request, ending)
        report, refusal = await self._written(request, report)
        if refusal is not None:
            report = _warning(refusal) if isinstance(refusal, Stall) else done()
        for event in report.events:
            self.recorder.record(request.object, event)
            notes().event(event)
        if isinstance(ending, PassError):
            return ending
        return self._paced(report) if refusal is None else refusal

    def _paced(self, outcome: Outcome) -> Outcome:
        if not self.dry_run or outcome.requeue_after is None:
            return outcome
        return replace(outcome, requeue_after=max(outcome.requeue_after, DRY_PAUSE))

    async def _attempt(self, request: Request) -> Ending:
        """Run the reconciler within the deadline, and convert whatever it raises into a PassError."""
        try:
            with self.deadlines.within(self.options.deadline.total_seconds()) as limit:
                return await self._decide(request)
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            return self._unexpected(error)
        except Exception as error:  # noqa: BLE001 - one object's failure never stops another's
            if isinstance(error, TimeoutError) and limit.expired:
                return Retry(f"no result within {format_duration(self.options.deadline)}", DEADLINE_EXCEEDED)
            return self._as_pass_error(error)

    async def _decide(self, request: Request) -> Outcome:
        finalizer = self.options.finalizer
        held = finalizer is not None and has_finalizer(request.object, finalizer)
        if request.deleting and not held:
            return done()
        wishes = Wishes.of(request.object)
        wishes.confirm()
        if wishes.paused:
            _log.info("Reconciliation is paused")
            return self.reconciler.pause(request) if isinstance(self.reconciler, Pausing) else done()
        if request.deleting and finalizer:
            return await self._finalize(request, finalizer)
        if is_cut(request.raw):
            raise Stall(
                VALIDATION_FAILED, f"the object is nested more than {MOST_LEVELS} levels deep: flatten it"
            )
        if finalizer and not held and not self.dry_run and self._is_managed(request):
            return requeue(AT_ONCE).writing(claim(finalizer))
        return _checked(await self.reconciler.reconcile(request))

    def _is_managed(self, request: Request) -> bool:
        return not isinstance(self.reconciler, Selective) or self.reconciler.manages(request)

    async def _finalize(self, request: Request, finalizer: str) -> Outcome:
        assert isinstance(self.reconciler, Finalizing)  # noqa: S101 - the controller has checked it
        outcome = _checked(await self.reconciler.finalize(request))
        if outcome.requeue_after is not None:
            return outcome
        if plan_write(read_for(outcome.write, request.raw), outcome.write) is None:
            return replace(outcome, write=release(finalizer))
        return replace(outcome, requeue_after=UNFINISHED)

    async def _written(self, request: Request, report: Outcome) -> tuple[Outcome, PassError | None]:
        """Perform the write, unless it changes nothing. Return the report, and the error if the write failed."""
        if report.write is None:
            return report, None
        try:
            # Compared with the raw object, not with the request's tree, which the reconciler may have changed.
            obj = read_for(report.write, request.raw)
            patch = plan_write(obj, report.write)
            if patch is None:
                return replace(report, write=None), None
            outdated = await self.writer.perform(request.key, obj, patch)
        except Exception as error:  # noqa: BLE001 - the reconciler's write may contain anything
            if isinstance(error, Conflict):
                self.outdated.mark(request.key, request.raw)
            return report, self._as_pass_error(error)
        if outdated:
            self.outdated.mark(request.key, request.raw)
        return report, None

    def _explained(self, request: Request, error: PassError) -> Outcome:
        """The outcome that reports a failure. Conflicts are not reported: nothing is wrong with the object."""
        if isinstance(error, Conflict):
            return done()
        if isinstance(self.reconciler, Explaining):
            try:
                return _checked(self.reconciler.explain(request, error))
            except Exception as unexpected:  # noqa: BLE001 - as above
                self._unexpected(unexpected)
        return _warning(error) if isinstance(error, Retry | Stall) else done()

    def _as_pass_error(self, error: Exception) -> PassError:
        """Convert an exception into one of the four errors."""
        match error:
            case PassError():
                return error
            case ApiError():
                return as_pass_error(error)
            case NotSyncedError() | LostLeadershipError():
                return Conflict(str(error))
            case msgspec.ValidationError():
                # The installed CRD is less strict than the Python type: the user has to correct the object.
                return Stall(VALIDATION_FAILED, f"the object does not fit its kind: {error}")
            case _:
                return self._unexpected(error)

    def _unexpected(self, error: BaseException) -> Retry:
        """Count and log an unexpected exception, which is a bug, and convert it into a Retry."""
        self.metrics.panicked()
        _log.error("Reconciliation raised an unexpected exception", exc_info=error)
        return Retry(f"internal error: {type(error).__name__}", INTERNAL_ERROR)


def _warning(error: PassError) -> Outcome:
    return done().with_events(Event("Warning", error.reason, error.message))


def _checked(outcome: object) -> Outcome:
    if not isinstance(outcome, Outcome):
        raise TypeError(f"a pass ends in an Outcome, not in {outcome!r}")
    return outcome


def _is_cancelled() -> bool:
    """Whether this task itself was cancelled, and not merely a future that the reconciler awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
