"""Every expression of a node checked against the schemas, and compiled.

Expressions see each resource as an object of its kind's schema, collections as lists of such objects, and the instance
as `schema`, without its status. What they return must fit where it is put.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from edgekeeper.controllers.composition.expressions import Expression
from edgekeeper.controllers.composition.inspection import Inspector
from edgekeeper.controllers.composition.names import EACH, SCHEMA
from edgekeeper.controllers.composition.node import Dimension, Node, NodeKind
from edgekeeper.controllers.composition.rejection import RejectedError, quoted, rejected_below
from edgekeeper.controllers.composition.template import Steps, Variable, field_schema
from edgekeeper.core.json import JsonObject
from kubecel import environments
from kubecel.compatibility import incompatibility
from kubecel.errors import CompileError
from kubecel.program import Program
from kubecel.schema import composition_type
from kubecel.types import BOOL, DYN, STRING, Kind, Type, list_of

_SELECTOR: Final = ("metadata", "selector")


@dataclass(frozen=True, slots=True)
class CompiledExpression:
    """An expression, ready to be evaluated."""

    expression: Expression
    program: Program


@dataclass(frozen=True, slots=True)
class CompiledVariable:
    """A value in a template, ready to be evaluated."""

    variable: Variable
    program: Program


@dataclass(frozen=True, slots=True)
class CompiledDimension:
    """An iterator, ready to be evaluated."""

    dimension: Dimension
    program: Program


@dataclass(frozen=True, slots=True)
class CompiledNode:
    """A node whose expressions are ready to be evaluated."""

    node: Node
    dependencies: tuple[str, ...]
    variables: tuple[CompiledVariable, ...]
    include_when: tuple[CompiledExpression, ...] = ()
    ready_when: tuple[CompiledExpression, ...] = ()
    for_each: tuple[CompiledDimension, ...] = ()

    @property
    def id(self) -> str:
        return self.node.id


class Scope:
    """The variables of a definition's expressions, with their types."""

    def __init__(self, types: Mapping[str, Type]) -> None:
        self.types = types
        self._environment = environments.kro().extend(variables=types)

    def compile(self, expression: Expression, more: Mapping[str, Type] | None = None) -> Program:
        """Check and compile an expression; raises RejectedError with the checker's words."""
        environment = self._environment.extend(variables=more) if more else self._environment
        try:
            return environment.compile(expression.source)
        except CompileError as error:
            raise RejectedError(error.message) from error


def scope_of(nodes: Iterable[Node], instance: JsonObject | None) -> Scope:
    """What the expressions of a definition may refer to. Without a schema of the instance it is dynamic."""
    types = {node.id: _type_of(node) for node in nodes}
    types[SCHEMA] = DYN if instance is None else composition_type(instance, SCHEMA)
    return Scope(types)


def object_type(node: Node) -> Type:
    """The type of one of a node's objects."""
    return DYN if node.schema is None else composition_type(node.schema, node.id)


def _type_of(node: Node) -> Type:
    one = object_type(node)
    return list_of(one) if node.kind.is_list else one


def compile_node(node: Node, dependencies: Iterable[str], scope: Scope, inspector: Inspector) -> CompiledNode:
    """Check and compile a node's expressions; raises RejectedError with a path below the node."""
    for_each = tuple(_compile_dimensions(node, scope))
    iterators = {one.dimension.name: _element_type(one.program.type) for one in for_each}
    return CompiledNode(
        node=node,
        dependencies=tuple(dependencies),
        for_each=for_each,
        variables=tuple(_compile_variable(node, variable, scope, iterators) for variable in node.variables),
        include_when=_compile_conditions(node, "includeWhen", node.include_when, scope),
        ready_when=_compile_ready_when(node, scope, inspector),
    )


def _compile_dimensions(node: Node, scope: Scope) -> Iterable[CompiledDimension]:
    for index, dimension in enumerate(node.for_each):
        place = f"node {quoted(node.id)}: forEach iterator {quoted(dimension.name)}"
        with rejected_below("", f"forEach[{index}]"):
            with rejected_below(place):
                program = scope.compile(dimension.expression)
            if program.type.kind not in (Kind.LIST, Kind.DYN):
                raise RejectedError(f"{place} must return a list, got {quoted(str(program.type))}")
        yield CompiledDimension(dimension, program)


def _element_type(kind: Type) -> Type:
    return kind.params[0] if kind.kind is Kind.LIST else DYN


def _compile_variable(
    node: Node, variable: Variable, scope: Scope, iterators: Mapping[str, Type]
) -> CompiledVariable:
    source = "externalRef" if node.kind.is_external else "template"
    shown = quoted(variable.expression.written)
    words = f"failed to compile template expression {shown} at path {quoted(variable.path)}"
    with rejected_below("", f"{source}.{variable.path}"):
        with rejected_below(words):
            program = scope.compile(variable.expression, iterators)
        _check_fit(node, variable, program.type)
    return CompiledVariable(variable, program)


def _check_fit(node: Node, variable: Variable, found: Type) -> None:
    expected = expected_type(node, variable.steps)
    reason = incompatibility(found, expected)
    if reason is not None:
        place = f"type mismatch in resource {quoted(node.id)} at path {quoted(variable.path)}"
        types = f'returns type "{found}" but expected "{expected}"'
        raise RejectedError(f"{place}: expression {quoted(variable.expression.written)} {types}: {reason}")


def expected_type(node: Node, steps: Steps) -> Type:
    """The type of the field at a path; `dyn` where the schema does not specify it."""
    if node.kind is NodeKind.EXTERNAL_COLLECTION and steps[:2] == _SELECTOR:
        return STRING  # selectors are no part of the schemas of kinds, and consist of strings
    schema: Any = node.schema
    for step in steps:
        if not isinstance(schema, dict):
            return DYN
        schema = schema.get("items") if isinstance(step, int) else field_schema(schema, step)
    if not isinstance(schema, dict):
        return DYN
    return composition_type(
        schema, ".".join((node.id, *("@idx" if isinstance(s, int) else s for s in steps)))
    )


def _compile_conditions(
    node: Node,
    name: str,
    expressions: Iterable[Expression],
    scope: Scope,
    more: Mapping[str, Type] | None = None,
) -> tuple[CompiledExpression, ...]:
    compiled: list[CompiledExpression] = []
    for index, expression in enumerate(expressions):
        shown = quoted(expression.written)
        with rejected_below("", f"{name}[{index}]"):
            words = f"failed to type-check {name} expression {shown} in resource {quoted(node.id)}"
            with rejected_below(words):
                program = scope.compile(expression, more)
            if not _is_condition(program.type):
                returned = f"must return bool or optional_type(bool), but returns {quoted(str(program.type))}"
                raise RejectedError(f"{name} expression {shown} in resource {quoted(node.id)} {returned}")
        compiled.append(CompiledExpression(expression, program))
    return tuple(compiled)


def _is_condition(kind: Type) -> bool:
    inner = kind.params[0] if kind.kind is Kind.OPTIONAL else kind
    return inner == BOOL or inner.kind is Kind.DYN


def _compile_ready_when(node: Node, scope: Scope, inspector: Inspector) -> tuple[CompiledExpression, ...]:
    """Readiness is judged from the object alone: from each object of a collection."""
    allowed = EACH if node.kind is NodeKind.COLLECTION else node.id
    for index, expression in enumerate(node.ready_when):
        with rejected_below(f"resource {quoted(node.id)} readyWhen", f"readyWhen[{index}]"):
            inspector.restricted(expression, (allowed,))
    more = {EACH: object_type(node)} if node.kind is NodeKind.COLLECTION else None
    return _compile_conditions(node, "readyWhen", node.ready_when, scope, more)
