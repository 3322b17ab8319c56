"""Copying and comparing JSON trees with JSON's notion of equality."""

from __future__ import annotations

from typing import Any


def clone(value: Any) -> Any:
    """Return a deep copy. JSON knows two containers, so this beats `copy.deepcopy` by far."""
    if type(value) is dict:
        return {key: clone(item) for key, item in value.items()}
    if type(value) is list:
        return [clone(item) for item in value]
    return value


def same(left: Any, right: Any) -> bool:
    """Tell whether two trees are equal. Unlike Python, `1`, `1.0` and `true` are three different values."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(item, right[key]) for key, item in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)
