"""A schema as a tree: each place where a value may stand is a `Node` that knows its children.

Custom kinds bring one inlined schema. Built-in kinds share definitions that name each other through `$ref`, some of
them recursively (the schema of CustomResourceDefinition contains schemas), so children are found when asked for and
one definition is one node, however many kinds refer to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
"""Present in every object, whatever its schema says."""

_INT_OR_STRING = ("integer", "string")


class Definitions(Mapping[str, JsonObject]):
    """Named schemas, and the nodes made of them so far. Kinds compiled with the same instance share their closures."""

    def __init__(self, schemas: Mapping[str, JsonObject]) -> None:
        self._schemas = schemas
        self._nodes: dict[str, Node] = {}

    def __getitem__(self, name: str) -> JsonObject:
        return self._schemas[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)

    def node(self, name: str) -> Node:
        if name not in self._nodes:
            self._nodes[name] = Node(self._schemas.get(name, {}), self, name)
        return self._nodes[name]


class Node:
    """One schema. `definitions` is set for built-in kinds, where objects without declared fields hold anything."""

    def __init__(
        self,
        source: JsonObject,
        definitions: Definitions | None = None,
        name: str = "",
        *,
        root: bool = False,
    ) -> None:
        self.source = source
        self.definitions = definitions
        self.name = name
        self.root = root
        self.passes: dict[object, Any] = {}
        """What each pass has compiled this node to; filled by the passes."""

    @property
    def builtin(self) -> bool:
        return self.definitions is not None

    def child(self, source: Any) -> Node:
        """Make the node of a subschema, through its reference if it is one (bare, or wrapped in a lone `allOf`)."""
        schema: JsonObject = source if isinstance(source, dict) else {}
        reference = schema.get("$ref") or dig(schema, "allOf", 0, "$ref")
        if self.definitions is None or not isinstance(reference, str):
            return Node(schema, self.definitions)
        return self.definitions.node(reference.rpartition("/")[2])

    @cached_property
    def properties(self) -> dict[str, Node]:
        return {key: self.child(schema) for key, schema in dig_object(self.source, "properties").items()}

    @cached_property
    def items(self) -> Node | None:
        items = self.source.get("items")
        return self.child(items) if isinstance(items, dict) else None

    @cached_property
    def additional(self) -> Node | None:
        """The schema of map values."""
        additional = self.source.get("additionalProperties")
        return self.child(additional) if isinstance(additional, dict) else None

    @property
    def closed(self) -> bool:
        """`additionalProperties: false`: keys that are not declared are errors."""
        return self.source.get("additionalProperties") is False

    @property
    def open(self) -> bool:
        """Any key may stand here, as in a map."""
        return self.source.get("additionalProperties") is not None

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The JSON types allowed here; none means any."""
        if self.source.get("x-kubernetes-int-or-string") or self.source.get("format") == "int-or-string":
            return _INT_OR_STRING
        declared = self.source.get("type")
        return (declared,) if isinstance(declared, str) and declared else ()

    @property
    def nullable(self) -> bool:
        return bool(self.source.get("nullable"))

    @cached_property
    def preserves_unknown(self) -> bool:
        """Unknown fields stay. Built-in kinds say so by declaring no fields at all (raw extensions, JSON values)."""
        undeclared = (
            self.builtin and not self.properties and not self.open and self.types in ((), ("object",))
        )
        return bool(self.source.get("x-kubernetes-preserve-unknown-fields")) or undeclared

    def preserving(self) -> Node:
        """The same node, except that unknown fields stay."""
        kept = {**self.source, "x-kubernetes-preserve-unknown-fields": True}
        return self if self.preserves_unknown else Node(kept, self.definitions, self.name)

    @property
    def embedded(self) -> bool:
        """A whole Kubernetes object stands here."""
        return bool(self.source.get("x-kubernetes-embedded-resource"))

    @cached_property
    def default(self) -> Any:
        """The default value, or `None`. Published schemas of built-in kinds also list Go's zero values: not defaults."""
        value = self.source.get("default")
        return None if self.builtin and not value else value

    @property
    def list_type(self) -> str:
        return str(self.source.get("x-kubernetes-list-type") or "atomic")

    @cached_property
    def list_keys(self) -> tuple[str, ...]:
        return tuple(dig_list(self.source, "x-kubernetes-list-map-keys"))
