"""Evaluate the expressions of a node, given the objects that they refer to.

    bindings = Bindings(graph)
    bindings.bind_instance(instance)
    bindings.bind("config", object)                  # as others are observed
    for combination in combinations(node, bindings): # one, unless it is a collection
        resolve(node, bindings.with_iterators(combination))

Evaluation fails in two ways: data that an expression needs is not there yet (`EvaluationError.pending`), or it never will
be. Nothing is caught here: callers tell the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any, Final

from edgekeeper.controllers.composition.checking import CompiledExpression, CompiledNode, CompiledVariable
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.names import EACH, SCHEMA
from edgekeeper.controllers.composition.rejection import quoted
from edgekeeper.controllers.composition.template import Steps
from edgekeeper.controllers.composition.values import as_field, put, remove
from edgekeeper.core.json import JsonObject
from edgekeeper.schema.default import copy_json
from kubecel.errors import conversion_error
from kubecel.library.kro.omission import OMIT
from kubecel.limits import DEFAULT_BUDGET
from kubecel.native import converter_for
from kubecel.program import Program
from kubecel.values import Optional

MOST_OBJECTS: Final = 1000
"""Objects that one collection may have."""

OBJECT_BUDGET: Final = 10_000_000
"""What the expressions of one object may cost together, ten times as much as one of them alone."""


class Allowance:
    """What is left of a budget that several expressions share."""

    def __init__(self, budget: int = OBJECT_BUDGET) -> None:
        self._left = budget

    def evaluate(self, program: Program, variables: Mapping[str, Any]) -> Any:
        """The value of an expression; raises EvaluationError, also if it costs more than is left."""
        outcome = program.measure(variables, budget=min(DEFAULT_BUDGET, self._left))
        self._left -= outcome.cost
        return outcome.value


class Bindings:
    """The values of an instance's variables: the instance itself, and the resources that are known so far."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.variables: dict[str, Any] = {}

    def bind_instance(self, instance: JsonObject) -> None:
        """Let expressions see an instance: all of it but its status."""
        seen = {name: value for name, value in instance.items() if name != "status"}
        self.variables[SCHEMA] = converter_for(self._graph.instance_schema)(seen)

    def bind(self, node_id: str, observed: JsonObject | list[JsonObject]) -> None:
        """Let expressions see the object of a node, or the objects of a collection."""
        convert = self._converter(node_id)
        self.variables[node_id] = (
            [convert(one) for one in observed] if isinstance(observed, list) else convert(observed)
        )

    def _converter(self, node_id: str) -> Callable[[Any], Any]:
        schema = self._graph.nodes[node_id].node.schema
        return converter_for(schema) if schema is not None else lambda value: value

    def with_iterators(self, combination: Mapping[str, Any]) -> dict[str, Any]:
        """All variables, with the iterators of one object of a collection."""
        return {**self.variables, **combination}


def combinations(
    node: CompiledNode, variables: Mapping[str, Any], most: int = MOST_OBJECTS
) -> list[dict[str, Any]]:
    """The values of a node's iterators, one set for each of its objects; the last iterator changes fastest.

    A node that is no collection has one, without iterators. Raise EvaluationError.
    """
    names = [one.dimension.name for one in node.for_each]
    lists: list[list[Any]] = []
    count = 1
    for one in node.for_each:
        values = one.program.evaluate(variables)
        if not isinstance(values, list | tuple):
            raise conversion_error(f"forEach iterator {quoted(one.dimension.name)} must return a list")
        lists.append(list(values))
        count *= len(values)
    if count > most:
        raise conversion_error(f"a collection may have {most} objects at most, not {count}")
    return [dict(zip(names, values, strict=True)) for values in product(*lists)]


def resolve(
    node: CompiledNode, variables: Mapping[str, Any], allowance: Allowance | None = None
) -> JsonObject:
    """One object of a node, with all values in place; raises EvaluationError."""
    resolved: JsonObject = copy_json(node.node.template)
    spending = allowance or Allowance()
    fill(resolved, [(one.variable.steps, evaluate_field(one, variables, spending)) for one in node.variables])
    return resolved


def evaluate_field(compiled: CompiledVariable, variables: Mapping[str, Any], allowance: Allowance) -> Any:
    """The value of a field; raises EvaluationError."""
    return as_field(allowance.evaluate(compiled.program, variables))


def fill(tree: Any, values: Iterable[tuple[Steps, Any]]) -> None:
    """Put values in their places; those that shall not be there are taken out, with their fields."""
    omitted: list[Steps] = []
    for steps, value in values:
        if value is OMIT:
            omitted.append(steps)
        else:
            put(tree, steps, value)
    remove(tree, omitted)


def is_included(node: CompiledNode, variables: Mapping[str, Any]) -> bool:
    """Whether a node is part of an instance, by its own conditions; raises EvaluationError."""
    return all(holds(condition, variables) for condition in node.include_when)


def unmet(node: CompiledNode, observed: JsonObject) -> list[CompiledExpression]:
    """The conditions by which an object is not ready; raises EvaluationError. They see the object as it is."""
    name = EACH if node.for_each else node.id
    return [condition for condition in node.ready_when if not holds(condition, {name: observed})]


def holds(condition: CompiledExpression, variables: Mapping[str, Any]) -> bool:
    """Nothing, and the absence of a value, do not hold."""
    value = condition.program.evaluate(variables)
    if isinstance(value, Optional):
        value = value.value if value.present else None
    if value is None:
        return False
    if not isinstance(value, bool):
        raise conversion_error(f"expression {quoted(condition.expression.written)} must return bool")
    return value
