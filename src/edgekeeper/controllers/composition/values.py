"""Values of expressions as fields of objects, and objects as values of expressions.

Expressions see objects as their schemas mean them: a Secret's data as bytes, times as times. What they return becomes
JSON again. Some values have no place in an object and are refused, rather than guessed at.
"""

from __future__ import annotations

from typing import Any, Final

from edgekeeper.controllers.composition.template import Steps
from edgekeeper.core.json import JsonObject
from kubecel.display import as_json
from kubecel.errors import conversion_error
from kubecel.library.kro.omission import OMIT
from kubecel.native import TypedMap
from kubecel.values import INT_MAX, Optional, Uint

DEEPEST: Final = 100
"""Levels that a value may have."""


def as_field(value: Any, depth: int = 0) -> Any:
    """A value as a field holds it, or `OMIT` if the field shall not be there; raises EvaluationError."""
    if value is None or value is OMIT or isinstance(value, bool | str):
        return value
    if depth > DEEPEST:
        raise conversion_error("the value is nested too deeply for a field")
    if isinstance(value, TypedMap):
        return value.raw
    if isinstance(value, dict):
        return _as_object(value, depth)
    if isinstance(value, list | tuple):
        fields = (as_field(element, depth + 1) for element in value)
        return [field for field in fields if field is not OMIT]
    if isinstance(value, Optional):
        return as_field(value.value, depth + 1) if value.present else None
    return _as_scalar(value)


def _as_object(value: dict[Any, Any], depth: int) -> JsonObject:
    result: JsonObject = {}
    for key, element in value.items():
        if not isinstance(key, str):
            raise conversion_error(f"keys of an object must be strings, not {as_json(key)}")
        field = as_field(element, depth + 1)
        if field is not OMIT:
            result[key] = field
    return result


def _as_scalar(value: Any) -> Any:
    if isinstance(value, bytes):
        raise conversion_error(
            "bytes cannot be put into a field: encode it explicitly, with base64.encode(), or with string() and "
            "stringData in a Secret"
        )
    if isinstance(value, Uint) and int(value) > INT_MAX:
        raise conversion_error(f"{int(value)} is too large for a field")
    return as_json(value)


def put(tree: Any, steps: Steps, value: Any) -> None:
    """Set the value at a path that exists in the tree."""
    for step in steps[:-1]:
        tree = tree[step]
    tree[steps[-1]] = value


def remove(tree: Any, ways: list[Steps]) -> None:
    """Remove the values at these paths from a tree, the last elements of lists first."""
    for steps in sorted(ways, key=lambda way: [str(step).zfill(12) for step in way], reverse=True):
        parent = tree
        for step in steps[:-1]:
            parent = parent[step]
        del parent[steps[-1]]
