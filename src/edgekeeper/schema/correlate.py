"""What became of what: old values and their new counterparts.

Kubernetes can tell for fields and map keys, by their names, and for items of lists with type `map`, by their keys.
Items of other lists have no counterpart; such lists are only compared as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.node import Node


def old_items(node: Node, old: Any) -> Callable[[Any], Any]:
    """Return the function that finds what an item of a list was before, or `None`."""
    if node.list_type != "map" or not node.list_keys or not isinstance(old, list) or not old:
        return lambda _: None
    before: dict[Any, Any] = {}
    for item in old:
        before.setdefault(_item_key(node, item), item)
    before.pop(None, None)
    return lambda item: before.get(_item_key(node, item))


def _item_key(node: Node, item: Any) -> tuple[Any, ...] | None:
    """The identity of an item in a list of type `map`, or `None` where a key is missing or no scalar."""
    if not isinstance(item, dict):
        return None
    values = [item.get(key) for key in node.list_keys]
    if not all(isinstance(value, str | bool | int | float) for value in values):
        return None
    return tuple((type(value) is bool, value) for value in values)


def is_same(node: Node | None, value: Any, old: Any) -> bool:
    """Compare a value with its old counterpart. Objects with fields that no schema describes are never the same."""
    if isinstance(value, dict) and isinstance(old, dict):
        return value.keys() == old.keys() and _same_fields(node, value, old)
    if isinstance(value, list) and isinstance(old, list):
        return len(value) == len(old) and _same_items(node, value, old)
    return type(value) is type(old) and bool(value == old)


def _same_fields(node: Node | None, value: JsonObject, old: JsonObject) -> bool:
    if node is None:
        return not value
    children = {key: node.properties.get(key, node.additional) for key in value}
    return all(child is not None and is_same(child, value[key], old[key]) for key, child in children.items())


def _same_items(node: Node | None, value: list[Any], old: list[Any]) -> bool:
    if node is None or node.list_type != "map":
        return value == old
    find_old = old_items(node, old)
    pairs = [(item, find_old(item)) for item in value]
    return all(before is not None and is_same(node.items, item, before) for item, before in pairs)
