"""Merging maps: the second one wins, `deepMerge` also in maps within."""

from __future__ import annotations

from typing import Any, Final

from kubecel.errors import ErrorKind, EvaluationError, no_such_overload
from kubecel.functions import Library, traversal_cost
from kubecel.library.declaring import function, on_target
from kubecel.library.nesting import check_depth, write_weight
from kubecel.limits import check_size
from kubecel.types import DYN, map_of, param

Map = dict[Any, Any]

_MAP: Final = map_of(param("K"), param("V"))
_MOST_ENTRIES: Final = 250_000
"""How many entries a deep merge may look at: maps may hold the same map many times."""


def merge(base: Map, overrides: Map) -> Map:
    check_size(len(base) + len(overrides))
    return {**base, **overrides}


def deep_merge(base: Any, overrides: Any) -> Map:
    """Maps in both are merged; lists and everything else are replaced."""
    if not isinstance(base, dict) or not isinstance(overrides, dict):
        raise no_such_overload()
    return _merge_within(base, overrides, 0, [_MOST_ENTRIES])


def _merge_within(base: Map, overrides: Map, depth: int, allowance: list[int]) -> Map:
    allowance[0] -= len(base) + len(overrides)
    check_depth(depth)
    if allowance[0] < 0:
        raise EvaluationError(ErrorKind.TOO_LARGE, "maps are too large to be merged")
    merged = dict(base)
    for key, value in overrides.items():
        present = merged.get(key)
        if isinstance(present, dict) and isinstance(value, dict):
            merged[key] = _merge_within(present, value, depth + 1, allowance)
        else:
            merged[key] = value
    return merged


def _merge_cost(base: Map, overrides: Map) -> int:
    return max(1, traversal_cost(len(base), len(overrides)))


def _deep_merge_cost(base: Any, overrides: Any) -> int:
    return write_weight(base) + write_weight(overrides)


MAPS: Final = Library(
    "cel.lib.ext.kro.maps",
    (
        function("merge", on_target("map_merge", (_MAP, _MAP), _MAP, merge, _merge_cost)),
        function("deepMerge", on_target("map_deep_merge", (DYN, DYN), DYN, deep_merge, _deep_merge_cost)),
    ),
)
