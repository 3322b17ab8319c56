"""Lists with one element changed, added or removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubecel.errors import invalid_argument
from kubecel.functions import Library, traversal_cost
from kubecel.library.declaring import LIST_OF_T, T, function, on_call
from kubecel.limits import check_size
from kubecel.types import INT

List = Sequence[Any]


def set_at(elements: List, index: int, value: Any) -> list[Any]:
    _check_index("lists.setAtIndex", index, len(elements))
    return [*elements[:index], value, *elements[index + 1 :]]


def insert_at(elements: List, index: int, value: Any) -> list[Any]:
    """The value before the element at `index`; behind the last one to append."""
    if not 0 <= index <= len(elements):
        raise invalid_argument(f"lists.insertAtIndex: index {index} out of bounds [0, {len(elements)}]")
    check_size(len(elements) + 1)
    return [*elements[:index], value, *elements[index:]]


def remove_at(elements: List, index: int) -> list[Any]:
    _check_index("lists.removeAtIndex", index, len(elements))
    return [*elements[:index], *elements[index + 1 :]]


def _check_index(name: str, index: int, size: int) -> None:
    if not 0 <= index < size:
        raise invalid_argument(f"{name}: index {index} out of bounds [0, {size})")


def _cost(elements: List, *_: Any) -> int:
    return max(1, traversal_cost(len(elements)))


INDEXED_LISTS: Final = Library(
    "kro.lists",
    (
        function(
            "lists.setAtIndex",
            on_call("lists.setAtIndex_list_int_T", (LIST_OF_T, INT, T), LIST_OF_T, set_at, _cost),
        ),
        function(
            "lists.insertAtIndex",
            on_call("lists.insertAtIndex_list_int_T", (LIST_OF_T, INT, T), LIST_OF_T, insert_at, _cost),
        ),
        function(
            "lists.removeAtIndex",
            on_call("lists.removeAtIndex_list_int", (LIST_OF_T, INT), LIST_OF_T, remove_at, _cost),
        ),
    ),
)
