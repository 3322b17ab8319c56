"""SimpleSchema, the short notation in which a definition describes its instances, as an OpenAPI schema.

    name: string | required=true             a type, and markers behind the first `|`
    replicas: integer | default=1 minimum=1
    tags: map[string]string                  also []T, and nested: []map[string]integer
    server: {host: string, port: Port}       an object; `Port` is one of the definition's own types
    anything: object                         an object whose fields are kept whatever they are

Own types are put in where they are used. An object without required fields of which some field has a default gets the
default `{}`, so that defaults within it apply to instances that leave it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from edgekeeper.controllers.composition.dag import find_cycle, topological_order
from edgekeeper.controllers.composition.marker_effects import apply_markers
from edgekeeper.controllers.composition.markers import Marker, parse_markers
from edgekeeper.controllers.composition.rejection import RejectedError, quoted, rejected_below
from edgekeeper.core.json import JsonObject
from edgekeeper.schema.default import copy_json

_ATOMIC: Final = {"string": "string", "integer": "integer", "boolean": "boolean", "float": "number"}
_SLICE: Final = "[]"
_MAP: Final = "map["
_STRING_MAP: Final = "map[string]"
_DEEPEST: Final = 16
_MOST_FIELDS: Final = 10_000
"""Fields that a schema may have once own types are put in: types of types could add up to any number."""


def to_openapi(fields: Mapping[str, Any], types: Mapping[str, Any] | None = None) -> JsonObject:
    """The schema of an object with these fields; raises RejectedError with a path that begins with `spec` or `types`."""
    try:
        return _Transformation(types or {}).whole(fields)
    except RecursionError:
        raise RejectedError("the schema is nested too deeply") from None


@dataclass(frozen=True, slots=True)
class _OwnType:
    schema: JsonObject
    required: bool
    """Whether fields of this type are required: its alias says so."""
    fields: int
    """How many fields it has, at all levels."""


class _Transformation:
    """Own types that are known so far, and what is made of fields with them."""

    def __init__(self, types: Mapping[str, Any]) -> None:
        self._types: dict[str, _OwnType] = {}
        self._fields = 0
        for name in _order_of(types):
            with rejected_below(f"building schema for {name}", f"types.{name}"):
                self._types[name] = self._own_type(types[name])

    def _own_type(self, written: Any) -> _OwnType:
        self._fields = 0
        schema, required = self._any_field(written)
        return _OwnType(schema, required, self._fields)

    def _count(self, fields: int) -> None:
        self._fields += fields
        if self._fields > _MOST_FIELDS:
            raise RejectedError(f"the schema has more than {_MOST_FIELDS} fields")

    def whole(self, fields: Mapping[str, Any]) -> JsonObject:
        self._fields = 0
        with rejected_below("", "spec"):
            return self.object(fields)

    def object(self, fields: Mapping[str, Any]) -> JsonObject:
        properties: JsonObject = {}
        required: list[str] = []
        for name, written in fields.items():
            with rejected_below(f"field {name}", name):
                self._count(1)
                schema, is_required = self._any_field(written)
            properties[name] = schema
            if is_required:
                required.append(name)
        result: JsonObject = {"type": "object", "properties": properties}
        if required:
            result["required"] = sorted(required)
        elif any("default" in schema for schema in properties.values()):
            result["default"] = {}
        return result

    def _any_field(self, written: Any) -> tuple[JsonObject, bool]:
        if isinstance(written, str):
            return self._field(written)
        if isinstance(written, Mapping):
            return self.object(written), False
        raise _unexpected(written)

    def _field(self, written: str) -> tuple[JsonObject, bool]:
        """The schema of a field, and whether it is required."""
        text, markers = _split(written)
        schema = self._schema(text)
        own = self._types.get(text)
        required = apply_markers(schema, markers)
        return schema, bool(required) or (own is not None and own.required)

    def _schema(self, text: str) -> JsonObject:
        if text in _ATOMIC:
            return {"type": _ATOMIC[text]}
        if text == "object":
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        if text.startswith(_SLICE):
            return {"type": "array", "items": self._schema(_element_of(text))}
        if text.startswith(_MAP):
            return {"type": "object", "additionalProperties": self._schema(_element_of(text))}
        if text not in self._types:
            raise RejectedError(f"unknown type: {text}")
        self._count(self._types[text].fields)
        schema: JsonObject = copy_json(self._types[text].schema)
        return schema


def _split(written: str) -> tuple[str, list[Marker]]:
    """A field's type and its markers."""
    text, bar, markers = written.partition("|")
    text = text.strip()
    if not text:
        raise RejectedError("empty type")
    _check_depth(text)
    return text, parse_markers(markers) if bar else []


def _check_depth(text: str) -> None:
    depth = 0
    while text.startswith((_SLICE, _MAP)):
        text = _element_of(text)
        depth += 1
        if depth > _DEEPEST:
            raise RejectedError(f"type nesting too deep (max {_DEEPEST}): {quoted(text)}")


def _element_of(text: str) -> str:
    """What a list or a map holds."""
    if text.startswith(_SLICE):
        element = text.removeprefix(_SLICE).strip()
        if not element:
            raise RejectedError("empty slice element type")
        return element
    if not text.startswith(_STRING_MAP):
        raise RejectedError("map key must be string")
    element = text.removeprefix(_STRING_MAP).strip()
    if not element:
        raise RejectedError("map value type is required")
    return element


def _order_of(types: Mapping[str, Any]) -> list[str]:
    """Own types, each after those that it uses."""
    used: dict[str, set[str]] = {}
    for name, written in types.items():
        with rejected_below(f"parsing type {name}", f"types.{name}"):
            used[name] = _used_types(written)
    for name, names in used.items():
        if unknown := sorted(names - used.keys()):
            raise RejectedError(f"building schema for {name}: unknown type: {unknown[0]}", f"types.{name}")
    if cycle := find_cycle(used):
        words = f"cyclic dependency in type {cycle[0]}: graph contains a cycle"
        raise RejectedError(f"{words}: {' -> '.join(cycle)}", f"types.{cycle[0]}")
    return topological_order(used)


def _used_types(written: Any) -> set[str]:
    if isinstance(written, str):
        text, _, _ = written.partition("|")
        text = text.strip()
        if not text:
            raise RejectedError("empty type")
        _check_depth(text)
        while text.startswith((_SLICE, _MAP)):
            text = _element_of(text)
        return set() if text in _ATOMIC or text == "object" else {text}
    if not isinstance(written, Mapping):
        raise _unexpected(written)
    found: set[str] = set()
    for name, field in written.items():
        with rejected_below(f"field {name}", name):
            found |= _used_types(field)
    return found


def _unexpected(written: Any) -> RejectedError:
    return RejectedError(f"unexpected type: {_KINDS.get(type(written), type(written).__name__)}")


_KINDS: Final = {list: "list", bool: "boolean", int: "integer", float: "number", type(None): "null"}
