"""What the next pass of an instance has to do: which nodes are part of it, which objects it wants, which are to be applied.

    plan = await decide(graph, kind, instance, view, limits)
    plan.reads         objects whose content is needed and not known: read them, and decide again
    plan.applies       the next wave: objects that are not as they should be, and whose dependencies are all ready
    plan.nodes         how far each node is, and why it is no further

Nodes are visited in topological order. A node is excluded if one that it depends on is, or a condition of its own does not
hold. It is resolved when everything that it depends on is applied and ready. Its objects then either are as they should
be, and count as observed, or belong to the next wave; what depends on them waits for the wave after it.

Everything here follows from the graph, the instance and the view of the cluster. Others may run in between (`evaluation`),
so what is seen of two objects may be from different moments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.checking import CompiledExpression, CompiledNode
from edgekeeper.controllers.composition.child_objects import ChildObjects
from edgekeeper.controllers.composition.comparison import covers, metadata_covers
from edgekeeper.controllers.composition.evaluation import (
    OBJECT_WORK,
    Allowance,
    Bindings,
    combine,
    holds,
    iterator_values,
    resolve,
)
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance_plan import (
    KIND_NOT_SERVED,
    NAMESPACE_NOT_PERMITTED,
    NAMESPACE_NOT_WATCHED,
    Address,
    Desired,
    Limits,
    NodeResult,
    NodeState,
    Plan,
    Seen,
    View,
    not_watched,
)
from edgekeeper.controllers.composition.node import NodeKind
from edgekeeper.controllers.composition.node_progress import (
    pending_programs,
    unready_object,
    unready_selection,
    waits_for,
)
from edgekeeper.controllers.composition.readiness import is_terminating
from edgekeeper.controllers.composition.used_objects import kind_of_node
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.kube.kinds import Kind
from kubecel.errors import EvaluationError
from kubecel.program import Program


async def decide(
    graph: Graph, kind: Kind, instance: JsonObject, view: View, limits: Limits | None = None
) -> Plan:
    """What to do next for an instance of this kind."""
    return await _Walk(graph, kind, instance, view, limits or Limits()).run()


class _Walk:
    """One visit to all nodes."""

    def __init__(self, graph: Graph, kind: Kind, instance: JsonObject, view: View, limits: Limits) -> None:
        self._graph = graph
        self._instance = instance
        self._view = view
        self._limits = limits
        self._plan = Plan()
        self._objects = ChildObjects(graph, kind, instance, limits)
        self._bindings = Bindings(graph)
        self._bindings.bind_instance(instance)
        self._allowance = Allowance()

    async def run(self) -> Plan:
        for node in self._graph.nodes.values():
            result = await self._visit(node)
            self._plan.nodes[node.id] = result
            if isinstance(result.observed, list):
                await self._bindings.bind_collection(node.id, result.observed, self._allowance)
            elif result.observed is not None:
                self._bindings.bind(node.id, result.observed)
            await self._allowance.let_others_run()
        self._plan.inventory = self._objects.inventory
        self._plan.variables = self._bindings.variables
        return self._plan

    async def _visit(self, node: CompiledNode) -> NodeResult:
        try:
            return await self._exclusion(node) or self._obstructed(node) or await self._resolved(node)
        except EvaluationError as error:
            return NodeResult(node.id, NodeState.FAILED, f"resource {node.id}: {error.message}")

    # Is it part of the instance?

    async def _exclusion(self, node: CompiledNode) -> NodeResult | None:
        """That it is no part of the instance, or that this is not known yet; None if it is part of it."""
        for needed in node.dependencies:
            if self._plan.nodes[needed].state is NodeState.EXCLUDED:
                return NodeResult(node.id, NodeState.EXCLUDED, f"it depends on {needed}, which is excluded")
        waiting: NodeResult | None = None
        for condition in node.include_when:
            blocked = self._waits_for(node, condition.program.identifiers)
            result = blocked or await self._condition(node, condition)
            if result is not None and result.state is NodeState.EXCLUDED:
                return result
            waiting = waiting or result
        return waiting

    async def _condition(self, node: CompiledNode, condition: CompiledExpression) -> NodeResult | None:
        written = condition.expression.in_place
        await self._allowance.let_others_run()
        try:
            if holds(condition, self._bindings.variables, self._allowance):
                return None
        except EvaluationError as error:
            if not error.pending:
                raise
            where = f"resource {node.id}, includeWhen {written}"
            return self._waiting(node, where, [condition.program], error)
        return NodeResult(node.id, NodeState.EXCLUDED, f"includeWhen {written} does not hold")

    def _waits_for(self, node: CompiledNode, names: Iterable[str]) -> NodeResult | None:
        """That it waits for the first of these nodes that is not ready."""
        for needed in node.dependencies:
            other = self._plan.nodes[needed]
            if needed in names and other.state is not NodeState.READY:
                state = NodeState.READING if other.state is NodeState.READING else NodeState.WAITING
                return NodeResult(node.id, state, f"resource {node.id} waits for {needed} to be ready")
        return None

    # Which objects does it have?

    def _obstructed(self, node: CompiledNode) -> NodeResult | None:
        kind = kind_of_node(node.node)
        if kind is None:
            wanted = f"{node.node.api_version} {node.node.object_kind}"
            message = f"resource {node.id}: the API server does not serve {wanted}"
            return NodeResult(node.id, NodeState.FAILED, message, KIND_NOT_SERVED)
        if not node.node.kind.is_external:
            self._objects.expect(kind)
        if why := self._view.obstacle(kind, external=node.node.kind.is_external):
            return NodeResult(node.id, NodeState.FAILED, f"resource {node.id}: {why[1]}", why[0])
        return self._waits_for(node, node.dependencies)

    async def _resolved(self, node: CompiledNode) -> NodeResult:
        kind = kind_of_node(node.node)
        assert kind is not None  # noqa: S101 - `_obstructed` has checked it
        try:
            rendered = await self._render(node)
        except EvaluationError as error:
            if not error.pending:
                raise
            programs = await pending_programs(node, self._bindings.variables, self._allowance)
            return self._waiting(node, f"resource {node.id}", programs, error)
        if node.node.kind is NodeKind.EXTERNAL:
            return await self._external(node, kind, rendered[0])
        if node.node.kind is NodeKind.EXTERNAL_COLLECTION:
            return await self._selected(node, kind, rendered[0])
        return await self._managed(node, kind, rendered)

    async def _render(self, node: CompiledNode) -> list[JsonObject]:
        lists = []
        for one in node.for_each:
            lists.append(iterator_values(one, self._bindings.variables, self._allowance))
            await self._allowance.let_others_run()
        rendered = []
        for combination in combine(node, lists, self._limits.collection_size):
            variables = self._bindings.with_iterators(combination)
            rendered.append(await resolve(node, variables, self._allowance))
            await self._allowance.let_others_run(OBJECT_WORK)
        return rendered

    def _waiting(
        self, node: CompiledNode, where: str, programs: Iterable[Program], error: EvaluationError
    ) -> NodeResult:
        return NodeResult(
            node.id, NodeState.WAITING, f"{where}: {waits_for(programs, self._instance, error)}"
        )

    # Objects of others

    async def _external(self, node: CompiledNode, kind: Kind, reference: JsonObject) -> NodeResult:
        address = Address(kind, self._objects.place(kind, reference))
        refused = self._objects.nameless(node, kind, address.key) or self._unreadable(
            node, kind, address.key.namespace
        )
        if refused is not None:
            return refused
        seen = self._view.find_external(address)
        if seen is None:
            return NodeResult(node.id, NodeState.WAITING, f"resource {node.id} waits for {address} to exist")
        if not seen.complete and node.id in self._objects.read_nodes:
            self._plan.external_reads.add(address)
            return NodeResult(node.id, NodeState.READING, f"resource {node.id}: {address} is being read")
        return await self._judged(node, seen.object, [(address, seen.object)], ())

    async def _selected(self, node: CompiledNode, kind: Kind, reference: JsonObject) -> NodeResult:
        namespace = str(dig(reference, "metadata", "namespace") or "") if kind.namespaced else ""
        if namespace and (refused := self._unreadable(node, kind, namespace)):
            return refused
        selected = self._view.select(kind, namespace, dig_object(reference, "metadata", "selector"))
        found = [one for one in selected if not kind.namespaced or self._may_read(one[0].namespace)]
        unread = [Address(kind, key) for key, seen in found if not seen.complete]
        if unread and node.id in self._objects.read_nodes:
            self._plan.external_reads.update(unread)
            return NodeResult(node.id, NodeState.READING, f"resource {node.id}: its objects are being read")
        objects = [(Address(kind, key), seen.object) for key, seen in found]
        return await self._judged(node, [seen.object for _, seen in found], objects, ())

    def _unreadable(self, node: CompiledNode, kind: Kind, namespace: str) -> NodeResult | None:
        """That nothing is known about objects in a namespace, or may not be; None if they may be read."""
        if not self._view.is_watched(kind, namespace):
            message = f"resource {node.id}: {kind.kind} is in {not_watched(namespace)}"
            return NodeResult(node.id, NodeState.FAILED, message, NAMESPACE_NOT_WATCHED)
        if kind.namespaced and not self._may_read(namespace):
            message = (
                f"resource {node.id}: reading in namespace {namespace} is not allowed by this installation"
            )
            return NodeResult(node.id, NodeState.FAILED, message, NAMESPACE_NOT_PERMITTED)
        return None

    def _may_read(self, namespace: str) -> bool:
        return self._limits.permits(namespace, str(dig(self._instance, "metadata", "namespace") or ""))

    # Objects of the instance

    async def _managed(self, node: CompiledNode, kind: Kind, rendered: list[JsonObject]) -> NodeResult:
        wanted: list[Desired] = []
        for index, obj in enumerate(rendered):
            refused = self._objects.refusal(node, kind, self._objects.place(kind, obj))
            if refused is not None:
                return refused
            wanted.append(self._objects.want(node, kind, obj, (index, len(rendered))))
            await self._allowance.let_others_run(OBJECT_WORK)
        return await self._compared(node, wanted)

    async def _compared(self, node: CompiledNode, wanted: list[Desired]) -> NodeResult:
        """The node by what is there: what has to be applied, or all of it observed."""
        observed: list[tuple[Address, JsonObject]] = []
        result = NodeResult(node.id, NodeState.READY, objects=tuple(wanted))
        for one in wanted:
            await self._allowance.let_others_run(OBJECT_WORK)
            seen = self._view.find(one.address)
            if seen is not None and self._foreign(one, seen.object, result):
                return result
            if seen is not None and is_terminating(seen.object):
                result.state, result.message = NodeState.DELETING, f"{one.address} is being deleted"
                return result
            if seen is None or not self._accords(one, seen):
                result.state = max(result.state, self._next(one, seen), key=_URGENCY.index)
            elif one.keep and not seen.complete:
                self._plan.reads.add(one.address)
                result.state = max(result.state, NodeState.READING, key=_URGENCY.index)
            else:
                observed.append((one.address, seen.object))
        if result.state is not NodeState.READY:
            return result
        whole = [obj for _, obj in observed] if node.node.kind.is_list else observed[0][1]
        return await self._judged(node, whole, observed, result.objects)

    def _foreign(self, one: Desired, live: JsonObject, result: NodeResult) -> bool:
        owner = labels.label_of(live, labels.PART_OF)
        if not owner or owner == self._objects.apply_set:
            return False
        whose = f"{labels.owner_of(live)} ({owner}), not to this instance"
        result.state = NodeState.FAILED
        result.reason = "ApplySetConflict"
        result.contested = (one.address,)
        result.message = f"resource {one.node}: {one.address} belongs to {whose}"
        return True

    def _accords(self, one: Desired, seen: Seen) -> bool:
        """Whether a live object is known to be as it should be."""
        if not metadata_covers(seen.object, one.object):
            return False
        if seen.applied == one.hash:
            return True
        if seen.complete and covers(seen.object, one.object):
            self._plan.verified.append(one)
            return True
        return False

    def _next(self, one: Desired, seen: Seen | None) -> NodeState:
        """Apply an object; or read it first, if it may be as it should be already."""
        if seen is not None and not seen.complete and metadata_covers(seen.object, one.object):
            self._plan.reads.add(one.address)
            return NodeState.READING
        exists = seen is not None
        self._plan.applies.append(Desired(one.node, one.address, one.object, one.hash, exists, one.keep))
        return NodeState.APPLY

    # Is it ready?

    async def _judged(
        self,
        node: CompiledNode,
        whole: JsonObject | list[JsonObject],
        observed: Sequence[tuple[Address, JsonObject]],
        objects: tuple[Desired, ...],
    ) -> NodeResult:
        result = NodeResult(node.id, NodeState.READY, objects=objects, observed=whole)
        if node.node.kind is NodeKind.EXTERNAL_COLLECTION:
            result.message = await unready_selection(node, whole, self._allowance)
        else:
            result.message = await unready_object(node, observed, self._allowance)
        if result.message:
            result.state = NodeState.NOT_READY
        return result


_URGENCY: Final = (NodeState.READY, NodeState.READING, NodeState.APPLY)
"""The states of a node's objects: that of the node is the last that one of them is in."""
