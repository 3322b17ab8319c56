"""What calls cost at run time. The figures are those of cel-go and kube-apiserver, so budgets mean the same here.

Where these charge a flat one for work that grows with its arguments (formatting, hashing, JSON), we charge for the size:
otherwise a budget would not bound the time an expression takes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, Final

from kubecel.functions import traversal_cost
from kubecel.library.members import inner_cost
from kubecel.library.nesting import walk_weight, write_weight
from kubecel.sizes import PATTERN_FACTOR, TRAVERSAL_FACTOR

CALL: Final = 1
NEW_LIST: Final = 10
"""What it costs to make a list, whatever its size."""

_REWRITE_FACTOR: Final = 2 * TRAVERSAL_FACTOR
"""A string is read and a new one written."""


def walk(text: Any, *_: Any) -> int:
    """One look at every character of the first argument."""
    return traversal_cost(len(text))


def walk_twice(text: Any, *_: Any) -> int:
    """Reading the first argument and writing something of about that size."""
    return ceil(len(text) * _REWRITE_FACTOR)


def at_least_one(text: Any, *_: Any) -> int:
    """In proportion to the first argument, where cel-go would charge one."""
    return max(CALL, traversal_cost(len(text)))


def match_cost(text: int, pattern: int) -> int:
    """Matching a text with a regular expression, from the lengths of both."""
    return traversal_cost(1 + text) * ceil(pattern * PATTERN_FACTOR)


def new_list(size: float) -> int:
    """A call that makes a list by this many steps."""
    return int(size) + CALL + NEW_LIST


def compare_all(elements: Any) -> int:
    """Every element with every other, as in the worst way of sorting."""
    factor = 2.0 + (TRAVERSAL_FACTOR if elements and isinstance(elements[0], str | bytes) else 0.0)
    return new_list(len(elements) ** 2 * factor) + inner_cost(elements)


def tree(value: Any, *_: Any) -> int:
    """A walk over the first argument with all that is in it."""
    return walk_weight(value)


def writing(value: Any, *_: Any) -> int:
    """Writing out the first argument with all that is in it."""
    return write_weight(value)


def product_of_lists(factor: int) -> Callable[[Any, Any], int]:
    """Every element of one list with every element of another."""

    def cost(left: Any, right: Any) -> int:
        return CALL + len(left) * len(right) * factor + inner_cost(left, right)

    return cost
