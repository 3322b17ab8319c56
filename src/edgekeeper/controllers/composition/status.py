"""The status of instances: values that expressions take from resources, and the schema that follows from their types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from edgekeeper.controllers.composition.checking import CompiledExpression, CompiledVariable, Scope
from edgekeeper.controllers.composition.conditions import compile_conditions, read_conditions
from edgekeeper.controllers.composition.inspection import Inspector
from edgekeeper.controllers.composition.names import SCHEMA
from edgekeeper.controllers.composition.rejection import RejectedError, quoted, rejected_below
from edgekeeper.controllers.composition.template import (
    Steps,
    Variable,
    find_variables,
    plain_paths,
)
from edgekeeper.core.json import JsonObject
from kubecel.types import Kind, ObjectType, Type

CONDITIONS: Final = "conditions"
_ANYTHING: Final[JsonObject] = {"x-kubernetes-preserve-unknown-fields": True}
_WORDS: Final = "failed to build instance status schema"


@dataclass(frozen=True, slots=True)
class CompiledStatus:
    """What the status of instances consists of."""

    template: JsonObject
    """As it is written, without the conditions."""
    variables: tuple[CompiledVariable, ...]
    conditions: tuple[CompiledExpression, ...]
    schema: JsonObject


def compile_status(written: JsonObject, scope: Scope, inspector: Inspector) -> CompiledStatus:
    """Check and compile the status of a definition; raises RejectedError with a path below it."""
    template = {name: value for name, value in written.items() if name != CONDITIONS}
    variables = tuple(_compile_variables(template, scope, inspector))
    conditions: tuple[CompiledExpression, ...] = ()
    if CONDITIONS in written:
        with rejected_below("failed to build instance conditions", CONDITIONS):
            conditions = compile_conditions(read_conditions(written[CONDITIONS]), scope, inspector)
    return CompiledStatus(template, variables, conditions, _schema_for(variables))


def _compile_variables(
    template: JsonObject, scope: Scope, inspector: Inspector
) -> Iterable[CompiledVariable]:
    with rejected_below(f"{_WORDS}: failed to extract CEL expressions from status"):
        found = find_variables(template)
    if plain := sorted(plain_paths(template)):
        message = f"{_WORDS}: status fields without expressions are not supported: [{' '.join(plain)}]"
        raise RejectedError(message, plain[0])
    for variable in found:
        with rejected_below("", variable.path):
            yield _compile_variable(variable, scope, inspector)


def _compile_variable(variable: Variable, scope: Scope, inspector: Inspector) -> CompiledVariable:
    shown = quoted(variable.expression.written)
    with rejected_below(f"{_WORDS}: status field {quoted(variable.path)} expression {shown}"):
        names = inspector.restricted(variable.expression, {*inspector.ids, SCHEMA}).names
    if not names:
        must = "instance status field must refer to a resource or schema"
        raise RejectedError(f"failed to create instance node: {must}: status.{variable.path}")
    words = f"{_WORDS}: failed to type-check status expression {shown} at path {quoted(variable.path)}"
    with rejected_below(words):
        return CompiledVariable(variable, scope.compile(variable.expression))


def _schema_for(variables: Iterable[CompiledVariable]) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": {}}
    for one in variables:
        _put(schema, one.variable.steps, schema_of_type(one.program.type))
    return schema


def _put(schema: JsonObject, steps: Steps, leaf: JsonObject) -> None:
    """Add the schema of the value at a path. All elements of a list have one schema, the last one's."""
    for step in steps[:-1]:
        schema = _child(schema, step)
    step = steps[-1]
    if isinstance(step, int):
        schema.pop("properties", None)
        schema.update({"type": "array", "items": leaf})
    else:
        _as_object(schema)["properties"][step] = leaf


def _child(schema: JsonObject, step: str | int) -> JsonObject:
    if isinstance(step, int):
        schema.pop("properties", None)
        schema["type"] = "array"
        items: JsonObject = schema.setdefault("items", {})
        return items
    child: JsonObject = _as_object(schema)["properties"].setdefault(step, {})
    return child


def _as_object(schema: JsonObject) -> JsonObject:
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    return schema


def schema_of_type(kind: Type) -> JsonObject:
    """The schema of values of a type; what is not known is kept whatever it is."""
    if kind.kind in _SCALARS:
        return dict(_SCALARS[kind.kind])
    if kind.kind is Kind.LIST:
        return {"type": "array", "items": schema_of_type(kind.params[0])}
    if kind.kind is Kind.MAP:
        return {"type": "object", "additionalProperties": schema_of_type(kind.params[1])}
    if isinstance(kind, ObjectType):
        return _schema_of_object(kind)
    return dict(_ANYTHING)


def _schema_of_object(kind: ObjectType) -> JsonObject:
    properties: dict[str, Any] = {}
    for name, below in kind.fields.items():
        properties[kind.keys.get(name, name)] = schema_of_type(below)
    schema: JsonObject = {"type": "object", "properties": properties}
    return {**schema, **_ANYTHING} if kind.open else schema


_SCALARS: Final[dict[Kind, JsonObject]] = {
    Kind.BOOL: {"type": "boolean"},
    Kind.INT: {"type": "integer"},
    Kind.UINT: {"type": "integer"},
    Kind.DOUBLE: {"type": "number"},
    Kind.STRING: {"type": "string"},
    Kind.BYTES: {"type": "string", "format": "byte"},
    Kind.TIMESTAMP: {"type": "string", "format": "date-time"},
    Kind.DURATION: {"type": "string", "format": "duration"},
}
