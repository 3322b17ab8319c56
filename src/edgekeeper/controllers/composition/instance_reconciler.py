"""The pass of an instance: decide, apply one wave, write the instance once.

    deleted            children go in waves (`instance_removal`), then the finalizer
    suspended          nothing but a condition
    no graph           nothing but a condition: what exists stays as it is
    not marked         finalizer, labels and inventory, in one write, before anything is created
    otherwise          one wave (`waves`), concurrently; when everything is applied, what is no longer wanted is removed;
                       then the status

A pass that applied something leaves the status to the one that follows, unless everything is ready. Nobody polls: the watches of children
and of objects that a definition refers to wake the instance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Final

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.children import ApplySetConflictError
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance_plan import Address, Limits, Plan
from edgekeeper.controllers.composition.instance_removal import Removal, next_removal
from edgekeeper.controllers.composition.instance_status import (
    Finding,
    InstanceState,
    StatusWriter,
    finding_of,
)
from edgekeeper.controllers.composition.instance_view import InstanceView
from edgekeeper.controllers.composition.instance_world import World
from edgekeeper.controllers.composition.inventory import (
    DamagedInventoryError,
    GroupKind,
    Inventory,
    apply_set_id,
    confirmed_inventory,
    read_inventory,
)
from edgekeeper.controllers.composition.readiness import blocked_by
from edgekeeper.controllers.composition.registry import ServedGraph
from edgekeeper.controllers.composition.selectors import Interest
from edgekeeper.controllers.composition.watched import MOST_AT_ONCE
from edgekeeper.controllers.composition.waves import decide, kind_of_node
from edgekeeper.core.backoff import Backoff
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import PassError, Retry, Stall, Wait
from edgekeeper.core.json import JsonObject, dig_list, dig_object
from edgekeeper.core.outcome import ApplyWrite, Outcome, StatusWrite, done, requeue
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.runtime.contract import Request
from edgekeeper.runtime.queue import AT_ONCE

SOON: Final = timedelta(seconds=1)
SETTLING: Final = timedelta(milliseconds=500)
"""How long objects that were just applied may take to become ready before the status says that they are not."""
DELETION_INTERVAL: Final = timedelta(minutes=1)
"""How often a deletion that waits for others is looked at, beside whenever a child changes."""
APPLY_BACKOFF: Final = Backoff(timedelta(seconds=1), longest=timedelta(minutes=5))
_MOST_ROUNDS: Final = 1000
"""How often a pass may find that it has to read something: once for each level of a graph."""
_SHOWN: Final = 3


class InstanceReconciler:
    """Reconciles the instances of one kind."""

    def __init__(
        self,
        kind: Kind,
        served: Callable[[], ServedGraph | None],
        world: World,
        clock: Clock,
        limits: Limits,
    ) -> None:
        self._kind = kind
        self._served = served
        self._world = world
        self._clock = clock
        self._limits = limits
        self._failures: dict[Key, int] = {}

    def manages(self, request: Request) -> bool:
        """The finalizer is written together with everything else that marks an instance."""
        return False

    # What may go wrong

    def explain(self, request: Request, error: PassError) -> Outcome:
        """Report why a pass failed. What a pass says itself comes with it."""
        if isinstance(error, _ReportedError | _ReportedStall):
            return done().writing(StatusWrite(error.status))
        if isinstance(error, Retry | Stall):
            status = self._status(request)
            state = InstanceState.DELETING if request.deleting else InstanceState.ERROR
            return done().writing(
                StatusWrite(status.without_plan(state, (False, error.reason, error.message)))
            )
        return done()

    def pause(self, request: Request) -> Outcome:
        status = self._status(request).without_plan(
            InstanceState.IN_PROGRESS, (False, "ReconciliationSuspended", "the instance is paused")
        )
        return done().writing(StatusWrite(status))

    def _status(self, request: Request) -> StatusWriter:
        return StatusWriter(request.object, self._clock.now())

    # Passes

    async def reconcile(self, request: Request) -> Outcome:
        self._world.note(request.object, (self._kind, request.key))
        if labels.is_suspended(request.object):
            message = f"annotation {labels.RECONCILE} suspends the instance"
            status = self._status(request).without_plan(
                InstanceState.IN_PROGRESS, (False, "ReconciliationSuspended", message)
            )
            return done().writing(StatusWrite(status))
        served = self._served()
        if served is None:
            return done()
        if served.graph is None:
            return done().writing(StatusWrite(self._status(request).unresolved(served.error)))
        return await self._advance(request, served, served.graph)

    async def _advance(self, request: Request, served: ServedGraph, graph: Graph) -> Outcome:
        await self._watch(request, graph)
        view = InstanceView(self._world.children, self._world.others)
        plan = await self._plan(request, graph, view)
        marked = self._marked(request, served, plan)
        if marked is not None:
            return requeue(AT_ONCE).writing(marked)
        applied = bool(plan.applies)
        plan, failures = await self._wave(request, graph, view, plan)
        contested = {_interest(one) for node in plan.nodes.values() for one in node.contested}
        self._world.register((self._kind, request.key), view.interests | contested)
        if applied and not failures and not plan.is_ready:
            return requeue(AT_ONCE if plan.applies else SETTLING)
        if plan.is_complete and not failures:
            failures = await self._prune(request, plan)
            if not failures and (shrunk := self._shrunk(request, served, plan)) is not None:
                return requeue(AT_ONCE).writing(shrunk)
        return self._concluded(request, graph, plan, failures)

    async def _wave(
        self, request: Request, graph: Graph, view: InstanceView, plan: Plan
    ) -> tuple[Plan, dict[str, str]]:
        """Apply a wave. Return what is left to do after it, and why objects of which nodes could not be applied."""
        if not plan.applies:
            return plan, {}
        failures = await self._apply(plan)
        after = await self._plan(request, graph, view)
        applied = {one.address for one in plan.applies}
        for one in after.applies:
            if one.address in applied:
                failures.setdefault(one.node, f"{one.address} is changed by others whenever it is applied")
        return after, failures

    async def _watch(self, request: Request, graph: Graph) -> None:
        """Watch the kinds of the graph, and those that the instance may still have children of."""
        await self._world.children.watch(await self._world.kinds_of(read_inventory(request.object).kinds))
        for node in graph.nodes.values():
            kind = kind_of_node(node.node)
            if kind is not None:
                watched = self._world.others if node.node.kind.is_external else self._world.children
                await watched.watch((kind,))

    async def _plan(self, request: Request, graph: Graph, view: InstanceView) -> Plan:
        """Decide, and read what is not known, until everything is that the decision needs."""
        for _ in range(_MOST_ROUNDS):
            plan = decide(graph, self._kind, request.object, view, self._limits)
            for one in plan.verified:
                if (seen := view.find(one.address)) is not None:
                    self._world.children.verified(one, seen)
            if not plan.reads and not plan.external_reads:
                return plan
            await self._world.children.read(plan.reads)
            await self._world.others.read(plan.external_reads)
        raise Retry("objects change faster than they can be read", "Unsettled")

    # The instance's own marks

    def _marked(self, request: Request, served: ServedGraph, plan: Plan) -> ApplyWrite | None:
        """What to write on the instance before anything is applied: nothing if it covers all that is wanted."""
        return self._write_marks(request, served, read_inventory(request.object) | plan.inventory)

    def _shrunk(self, request: Request, served: ServedGraph, plan: Plan) -> ApplyWrite | None:
        """What to write on the instance when all that is not wanted is gone."""
        if self._spare(request, plan) or self._world.unknown_of(read_inventory(request.object).kinds):
            return None
        return self._write_marks(request, served, plan.inventory)

    def _write_marks(self, request: Request, served: ServedGraph, inventory: Inventory) -> ApplyWrite | None:
        apply_set = apply_set_id(self._kind, request.key)
        wanted = labels.instance_labels(served.definition, served.uid, apply_set)
        notes = inventory.annotations(apply_set)
        metadata = dig_object(request.object, "metadata")
        if (
            labels.FINALIZER in dig_list(metadata, "finalizers")
            and wanted.items() <= dig_object(metadata, "labels").items()
            and notes.items() <= dig_object(metadata, "annotations").items()
        ):
            return None
        fields = {"finalizers": [labels.FINALIZER], "labels": wanted, "annotations": notes}
        return ApplyWrite({"metadata": fields}, labels.PARENT_MANAGER)

    # Effects

    async def _apply(self, plan: Plan) -> dict[str, str]:
        """Apply a wave. Return why objects of which nodes could not be."""
        return await _all(
            {one.address: self._world.children.apply(one) for one in plan.applies},
            {one.address: one.node for one in plan.applies},
        )

    async def _prune(self, request: Request, plan: Plan) -> dict[str, str]:
        """Remove one wave of what is no longer wanted."""
        spare = self._spare(request, plan)
        return await self._remove(next_removal(spare)) if spare else {}

    def _spare(self, request: Request, plan: Plan) -> dict[Address, JsonObject]:
        """The children of an instance that it does not want any more."""
        wanted = plan.wanted
        return {
            address: live
            for address, live in self._members(request, read_inventory(request.object)).items()
            if (GroupKind.of(address.kind), address.key) not in wanted
        }

    def _members(self, request: Request, inventory: Inventory) -> dict[Address, JsonObject]:
        """The children of an instance, where its inventory says that they may be."""
        apply_set = apply_set_id(self._kind, request.key)
        namespaces = {request.key.namespace, *inventory.namespaces}
        found: dict[Address, JsonObject] = {}
        for kind in self._world.watched_of(inventory.kinds):
            for key, live in self._world.children.of_part(kind, apply_set).items():
                if not kind.namespaced or key.namespace in namespaces:
                    found[Address(kind, key)] = live
        return found

    async def _remove(self, removal: Removal) -> dict[str, str]:
        calls: dict[Address, Awaitable[object]] = {
            address: self._world.children.delete(address, live) for address, live in removal.delete.items()
        }
        for address, live in removal.release.items():
            calls[address] = self._world.children.release(address, live)
        return await _all(calls, {})

    # The end of a pass

    def _concluded(self, request: Request, graph: Graph, plan: Plan, failures: Mapping[str, str]) -> Outcome:
        finding = finding_of(plan, failures)
        status = self._status(request).of_plan(graph, plan, finding)
        if failures:
            count = self._failures[request.key] = self._failures.get(request.key, 0) + 1
            raise _ReportedError(APPLY_BACKOFF.delay(count, self._world.random), finding, status)
        self._failures.pop(request.key, None)
        if finding.failed:
            raise _ReportedStall(finding, status)
        return done().writing(StatusWrite(status))

    # Deletion

    async def finalize(self, request: Request) -> Outcome:
        """Remove the next wave of children; done when none is left, which is asked of the server."""
        self._world.note(request.object, (self._kind, request.key))
        apply_set = apply_set_id(self._kind, request.key)
        status = self._status(request)
        try:
            inventory = confirmed_inventory(request.object, apply_set)
        except DamagedInventoryError as error:
            message = f"deletion is blocked, because nobody knows what belongs to the instance: {error}"
            finding = Finding(False, "DeletionBlocked", message)
            raise _ReportedStall(
                finding, status.without_plan(InstanceState.DELETING, (False, finding.reason, message))
            ) from error
        await self._world.children.watch(await self._world.kinds_of(inventory.kinds))
        for reason, message in self._world.unknown_of(inventory.kinds).values():
            raise Stall(reason, f"deletion is blocked: {message}")
        children = self._members(request, inventory)
        if not children:
            return await self._confirmed_gone(request, inventory, apply_set)
        return await self._go_on(request, status, next_removal(children))

    async def _go_on(self, request: Request, status: StatusWriter, removal: Removal) -> Outcome:
        failures = await self._remove(removal)
        message = await self._awaited(removal)
        if failures:
            message = "; ".join(f"{name}: {why}" for name, why in sorted(failures.items())[:_SHOWN])
        written = status.without_plan(InstanceState.DELETING, (None, "UnderDeletion", message))
        return requeue(SOON if failures else DELETION_INTERVAL).writing(StatusWrite(written))

    async def _awaited(self, removal: Removal) -> str:
        """What a deletion waits for."""
        held: list[str] = []
        for address in list(removal.awaited)[:_SHOWN]:
            live = await self._world.children.get(address)
            if live is not None:
                held.append(blocked_by(address.kind, address.key, live))
        if held:
            more = len(removal.awaited) - _SHOWN
            return f"waiting: {'; '.join(held)}{f' and {more} more' if more > 0 else ''}"
        return "children are being deleted"

    async def _confirmed_gone(self, request: Request, inventory: Inventory, apply_set: str) -> Outcome:
        """That no child is left, as the server says: the stores may be behind."""
        for kind in self._world.watched_of(inventory.kinds):
            if await self._world.children.listed(kind, apply_set):
                return requeue(SOON)
        self._world.forget((self._kind, request.key))
        self._failures.pop(request.key, None)
        return done()


class _ReportedError(Wait):
    """A pass could not apply everything: its status says what, and it is tried again."""

    def __init__(self, after: timedelta, finding: Finding, status: JsonObject) -> None:
        super().__init__(after, finding.reason, finding.message)
        self.status = status


class _ReportedStall(Stall):
    """A user has to act: the status says on what."""

    def __init__(self, finding: Finding, status: JsonObject) -> None:
        super().__init__(finding.reason, finding.message)
        self.status = status


async def _all(calls: Mapping[Address, Awaitable[object]], names: Mapping[Address, str]) -> dict[str, str]:
    """Make calls concurrently. Return the messages of those that failed, by name or address."""
    gate = asyncio.Semaphore(MOST_AT_ONCE)
    failed: dict[str, str] = {}

    async def attempt(address: Address, call: Awaitable[object]) -> None:
        async with gate:
            try:
                await call
            except (ApiError, ApplySetConflictError) as error:
                failed.setdefault(names.get(address, str(address)), str(error))

    async with asyncio.TaskGroup() as group:
        for address, call in calls.items():
            group.create_task(attempt(address, call))
    return failed


def _interest(address: Address) -> Interest:
    return Interest(address.kind, address.key.namespace, address.key.name)
