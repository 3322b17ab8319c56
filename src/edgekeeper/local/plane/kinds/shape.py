"""The normal form of built-in objects: what comes back out after the server decoded, defaulted and encoded them.

kube-apiserver reads a built-in object into a Go struct and writes the struct out again. That alone changes objects:
null means absent, empty lists and maps vanish, scalars vanish when they are zero (where the field says so), missing
structs appear as `{}`, quantities and times take one spelling. Between the two, each type fills in its own defaults.

A `Shape` does the same for one definition, in place and in one pass; shapes of nested types are built when first met,
because most types are rare and `JSONSchemaProps` contains itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from edgekeeper.core.json import JsonObject
from edgekeeper.local.plane.kinds.age import parse_moment
from edgekeeper.local.plane.kinds.defaults import TYPE_DEFAULTS
from edgekeeper.local.plane.kinds.definitions import definitions, null_when_unset, omitted_when_zero
from edgekeeper.local.plane.kinds.quantity import MILLI, canonical_quantity

Reshape: TypeAlias = Callable[[Any], Any]
"""Takes a value that is present, returns what stands in its place (often the same object, changed)."""

_META = "io.k8s.apimachinery.pkg."
_LEAVES: dict[str, Reshape] = {}


def leaf(name: str) -> Callable[[Reshape], Reshape]:
    """Register how values of a type without properties are normalised."""

    def register(function: Reshape) -> Reshape:
        _LEAVES[_META + name] = function
        return function

    return register


@leaf("api.resource.Quantity")
def _quantity(value: Any) -> Any:
    return canonical_quantity(value) or value if isinstance(value, str | int | float) else value


@leaf("apis.meta.v1.Time")
def _time(value: Any) -> Any:
    moment = parse_moment(value)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else value


@leaf("apis.meta.v1.MicroTime")
def _micro_time(value: Any) -> Any:
    moment = parse_moment(value)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else value


class Shape:
    """The normal form of one definition."""

    __slots__ = ("_children", "_fill", "_null", "_scalars", "_structs", "_vanishing")

    def __init__(self, name: str) -> None:
        properties: Mapping[str, JsonObject] = definitions()[name].get("properties", {})
        self._null = tuple(sorted(null_when_unset(name)))
        collections = {key for key, schema in properties.items() if _is_collection(schema)}
        self._vanishing = omitted_when_zero(name) | collections
        self._scalars = tuple(
            (key, schema["default"])
            for key, schema in properties.items()
            if "default" in schema and "$ref" not in schema
        )
        self._structs = tuple(
            key for key, schema in properties.items() if "$ref" in schema and "default" in schema
        )
        self._fill = TYPE_DEFAULTS.get(name)
        self._children = {key: child for key, schema in properties.items() if (child := _reshape(schema))}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, dict):
            self._drop_unset(value)
            self._fill_zero(value)
            if self._fill is not None:
                self._fill(value)
            for key in self._null:
                value.setdefault(key, None)
            children = self._children
            for key in value.keys() & children.keys():
                if value[key] is not None:
                    value[key] = children[key](value[key])
        return value

    def _drop_unset(self, value: JsonObject) -> None:
        unset = [key for key, held in value.items() if held is None or (not held and key in self._vanishing)]
        for key in unset:
            del value[key]

    def _fill_zero(self, value: JsonObject) -> None:
        for key, zero in self._scalars:
            if key not in value:
                value[key] = zero
        for key in self._structs:
            if key not in value:
                value[key] = {}


@cache
def shape_of(name: str) -> Shape:
    return Shape(name)


def _is_collection(schema: JsonObject) -> bool:
    return schema.get("type") == "array" or "additionalProperties" in schema


def _reshape(schema: JsonObject) -> Reshape | None:
    """Return how values of a property change, or `None` where they never do."""
    if "$ref" in schema:
        return _reshape_reference(schema["$ref"].rpartition("/")[2])
    if "items" in schema:
        return _reshape_items(_reshape(schema["items"]))
    if "additionalProperties" in schema:
        return _reshape_map(schema["additionalProperties"])
    return None


def _reshape_reference(name: str) -> Reshape | None:
    if name in _LEAVES:
        return _LEAVES[name]
    if "properties" not in definitions()[name]:
        return None

    def reshape(value: Any) -> Any:
        # Looked up at each use, not before: types refer to each other in circles.
        return shape_of(name)(value)

    return reshape


def _reshape_items(item: Reshape | None) -> Reshape | None:
    if item is None:
        return None

    def reshape(value: Any) -> Any:
        return [item(entry) for entry in value] if isinstance(value, list) else value

    return reshape


def _reshape_map(schema: JsonObject) -> Reshape:
    entry = _reshape(schema)
    if schema.get("$ref", "").endswith(".Quantity"):
        return _resource_list
    if entry is None:
        return _string_map if schema.get("type") == "string" else lambda value: value

    def reshape(value: Any) -> Any:
        return {key: entry(held) for key, held in value.items()} if isinstance(value, dict) else value

    return reshape


def _resource_list(value: Any) -> Any:
    """Amounts of resources are kept in thousandths at most."""
    if not isinstance(value, dict):
        return value
    return {
        key: canonical_quantity(held, MILLI) or held if isinstance(held, str | int | float) else held
        for key, held in value.items()
    }


def _string_map(value: Any) -> Any:
    """A key without a value holds the empty string."""
    if isinstance(value, dict) and None in value.values():
        return {key: "" if held is None else held for key, held in value.items()}
    return value
