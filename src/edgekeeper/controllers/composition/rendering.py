"""Render an instance without a cluster: the objects that would be applied, as far as they can be known.

Expressions about the instance are evaluated. Of resources only what their templates set is known: a name, a port. An
expression that reads something else, such as a status, is left in its place as it is written, and `pending` says what
it waits for. Whole objects and lists are not taken from templates, because the server may add to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any

from edgekeeper.controllers.composition.checking import CompiledNode, CompiledVariable
from edgekeeper.controllers.composition.evaluation import (
    Allowance,
    Bindings,
    combine,
    evaluate_field,
    fill,
    holds,
    iterator_values,
)
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.names import SCHEMA
from edgekeeper.controllers.composition.template import Steps
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.schema.default import copy_json
from kubecel.errors import EvaluationError
from kubecel.program import Program


class NodeState(StrEnum):
    """How far a node could be rendered."""

    RENDERED = "Rendered"
    PENDING = "Pending"
    EXCLUDED = "Excluded"
    EXTERNAL = "External"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class PendingValue:
    """A value that is not known without a cluster."""

    path: str
    expression: str
    waits_for: tuple[str, ...]
    """What would have to be known, as paths that begin with a resource's id or `schema`."""


@dataclass
class RenderedNode:
    """The objects of a node."""

    id: str
    state: NodeState
    objects: list[JsonObject] = field(default_factory=list)
    """Values that are not known are left as they are written."""
    pending: list[PendingValue] = field(default_factory=list)
    message: str = ""
    """Why it is not part of the instance, or what failed."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """The objects and the status of an instance."""

    nodes: list[RenderedNode]
    """In the order in which they would be applied."""
    status: JsonObject
    pending: list[PendingValue]
    """Values of the status that are not known."""

    @property
    def failed(self) -> bool:
        return any(node.state is NodeState.FAILED for node in self.nodes)


@dataclass(frozen=True, slots=True)
class _Missing:
    """In place of a value: what it waits for."""

    paths: tuple[str, ...]


def render(graph: Graph, instance: JsonObject) -> Rendering:
    """Render an instance whose defaults are filled in."""
    return _Renderer(graph, instance).run()


class _Renderer:
    def __init__(self, graph: Graph, instance: JsonObject) -> None:
        self._graph = graph
        self._instance = instance
        self._bindings = Bindings(graph)
        self._bindings.bind_instance(instance)
        self._known: dict[str, JsonObject] = {}
        """Objects by node, with only those values that are certain to be there."""
        self._states: dict[str, NodeState] = {}

    def run(self) -> Rendering:
        nodes = []
        for node in self._graph.nodes.values():
            rendered = self._render(node)
            self._states[node.id] = rendered.state
            nodes.append(rendered)
        status, pending = self._status()
        return Rendering(nodes, status, pending)

    def _render(self, node: CompiledNode) -> RenderedNode:
        for needed in node.dependencies:
            if self._states[needed] is NodeState.EXCLUDED:
                message = f"it depends on {needed}, which is excluded"
                return RenderedNode(node.id, NodeState.EXCLUDED, message=message)
        try:
            return self._unless_excluded(node)
        except EvaluationError as error:
            return RenderedNode(node.id, NodeState.FAILED, message=error.message)

    def _unless_excluded(self, node: CompiledNode) -> RenderedNode:
        waiting: list[PendingValue] = []
        for index, condition in enumerate(node.include_when):
            written = condition.expression.in_place
            included = self._attempt(
                condition.program, partial(holds, condition, self._bindings.variables, Allowance())
            )
            if isinstance(included, _Missing):
                waiting.append(PendingValue(f"includeWhen[{index}]", written, included.paths))
            elif not included:
                message = f"includeWhen {written} does not hold"
                return RenderedNode(node.id, NodeState.EXCLUDED, message=message)
        rendered = self._with_objects(node)
        rendered.pending[:0] = waiting
        if waiting and rendered.state is NodeState.RENDERED:
            rendered.state = NodeState.PENDING
        return rendered

    def _with_objects(self, node: CompiledNode) -> RenderedNode:
        waiting: list[PendingValue] = []
        lists: list[list[Any]] = []
        for index, one in enumerate(node.for_each):
            evaluate = partial(iterator_values, one, self._bindings.variables, Allowance())
            values = self._attempt(one.program, evaluate)
            if isinstance(values, _Missing):
                written = one.dimension.expression.in_place
                waiting.append(PendingValue(f"forEach[{index}]", written, values.paths))
            else:
                lists.append(values)
        if waiting:
            return RenderedNode(node.id, NodeState.PENDING, [copy_json(node.node.template)], waiting)
        objects, pending = self._objects(node, lists)
        state = NodeState.PENDING if pending else NodeState.RENDERED
        if node.node.kind.is_external:
            state = NodeState.EXTERNAL
        return RenderedNode(node.id, state, objects, pending)

    def _objects(
        self, node: CompiledNode, lists: list[list[Any]]
    ) -> tuple[list[JsonObject], list[PendingValue]]:
        objects: list[JsonObject] = []
        pending: dict[tuple[str, str], PendingValue] = {}
        for combination in combine(node, lists):
            rendered: JsonObject = copy_json(node.node.template)
            values, waiting = self._values(node.variables, combination)
            fill(rendered, values)
            self._place(node, rendered)
            objects.append(rendered)
            pending.update({(one.path, one.expression): one for one in waiting})
            if not node.node.kind.is_list:
                self._remember(node, rendered, waiting)
        return objects, list(pending.values())

    def _values(
        self, compiled: Iterable[CompiledVariable], combination: Mapping[str, Any]
    ) -> tuple[list[tuple[Steps, Any]], list[PendingValue]]:
        variables = self._bindings.with_iterators(combination)
        values: list[tuple[Steps, Any]] = []
        pending: list[PendingValue] = []
        allowance = Allowance()
        for one in compiled:
            value = self._attempt(one.program, partial(evaluate_field, one, variables, allowance))
            if isinstance(value, _Missing):
                written = one.variable.expression.in_place
                pending.append(PendingValue(one.variable.path, written, value.paths))
            else:
                values.append((one.variable.steps, value))
        return values, pending

    def _attempt(self, program: Program, evaluate: Callable[[], Any]) -> Any:
        """A value, or what is missing for it; raises EvaluationError if it fails for another reason."""
        if missing := self._missing(program):
            return _Missing(missing)
        try:
            return evaluate()
        except EvaluationError as error:
            if not error.pending:
                raise
            return _Missing(self._unset(program) or (error.message,))

    def _missing(self, program: Program) -> tuple[str, ...]:
        """What a program reads of resources that is not known without a cluster."""
        unknown = [
            ".".join(path)
            for path in program.paths
            if path[0] in self._graph.nodes and not _is_scalar(dig(self._known, *path))
        ]
        return tuple(sorted(unknown))

    def _unset(self, program: Program) -> tuple[str, ...]:
        """What a program reads of the instance that it does not set."""
        return tuple(
            sorted(
                ".".join(path)
                for path in program.paths
                if path[0] == SCHEMA and dig(self._instance, *path[1:]) is None
            )
        )

    def _place(self, node: CompiledNode, rendered: JsonObject) -> None:
        """An object without a namespace goes where the instance is."""
        namespace = dig(self._instance, "metadata", "namespace")
        if node.node.namespaced and namespace and not dig(rendered, "metadata", "namespace"):
            rendered["metadata"] = {**dig_object(rendered, "metadata"), "namespace": namespace}

    def _remember(self, node: CompiledNode, rendered: JsonObject, waiting: list[PendingValue]) -> None:
        known = copy_json(rendered)
        pending = {one.path for one in waiting}
        fill(known, [(one.variable.steps, None) for one in node.variables if one.variable.path in pending])
        self._known[node.id] = known
        self._bindings.bind(node.id, known)

    def _status(self) -> tuple[JsonObject, list[PendingValue]]:
        """Fields of the status that are known, and those that are not."""
        status = self._graph.status
        template: JsonObject = copy_json(status.template)
        values, pending = self._values(status.variables, {})
        fill(template, values)
        pending += [
            PendingValue(f"conditions[{index}]", condition.expression.in_place, ("the cluster",))
            for index, condition in enumerate(status.conditions)
        ]
        return template, pending


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)
