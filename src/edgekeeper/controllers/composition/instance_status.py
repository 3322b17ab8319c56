"""The status of an instance: its state, its conditions, and the values that its definition projects into it.

    state        ACTIVE       Ready is True
                 ERROR        something failed that does not go away by waiting for others
                 DELETING     the instance is being deleted
                 IN_PROGRESS  otherwise

    conditions   InstanceManaged    finalizer, labels and inventory are in place
                 GraphResolved      the definition has a graph, and everything that the instance consists of could be named
                 ResourcesReady     all of it is applied and ready; else the message names the first node that is not
                 Ready              all of these

A definition may have conditions of its own, which then take the place of these. A value of the status is there when its
whole expression could be evaluated, and goes when it no longer can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from edgekeeper.controllers.composition.checking import CompiledExpression
from edgekeeper.controllers.composition.conditions import BUILT_IN, made_types
from edgekeeper.controllers.composition.evaluation import Allowance, evaluate_field
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.instance_plan import NodeResult, NodeState, Plan
from edgekeeper.controllers.composition.names import SCHEMA
from edgekeeper.controllers.composition.template import Steps
from edgekeeper.core.clock import timestamp
from edgekeeper.core.conditions import Conditions, Declaration
from edgekeeper.core.json import JsonObject, dig, dig_list
from kubecel.errors import EvaluationError
from kubecel.library.kro.omission import OMIT

MANAGED: Final = "InstanceManaged"
RESOLVED: Final = "GraphResolved"
RESOURCES: Final = "ResourcesReady"
DECLARATION: Final = Declaration(
    required=(MANAGED, RESOLVED, RESOURCES), ready_reason="Ready", ready_message="all resources are ready"
)


class InstanceState(StrEnum):
    """`status.state`."""

    IN_PROGRESS = "IN_PROGRESS"
    ACTIVE = "ACTIVE"
    DELETING = "DELETING"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be said about the resources of an instance."""

    ready: bool
    reason: str
    message: str
    failed: bool = False


def finding_of(plan: Plan, failures: Mapping[str, str]) -> Finding:
    """What a plan, and the applies of it that failed, by node, say about the resources."""
    for name, message in failures.items():
        return Finding(False, "NotReady", f"resource {name}: {message}", failed=True)
    for state, reason in _BLOCKING:
        for node in plan.nodes.values():
            if node.state is state:
                failed = state is NodeState.FAILED
                return Finding(False, node.reason or reason, _message(plan, node), failed)
    return Finding(True, "AllResourcesReady", "all resources are ready")


_BLOCKING: Final = (
    (NodeState.FAILED, "NotReady"),
    (NodeState.DELETING, "ResourceDeleting"),
    (NodeState.NOT_READY, "NotReady"),
    (NodeState.APPLY, "NotReady"),
    (NodeState.WAITING, "NotReady"),
    (NodeState.READING, "NotReady"),
)
"""In the order of what explains best why an instance is not ready: causes before those who wait for them."""


def _message(plan: Plan, node: NodeResult) -> str:
    waiting = [one.id for one in plan.nodes.values() if one.state is NodeState.WAITING and one is not node]
    message = node.message or f"resource {node.id} is being applied"
    if node.state is NodeState.WAITING:
        others = [
            one.message for one in plan.nodes.values() if one.id in waiting and "waits for" in one.message
        ]
        return "; ".join([message, *others[:4]])
    return f"{message}; waiting for it or others: {', '.join(waiting)}" if waiting else message


class StatusWriter:
    """Builds the status of one instance in one pass."""

    def __init__(self, instance: JsonObject, now: datetime) -> None:
        self._instance = instance
        self._now = now
        self.conditions = Conditions.of(DECLARATION, instance, now)

    async def of_plan(self, graph: Graph, plan: Plan, finding: Finding) -> JsonObject:
        """The status after a pass."""
        self.conditions.mark(MANAGED, True, "Managed", "finalizer, labels and inventory are in place")
        self.conditions.mark(RESOLVED, True, "Resolved", "the graph of the definition is in force")
        self.conditions.mark(RESOURCES, finding.ready, finding.reason, finding.message)
        state = InstanceState.ACTIVE if finding.ready else InstanceState.IN_PROGRESS
        if finding.failed:
            state = InstanceState.ERROR
        allowance = Allowance()
        projected = await project(graph, plan.variables, allowance)
        if not graph.status.conditions:
            return {**projected, "state": str(state), "conditions": self._built_in()}
        shown, faulty = await self._custom(graph, plan, allowance)
        return {**projected, "state": str(InstanceState.ERROR if faulty else state), "conditions": shown}

    def without_plan(self, state: InstanceState, resources: tuple[bool | None, str, str]) -> JsonObject:
        """The status where nothing could be planned: everything else stays as it is, for this generation too."""
        for type_ in (MANAGED, RESOLVED):
            if (before := self.conditions.before(type_)) is not None:
                self.conditions.mark(type_, before.status, before.reason, before.message)
        holds, reason, message = resources
        self.conditions.mark(RESOURCES, "Unknown" if holds is None else holds, reason, message)
        return self._kept(state)

    def unresolved(self, message: str) -> JsonObject:
        """The status where the definition has no graph."""
        self.conditions.mark(RESOLVED, False, "ResolutionFailed", message)
        return self._kept(InstanceState.ERROR)

    def _kept(self, state: InstanceState) -> JsonObject:
        before = self._instance.get("status")
        kept = before if isinstance(before, dict) else {}
        return {**kept, "state": str(state), "conditions": self._built_in()}

    def _built_in(self) -> list[Any]:
        """The built-in conditions, and no others: conditions of an author that are no longer defined go."""
        ours = {"Ready", *DECLARATION.types}
        return [entry for entry in self.conditions.to_list() if entry.get("type") in ours]

    async def _custom(self, graph: Graph, plan: Plan, allowance: Allowance) -> tuple[list[JsonObject], bool]:
        """The conditions that the definition makes, and whether something is wrong with them."""
        seen = {**self._instance, "status": {"conditions": self._built_in()}}
        variables = {**plan.variables, SCHEMA: seen}
        before = {
            entry["type"]: entry
            for entry in dig_list(self._instance, "status", "conditions")
            if isinstance(entry, dict) and isinstance(entry.get("type"), str)
        }
        made, faulty = await _made(graph.status.conditions, variables, before, allowance)
        return [self._stamped(entry, before.get(entry["type"])) for entry in made], faulty

    def _stamped(self, entry: JsonObject, before: JsonObject | None) -> JsonObject:
        same = before is not None and before.get("status") == entry.get("status")
        since = dig(before, "lastTransitionTime") if same else None
        stamped = {
            **{name: entry.get(name, "") for name in ("type", "status", "reason", "message")},
            "lastTransitionTime": since or timestamp(self._now),
        }
        generation = dig(self._instance, "metadata", "generation")
        return {**stamped, "observedGeneration": generation} if isinstance(generation, int) else stamped


async def _made(
    expressions: tuple[CompiledExpression, ...],
    variables: Mapping[str, Any],
    before: Mapping[str, JsonObject],
    allowance: Allowance,
) -> tuple[list[JsonObject], bool]:
    """Conditions as their expressions make them. One whose data is pending stays as it was."""
    made: dict[str, JsonObject] = {}
    pending: set[str] = set()
    faulty = False
    for expression in expressions:
        await allowance.let_others_run()
        try:
            value = allowance.evaluate(expression.program, variables)
        except EvaluationError as error:
            pending |= made_types(expression) or before.keys() - BUILT_IN
            faulty = faulty or not error.pending
            continue
        for entry in value if isinstance(value, list | tuple) else [value]:
            if entry["type"] in made:
                faulty = True  # the first one counts
            else:
                made[entry["type"]] = dict(entry)
    kept = [dict(entry) for type_, entry in before.items() if type_ in pending and type_ not in made]
    return [*made.values(), *kept], faulty


async def project(graph: Graph, variables: Mapping[str, Any], allowance: Allowance) -> JsonObject:
    """The values of the status that can be evaluated."""
    result: dict[str | int, Any] = {}
    for one in graph.status.variables:
        await allowance.let_others_run()
        try:
            value = evaluate_field(one, variables, allowance)
        except EvaluationError:
            continue
        if value is not OMIT and value is not None:
            _put(result, one.variable.steps, value)
    return {str(name): _closed(value) for name, value in result.items()}


def _put(tree: dict[str | int, Any], steps: Steps, value: Any) -> None:
    """Set a value at a path, with what is above it. Lists are kept by position, and closed at the end."""
    for step in steps[:-1]:
        tree = tree.setdefault(step, {})
    tree[steps[-1]] = _Leaf(value)


@dataclass(frozen=True, slots=True)
class _Leaf:
    value: Any


def _closed(tree: Any) -> Any:
    if isinstance(tree, _Leaf):
        return tree.value
    if tree and all(isinstance(step, int) for step in tree):
        return [_closed(tree[step]) for step in sorted(tree)]
    return {name: _closed(value) for name, value in tree.items()}
