"""Visit the places of an object that have something to say beyond their own schema, and only those.

List uniqueness, embedded objects and validation rules are rare in a schema. Each brings a function that turns a node
into a `Local` inspection, or `None`; the walk finds the way there, keeping track of the path and of the old value.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any, TypeAlias

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.correlate import is_same, old_items
from edgekeeper.schema.field_error import FieldError
from edgekeeper.schema.node import Node
from edgekeeper.schema.table import TYPE_NAMES, Table, needed_tables, table_of

Local: TypeAlias = Callable[[Any, Any, str, bool], list[FieldError]]
"""`(value, old value or None, path, unchanged)`: unchanged if this or what surrounds it equals its old value."""

Inspect: TypeAlias = Callable[[Node], Local | None]
Walk: TypeAlias = Table[Local]


def compile_walk(node: Node, inspect: Inspect) -> Walk:
    return table_of(node, (compile_walk, inspect), lambda inner: _build(inner, inspect))


def walk(table: Walk, value: Any, old: Any = None, path: str = "") -> list[FieldError]:
    visit = table.get(type(value))
    return visit(value, old, path, False) if visit is not None else []


def _build(node: Node, inspect: Inspect) -> dict[type, Local]:
    own = inspect(node)
    below: dict[type, Local | None] = {dict: _walk_object(node, inspect), list: _walk_list(node, inspect)}
    visits = {kind: _both(node, own, below.get(kind)) for kind in TYPE_NAMES if kind is not NoneType}
    return {kind: visit for kind, visit in visits.items() if visit is not None}


def _both(node: Node, own: Local | None, below: Local | None) -> Local | None:
    if own is None:
        return below

    def visit(value: Any, old: Any, path: str, unchanged: bool) -> list[FieldError]:
        unchanged = unchanged or (old is not None and is_same(node, value, old))
        errors = own(value, old, path, unchanged)
        return errors + below(value, old, path, unchanged) if below is not None else errors

    return visit


def _walk_object(node: Node, inspect: Inspect) -> Local | None:
    tables = needed_tables(node.properties, lambda child: compile_walk(child, inspect))
    rest = compile_walk(node.additional, inspect) if node.additional is not None else Table[Local]()
    declared = frozenset(node.properties)
    if not tables and not rest.needed:
        return None

    def visit(value: JsonObject, old: Any, path: str, unchanged: bool) -> list[FieldError]:
        errors: list[FieldError] = []
        unchanged = unchanged or (old is not None and is_same(node, value, old))
        before = old if isinstance(old, dict) else {}
        for key, table in tables.items():
            visit_child = table.get(type(value.get(key)))
            if visit_child is not None:
                errors += visit_child(
                    value[key], before.get(key), f"{path}.{key}" if path else key, unchanged
                )
        for key in value.keys() - declared if rest else ():
            visit_child = rest.get(type(value[key]))
            if visit_child is not None:
                errors += visit_child(value[key], before.get(key), f"{path}[{key}]", unchanged)
        return errors

    return visit


def _walk_list(node: Node, inspect: Inspect) -> Local | None:
    if node.items is None:
        return None
    table = compile_walk(node.items, inspect)
    if not table.needed:
        return None

    def visit(value: list[Any], old: Any, path: str, unchanged: bool) -> list[FieldError]:
        errors: list[FieldError] = []
        unchanged = unchanged or (old is not None and is_same(node, value, old))
        find_old = old_items(node, old)
        for index, item in enumerate(value):
            visit_item = table.get(type(item))
            if visit_item is not None:
                errors += visit_item(item, find_old(item), f"{path}[{index}]", unchanged)
        return errors

    return visit
