"""Kubernetes' functions of lists: `isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final

from kubecel.equality import compare
from kubecel.errors import invalid_argument, no_such_overload
from kubecel.functions import Function, Library
from kubecel.library import costs, estimates
from kubecel.library.declaring import COMPARABLE, LIST_OF_T, T, function, on_target
from kubecel.library.members import find_position, inner_cost
from kubecel.standard.arithmetic import checked_duration, checked_int, checked_uint
from kubecel.types import BOOL, INT, Type, list_of
from kubecel.values import Duration, Uint

List = Sequence[Any]


def is_sorted(elements: List) -> bool:
    return not any(compare(left, right) > 0 for left, right in pairwise(elements))


def smallest(elements: List) -> Any:
    return _extreme(elements, "min", 1)


def largest(elements: List) -> Any:
    return _extreme(elements, "max", -1)


def _extreme(elements: List, name: str, worse: int) -> Any:
    """The first element that no other one beats."""
    if not elements:
        raise invalid_argument(f"{name} called on empty list")
    best = elements[0]
    for element in elements[1:]:
        if compare(best, element) == worse:
            best = element
    return best


def index_of(elements: List, wanted: Any) -> int:
    return find_position(elements, wanted, range(len(elements)))


def last_index_of(elements: List, wanted: Any) -> int:
    return find_position(elements, wanted, range(len(elements) - 1, -1, -1))


def _search_cost(elements: List, wanted: Any) -> int:
    """As kube-apiserver has it, which forgets that what is sought may be large."""
    return costs.tree(elements) + inner_cost([wanted])


def _sum_of_ints(elements: List) -> int:
    return checked_int(_sum(elements, int))


def _sum_of_uints(elements: List) -> Uint:
    return checked_uint(_sum(elements, Uint))


def _sum_of_doubles(elements: List) -> float:
    return float(_sum(elements, float))


def _sum_of_durations(elements: List) -> Duration:
    return checked_duration(_sum([element.nanos for element in _all(elements, Duration)], int))


def _sum(elements: List, kind: type) -> Any:
    """One after the other: the order shows in sums of doubles."""
    total: Any = 0
    for element in _all(elements, kind):
        total += element
    return total


def _all(elements: List, kind: type) -> List:
    if any(type(element) is not kind for element in elements):
        raise no_such_overload()
    return elements


_SUMS: Final[dict[str, Callable[[List], Any]]] = {
    "int": _sum_of_ints,
    "uint": _sum_of_uints,
    "double": _sum_of_doubles,
    "duration": _sum_of_durations,
}


def _over_elements(
    name: str, pattern: str, implementation: Callable[[List], Any], result: Type | None = None
) -> Function:
    """A function with an overload for every type whose values have an order."""
    return function(
        name,
        *(
            on_target(
                pattern.format(label),
                (list_of(element),),
                result or element,
                implementation,
                costs.tree,
                estimates.walk_elements,
            )
            for label, element in COMPARABLE.items()
        ),
    )


KUBERNETES_LISTS: Final = Library(
    "kubernetes.lists",
    (
        _over_elements("isSorted", "list_{0}_is_sorted_bool", is_sorted, BOOL),
        _over_elements("min", "list_{0}_min_{0}", smallest),
        _over_elements("max", "list_{0}_max_{0}", largest),
        function(
            "sum",
            *(
                on_target(
                    f"list_{label}_sum_{label}",
                    (list_of(COMPARABLE[label]),),
                    COMPARABLE[label],
                    implementation,
                    costs.tree,
                    estimates.walk_elements,
                )
                for label, implementation in _SUMS.items()
            ),
        ),
        function(
            "indexOf",
            on_target(
                "list_a_index_of_int", (LIST_OF_T, T), INT, index_of, _search_cost, estimates.walk_elements
            ),
        ),
        function(
            "lastIndexOf",
            on_target(
                "list_a_last_index_of_int",
                (LIST_OF_T, T),
                INT,
                last_index_of,
                _search_cost,
                estimates.walk_elements,
            ),
        ),
    ),
)
