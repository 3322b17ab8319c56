"""What a pass does at one node, by the type of the value that stands there.

A pass (pruning, checking, …) compiles a node to a `Table`: the visits that values of a JSON type need. A type without an
entry needs none, which lets a parent skip most leaves without a call, and lets a pass leave out whole subtrees.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any, Generic, TypeVar

from edgekeeper.schema.node import Node

TYPE_NAMES: dict[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    NoneType: "null",
}
"""The JSON types as Python's decoder delivers them, with their names in schemas."""

Visit = TypeVar("Visit", bound=Callable[..., Any])


class Table(dict[type, Visit], Generic[Visit]):
    """Visits by type. `pending` while its own node is still being compiled: then it counts as not empty."""

    pending = False

    @property
    def needed(self) -> bool:
        return self.pending or bool(self)


def table_of(node: Node, key: object, build: Callable[[Node], dict[type, Visit]]) -> Table[Visit]:
    """Compile `node` for the pass `key`, once. A node that contains itself meets its own unfinished table."""
    known: Table[Visit] | None = node.passes.get(key)
    if known is not None:
        return known
    table: Table[Visit] = Table()
    table.pending = True
    node.passes[key] = table
    table.update(build(node))
    table.pending = False
    return table


def needed_tables(
    children: dict[str, Node], compile_child: Callable[[Node], Table[Visit]]
) -> dict[str, Table[Visit]]:
    """Compile children and keep those that have something to do."""
    tables = {key: compile_child(child) for key, child in children.items()}
    return {key: table for key, table in tables.items() if table.needed}
