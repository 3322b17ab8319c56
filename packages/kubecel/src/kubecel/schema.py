"""Types of expressions from OpenAPI schemas, with the sizes that their values may reach.

Two readers of schemas differ in what they make of fields about which the schema says little:

- `declare` is the API server's reading, for rules inside a CustomResourceDefinition. What has no type is not visible
  at all, and unknown fields are not either. It also works out how many elements each string, list and map can have,
  from `maxLength` and its like or from what fits into one request: the worst case of a rule's cost follows from it.
- `composition_type` is kro's reading, for resources that compositions refer to. What has no type is `dyn`, and objects
  that preserve unknown fields let them through.

Both give objects names by their place (`__type_app.spec.ports.@idx`), so that each object type has its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from kubecel.escaping import RESERVED, escape
from kubecel.sizes import Estimate
from kubecel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    ObjectType,
    Type,
    list_of,
    map_of,
)

Schema: TypeAlias = Mapping[str, Any]

TYPE_PREFIX: Final = "__type_"
"""In front of the names of types that belong to resources of a composition, so that they differ from variables."""

MAX_REQUEST: Final = 3 * 1024 * 1024
"""Bytes of the largest request that an API server accepts; nothing can be larger than that."""

_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"

_DATE_SIZE: Final = 12
_TIME_SIZE: Final = 32
"""Characters of the longest date-time or duration, with quotation marks."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A type with what the schema says about its size."""

    type: Type
    min_size: int
    """Bytes of the shortest JSON that is such a value."""
    max_elements: int = 0
    """The most characters, bytes, items or entries; 0 where size means nothing."""
    key: Declaration | None = None
    element: Declaration | None = None
    fields: Mapping[str, Declaration] = field(default_factory=dict)
    """By their names in expressions."""

    @property
    def cardinality(self) -> int:
        """How many such values fit into one request at most."""
        return MAX_REQUEST // (self.min_size + 1)

    def size_at(self, path: Sequence[str]) -> Estimate | None:
        """The size of what is found at a path below a variable of this type, if the schema tells.

        The path begins with the name of the variable; further steps are fields, `@items`, `@keys` or `@values`.
        """
        place: Declaration | None = self
        for step in path[1:]:
            if place is None:
                return None
            place = place.below(step)
        return None if place is None or not path else Estimate(0, place.max_elements)

    def below(self, step: str) -> Declaration | None:
        """What one step of a path leads to."""
        if step in ("@items", "@values"):
            return self.element
        return self.key if step == "@keys" else self.fields.get(step)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Where the two readers differ."""

    untyped: Declaration | None
    """What to make of a schema without a type."""
    keeps_unknown: bool
    """Whether unknown fields are visible where the schema preserves them."""


_DYN: Final = Declaration(DYN, 1)
_BOOLEAN: Final = Declaration(BOOL, 4)
_NUMBER: Final = Declaration(DOUBLE, 1)
_INTEGER: Final = Declaration(INT, 1)
_KEY: Final = Declaration(STRING, 2)

_STRICT: Final = _Reading(untyped=None, keeps_unknown=False)
_LENIENT: Final = _Reading(untyped=_DYN, keeps_unknown=True)


def declare(schema: Schema, name: str, *, resource: bool = False) -> Declaration | None:
    """Read a schema as the API server does for validation rules; None if rules cannot see such values.

    `resource` is set for the root of a resource: there `apiVersion`, `kind` and the names in `metadata` are always
    visible.
    """
    return _declare(schema, name, _STRICT, resource=resource)


def composition_type(schema: Schema, resource_id: str) -> Type:
    """Read a schema as kro does for a resource of a composition."""
    declared = _declare(schema, TYPE_PREFIX + resource_id, _LENIENT)
    return DYN if declared is None else declared.type


def _declare(schema: Schema, name: str, reading: _Reading, *, resource: bool = False) -> Declaration | None:
    if schema.get(_INT_OR_STRING):
        return Declaration(DYN, 1, _max_length(schema))
    if resource:
        schema = _with_identity(schema)
    match schema.get("type"):
        case "array":
            return _declare_list(schema, name, reading)
        case "object":
            return _declare_object(schema, name, reading)
        case "string":
            return _declare_string(schema)
        case "boolean":
            return _BOOLEAN
        case "number":
            return _NUMBER
        case "integer":
            return _INTEGER
    return reading.untyped


def _declare_below(schema: Schema, name: str, reading: _Reading) -> Declaration | None:
    return _declare(schema, name, reading, resource=bool(schema.get(_EMBEDDED)))


def _declare_list(schema: Schema, name: str, reading: _Reading) -> Declaration | None:
    items = schema.get("items")
    element = reading.untyped if items is None else _declare_below(items, f"{name}.@idx", reading)
    if element is None:
        return None
    most = _limit(schema, "maxItems", (MAX_REQUEST - 2) // (element.min_size + 1))
    return Declaration(list_of(element.type), 2, most, element=element)


def _declare_object(schema: Schema, name: str, reading: _Reading) -> Declaration | None:
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        return _declare_map(schema, _declare_below(additional, f"{name}.@elem", reading) or reading.untyped)
    if additional is True and reading.untyped is not None:
        return _declare_map(schema, reading.untyped)
    return _declare_fields(schema, name, reading)


def _declare_map(schema: Schema, element: Declaration | None) -> Declaration | None:
    if element is None:
        return None
    most = _limit(schema, "maxProperties", (MAX_REQUEST - 2) // (element.min_size + 6))
    return Declaration(map_of(STRING, element.type), 2, most, key=_KEY, element=element)


def _declare_fields(schema: Schema, name: str, reading: _Reading) -> Declaration:
    required = frozenset(schema.get("required") or ())
    fields: dict[str, Declaration] = {}
    keys: dict[str, str] = {}
    min_size = 2
    for key, below in (schema.get("properties") or {}).items():
        written = escape(key)
        declared = _declare_below(below, f"{name}.{written}", reading)
        if declared is None:
            continue
        if key in required and below.get("default") is None:
            min_size += len(key.encode()) + declared.min_size + 4
        if written is not None:
            fields[written] = declared
        if written is not None and written != key:
            keys[written] = key
    keeps_unknown = reading.keeps_unknown and bool(schema.get(_PRESERVE))
    declared_type = ObjectType(name, _visible(fields, keys), is_open=keeps_unknown, keys=keys)
    return Declaration(declared_type, min_size, fields=fields)


def _visible(fields: Mapping[str, Declaration], keys: Mapping[str, str]) -> dict[str, Type]:
    """The types of fields by name. Reserved words are fields under their own name as well."""
    types: dict[str, Type] = {}
    for written, declared in fields.items():
        key = keys.get(written)
        if key in RESERVED:
            types[key] = declared.type
        types[written] = declared.type
    return types


def _declare_string(schema: Schema) -> Declaration:
    match schema.get("format"):
        case "byte":
            return Declaration(BYTES, 2, _limit(schema, "maxLength", MAX_REQUEST - 2))
        case "duration":
            return Declaration(DURATION, 3, _TIME_SIZE)
        case "date":
            return Declaration(TIMESTAMP, _DATE_SIZE, _DATE_SIZE)
        case "date-time":
            return Declaration(TIMESTAMP, 21, _TIME_SIZE)
    values = schema.get("enum")
    if values and schema.get("maxLength") is None:
        longest = max((len(value.encode()) for value in values if isinstance(value, str)), default=0)
        return Declaration(STRING, 2, longest)
    return Declaration(STRING, 2, _max_length(schema))


def _max_length(schema: Schema) -> int:
    """The most bytes of a string: limits count characters, of which each may take four bytes."""
    return _limit(schema, "maxLength", MAX_REQUEST - 2, unit=4)


def _limit(schema: Schema, key: str, otherwise: int, *, unit: int = 1) -> int:
    limit = schema.get(key)
    return otherwise if limit is None else max(int(limit), 0) * unit


def _with_identity(schema: Schema) -> Schema:
    """The schema of a resource with the fields that each one has, unless it describes them all itself."""
    properties: Schema = schema.get("properties") or {}
    metadata = properties.get("metadata") or {}
    names = metadata.get("properties") or {}
    strings = (
        properties.get("kind"),
        properties.get("apiVersion"),
        names.get("name"),
        names.get("generateName"),
    )
    if metadata.get("type") == "object" and all(one and one.get("type") == "string" for one in strings):
        return schema
    string = {"type": "string"}
    identity = {"type": "object", "properties": {"name": string, "generateName": string}}
    return {
        **schema,
        "properties": {**properties, "kind": string, "apiVersion": string, "metadata": identity},
    }
