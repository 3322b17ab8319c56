"""Looking into lists, maps and optionals: `container.field`, `container[key]`, and the forms that may find nothing.

Fields of objects are keys of maps. A field of something that has no fields is a missing key, as in cel-go: a status may
still be null. Looking into an optional gives an optional, and never fails for want of data.
"""

from __future__ import annotations

from typing import Final

from kubecel.errors import ErrorKind, EvaluationError, no_such_key
from kubecel.values import INT_MAX, INT_MIN, NONE, Optional, Value, map_key, type_of_value

KEYS: Final = (str, int, float)
"""What a map can be asked for: strings, booleans and numbers."""

MISSING: Final = object()
"""Stands for what is not there; never a value."""


def select_field(value: Value, field: str) -> Value:
    """`value.field`."""
    if isinstance(value, Optional):
        return find_optional(value, field)
    found = find(value, field)
    if found is MISSING:
        raise no_such_key(field)
    return found


def has_field(value: Value, field: str) -> bool:
    """`has(value.field)`."""
    if isinstance(value, Optional):
        return value.present and has_field(value.value, field)
    return find(value, field) is not MISSING


def index_value(container: Value, key: Value) -> Value:
    """`container[key]`."""
    if isinstance(container, Optional):
        return find_optional(container, key)
    found = find(container, key)
    if found is not MISSING:
        return found
    if isinstance(container, list | tuple):
        raise EvaluationError(ErrorKind.INDEX_OUT_OF_BOUNDS, f"index out of bounds: {key}")
    raise no_such_key(key)


def find_optional(container: Value, key: Value) -> Optional:
    """`container.?key` and `container[?key]`."""
    if isinstance(container, Optional):
        if not container.present:
            return NONE
        container = container.value
    found = find(container, key)
    return NONE if found is MISSING else Optional.of(found)


def find(container: Value, key: Value) -> Value:
    """What a container holds at a key, or `MISSING`."""
    if not isinstance(key, KEYS):
        raise EvaluationError(ErrorKind.UNSUPPORTED_KEY, f"unsupported key type: {type_of_value(key)}")
    if isinstance(container, dict):
        return container.get(map_key(key), MISSING)
    if isinstance(container, list | tuple):
        index = list_index(key)
        return container[index] if 0 <= index < len(container) else MISSING
    return MISSING


def list_index(key: Value) -> int:
    """A position in a list: any number that is whole and of 64 bits."""
    if not isinstance(key, int | float) or isinstance(key, bool):
        message = f"unsupported index type '{type_of_value(key)}' in list"
        raise EvaluationError(ErrorKind.INVALID_ARGUMENT, message)
    if not INT_MIN <= key <= INT_MAX or key != int(key):
        raise EvaluationError(ErrorKind.INVALID_ARGUMENT, f"unsupported index value {key} in list")
    return int(key)
