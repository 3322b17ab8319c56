"""What the next pass of an instance has to do: which nodes are part of it, which objects it wants, which are to be applied.

    plan = decide(graph, instance, view, limits)
    plan.reads         objects whose content is needed and not known: read them, and decide again
    plan.applies       the next wave: objects that are not as they should be, and whose dependencies are all ready
    plan.nodes         how far each node is, and why it is no further

Nodes are visited in topological order. A node is excluded if one that it depends on is, or a condition of its own does not
hold. It is resolved when everything that it depends on is applied and ready. Its objects then either are as they should
be, and count as observed, or belong to the next wave; what depends on them waits for the wave after it.

Everything here is a pure function of the graph, the instance and the view of the cluster.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.checking import CompiledExpression, CompiledNode
from edgekeeper.controllers.composition.comparison import covers, metadata_covers
from edgekeeper.controllers.composition.evaluation import (
    Allowance,
    Bindings,
    combinations,
    holds,
    resolve,
    unmet,
)
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance_plan import (
    KIND_NOT_SERVED,
    NAMESPACE_NOT_PERMITTED,
    Address,
    Desired,
    Limits,
    NodeResult,
    NodeState,
    Plan,
    Seen,
    View,
)
from edgekeeper.controllers.composition.inventory import GroupKind, Inventory, apply_set_id
from edgekeeper.controllers.composition.names import SCHEMA
from edgekeeper.controllers.composition.node import Node, NodeKind
from edgekeeper.controllers.composition.readiness import is_terminating, own_message, shown
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.kube.kinds import Key, Kind
from kubecel.errors import EvaluationError
from kubecel.program import Program

__all__ = ["Limits", "Plan", "decide", "kind_of_node", "read_nodes"]

_METADATA: Final = frozenset({"apiVersion", "kind", "metadata"})
"""What is known of an object without reading its content."""


def decide(graph: Graph, kind: Kind, instance: JsonObject, view: View, limits: Limits | None = None) -> Plan:
    """What to do next for an instance of this kind."""
    return _Walk(graph, kind, instance, view, limits or Limits()).run()


def kind_of_node(node: Node) -> Kind | None:
    """The kind of a node's objects; None if the server was not known to serve it."""
    known = node.known
    if known is None or not known.plural or known.namespaced is None:
        return None
    group, _, version = node.api_version.rpartition("/")
    return Kind(group, version, node.object_kind, known.plural, known.namespaced)


def read_nodes(graph: Graph) -> frozenset[str]:
    """The nodes of whose objects expressions read more than the metadata."""
    read = {
        path[0]
        for program in _programs(graph)
        for path in program.paths
        if path[0] in graph.nodes and (len(path) < 2 or path[1] not in _METADATA)
    }
    return frozenset(read | {node.id for node in graph.nodes.values() if node.ready_when})


def _programs(graph: Graph) -> Iterable[Program]:
    for node in graph.nodes.values():
        yield from (one.program for one in node.variables)
        yield from (one.program for one in node.include_when)
        yield from (one.program for one in node.for_each)
    yield from (one.program for one in graph.status.variables)
    yield from (one.program for one in graph.status.conditions)


class _Walk:
    """One visit to all nodes."""

    def __init__(self, graph: Graph, kind: Kind, instance: JsonObject, view: View, limits: Limits) -> None:
        self._graph = graph
        self._kind = kind
        self._instance = instance
        self._view = view
        self._limits = limits
        self._namespace = str(dig(instance, "metadata", "namespace") or "")
        self._apply_set = apply_set_id(kind, Key(self._namespace, str(dig(instance, "metadata", "name"))))
        self._plan = Plan()
        self._bindings = Bindings(graph)
        self._bindings.bind_instance(instance)
        self._allowance = Allowance()
        self._read_nodes = read_nodes(graph)
        self._taken: dict[tuple[GroupKind, Key], str] = {}
        self._kinds: set[GroupKind] = set()
        self._namespaces: set[str] = set()

    def run(self) -> Plan:
        for node in self._graph.nodes.values():
            result = self._visit(node)
            self._plan.nodes[node.id] = result
            if result.observed is not None:
                self._bindings.bind(node.id, result.observed)
        self._plan.inventory = Inventory(frozenset(self._kinds), frozenset(self._namespaces))
        self._plan.variables = self._bindings.variables
        return self._plan

    def _visit(self, node: CompiledNode) -> NodeResult:
        try:
            return self._exclusion(node) or self._obstructed(node) or self._resolved(node)
        except EvaluationError as error:
            return NodeResult(node.id, NodeState.FAILED, f"resource {node.id}: {error.message}")

    # Is it part of the instance?

    def _exclusion(self, node: CompiledNode) -> NodeResult | None:
        """That it is no part of the instance, or that this is not known yet; None if it is part of it."""
        for needed in node.dependencies:
            if self._plan.nodes[needed].state is NodeState.EXCLUDED:
                return NodeResult(node.id, NodeState.EXCLUDED, f"it depends on {needed}, which is excluded")
        waiting: NodeResult | None = None
        for condition in node.include_when:
            blocked = self._waits_for(node, condition.program.identifiers)
            result = blocked or self._condition(node, condition)
            if result is not None and result.state is NodeState.EXCLUDED:
                return result
            waiting = waiting or result
        return waiting

    def _condition(self, node: CompiledNode, condition: CompiledExpression) -> NodeResult | None:
        written = condition.expression.in_place
        try:
            if holds(condition, self._bindings.variables):
                return None
        except EvaluationError as error:
            if not error.pending:
                raise
            return self._pending(node, f"includeWhen {written}", condition.program, error)
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
            self._kinds.add(GroupKind.of(kind))
        if why := self._view.obstacle(kind, external=node.node.kind.is_external):
            return NodeResult(node.id, NodeState.FAILED, f"resource {node.id}: {why[1]}", why[0])
        return self._waits_for(node, node.dependencies)

    def _resolved(self, node: CompiledNode) -> NodeResult:
        kind = kind_of_node(node.node)
        assert kind is not None  # noqa: S101 - `_obstructed` has checked it
        try:
            rendered = self._render(node)
        except EvaluationError as error:
            if not error.pending:
                raise
            return self._pending(node, "", None, error)
        if node.node.kind is NodeKind.EXTERNAL:
            return self._external(node, kind, rendered[0])
        if node.node.kind is NodeKind.EXTERNAL_COLLECTION:
            return self._selected(node, kind, rendered[0])
        return self._managed(node, kind, rendered)

    def _render(self, node: CompiledNode) -> list[JsonObject]:
        chosen = combinations(node, self._bindings.variables, self._limits.collection_size)
        return [
            resolve(node, self._bindings.with_iterators(combination), self._allowance)
            for combination in chosen
        ]

    def _pending(
        self, node: CompiledNode, what: str, program: Program | None, error: EvaluationError
    ) -> NodeResult:
        """Data is not there yet: name the field of the instance, if it is one that nobody has set."""
        programs = [program] if program is not None else self._pending_programs(node)
        unset = self._unset(programs)
        where = f"resource {node.id}{f', {what}' if what else ''}"
        if unset:
            return NodeResult(
                node.id, NodeState.WAITING, f"{where}: waits for {', '.join(unset)}, which is not set"
            )
        return NodeResult(node.id, NodeState.WAITING, f"{where}: waits for data: {error.message}")

    def _pending_programs(self, node: CompiledNode) -> list[Program]:
        """The expressions of a node that wait for data. Those with iterators are taken to do so."""
        every = [*(one.program for one in node.for_each), *(one.program for one in node.variables)]
        return [one for one in every if _is_pending(one, self._bindings.variables)]

    def _unset(self, programs: Iterable[Program]) -> list[str]:
        return sorted(
            {
                ".".join(path)
                for program in programs
                for path in program.paths
                if path[0] == SCHEMA and dig(self._instance, *path[1:]) is None
            }
        )

    # Objects of others

    def _external(self, node: CompiledNode, kind: Kind, reference: JsonObject) -> NodeResult:
        name = str(dig(reference, "metadata", "name") or "")
        address = Address(kind, Key(self._place(kind, reference), name))
        if not name or (kind.namespaced and not address.key.namespace):
            return NodeResult(node.id, NodeState.FAILED, _nameless(node, kind, name))
        if kind.namespaced and not self._may_read(address.key.namespace):
            return _unreadable(node, address.key.namespace)
        seen = self._view.find_external(address)
        if seen is None:
            return NodeResult(node.id, NodeState.WAITING, f"resource {node.id} waits for {address} to exist")
        if not seen.complete and node.id in self._read_nodes:
            self._plan.external_reads.add(address)
            return NodeResult(node.id, NodeState.READING, f"resource {node.id}: {address} is being read")
        return self._judged(node, seen.object, [(address, seen.object)], ())

    def _selected(self, node: CompiledNode, kind: Kind, reference: JsonObject) -> NodeResult:
        namespace = str(dig(reference, "metadata", "namespace") or "") if kind.namespaced else ""
        if namespace and not self._may_read(namespace):
            return _unreadable(node, namespace)
        selected = self._view.select(kind, namespace, dig_object(reference, "metadata", "selector"))
        found = [one for one in selected if not kind.namespaced or self._may_read(one[0].namespace)]
        unread = [Address(kind, key) for key, seen in found if not seen.complete]
        if unread and node.id in self._read_nodes:
            self._plan.external_reads.update(unread)
            return NodeResult(node.id, NodeState.READING, f"resource {node.id}: its objects are being read")
        observed = [seen.object for _, seen in found]
        return self._judged(node, observed, [(Address(kind, key), seen.object) for key, seen in found], ())

    def _may_read(self, namespace: str) -> bool:
        return self._limits.permits(namespace, self._namespace)

    # Objects of the instance

    def _managed(self, node: CompiledNode, kind: Kind, rendered: list[JsonObject]) -> NodeResult:
        wanted: list[Desired] = []
        for index, obj in enumerate(rendered):
            refused = self._refusal(node, kind, obj)
            if refused is not None:
                return refused
            wanted.append(one := self._marked(node, kind, obj, (index, len(rendered))))
            self._taken[GroupKind.of(kind), one.address.key] = node.id
            if kind.namespaced and one.address.key.namespace != self._namespace:
                self._namespaces.add(one.address.key.namespace)
        return self._compared(node, wanted)

    def _refusal(self, node: CompiledNode, kind: Kind, obj: JsonObject) -> NodeResult | None:
        name, namespace = str(dig(obj, "metadata", "name") or ""), self._place(kind, obj)
        if not name or (kind.namespaced and not namespace):
            return NodeResult(node.id, NodeState.FAILED, _nameless(node, kind, name))
        if refusal := self._limits.refusal(kind, namespace, self._namespace):
            return NodeResult(node.id, NodeState.FAILED, f"resource {node.id}: {refusal[1]}", refusal[0])
        key = Key(namespace, name)
        other = self._taken.get((GroupKind.of(kind), key))
        if other is not None:
            message = f"resource {node.id} and resource {other} are the same object, {shown(kind, key)}"
            return NodeResult(node.id, NodeState.FAILED, message, "DuplicateResource")
        return None

    def _place(self, kind: Kind, obj: JsonObject) -> str:
        """An object without a namespace goes where the instance is."""
        return str(dig(obj, "metadata", "namespace") or self._namespace) if kind.namespaced else ""

    def _marked(self, node: CompiledNode, kind: Kind, obj: JsonObject, place: tuple[int, int]) -> Desired:
        marks = labels.child_labels(self._kind, self._instance, node.id, self._apply_set)
        if node.node.kind is NodeKind.COLLECTION:
            marks[labels.COLLECTION_INDEX], marks[labels.COLLECTION_SIZE] = map(str, place)
        notes = {labels.APPLY_ORDER: str(self._graph.apply_orders[node.id])}
        if node.node.orphaned:
            notes[labels.DELETION_POLICY] = labels.ORPHAN
        metadata = {name: value for name, value in dig_object(obj, "metadata").items() if value is not None}
        namespace = self._place(kind, obj)
        marked = {
            **obj,
            "metadata": {
                **metadata,
                **({"namespace": namespace} if namespace else {}),
                "labels": {**dig_object(metadata, "labels"), **marks},
                "annotations": {**dig_object(metadata, "annotations"), **notes},
            },
        }
        digest = _hash(marked)
        marked["metadata"]["annotations"][labels.APPLIED_HASH] = digest
        key = Key(namespace, str(metadata["name"]))
        keep = node.id in self._read_nodes
        return Desired(node.id, Address(kind, key), marked, digest, keep=keep)

    def _compared(self, node: CompiledNode, wanted: list[Desired]) -> NodeResult:
        """The node by what is there: what has to be applied, or all of it observed."""
        observed: list[tuple[Address, JsonObject]] = []
        result = NodeResult(node.id, NodeState.READY, objects=tuple(wanted))
        for one in wanted:
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
        return self._judged(node, whole, observed, result.objects)

    def _foreign(self, one: Desired, live: JsonObject, result: NodeResult) -> bool:
        owner = labels.label_of(live, labels.PART_OF)
        if not owner or owner == self._apply_set:
            return False
        result.state = NodeState.FAILED
        result.reason = "ApplySetConflict"
        result.contested = (one.address,)
        result.message = f"resource {one.node}: {one.address} belongs to {labels.owner_of(live)} ({owner}), not to this instance"
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

    def _judged(
        self,
        node: CompiledNode,
        whole: JsonObject | list[JsonObject],
        observed: list[tuple[Address, JsonObject]],
        objects: tuple[Desired, ...],
    ) -> NodeResult:
        result = NodeResult(node.id, NodeState.READY, objects=objects, observed=whole)
        if node.node.kind is NodeKind.EXTERNAL_COLLECTION and node.ready_when:
            held = _guarded(lambda: all(holds(one, {node.id: whole}) for one in node.ready_when))
            if not held:
                result.state, result.message = NodeState.NOT_READY, f"resource {node.id} is not ready"
            return result
        for address, obj in observed:
            message = _unready(node, address, obj)
            if message:
                result.state, result.message = NodeState.NOT_READY, message
                return result
        return result


_URGENCY: Final = (NodeState.READY, NodeState.READING, NodeState.APPLY)


def _is_pending(program: Program, variables: Mapping[str, Any]) -> bool:
    try:
        program.evaluate(variables)
    except EvaluationError as error:
        return error.pending
    return False


def _guarded(evaluate: Callable[[], bool]) -> bool:
    """Whether something holds; not while the data for it is missing."""
    try:
        return evaluate()
    except EvaluationError as error:
        if not error.pending:
            raise
        return False


def _unready(node: CompiledNode, address: Address, obj: JsonObject) -> str:
    """Why an object is not ready; empty if it is."""
    try:
        failing = unmet(node, obj)
    except EvaluationError as error:
        if not error.pending:
            raise
        why = f"readyWhen waits for data: {error.message}"
    else:
        if not failing:
            return ""
        why = f"readyWhen {failing[0].expression.in_place} does not hold"
    said = own_message(obj)
    return f"resource {node.id}: {address} is not ready: {why}{f'; it says: {said}' if said else ''}"


def _unreadable(node: CompiledNode, namespace: str) -> NodeResult:
    message = f"resource {node.id}: objects in namespace {namespace} may not be read by compositions of this installation"
    return NodeResult(node.id, NodeState.FAILED, message, NAMESPACE_NOT_PERMITTED)


def _nameless(node: CompiledNode, kind: Kind, name: str) -> str:
    missing = "metadata.namespace" if name else "metadata.name"
    written = dig(node.node.template, *missing.split("."))
    source = f" ({written})" if isinstance(written, str) and written else ""
    return f"resource {node.id}: {missing} of {kind.kind}{source} is empty"


def _hash(obj: Mapping[str, Any]) -> str:
    return hashlib.sha256(msgspec.json.encode(obj, order="sorted")).hexdigest()[:32]
