"""Safe access to JSON trees.

Objects whose kind is not known in advance are plain dictionaries. Users write them, so any level may be missing or of
the wrong type; `dig` returns `None` then instead of raising.
"""

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]


def dig(tree: Any, *path: str | int) -> Any:
    """Return the value at `path`, or `None` if any step of it is missing or of another type."""
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
