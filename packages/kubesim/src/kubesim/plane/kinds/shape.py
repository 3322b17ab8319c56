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
from kubesim.plane.kinds.age import parse_moment
from kubesim.plane.kinds.defaults import TYPE_DEFAULTS
from kubesim.plane.kinds.definitions import definitions, null_when_unset, omitted_when_zero
from kubesim.plane.kinds.quantity import MILLI, canonical_quantity

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

    __slots__ = ("_children", "_definition", "_fill", "_null", "_vanishing", "_zero")

    def __init__(self, name: str) -> None:
        self._definition = definitions()[name]
        properties: Mapping[str, JsonObject] = self._definition.get("properties", {})
        collections = {key for key, schema in properties.items() if _is_collection(schema)}
        self._vanishing = omitted_when_zero(name) | collections
        self._zero = tuple(
            (key, dict if "$ref" in schema else _constant(schema["default"]))
            for key, schema in properties.items()
            if "default" in schema
        )
        self._fill = TYPE_DEFAULTS.get(name)
        self._null = tuple(sorted(null_when_unset(name)))
        self._children: dict[str, Reshape] | None = None

    def __call__(self, value: Any) -> Any:
        if type(value) is not dict:
            return value
        vanishing = self._vanishing
        for key in [key for key, held in value.items() if not held and (held is None or key in vanishing)]:
            del value[key]
        for key, zero in self._zero:
            if key not in value:
                value[key] = zero()
        if self._fill is not None:
            self._fill(value)
        for key in self._null:
            value.setdefault(key, None)
        children = self._find_children() if self._children is None else self._children
        if children:
            for key, held in value.items():
                if key in children and held is not None:
                    value[key] = children[key](held)
        return value

    def zero(self) -> JsonObject:
        """The empty value of the type, before any defaults: what an object is that nobody has written to."""
        properties: Mapping[str, JsonObject] = self._definition.get("properties", {})
        empty: JsonObject = {key: zero() for key, zero in self._zero} | dict.fromkeys(self._null)
        for key in empty:
            if "$ref" in properties[key] and empty[key] is not None:
                empty[key] = shape_of(properties[key]["$ref"].rpartition("/")[2]).zero()
        return empty

    def _find_children(self) -> dict[str, Reshape]:
        """Find the shapes of nested types, at first use: types refer to each other in circles."""
        properties: Mapping[str, JsonObject] = self._definition.get("properties", {})
        self._children = {key: child for key, schema in properties.items() if (child := _reshape(schema))}
        return self._children


@cache
def shape_of(name: str) -> Shape:
    return Shape(name)


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _is_collection(schema: JsonObject) -> bool:
    return schema.get("type") == "array" or "additionalProperties" in schema


def _reshape(schema: JsonObject) -> Reshape | None:
    """Return how values of a property change, or `None` where they never do."""
    if "$ref" in schema:
        return _reshape_reference(schema["$ref"].rpartition("/")[2])
    if "items" in schema:
        return _reshape_items(schema["items"])
    if "additionalProperties" in schema:
        return _reshape_map(schema["additionalProperties"])
    return None


def _reshape_reference(name: str) -> Reshape | None:
    if name in _LEAVES:
        return _LEAVES[name]
    return shape_of(name) if "properties" in definitions()[name] else None


def _reshape_items(schema: JsonObject) -> Reshape:
    item = _reshape(schema)
    zero = dict if "$ref" in schema else _constant(schema.get("default"))

    def reshape(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        if None in value:
            value = [zero() if entry is None else entry for entry in value]
        return [item(entry) for entry in value] if item is not None else value

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
