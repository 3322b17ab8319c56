"""The pass of an HTTPRoute: observe the cluster, decide (pure), write a task or a state, show the result on the route.

    enabled                        publish: a task, then its result in the state and in the route's annotations
    not enabled, or being deleted  withdraw: a task with action delete, then state and task go, then finalizer and annotations
    anything else                  nothing: a route that was never ours is never written

Guarantees
    - A route whose annotations cannot be read clearly is neither published nor withdrawn.
    - A deletion is never given up silently (`route_removal`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

import msgspec

from edgekeeper.controllers.zerotrust.dns_only import NO_ADDRESS
from edgekeeper.controllers.zerotrust.route_claims import HostnameHeld
from edgekeeper.controllers.zerotrust.route_cluster import Cluster
from edgekeeper.controllers.zerotrust.route_decide import decide, decide_refused
from edgekeeper.controllers.zerotrust.route_effects import Effects
from edgekeeper.controllers.zerotrust.route_facts import SERVICE_NOT_FOUND, Observer
from edgekeeper.controllers.zerotrust.route_index import annotation, is_annotated
from edgekeeper.controllers.zerotrust.route_removal import RouteRemoval, uid_of
from edgekeeper.controllers.zerotrust.route_report import (
    Drift,
    Readiness,
    annotations_of_pause,
    metadata_write,
    readiness,
    stale_ids,
    told,
    unmanaged_records,
)
from edgekeeper.controllers.zerotrust.route_situation import Facts
from edgekeeper.controllers.zerotrust.route_steps import (
    AwaitTask,
    CreateTask,
    RecordState,
)
from edgekeeper.controllers.zerotrust.route_token import next_look
from edgekeeper.controllers.zerotrust.route_withdrawal import Withdrawals
from edgekeeper.core.annotations import Wishes
from edgekeeper.core.clock import Clock
from edgekeeper.core.drift import DRIFT_CORRECTED, Policy
from edgekeeper.core.errors import PassError, Retry, Stall, Wait
from edgekeeper.core.json import JsonObject
from edgekeeper.core.log import get_logger
from edgekeeper.core.notes import notes
from edgekeeper.core.outcome import Event, MetadataWrite, Outcome, done, requeue
from edgekeeper.core.steps import Step
from edgekeeper.lifecycle.corrections import INTERVAL
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.runtime.contract import Request

_log = get_logger(__name__)

_AT_ONCE: Final = timedelta(0)
_TOLD_WAITS: Final = frozenset({NO_ADDRESS, SERVICE_NOT_FOUND})


@dataclass(frozen=True)
class RouteReconciler:
    """Keeps the routes of a cluster published as they say."""

    cluster: Cluster
    observer: Observer
    effects: Effects
    memory: Memory
    clock: Clock
    drift_policy: Policy = Policy.ENFORCE
    intervals: Intervals = field(default_factory=Intervals)
    cleanup_timeout: timedelta = timedelta(hours=1)

    @property
    def _removal(self) -> RouteRemoval:
        return RouteRemoval(
            self.cluster, self.observer, self.effects, self.memory, self.intervals, self.cleanup_timeout
        )

    # The interface to the runtime

    def manages(self, request: Request) -> bool:
        with suppress(Stall):
            return self.observer.is_enabled(request.object)
        return False

    def log_level(self, request: Request) -> str | None:
        if not is_annotated(request.object):
            return None
        tenant = self.cluster.tenant_if_known(request.object)
        return tenant.object.spec.log_level if tenant is not None else None

    def log_fields(self, request: Request) -> JsonObject:
        return {"tenant": self._tenant_name(request)} if is_annotated(request.object) else {}

    async def reconcile(self, request: Request) -> Outcome:
        facts = self.observer.known(request.object)
        is_enabled = self.observer.is_enabled(request.object)
        if (stale := stale_ids(request.object, facts)) is not None:
            return requeue(_AT_ONCE).writing(stale)
        if not is_enabled and facts.state is None and facts.task is None:
            return self._removal.let_go(request)
        return await (self._publish(request, facts) if is_enabled else self._removal.disable(request, facts))

    async def finalize(self, request: Request) -> Outcome:
        facts = self.observer.known(request.object)
        if (stale := stale_ids(request.object, facts)) is not None:
            return requeue(_AT_ONCE).writing(stale)
        return await self._removal.delete(request, facts)

    def explain(self, request: Request, error: PassError) -> Outcome:
        if not is_annotated(request.object):
            return done()
        if isinstance(error, Retry):
            return done().with_events(Event("Warning", error.reason, error.message))
        if not isinstance(error, Stall) and not (isinstance(error, Wait) and error.reason in _TOLD_WAITS):
            return done()
        said = Readiness(False, error.reason, error.message)
        write = MetadataWrite(annotations=said.annotations())
        return done().writing(write).with_events(*told(request.object, said))

    def pause(self, request: Request) -> Outcome:
        if not is_annotated(request.object):
            return done()
        return done().writing(MetadataWrite(annotations=annotations_of_pause(request.object)))

    # Publishing

    async def _publish(self, request: Request, facts: Facts) -> Outcome:
        try:
            wanted = await self.observer.wanted(request.object, facts)
        except PassError as refusal:
            await self._refuse(request, facts, refusal)
            raise
        if _log.shows_debug:
            _log.debug("Settings merged", spec=msgspec.to_builtins(wanted.spec), hash=wanted.hash)
        facts = replace(facts, wanted=wanted, withdrawal=Withdrawals(self.cluster).moved(facts, wanted))
        drift = self._drift(request, facts)
        due = next_look(facts.state.state) if facts.state is not None and facts.is_applied else None
        facts = replace(
            facts, repair=self._repair(request, facts, drift, is_due=due is not None and due <= facts.now)
        )
        if drift.note and facts.state is not None:
            notes().recorded_drift(facts.state.state.drift_fields)
        step = decide(facts)
        if step is not None:
            await self.effects.perform(step)
        return self._published(request, facts, step, drift)

    async def _refuse(self, request: Request, facts: Facts, refusal: PassError) -> None:
        """Record results, and release what others wait for where the route itself waits for a hostname."""
        if isinstance(refusal, HostnameHeld):
            awaited = self.observer.claims.records.awaited(request.key, facts.inventory)
            facts = replace(facts, awaited=awaited)
        if facts.awaited:
            facts = self._removal.withdrawal_of(request, facts, orphan=False)
        if (step := decide_refused(facts)) is not None:
            await self.effects.perform(step)

    def _published(self, request: Request, facts: Facts, step: Step | None, drift: Drift) -> Outcome:
        said = readiness(facts, step, drift)
        write = metadata_write(request.object, facts, step, said, facts.now)
        after = self._next(facts, step, drift)
        outcome = done() if after is None else requeue(after)
        details = {"step": str(step)} if step is not None and not isinstance(step, AwaitTask) else {}
        outcome = replace(outcome.writing(write), details=details)
        return outcome.with_events(*self._events(request, facts, step, said, drift))

    def _events(
        self, request: Request, facts: Facts, step: Step | None, said: Readiness, drift: Drift
    ) -> tuple[Event, ...]:
        if isinstance(step, CreateTask) and drift.note and facts.is_applied:
            self.memory.corrections.note(uid_of(request))
            return (Event("Normal", DRIFT_CORRECTED, drift.note),)
        if isinstance(step, RecordState) and not facts.is_applied:
            return (Event("Normal", said.reason, said.message),) if said.ready else ()
        is_wrong = (facts.task is not None and facts.task.is_failed) or (drift.note and drift.is_told)
        return told(request.object, said) if is_wrong else ()

    def _next(self, facts: Facts, step: Step | None, drift: Drift) -> timedelta | None:
        """When to look again, where no change brings the route back earlier; None for the resync interval."""
        if step is not None:
            return self.intervals.in_progress if not isinstance(step, AwaitTask) else self.intervals.steady
        if drift.note and drift.is_corrected:
            return INTERVAL
        due = next_look(facts.state.state) if facts.state is not None else None
        return max(due - facts.now, timedelta(seconds=1)) if due is not None else None

    # Repairs

    def _drift(self, request: Request, facts: Facts) -> Drift:
        note = facts.state.state.drift if facts.state is not None and facts.is_applied else ""
        policy = Wishes.of(request.object).drift_policy or self.drift_policy
        if not note or policy is Policy.SUSPEND:
            return Drift()
        return Drift(note, is_told=policy is Policy.REPORT, is_corrected=policy is Policy.ENFORCE)

    def _repair(self, request: Request, facts: Facts, drift: Drift, *, is_due: bool) -> str:
        state = facts.state.state if facts.state is not None else None
        if facts.wanted is not None and facts.wanted.spec.adopt and unmanaged_records(state):
            return "its DNS records may be adopted"
        if drift.note and drift.is_corrected and self.memory.corrections.may_correct_now(uid_of(request)):
            return f"drift: {drift.note}"
        return "the service token is due" if is_due else ""

    def _tenant_name(self, request: Request) -> str:
        """The tenant of a route, or the one that its state names."""
        tenant = self.cluster.tenant_if_known(request.object)
        if tenant is not None:
            return tenant.key.name
        with suppress(PassError):
            state = self.cluster.state(request.key)
            if state is not None and state.state.tenant is not None:
                return state.state.tenant.name
        return annotation(request.object, "tenant")
