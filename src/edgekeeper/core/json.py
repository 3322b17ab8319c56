"""JSON trees, the currency of Kubernetes, and the one safe way to look into them.

Objects travel as plain dictionaries wherever their kind is not known in advance. Users write them, so any
level may be missing or of the wrong type; `dig` answers `None` there instead of raising.
"""

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]


def dig(tree: Any, *path: str | int) -> Any:
    """Return the value at `path`, or `None` where any step of it is missing or of another type."""
    for step in path:
        if isinstance(tree, dict):
            tree = tree.get(step)
        elif isinstance(tree, list) and isinstance(step, int) and -len(tree) <= step < len(tree):
            tree = tree[step]
        else:
            return None
    return tree


def dig_object(tree: Any, *path: str | int) -> JsonObject:
    """Return the object at `path`, or an empty one: for reading only, never stored back."""
    value = dig(tree, *path)
    return value if isinstance(value, dict) else {}


def dig_list(tree: Any, *path: str | int) -> list[Any]:
    """Return the list at `path`, or an empty one: for reading only, never stored back."""
    value = dig(tree, *path)
    return value if isinstance(value, list) else []
