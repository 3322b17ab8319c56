"""The function behind `transformMap` and `transformMapEntry`: adding entries to a map under construction.

The compiler adds in place, since nobody else sees the map before it is finished; the functions here make new maps.
"""

from __future__ import annotations

from typing import Any, Final

from kubecel.errors import ErrorKind, EvaluationError
from kubecel.functions import Function
from kubecel.standard.declaring import MAP_OF_A_B, A, B, function, overload
from kubecel.standard_macros import MAP_INSERT
from kubecel.values import Uint, Value, map_key, type_of_value

_KEY_CLASSES: Final = (str, int, bool, Uint)


def checked_key(key: Value) -> Value:
    """The form in which a key is stored. Only strings, booleans and whole numbers may be keys."""
    if type(key) not in _KEY_CLASSES and not isinstance(key, str | int):
        raise EvaluationError(ErrorKind.UNSUPPORTED_KEY, f"unsupported key type: {type_of_value(key)}")
    return map_key(key)


def insert(target: dict[Any, Any], key: Value, value: Value) -> None:
    """Add an entry in place; a key may come only once."""
    stored = checked_key(key)
    if stored in target:
        raise EvaluationError(ErrorKind.DUPLICATE_KEY, f"insert failed: key {key} already exists")
    target[stored] = value


def insert_all(target: dict[Any, Any], entries: dict[Any, Any]) -> None:
    """Add the entries of another map in place."""
    for stored, value in entries.items():
        if stored in target:
            raise EvaluationError(ErrorKind.DUPLICATE_KEY, f"insert failed: key {stored} already exists")
        target[stored] = value


def _with_entry(target: dict[Any, Any], key: Value, value: Value) -> dict[Any, Any]:
    extended = dict(target)
    insert(extended, key, value)
    return extended


def _with_entries(target: dict[Any, Any], entries: dict[Any, Any]) -> dict[Any, Any]:
    extended = dict(target)
    insert_all(extended, entries)
    return extended


MAP_FUNCTIONS: Final[tuple[Function, ...]] = (
    function(
        MAP_INSERT,
        overload("@mapInsert_map_key_value", (MAP_OF_A_B, A, B), MAP_OF_A_B, _with_entry),
        overload("@mapInsert_map_map", (MAP_OF_A_B, MAP_OF_A_B), MAP_OF_A_B, _with_entries),
    ),
)
