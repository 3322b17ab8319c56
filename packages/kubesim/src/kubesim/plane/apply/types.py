"""How each part of an object merges: an OpenAPI schema seen as structured-merge-diff sees it.

Every schema node says for each form a value can take (scalar, list, map) how ownership works there: a granular map is
owned field by field, an atomic one as a whole; a list is atomic, a set of values, or a map of items under some keys.
A node without a type allows every form, and what lies below it is deduced: maps granular, lists atomic.

Nodes are compiled when first visited, so that a large or recursive schema costs only what objects really use.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.plane.apply.element import key_element, literal, value_element
from kubesim.plane.apply.metadata import OBJECT_META, STRING
from kubesim.plane.apply.zero import reference, zero_struct

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"


class UnkeyedItemError(ValueError):
    """An item that a set or list map cannot hold, because nothing tells it from the others."""


class Node:
    """What a value at one place may be; any of the three forms can be absent."""

    __slots__ = ("list", "map", "scalar")

    def __init__(self, scalar: str = "", list_: ListType | None = None, map_: MapType | None = None) -> None:
        self.scalar = scalar
        """`numeric`, `string`, `boolean`, `untyped`, or empty where no scalar may stand."""
        self.list = list_
        self.map = map_

    def below(self, element: str) -> Node:
        """The node that a step of a field path leads to."""
        if self.map is not None and element.startswith("f:"):
            return self.map.fields[element[2:]][1]
        if self.list is not None and element.startswith("k:"):
            return self.list.element
        return NOTHING


class MapType:
    """A struct or a map: declared fields, and the type of all others."""

    __slots__ = ("atomic", "declared", "deduced", "fields", "open")

    def __init__(self, fields: Fields, *, atomic: bool, open_: bool) -> None:
        self.fields = fields
        self.declared = fields.schemas
        self.atomic = atomic
        self.open = open_
        """Undeclared fields are allowed."""
        self.deduced = open_ and not fields.schemas and fields.is_deduced
        """Nothing at all is known about the content."""


class Fields(dict[str, tuple[str, Node]]):
    """Field name to its path element and node; declared fields are compiled and kept when first asked for."""

    def __init__(
        self, compiler: _Compiler, schemas: Mapping[str, JsonObject], other: Any, preserve: bool
    ) -> None:
        super().__init__()
        self.schemas = schemas
        self.is_deduced = other is None
        self._compiler = compiler
        self._other_schema = other
        self._preserve = preserve

    def __missing__(self, name: str) -> tuple[str, Node]:
        schema = self.schemas.get(name)
        if schema is None:
            return f"f:{name}", self._other
        field = f"f:{name}", self._compiler.node(schema, self._preserve)
        self[name] = field
        return field

    @cached_property
    def _other(self) -> Node:
        if self._other_schema is None:
            return DEDUCED
        return self._compiler.node(self._other_schema, self._preserve)


class ListType:
    """A list: atomic, a set of scalars (no keys), or a map of items told apart by `keys`."""

    def __init__(self, compiler: _Compiler, schema: JsonObject, preserve: bool) -> None:
        self.atomic, self.keys = _list_relationship(schema)
        self._sorted_keys = tuple(sorted(self.keys))
        self._compiler = compiler
        self._items = schema.get("items")
        self._preserve = preserve

    @cached_property
    def element(self) -> Node:
        return UNTYPED if self._items is None else self._compiler.node(self._items, self._preserve)

    @cached_property
    def _defaults(self) -> JsonObject:
        item = self.element.map
        declared = item.declared if item is not None else {}
        return {key: declared[key]["default"] for key in self.keys if "default" in declared.get(key, ())}

    def element_of(self, item: Any) -> str:
        """The path element that identifies an item."""
        return self._keyed_element(item) if self.keys else _set_element(item)

    def _keyed_element(self, item: Any) -> str:
        if item is None:
            raise UnkeyedItemError("associative list with keys may not have a null element")
        if not isinstance(item, dict):
            raise UnkeyedItemError("associative list with keys may not have non-map elements")
        if len(self._sorted_keys) == 1:
            key = self._sorted_keys[0]
            if key in item:
                return f'k:{{"{key}":{literal(item[key])}}}'
        found = {**self._defaults, **item} if self._defaults else item
        fields = [(key, found[key]) for key in self._sorted_keys if key in found]
        if not fields:
            names = " ".join(f'"{key}"' for key in self.keys)
            raise UnkeyedItemError(
                f"associative list with keys has an element that omits all key fields [{names}] "
                "(and doesn't have default values for any key fields)"
            )
        return key_element(fields)


def _set_element(item: Any) -> str:
    if isinstance(item, dict):
        raise UnkeyedItemError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise UnkeyedItemError("not supported: associative list with lists as elements")
    if item is None:
        raise UnkeyedItemError("associative list without keys has an element that's an explicit null")
    return value_element(item)


def _list_relationship(schema: JsonObject) -> tuple[bool, tuple[str, ...]]:
    """Whether a list is atomic, and the keys of its items."""
    list_type = schema.get("x-kubernetes-list-type")
    if list_type is not None:
        keys = schema.get("x-kubernetes-list-map-keys", ()) if list_type == "map" else ()
        return list_type not in {"set", "map"}, tuple(keys)
    if schema.get("x-kubernetes-patch-strategy") in {"merge", "merge,retainKeys"}:
        key = schema.get("x-kubernetes-patch-merge-key")
        return False, () if key is None else (key,)
    return True, ()


class _Compiler:
    """Turns schemas into nodes, each named definition once."""

    def __init__(self, definitions: Mapping[str, JsonObject]) -> None:
        self._definitions = definitions
        self._named: dict[str, Node] = {}

    def node(self, schema: JsonObject, preserve: bool = False) -> Node:
        """Compile one schema; `preserve` says that a node above keeps unknown fields, which is inherited."""
        name = reference(schema)
        if name:
            return self._overridden(self._definition(name), schema)
        preserve = preserve or schema.get(_PRESERVE) is True
        kind = schema.get("type", "")
        if kind == "object":
            return Node(map_=self._map(schema, preserve))
        if kind == "array":
            return Node(list_=ListType(self, schema, preserve))
        if kind:
            return Node(scalar=_scalar(kind, schema.get("format", "")))
        return Node("untyped", ListType(self, schema, preserve), self._map(schema, preserve))

    def resource(self, schema: JsonObject) -> Node:
        """Compile the root of a custom resource, whose metadata is known whatever its schema says."""
        typed = {"type": "object", **schema, _EMBEDDED: True}
        return self.node(typed)

    def _definition(self, name: str) -> Node:
        node = self._named.get(name)
        if node is None:
            if name == _QUANTITY:
                node = Node(scalar="untyped")
            elif name == _RAW_EXTENSION:
                node = UNTYPED
            else:
                node = self.node(self._definitions[name])
            self._named[name] = node
        return node

    def _map(self, schema: JsonObject, preserve: bool) -> MapType:
        properties = schema.get("properties") or {}
        if schema.get(_EMBEDDED) is True:
            properties = {**properties, "apiVersion": STRING, "kind": STRING, "metadata": OBJECT_META}
        other = schema.get("additionalProperties")
        open_ = bool(other) or isinstance(other, dict) or (other is None and (preserve or not properties))
        fields = Fields(self, properties, other if isinstance(other, dict) else None, preserve)
        return MapType(fields, atomic=schema.get("x-kubernetes-map-type") == "atomic", open_=open_)

    def _overridden(self, node: Node, schema: JsonObject) -> Node:
        """A reference may say anew whether the map it refers to is atomic."""
        map_type = schema.get("x-kubernetes-map-type")
        if map_type is None or node.map is None or node.map.atomic == (map_type == "atomic"):
            return node
        changed = MapType(node.map.fields, atomic=map_type == "atomic", open_=node.map.open)
        return Node(node.scalar, node.list, changed)


def _scalar(kind: str, form: str) -> str:
    if kind in {"integer", "number"}:
        return "numeric"
    if kind == "boolean":
        return "boolean"
    return "string" if kind == "string" and form in {"", "byte"} else "untyped"


class FieldTypes:
    """The types of one kind in one version."""

    __slots__ = ("builtin", "root", "unset")

    def __init__(self, root: Node, unset: JsonObject, *, builtin: bool) -> None:
        self.root = root
        self.unset = unset
        """What stands in for the live object when one is created; never changed."""
        self.builtin = builtin

    @classmethod
    def of(cls, schema: JsonObject, definitions: Mapping[str, JsonObject] | None = None) -> FieldTypes:
        """The view of a custom resource's inline schema, or of a built-in one with its definitions.

        Built-in objects are expected in their normal form, as they come out of the server's own types.
        """
        if not definitions:
            return cls(_Compiler({}).resource(schema), {}, builtin=False)
        return cls(_Compiler(definitions).node(schema), zero_struct(schema, definitions), builtin=True)


_NO_DEFINITIONS = _Compiler({})

NOTHING = Node()
"""Where no value can stand."""

UNTYPED = Node(
    "untyped",
    ListType(_NO_DEFINITIONS, {}, preserve=True),
    MapType(Fields(_NO_DEFINITIONS, {}, {}, preserve=True), atomic=True, open_=True),
)
"""Anything, owned as a whole."""

DEDUCED = _NO_DEFINITIONS.node({})
"""Anything; maps are owned key by key, lists as a whole."""
