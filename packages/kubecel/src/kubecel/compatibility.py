"""Whether a value of one type may stand where another is expected, judged by structure and not by name.

A template puts the result of an expression into a field that has a schema of its own. The two types come from different
schemas and so have different names; what counts is that everything which may be in the value has its place in the field:

- an object fits another one if each of its fields exists there and fits (fewer are fine, more are not);
- a map fits an object if its values fit every field, and an object fits a map if all its fields fit the values;
- lists and maps fit if what they hold fits; an optional fits if its value does; `dyn` fits everything.

The answer is a reason in words, from the outside to the inside, because it ends up in front of a person.
"""

from __future__ import annotations

from typing import TypeAlias

from kubecel.types import Kind, ObjectType, Type

_Pairs: TypeAlias = frozenset[tuple[str, str]]
"""Pairs of object types that are being compared further out: recursive schemas come back to them."""


def incompatibility(output: Type, expected: Type) -> str | None:
    """Why a value of type `output` may not be put where `expected` stands, or None if it may."""
    return _reason(output, expected, frozenset())


def _reason(output: Type, expected: Type, outer: _Pairs) -> str | None:
    if output is expected or Kind.DYN in (output.kind, expected.kind):
        return None
    if output.kind is Kind.OPTIONAL:
        return _reason(output.params[0], expected, outer)
    if expected.kind is Kind.OPTIONAL:
        return _reason(output, expected.params[0], outer)
    if isinstance(expected, ObjectType):
        return _reason_for_object(output, expected, outer)
    if isinstance(output, ObjectType) and expected.kind is Kind.MAP:
        return _object_into_map(output, expected, outer)
    if output.kind is not expected.kind or output.name != expected.name:
        return f'type kind mismatch: got "{output}", expected "{expected}"'
    return _parameters(output, expected, outer)


def _reason_for_object(output: Type, expected: ObjectType, outer: _Pairs) -> str | None:
    if output.kind is Kind.MAP:
        return _map_into_object(output, expected, outer)
    if not isinstance(output, ObjectType):
        return f'type kind mismatch: got "{output}", expected "{expected}"'
    pair = (output.name, expected.name)
    if expected.open or pair in outer:
        return None
    return _fields(output, expected, outer | {pair})


def _fields(output: ObjectType, expected: ObjectType, outer: _Pairs) -> str | None:
    for name, field in output.fields.items():
        place = expected.fields.get(name)
        if place is None:
            return f'field "{name}" exists in output but not in expected type'
        if reason := _reason(field, place, outer):
            return f'field "{name}" has incompatible type: {reason}'
    return None


def _map_into_object(output: Type, expected: ObjectType, outer: _Pairs) -> str | None:
    key, value = output.params
    if key.kind not in (Kind.STRING, Kind.DYN):
        return "map keys must be strings to assign to struct"
    pair = (str(output), expected.name)
    if pair in outer:
        return None
    for name, field in expected.fields.items():
        if reason := _reason(value, field, outer | {pair}):
            return f'map value incompatible with struct field "{name}": {reason}'
    return None


def _object_into_map(output: ObjectType, expected: Type, outer: _Pairs) -> str | None:
    key, value = expected.params
    if key.kind not in (Kind.STRING, Kind.DYN):
        return "map key type must be string when assigning struct to map"
    pair = (output.name, str(expected))
    if pair in outer:
        return None
    for name, field in output.fields.items():
        if reason := _reason(field, value, outer | {pair}):
            return f'struct field "{name}" incompatible with map value type: {reason}'
    return None


def _parameters(output: Type, expected: Type, outer: _Pairs) -> str | None:
    for place, mine, theirs in zip(
        _PLACES.get(expected.kind, ()), output.params, expected.params, strict=False
    ):
        if reason := _reason(mine, theirs, outer):
            return f"{place} type incompatible: {reason}"
    return None


_PLACES = {Kind.LIST: ("list element",), Kind.MAP: ("map key", "map value")}
