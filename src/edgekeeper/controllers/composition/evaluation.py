"""Evaluate the expressions of a node, given the objects that they refer to.

    bindings = Bindings(graph)
    bindings.bind_instance(instance)
    bindings.bind("config", object)                                  # as others are observed
    for combination in combine(node, lists):                         # one, unless it is a collection
        await resolve(node, bindings.with_iterators(combination), allowance)

Evaluation fails in two ways: data that an expression needs is not there yet (`EvaluationError.pending`), or it never will
be. Nothing is caught here: callers tell the two apart.

Expressions of one pass share an `Allowance`. It bounds what they cost together, and gives the event loop to others in
between: no callback evaluates for longer than one turn and one expression.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, Final

from edgekeeper.controllers.composition.checking import (
    CompiledDimension,
    CompiledExpression,
    CompiledNode,
    CompiledVariable,
)
from edgekeeper.controllers.composition.graph import Graph
from edgekeeper.controllers.composition.names import EACH, SCHEMA
from edgekeeper.controllers.composition.rejection import quoted
from edgekeeper.controllers.composition.template import Steps
from edgekeeper.controllers.composition.values import as_field, put, remove
from edgekeeper.core.json import JsonObject
from edgekeeper.schema.default import copy_json
from kubecel.errors import EvaluationError, conversion_error
from kubecel.library.kro.omission import OMIT
from kubecel.native import converter_for
from kubecel.program import Program
from kubecel.values import Optional

MOST_OBJECTS: Final = 1000
"""Objects that one collection may have."""

EXPRESSION_BUDGET: Final = 100_000
"""What one expression may cost. Nobody else can run meanwhile: loops over texts and numbers take up to 25 ms for as much,
regular expressions 100 ms, and only the parsing of URLs and versions, ten thousand times, up to 200 ms."""
PASS_BUDGET: Final = 10_000_000
"""What the expressions of one pass may cost together."""
TURN: Final = 50_000
"""What may be spent before others have their turn."""
OBJECT_WORK: Final = TURN // 50
"""What rendering and comparing an object counts as, beside its expressions."""


class Allowance:
    """What is left of a budget that several expressions share, and of the turn."""

    def __init__(self, budget: int = PASS_BUDGET) -> None:
        self._left = budget
        self._in_turn = 0

    def evaluate(self, program: Program, variables: Mapping[str, Any]) -> Any:
        """The value of an expression; raises EvaluationError, also if it costs more than is left."""
        budget = min(EXPRESSION_BUDGET, self._left)
        try:
            outcome = program.measure(variables, budget=budget)
        except EvaluationError as error:
            self._spend(min(error.cost, budget))
            raise
        self._spend(outcome.cost)
        return outcome.value

    def _spend(self, cost: int) -> None:
        self._left -= cost
        self._in_turn += cost

    async def let_others_run(self, work: int = 0) -> None:
        """Give the event loop to others, if the turn is over. `work` is what counts beside expressions."""
        self._in_turn += work
        if self._in_turn >= TURN:
            self._in_turn = 0
            await asyncio.sleep(0)


class Bindings:
    """The values of an instance's variables: the instance itself, and the resources that are known so far."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.variables: dict[str, Any] = {}

    def bind_instance(self, instance: JsonObject) -> None:
        """Let expressions see an instance: all of it but its status."""
        seen = {name: value for name, value in instance.items() if name != "status"}
        self.variables[SCHEMA] = converter_for(self._graph.instance_schema)(seen)

    def bind(self, node_id: str, observed: JsonObject) -> None:
        """Let expressions see the object of a node."""
        self.variables[node_id] = self._converter(node_id)(observed)

    async def bind_collection(
        self, node_id: str, observed: Sequence[JsonObject], allowance: Allowance
    ) -> None:
        """Let expressions see the objects of a collection, which others need not wait for."""
        convert = self._converter(node_id)
        converted = []
        for one in observed:
            converted.append(convert(one))
            await allowance.let_others_run(OBJECT_WORK)
        self.variables[node_id] = converted

    def _converter(self, node_id: str) -> Callable[[Any], Any]:
        schema = self._graph.nodes[node_id].node.schema
        return converter_for(schema) if schema is not None else lambda value: value

    def with_iterators(self, combination: Mapping[str, Any]) -> dict[str, Any]:
        """All variables, with the iterators of one object of a collection."""
        return {**self.variables, **combination}


def iterator_values(
    iterator: CompiledDimension, variables: Mapping[str, Any], allowance: Allowance
) -> list[Any]:
    """The values of one iterator of a collection; raises EvaluationError."""
    values = allowance.evaluate(iterator.program, variables)
    if not isinstance(values, list | tuple):
        raise conversion_error(f"forEach iterator {quoted(iterator.dimension.name)} must return a list")
    return list(values)


def combine(
    node: CompiledNode, lists: Sequence[Sequence[Any]], most: int = MOST_OBJECTS
) -> list[dict[str, Any]]:
    """The values of a node's iterators, one set for each of its objects; the last iterator changes fastest.

    A node that is no collection has one, without iterators. Raise EvaluationError if there are more than `most`.
    """
    names = [one.dimension.name for one in node.for_each]
    count = prod(map(len, lists))
    if count > most:
        raise conversion_error(f"a collection may have {most} objects at most, not {count}")
    return [dict(zip(names, values, strict=True)) for values in product(*lists)]


async def resolve(node: CompiledNode, variables: Mapping[str, Any], allowance: Allowance) -> JsonObject:
    """One object of a node, with all values in place; raises EvaluationError."""
    values: list[tuple[Steps, Any]] = []
    for one in node.variables:
        values.append((one.variable.steps, evaluate_field(one, variables, allowance)))
        await allowance.let_others_run()
    resolved: JsonObject = copy_json(node.node.template)
    fill(resolved, values)
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


async def first_unmet(
    node: CompiledNode, observed: JsonObject, allowance: Allowance
) -> CompiledExpression | None:
    """The first condition by which an object is not ready; raises EvaluationError. It sees the object as it is."""
    name = EACH if node.for_each else node.id
    for condition in node.ready_when:
        if not holds(condition, {name: observed}, allowance):
            return condition
        await allowance.let_others_run()
    return None


def holds(condition: CompiledExpression, variables: Mapping[str, Any], allowance: Allowance) -> bool:
    """Whether a condition holds; raises EvaluationError. Nothing, and the absence of a value, do not hold."""
    value = allowance.evaluate(condition.program, variables)
    if isinstance(value, Optional):
        value = value.value if value.present else None
    if value is None:
        return False
    if not isinstance(value, bool):
        raise conversion_error(f"expression {quoted(condition.expression.written)} must return bool")
    return value
