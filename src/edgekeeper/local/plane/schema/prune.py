"""Remove what a schema does not know: unknown fields, and nulls where null is not a value.

Unknown fields are reported, because strict field validation lists them. Nulls vanish silently, as Go's decoder ignores
them; a null with a default stays for defaulting to replace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from edgekeeper.core.json import JsonObject
from edgekeeper.local.plane.schema.node import META_FIELDS, Node
from edgekeeper.local.plane.schema.problem import Steps
from edgekeeper.local.plane.schema.table import Table, needed_tables, table_of

Removed: TypeAlias = list[Steps]
"""Where fields were removed, seen from the value at hand."""

Prune: TypeAlias = Callable[[Any], Removed]

OBJECT_META_FIELDS = frozenset(
    {
        *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation"),
        *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations"),
        *("ownerReferences", "finalizers", "managedFields"),
    }
)

_NOTHING: Removed = []


def compile_prune(node: Node) -> Table[Prune]:
    return table_of(node, compile_prune, _build)


def compile_root_prune(node: Node) -> Table[Prune]:
    """The pass for a whole object: its `apiVersion`, `kind` and `metadata` are not the schema's business."""
    return Table({dict: _prune_object(node, META_FIELDS, reaches_meta=False)})


def _build(node: Node) -> dict[type, Prune]:
    """Scalars have no fields; that an object stands in their place is for validation to say."""
    visits: dict[type, Prune | None] = {}
    if not node.types or "object" in node.types:
        visits[dict] = _prune_object(
            node, META_FIELDS if node.embedded else frozenset(), reaches_meta=node.embedded
        )
    if not node.types or "array" in node.types:
        visits[list] = _prune_list(node)
    return {kind: visit for kind, visit in visits.items() if visit is not None}


def _prune_object(node: Node, kept: frozenset[str], *, reaches_meta: bool) -> Prune:
    declared = {key: child for key, child in node.properties.items() if key not in kept}
    tables = needed_tables(declared, compile_prune)
    if reaches_meta:
        tables["metadata"] = Table({dict: _prune_metadata})
    if node.open or node.preserves_unknown:
        return _prune_open(node, tables, declared)
    known = frozenset(declared) | kept
    nullable = _null_allowed(declared) | kept

    def prune(value: JsonObject) -> Removed:
        removed = _NOTHING if value.keys() <= known else _drop_unknown(value, known)
        if None in value.values():
            _drop_nulls(value, nullable)
        for key, table in tables.items():
            if key in value:
                visit = table.get(type(value[key]))
                if visit is not None and (found := visit(value[key])):
                    removed = removed + _under(key, found)
        return removed

    return prune


def _prune_open(node: Node, tables: dict[str, Table[Prune]], declared: dict[str, Node]) -> Prune:
    """Maps, and objects that keep unknown fields: only nulls are removed here, the rest further down."""
    nullable = _null_allowed(declared)
    if node.additional is not None:
        rest = compile_prune(node.additional)
        rest_nullable = node.additional.nullable or node.additional.default is not None
    else:
        rest = _EVERYTHING_UNKNOWN if node.open and not node.preserves_unknown else Table()
        rest_nullable = True

    def drop_nulls(value: JsonObject) -> Removed:
        if None in value.values():
            undeclared = frozenset(value).difference(declared) if rest_nullable else frozenset()
            _drop_nulls(value, nullable | undeclared)
        return _NOTHING

    def prune(value: JsonObject) -> Removed:
        removed = drop_nulls(value)
        for key, child in value.items():
            table = rest if key not in declared else tables.get(key)
            visit = table.get(type(child)) if table is not None else None
            if visit is not None and (found := visit(child)):
                removed = removed + _under(key, found)
        return removed

    return prune if tables or rest.needed else drop_nulls


def _prune_list(node: Node) -> Prune | None:
    if node.items is not None:
        table = compile_prune(node.items.preserving() if node.preserves_unknown else node.items)
    else:
        table = Table() if node.preserves_unknown else _EVERYTHING_UNKNOWN
    if not table.needed:
        return None

    def prune(value: list[Any]) -> Removed:
        removed = _NOTHING
        for index, item in enumerate(value):
            visit = table.get(type(item))
            if visit is not None and (found := visit(item)):
                removed = removed + _under(index, found)
        return removed

    return prune


def _drop_everything(value: JsonObject) -> Removed:
    removed: Removed = [(key,) for key in value]
    value.clear()
    return removed


def _drop_everything_in_items(value: list[Any]) -> Removed:
    removed = _NOTHING
    for index, item in enumerate(value):
        visit = _EVERYTHING_UNKNOWN.get(type(item))
        if visit is not None:
            removed = removed + _under(index, visit(item))
    return removed


_EVERYTHING_UNKNOWN: Table[Prune] = Table({dict: _drop_everything, list: _drop_everything_in_items})
"""Below a place without a schema, objects lose all their fields."""


def _prune_metadata(value: JsonObject) -> Removed:
    return _drop_unknown(value, OBJECT_META_FIELDS)


def _drop_unknown(value: JsonObject, known: frozenset[str]) -> Removed:
    unknown = [key for key in value if key not in known]
    for key in unknown:
        del value[key]
    return [(key,) for key in unknown]


def _drop_nulls(value: JsonObject, allowed: frozenset[str]) -> None:
    for key in [key for key, child in value.items() if child is None and key not in allowed]:
        del value[key]


def _null_allowed(children: dict[str, Node]) -> frozenset[str]:
    return frozenset(key for key, child in children.items() if child.nullable or child.default is not None)


def _under(step: str | int, removed: Removed) -> Removed:
    return [(step, *steps) for steps in removed]
