"""How Go names and prints JSON values, for the messages in which the real server shows them raw."""

from __future__ import annotations

from typing import Any

from edgekeeper.schema.gotext import show_number

_JSON_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (int, "number"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)
_GO_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (int, "int64"),
    (float, "float64"),
    (str, "string"),
    (list, "[]interface {}"),
    (dict, "map[string]interface {}"),
)


def json_name(value: Any) -> str:
    """Return the JSON name of a value's type, as decoding errors give it."""
    return next((name for kind, name in _JSON_NAMES if isinstance(value, kind)), "null")


def go_type(value: Any) -> str:
    """Return the Go type that a decoded value has, as reflection prints it."""
    return next((name for kind, name in _GO_TYPES if isinstance(value, kind)), "%!s(<nil>)")


def go_text(value: Any) -> str:
    """Print a value as `%v` does: `map[a:1 b:[x y]]`, keys sorted, strings bare."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    return show_number(value) if isinstance(value, float) else str(value)
