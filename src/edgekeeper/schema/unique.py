"""Lists that declare to be sets or maps must not hold an item twice."""

from __future__ import annotations

from typing import Any

import msgspec

from edgekeeper.schema.field_error import FieldError, duplicate_value, invalid_value
from edgekeeper.schema.node import Node
from edgekeeper.schema.walk import Local


def inspect_uniqueness(node: Node) -> Local | None:
    if node.list_type == "set":
        return _check_set
    if node.list_type == "map":
        return lambda value, _old, path, _unchanged: _check_map(value, path, node.list_keys)
    return None


def _check_set(value: Any, _old: Any, path: str, _unchanged: bool) -> list[FieldError]:
    if not isinstance(value, list) or _evidently_distinct(value):
        return []
    return _duplicates(value, path)


def _check_map(value: Any, path: str, keys: tuple[str, ...]) -> list[FieldError]:
    if not isinstance(value, list):
        return []
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            detail = "must be an object for an array of list-type map"
            return [invalid_value(f"{path}[{index}]", item, detail)]
    if _evidently_distinct(
        [tuple([item.get(key) for key in keys]) if item is not None else () for item in value]
    ):
        return []
    return _duplicates(
        [{key: item[key] for key in keys if key in item} if item else {} for item in value], path
    )


def _evidently_distinct(items: list[Any]) -> bool:
    """A quick way to say yes. Python takes 1, 1.0 and true for equal, so a no needs the precise comparison."""
    try:
        return len(set(items)) == len(items)
    except TypeError:  # objects and lists do not hash
        return False


def _duplicates(items: list[Any], path: str) -> list[FieldError]:
    """Report the second appearance of each value, and no further ones."""
    times: dict[bytes, int] = {}
    errors = []
    for index, item in enumerate(items):
        identity = msgspec.json.encode(item, order="sorted")
        times[identity] = times.get(identity, 0) + 1
        if times[identity] == 2:
            errors.append(duplicate_value(f"{path}[{index}]", item))
    return errors
