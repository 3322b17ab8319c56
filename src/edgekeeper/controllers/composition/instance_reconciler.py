"""The pass of an instance: decide, apply one wave, write the instance once.

    deleted            children go in waves (`instance_deletion`), then the finalizer
    suspended          nothing but a condition
    no graph           nothing but a condition: what exists stays as it is
    not marked         finalizer, labels and inventory, in one write, before anything is created
    otherwise          one wave (`waves`), concurrently; when everything is applied, what is no longer wanted is removed;
                       then the status

A pass that applied something leaves the status to the one that follows, unless everything is ready. Nobody polls: the
watches of children and of objects that a definition refers to wake the instance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.child_requests import apply_all, remove_all
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance_deletion import InstanceDeletion
from edgekeeper.controllers.composition.instance_errors import ReportedStall, ReportedWait
from edgekeeper.controllers.composition.instance_marks import missing_marks
from edgekeeper.controllers.composition.instance_plan import Address, NodeState, Plan
from edgekeeper.controllers.composition.instance_removal import next_removal
from edgekeeper.controllers.composition.instance_status import InstanceState, StatusWriter, finding_of
from edgekeeper.controllers.composition.instance_view import InstanceView
from edgekeeper.controllers.composition.instance_world import InstanceKey, World
from edgekeeper.controllers.composition.inventory import read_inventory
from edgekeeper.controllers.composition.registry import ServedGraph
from edgekeeper.controllers.composition.reverted import REVERTED
from edgekeeper.controllers.composition.selectors import Interest
from edgekeeper.controllers.composition.used_objects import used_kinds
from edgekeeper.controllers.composition.waves import decide
from edgekeeper.core.backoff import Backoff
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import PassError, Retry, Stall
from edgekeeper.core.outcome import Outcome, StatusWrite, done, requeue
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.runtime.contract import Request
from edgekeeper.runtime.queue import AT_ONCE

SETTLING: Final = timedelta(milliseconds=500)
"""How long objects that were just applied may take to become ready before the status says that they are not."""
APPLY_BACKOFF: Final = Backoff(timedelta(seconds=1), longest=timedelta(minutes=5))
NOT_WANTED: Final = "the instance does not want it any more"
_MOST_ROUNDS: Final = 1000
"""How often a pass may find that it has to read something: once for each level of a graph."""


class InstanceReconciler:
    """Reconciles the instances of one kind."""

    def __init__(
        self, kind: Kind, served: Callable[[], ServedGraph | None], world: World, clock: Clock
    ) -> None:
        self._kind = kind
        self._served = served
        self._world = world
        self._clock = clock
        self._deletion = InstanceDeletion(kind, world, clock)
        self._failures: dict[Key, int] = {}

    def manages(self, request: Request) -> bool:
        """The finalizer is written together with everything else that marks an instance."""
        return False

    def forget(self, key: Key) -> None:
        """An instance is gone, or no longer watched."""
        self._failures.pop(key, None)
        self._world.forget((self._kind, key))

    # What may go wrong

    def explain(self, request: Request, error: PassError) -> Outcome:
        """Report why a pass failed. What a pass says itself comes with it."""
        if isinstance(error, ReportedWait | ReportedStall):
            return done().writing(StatusWrite(error.status))
        if isinstance(error, Retry | Stall):
            state = InstanceState.DELETING if request.deleting else InstanceState.ERROR
            return self._without_plan(request, state, error.reason, error.message)
        return done()

    def pause(self, request: Request) -> Outcome:
        return self._suspended(request, "the instance is paused")

    def _suspended(self, request: Request, message: str) -> Outcome:
        return self._without_plan(request, InstanceState.IN_PROGRESS, "ReconciliationSuspended", message)

    def _without_plan(self, request: Request, state: InstanceState, reason: str, message: str) -> Outcome:
        status = self._status(request).without_plan(state, (False, reason, message))
        return done().writing(StatusWrite(status))

    def _status(self, request: Request) -> StatusWriter:
        return StatusWriter(request.object, self._clock.now())

    # Passes

    async def reconcile(self, request: Request) -> Outcome:
        self._world.note(request.object, (self._kind, request.key))
        if labels.is_suspended(request.object):
            return self._suspended(request, f"annotation {labels.RECONCILE} suspends the instance")
        served = self._served()
        if served is None:
            return done()
        if served.graph is None:
            return done().writing(StatusWrite(self._status(request).unresolved(served.error)))
        return await self._advance(request, served, served.graph)

    async def finalize(self, request: Request) -> Outcome:
        self._world.note(request.object, (self._kind, request.key))
        return await self._deletion.advance(request)

    async def _advance(self, request: Request, served: ServedGraph, graph: Graph) -> Outcome:
        inventory = read_inventory(request.object)
        children, others = used_kinds(graph, external=False), used_kinds(graph, external=True)
        await self._world.watch(self._key(request), inventory, children, others)
        view = InstanceView(self._world.children, self._world.others)
        plan = await self._plan(request, graph, view)
        marks = missing_marks(request, served, inventory | plan.inventory)
        if marks is not None:
            return requeue(AT_ONCE).writing(marks)
        applied = bool(plan.applies)
        plan, failures = await self._wave(request, graph, view, plan)
        contested = {_interest(one) for node in plan.nodes.values() for one in node.contested}
        self._world.register(self._key(request), view.interests | contested)
        if applied and not failures and not plan.is_ready:
            return requeue(AT_ONCE if plan.applies else SETTLING)
        if plan.is_complete and not failures:
            spare = self._world.members(self._key(request), inventory, plan.wanted)
            if spare:
                failures = await remove_all(self._world.children, next_removal(spare), NOT_WANTED)
            elif self._world.blind_spot(inventory) is None:
                marks = missing_marks(request, served, plan.inventory)
                if marks is not None:
                    return requeue(AT_ONCE).writing(marks)
        return await self._concluded(request, graph, plan, failures)

    def _key(self, request: Request) -> InstanceKey:
        return self._kind, request.key

    async def _wave(
        self, request: Request, graph: Graph, view: InstanceView, plan: Plan
    ) -> tuple[Plan, dict[str, str]]:
        """Apply a wave. Return what is left to do after it, and why objects of which nodes could not be applied."""
        if not plan.applies:
            return plan, {}
        failures = await apply_all(self._world.children, plan.applies)
        after = await self._plan(request, graph, view)
        applied = {one.address for one in plan.applies}
        for one in after.applies:
            if one.address in applied:
                failures.setdefault(one.node, f"{one.address} is changed by others whenever it is applied")
        return after, failures

    async def _plan(self, request: Request, graph: Graph, view: InstanceView) -> Plan:
        """Decide, and read what is not known, until everything is that the decision needs."""
        for _ in range(_MOST_ROUNDS):
            plan = await decide(graph, self._kind, request.object, view, self._world.limits)
            for one in plan.verified:
                if (seen := view.find(one.address)) is not None:
                    self._world.children.verified(one, seen)
            if not plan.reads and not plan.external_reads:
                await self._hold_back(plan)
                return plan
            await self._world.children.read(plan.reads)
            await self._world.others.read(plan.external_reads)
        raise Retry("objects change faster than they can be read", "Unsettled")

    async def _hold_back(self, plan: Plan) -> None:
        """Take out of the next wave what others have reverted too often to be applied again now."""
        for one in tuple(plan.applies):
            hold = await self._world.children.reverted.hold(one)
            if hold is not None:
                plan.applies.remove(one)
                node = plan.nodes[one.node]
                node.state, node.reason = NodeState.FAILED, REVERTED
                node.message = f"resource {one.node}: {hold.message}"
                plan.held_until = min(plan.held_until or hold.until, hold.until)

    # The end of a pass

    async def _concluded(
        self, request: Request, graph: Graph, plan: Plan, failures: Mapping[str, str]
    ) -> Outcome:
        finding = finding_of(plan, failures)
        status = await self._status(request).of_plan(graph, plan, finding)
        if failures:
            count = self._failures[request.key] = self._failures.get(request.key, 0) + 1
            raise ReportedWait(APPLY_BACKOFF.delay(count, self._world.random), finding, status)
        self._failures.pop(request.key, None)
        if plan.held_until is not None:
            raise ReportedWait(max(plan.held_until - self._clock.now(), AT_ONCE), finding, status)
        if finding.failed:
            raise ReportedStall(finding, status)
        return done().writing(StatusWrite(status))


def _interest(address: Address) -> Interest:
    return Interest(address.kind, address.key.namespace, address.key.name)
