"""Templates: where in an object expressions stand, and whether the rest of it is what the kind's schema asks for.

Expressions are looked for in values, never in keys. Where the schema of the kind is known, what is written out is
compared with it on the way; where it says nothing, or allows anything, everything is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from edgekeeper.controllers.composition.expressions import OPEN, Expression, read_expression
from edgekeeper.controllers.composition.rejection import RejectedError, rejected_below
from edgekeeper.core.json import JsonObject, dig_list

Steps: TypeAlias = tuple[str | int, ...]
"""The path of a value as keys and positions."""

_ANY: Final = ("any",)
_INT_OR_STRING: Final = ("string", "integer")
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_DEEPEST: Final = 200
_MOST_VALUES: Final = 100_000
_SHOWN: Final = 5
"""Steps that a message shows of a path that is too long."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A value in a template that an expression determines."""

    steps: Steps
    expression: Expression

    @property
    def path(self) -> str:
        return spell(self.steps)


def spell(steps: Steps) -> str:
    """A path as people write it: `spec.ports[0].name`, with brackets around keys that have dots in them."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif not step or "." in step:
            text += f'["{step}"]'
        else:
            text += f".{step}" if text else step
    return text


def find_variables(value: Any, schema: JsonObject | None = None) -> list[Variable]:
    """The expressions in a value, in its order. Raise RejectedError where it does not fit its schema."""
    return list(_Search().find(value, schema, ()))


def plain_paths(value: Any, steps: Steps = ()) -> Iterator[str]:
    """The paths of values that are neither objects nor lists, and have no expression in them."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from plain_paths(child, (*steps, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from plain_paths(child, (*steps, index))
    elif not isinstance(value, str) or read_expression(value) is None:
        yield spell(steps)


class _Search:
    """One walk through a value, which may have so many levels and values and no more."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def find(self, value: Any, schema: JsonObject | None, steps: Steps) -> Iterator[Variable]:
        self._left -= 1
        if self._left < 0 or len(steps) > _DEEPEST:
            what = "nested too deeply" if self._left >= 0 else "too large"
            raise RejectedError(f"the object is {what}", spell(steps[:_SHOWN]))
        if schema is not None and schema.get(_PRESERVE) is True:
            schema = None
        expected = _ANY if schema is None else expected_types(schema)
        if isinstance(value, dict):
            _expect("object", expected, steps)
            for key, child in value.items():
                yield from self.find(child, _field_schema(schema, key, steps), (*steps, key))
        elif isinstance(value, list):
            _expect("array", expected, steps)
            for index, child in enumerate(value):
                yield from self.find(child, _item_schema(schema), (*steps, index))
        elif isinstance(value, str):
            yield from _find_in_string(value, steps, expected)
        elif value is not None and not _is_scalar_of(value, expected):
            raise _mismatch(expected, steps, _name_of(value))


def _expect(kind: str, expected: Sequence[str], steps: Steps) -> None:
    if not {kind, *_ANY} & set(expected):
        raise _mismatch(expected, steps, kind)


def _item_schema(schema: JsonObject | None) -> JsonObject | None:
    items = None if schema is None else schema.get("items")
    return items if isinstance(items, dict) else None


def _field_schema(schema: JsonObject | None, key: str, steps: Steps) -> JsonObject | None:
    """The schema of a field; None where anything may stand there."""
    found = True if schema is None else field_schema(schema, key)
    if found is False:
        path = spell((*steps, key))
        raise RejectedError(
            f"error getting field schema for path {path}: schema not found for field {key}", path
        )
    return found if isinstance(found, dict) else None


def field_schema(schema: JsonObject, key: str) -> JsonObject | bool:
    """The schema of a field; True where anything may stand there, False where there is no such field."""
    declared = (schema.get("properties") or {}).get(key)
    if isinstance(declared, dict):
        return declared
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        return additional
    is_undescribed = not schema.get("properties") and additional is None and "type" not in schema
    return bool(additional) or schema.get(_PRESERVE) is True or is_undescribed


def _find_in_string(value: str, steps: Steps, expected: Sequence[str]) -> Iterator[Variable]:
    expression = None
    if OPEN in value:
        with rejected_below("", spell(steps)):
            expression = read_expression(value)
    if expression is None or expression.template:
        _expect("string", expected, steps)
    if expression is not None:
        yield Variable(steps, expression)


def expected_types(schema: JsonObject) -> Sequence[str]:
    """The types that a schema allows, `any` where it does not say."""
    if schema.get("x-kubernetes-int-or-string"):
        return _INT_OR_STRING
    for junctor in ("oneOf", "anyOf"):
        if types := _types_of_branches(dig_list(schema, junctor)):
            return types
    declared = schema.get("type")
    return (declared,) if isinstance(declared, str) and declared else _ANY


def _types_of_branches(branches: list[Any]) -> list[str]:
    types: list[str] = []
    for branch in branches:
        if not isinstance(branch, dict):
            continue
        if branch.get("required") or branch.get("not") is not None:
            types.append("object")
        if isinstance(branch.get("type"), str):
            types.append(branch["type"])
    return list(dict.fromkeys(types))


def _is_scalar_of(value: Any, expected: Sequence[str]) -> bool:
    allowed = set(expected)
    if "any" in allowed:
        return True
    if isinstance(value, bool):
        return "boolean" in allowed
    if isinstance(value, int):
        return bool({"integer", "number"} & allowed)
    return isinstance(value, float) and ("number" in allowed or ("integer" in allowed and value.is_integer()))


def _name_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "integer" if isinstance(value, int) else "number"


def _mismatch(expected: Sequence[str], steps: Steps, found: str) -> RejectedError:
    path = spell(steps)
    return RejectedError(f"expected {' or '.join(expected)} type for path {path}, got {found}", path)
