"""Lists as sets: containment, equivalence and intersection, whatever the order and however often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubecel.functions import Library
from kubecel.library import costs, estimates
from kubecel.library.declaring import LIST_OF_T, function, on_call
from kubecel.library.members import Members
from kubecel.types import BOOL

List = Sequence[Any]

_TWO_LISTS: Final = (LIST_OF_T, LIST_OF_T)


def contains(elements: List, wanted: List) -> bool:
    """Whether all that is wanted is there."""
    members = Members(elements)
    return all(element in members for element in wanted)


def equivalent(left: List, right: List) -> bool:
    return contains(left, right) and contains(right, left)


def intersects(left: List, right: List) -> bool:
    members = Members(right)
    return any(element in members for element in left)


SETS: Final = Library(
    "cel.lib.ext.sets",
    (
        function(
            "sets.contains",
            on_call(
                "list_sets_contains_list",
                _TWO_LISTS,
                BOOL,
                contains,
                costs.product_of_lists(1),
                estimates.product_of_lists(1),
            ),
        ),
        function(
            "sets.equivalent",
            on_call(
                "list_sets_equivalent_list",
                _TWO_LISTS,
                BOOL,
                equivalent,
                costs.product_of_lists(2),
                estimates.product_of_lists(2),
            ),
        ),
        function(
            "sets.intersects",
            on_call(
                "list_sets_intersects_list",
                _TWO_LISTS,
                BOOL,
                intersects,
                costs.product_of_lists(1),
                estimates.product_of_lists(1),
            ),
        ),
    ),
)
