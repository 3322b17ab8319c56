"""How a route goes: disabled, deleted or orphaned; and what becomes of a deletion that keeps failing.

A deletion that keeps failing is given up after the clean-up timeout. The state stays, and with it the list of what is left:
`state_controller` goes on with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from edgekeeper.api.zerotrust import FINALIZER
from edgekeeper.controllers.zerotrust.route_cluster import Cluster
from edgekeeper.controllers.zerotrust.route_decide import decide
from edgekeeper.controllers.zerotrust.route_effects import Effects
from edgekeeper.controllers.zerotrust.route_facts import Observer
from edgekeeper.controllers.zerotrust.route_index import annotation
from edgekeeper.controllers.zerotrust.route_report import (
    WITHDRAWING,
    Readiness,
    farewell,
    former_finalizers,
    records_left,
)
from edgekeeper.controllers.zerotrust.route_situation import Facts
from edgekeeper.controllers.zerotrust.route_steps import (
    AwaitTask,
    DropState,
    DropTask,
    RecordState,
)
from edgekeeper.controllers.zerotrust.route_withdrawal import Withdrawals, remains
from edgekeeper.controllers.zerotrust.state import RouteState
from edgekeeper.core.annotations import DeletionPolicy, Wishes
from edgekeeper.core.duration import format_duration
from edgekeeper.core.errors import Conflict, PassError, Stall
from edgekeeper.core.json import dig
from edgekeeper.core.outcome import Event, MetadataWrite, Outcome, done, requeue
from edgekeeper.kube.store import NotSyncedError
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.reconciler import ORPHAN_TIMEOUT
from edgekeeper.runtime.contract import Request
from edgekeeper.runtime.finalizers import has_finalizer

_AT_ONCE: Final = timedelta(0)
_CLEANUP_ABANDONED: Final = "CleanupAbandoned"
_ORPHANED: Final = "Orphaned"


@dataclass(frozen=True)
class RouteRemoval:
    """Withdraws routes."""

    cluster: Cluster
    observer: Observer
    effects: Effects
    memory: Memory
    intervals: Intervals
    cleanup_timeout: timedelta

    async def delete(self, request: Request, facts: Facts) -> Outcome:
        """The next step for a route that is being deleted."""
        if Wishes.of(request.object).deletion_policy is DeletionPolicy.ORPHAN:
            return await self._orphan(request, facts)
        try:
            return await self._withdraw(request, facts)
        except (Conflict, NotSyncedError):
            raise
        except PassError as error:
            lasting = self.memory.failing_deletions.note(uid_of(request))
            if not self.cleanup_timeout or lasting <= self.cleanup_timeout:
                raise
            return await self._give_up(request, facts, error)

    async def disable(self, request: Request, facts: Facts) -> Outcome:
        """The next step for a route that is not to be published any more, and stays."""
        outcome = await self._withdraw(request, facts)
        return outcome if outcome.requeue_after is not None else self.let_go(request)

    def let_go(self, request: Request) -> Outcome:
        """Leave nothing of ours on a route that is not, or no longer, to be published."""
        self.observer.services.use(request.key, ())
        if not has_finalizer(request.object, FINALIZER):
            return done()
        self.memory.forget(uid_of(request))
        return done().writing(farewell(FINALIZER, request.object))

    async def _withdraw(self, request: Request, facts: Facts, *, orphan: bool = False) -> Outcome:
        """The next step of a withdrawal: done without a requeue where nothing is left."""
        former = former_finalizers(request.object, facts.state.state if facts.state is not None else None)
        if former:
            return requeue(_AT_ONCE).writing(MetadataWrite(remove_finalizers=former))
        facts = self.withdrawal_of(request, facts, orphan=orphan)
        step = decide(facts)
        if step is None:
            self.memory.forget(uid_of(request))
            self.observer.services.use(request.key, ())
            return done()
        await self.effects.perform(step)
        if isinstance(step, AwaitTask) and step.task.is_failed:
            raise Stall(*step.task.failure)
        self.memory.failing_deletions.clear(uid_of(request))
        said = Readiness(
            False, WITHDRAWING, "what exists at Cloudflare because of the route is being removed"
        )
        after = self.intervals.steady if isinstance(step, AwaitTask) else self.intervals.in_progress
        events = records_left(step.state.state) if isinstance(step, DropState) and not orphan else ()
        return requeue(after).writing(MetadataWrite(annotations=said.annotations())).with_events(*events)

    def withdrawal_of(self, request: Request, facts: Facts, *, orphan: bool) -> Facts:
        """The facts with how to withdraw what exists, and what of it belongs to others."""
        task = facts.task
        if task is not None and task.is_deletion and task.is_completed:
            return facts
        annotated = annotation(request.object, "tenant")
        state = facts.state.state if facts.state is not None else None
        return replace(
            facts,
            withdrawal=Withdrawals(self.cluster).spec(facts, annotated, orphan=orphan),
            shared=self.observer.claims.records.shared(request.key, state),
        )

    async def _orphan(self, request: Request, facts: Facts) -> Outcome:
        """Leave everything at Cloudflare as it is, without our marks."""
        try:
            outcome = await self._withdraw(request, facts, orphan=True)
        except (Conflict, NotSyncedError):
            raise
        except PassError as error:
            lasting = self.memory.failing_deletions.note(uid_of(request))
            if not isinstance(error, Stall) and lasting <= ORPHAN_TIMEOUT:
                raise
            await self._drop(facts)
            message = (
                f"{_what(facts)} stays at Cloudflare, but our marks could not be removed: {error.message}"
            )
            return done().with_events(Event("Warning", _ORPHANED, message))
        task = facts.task
        if facts.state is None or task is None or not task.is_deletion or not task.is_completed:
            return outcome
        left = ", ".join(remains(facts.state.state.inventory))
        return outcome.with_events(Event("Normal", _ORPHANED, f"{left} stays at Cloudflare"))

    async def _drop(self, facts: Facts) -> None:
        if facts.state is not None:
            await self.effects.perform(DropState(reason="the route is orphaned", state=facts.state))
        if facts.task is not None:
            await self.effects.perform(DropTask(reason="the route is orphaned", task=facts.task))

    async def _give_up(self, request: Request, facts: Facts, error: PassError) -> Outcome:
        """The route may go. What it leaves behind is told, and stays listed in its state."""
        if facts.state is None and facts.inventory:
            await self.effects.perform(
                RecordState(reason="giving up", state=_unfinished(facts), present=None)
            )
        self.memory.forget(uid_of(request))
        self.observer.services.use(request.key, ())
        after = format_duration(self.cleanup_timeout)
        left = ", ".join(remains(facts.inventory)) or "nothing"
        message = f"giving up after {after}: {error.message}; what may remain: {left}"
        return done().with_events(Event("Warning", _CLEANUP_ABANDONED, message))


def _unfinished(facts: Facts) -> RouteState:
    """The state of a route whose only record is its task."""
    spec = facts.task.spec if facts.task is not None else None
    if spec is None:
        return RouteState(facts.route, inventory=facts.inventory)
    return RouteState(
        facts.route,
        "",
        spec.tenant_ref,
        spec.account_id,
        spec.credential_secret_ref,
        spec.hostname,
        spec.tunnel_id,
        spec.zone_id,
        facts.inventory,
    )


def _what(facts: Facts) -> str:
    return ", ".join(remains(facts.inventory)) or "nothing"


def uid_of(request: Request) -> str:
    return str(dig(request.object, "metadata", "uid") or "")
