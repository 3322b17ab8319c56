"""Remove what a schema does not know: unknown fields, and nulls where null is not a value.

Unknown fields are reported, because strict field validation lists them. Nulls vanish silently, as Go's decoder ignores
them; a null with a default stays for defaulting to replace.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, TypeAlias

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.node import META_FIELDS, Node
from edgekeeper.schema.problem import Steps
from edgekeeper.schema.table import Table, table_of

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
_CONTAINERS = frozenset({dict, list})


def compile_prune(node: Node) -> Table[Prune]:
    return table_of(node, compile_prune, _build)


def compile_root_prune(node: Node) -> Table[Prune]:
    """The pass for a whole object: its `apiVersion`, `kind` and `metadata` are not the schema's business."""
    return Table({dict: _prune_object(node, META_FIELDS)})


def _build(node: Node) -> dict[type, Prune]:
    return {dict: _prune_object(node, META_FIELDS if node.embedded else frozenset()), list: _prune_list(node)}


def _prune_object(node: Node, kept: frozenset[str]) -> Prune:
    declared = {key: child for key, child in node.properties.items() if key not in kept}
    tables = {key: compile_prune(child) for key, child in declared.items()}
    if node.embedded and not node.root:
        tables["metadata"] = _METADATA
    if node.open or node.preserves_unknown:
        return _prune_open(node, tables)
    known = frozenset(declared) | kept
    nullable = _null_allowed(declared) | kept

    def prune(value: JsonObject) -> Removed:
        removed = _NOTHING if value.keys() <= known else _drop_unknown(value, known)
        if None in value.values():
            _drop_nulls(value, nullable)
        return removed + found if (found := _prune_children(value, tables, _KEPT)) else removed

    return prune


def _prune_open(node: Node, tables: dict[str, Table[Prune]]) -> Prune:
    """Maps, and objects that keep unknown fields: only nulls are removed here, the rest further down."""
    nullable = _null_allowed(node.properties)
    declared = frozenset(node.properties)
    if node.additional is not None:
        rest = compile_prune(node.additional)
        rest_nullable = node.additional.nullable or node.additional.default is not None
    else:
        rest = _EVERYTHING_UNKNOWN if not node.preserves_unknown else _KEPT
        rest_nullable = True

    def prune(value: JsonObject) -> Removed:
        if None in value.values():
            _drop_nulls(value, nullable | (value.keys() - declared) if rest_nullable else nullable)
        return _prune_children(value, tables, rest)

    return prune


def _prune_children(value: JsonObject, tables: dict[str, Table[Prune]], rest: Table[Prune]) -> Removed:
    removed = _NOTHING
    for key, child in value.items():
        if type(child) in _CONTAINERS:
            visit = tables.get(key, rest).get(type(child))
            if visit is not None and (found := visit(child)):
                removed = removed + _under(key, found)
    return removed


def _prune_list(node: Node) -> Prune:
    if node.items is not None:
        table = compile_prune(node.items.preserving() if node.preserves_unknown else node.items)
    else:
        table = _KEPT if node.preserves_unknown else _EVERYTHING_UNKNOWN

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


_KEPT: Table[Prune] = Table()
"""Nothing is removed here."""

_EVERYTHING_UNKNOWN: Table[Prune] = Table({dict: _drop_everything, list: _drop_everything_in_items})
"""Below a place without a schema, objects lose all their fields."""


def _prune_metadata(value: JsonObject) -> Removed:
    return _drop_unknown(value, OBJECT_META_FIELDS)


_METADATA: Table[Prune] = Table({dict: _prune_metadata})


def _drop_unknown(value: JsonObject, known: frozenset[str]) -> Removed:
    unknown = [key for key in value if key not in known]
    for key in unknown:
        del value[key]
    return [(key,) for key in unknown]


def _drop_nulls(value: JsonObject, allowed: Set[str]) -> None:
    for key in [key for key, child in value.items() if child is None and key not in allowed]:
        del value[key]


def _null_allowed(children: dict[str, Node]) -> frozenset[str]:
    return frozenset(key for key, child in children.items() if child.nullable or child.default is not None)


def _under(step: str | int, removed: Removed) -> Removed:
    return [(step, *steps) for steps in removed]
