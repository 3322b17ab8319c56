"""Fill in defaults: where a field is missing, or null although null is not a value there.

Defaults are constants, so the defaults inside a default are filled in once, when the schema is compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.node import Node
from edgekeeper.schema.table import Table, needed_tables, table_of

Default: TypeAlias = Callable[[Any], None]


def compile_default(node: Node) -> Table[Default]:
    return table_of(node, compile_default, _build)


def _build(node: Node) -> dict[type, Default]:
    visits: dict[type, Default | None] = {dict: _default_object(node), list: _default_list(node)}
    return {kind: visit for kind, visit in visits.items() if visit is not None}


def _default_object(node: Node) -> Default | None:
    tables = needed_tables(node.properties, compile_default)
    fills = [(key, *_filling(child)) for key, child in node.properties.items() if child.default is not None]
    rest = _default_rest(node)
    if not tables and not fills and rest is None:
        return None

    def default(value: JsonObject) -> None:
        for key, make, nullable in fills:
            if key not in value or (value[key] is None and not nullable):
                value[key] = make()
        for key, table in tables.items():
            visit = table.get(type(value.get(key)))
            if visit is not None:
                visit(value[key])
        if rest is not None:
            rest(value)

    return default


def _default_rest(node: Node) -> Default | None:
    """The values of a map: those keys that are not declared fields."""
    if node.additional is None:
        return None
    table = compile_default(node.additional)
    make, nullable = _filling(node.additional)
    replaces_null = node.additional.default is not None and not nullable
    if not table.needed and not replaces_null:
        return None
    declared = frozenset(node.properties)

    def default(value: JsonObject) -> None:
        for key in [key for key in value if key not in declared]:
            if replaces_null and value[key] is None:
                value[key] = make()
            visit = table.get(type(value[key]))
            if visit is not None:
                visit(value[key])

    return default


def _default_list(node: Node) -> Default | None:
    if node.items is None:
        return None
    table = compile_default(node.items)
    make, nullable = _filling(node.items)
    replaces_null = node.items.default is not None and not nullable
    if not table.needed and not replaces_null:
        return None

    def default(value: list[Any]) -> None:
        for index, item in enumerate(value):
            if item is None and replaces_null:
                value[index] = make()
            visit = table.get(type(value[index]))
            if visit is not None:
                visit(value[index])

    return default


def _filling(node: Node) -> tuple[Callable[[], Any], bool]:
    """How to make a fresh default of `node`, and whether null may stand in its place."""
    template = copy_json(node.default)
    visit = compile_default(node).get(type(template))
    if visit is not None:
        visit(template)
    return lambda: copy_json(template), node.nullable


def copy_json(value: Any) -> Any:
    """Copy a JSON tree; far quicker than `copy.deepcopy`, which has to expect cycles and classes."""
    if isinstance(value, dict):
        return {key: copy_json(child) for key, child in value.items()}
    if isinstance(value, list):
        return [copy_json(child) for child in value]
    return value
