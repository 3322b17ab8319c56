"""The shape that built-in objects have in the API server: that of its Go structs.

A built-in object passes through a struct on its way in. Structs nested by value are always there (`resources: {}`,
`strategy: {}`), while absent and empty optional lists and maps are the same. Ownership is computed on that shape:
who creates a pod owns `f:resources` of each container, and nobody owns `f:strategy` itself, only what is inside.

The schemas tell the two apart: a reference with the default `{}` is a struct held by value, without it a pointer.
Custom resources have no structs behind them and keep the shape their client gave them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from edgekeeper.core.json import JsonObject


def reference(schema: JsonObject) -> str:
    """The definition a schema refers to, directly or in a one-element `allOf`; empty if it is inline."""
    target = schema.get("$ref")
    if target is None:
        all_of = schema.get("allOf", ())
        if len(all_of) != 1:
            return ""
        target = all_of[0].get("$ref", "")
    return str(target).rpartition("/")[2]


class Shapes:
    """The shapes of all definitions, each compiled when first needed."""

    def __init__(self, definitions: Mapping[str, JsonObject]) -> None:
        self._definitions = definitions
        self._shapes: dict[str, Shape] = {}

    def of(self, schema: JsonObject) -> Shape:
        name = reference(schema)
        if not name:
            return Shape(self, schema)
        shape = self._shapes.get(name)
        if shape is None:
            shape = self._shapes[name] = Shape(self, self._definitions.get(name, {}))
        return shape


class Shape:
    """How a value of one schema is held."""

    def __init__(self, shapes: Shapes, schema: JsonObject) -> None:
        self._shapes = shapes
        self._schema = schema
        self._required = frozenset(schema.get("required", ()))
        self.is_struct = "properties" in schema

    @cached_property
    def _fields(self) -> dict[str, Shape]:
        properties: JsonObject = self._schema.get("properties", {})
        return {name: self._shapes.of(schema) for name, schema in properties.items()}

    @cached_property
    def _inside(self) -> Shape | None:
        """The shape of list items or map values."""
        schema = self._schema.get("items") or self._schema.get("additionalProperties")
        return self._shapes.of(schema) if isinstance(schema, dict) else None

    @cached_property
    def _held_by_value(self) -> tuple[tuple[str, Shape], ...]:
        properties: JsonObject = self._schema.get("properties", {})
        return tuple(
            (name, self._fields[name])
            for name, schema in properties.items()
            if schema.get("default") == {} and reference(schema) and self._fields[name].is_struct
        )

    @cached_property
    def is_scalar(self) -> bool:
        return not self.is_struct and self._inside is None

    def zero(self) -> JsonObject:
        """The struct before anything is set: nested structs are there, required lists and maps are null."""
        pointers = {name: None for name in self._required if not self._fields[name].is_scalar}
        return {**pointers, **{name: shape.zero() for name, shape in self._held_by_value}}

    def hold(self, value: Any) -> Any:
        """A copy of the value in the shape of its struct."""
        if isinstance(value, dict):
            return self._struct(value) if self.is_struct else self._map(value)
        if isinstance(value, list) and self._inside is not None:
            return value if self._inside.is_scalar else [self._inside.hold(item) for item in value]
        return value

    def _map(self, value: JsonObject) -> JsonObject:
        if self._inside is None or self._inside.is_scalar:
            return value
        return {key: self._inside.hold(item) for key, item in value.items()}

    def _struct(self, value: JsonObject) -> JsonObject:
        fields, required = self._fields, self._required
        held: JsonObject = {}
        for name, item in value.items():
            shape = fields.get(name)
            if shape is None or shape.is_scalar:
                if item is not None:
                    held[name] = item
            elif item or name in required or (item is not None and shape.is_struct):
                held[name] = shape.hold(item)
        for name, shape in self._held_by_value:
            if held.get(name) is None:
                held[name] = shape.hold({})
        return held
