"""Functions of lists: slices, order, flattening, ranges.

`sortBy` is a macro: `people.sortBy(p, p.age)` sorts by a list of keys, which `map` makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubecel.equality import ORDERED
from kubecel.errors import invalid_argument
from kubecel.functions import Function, Library, traversal_cost
from kubecel.library import costs, estimates
from kubecel.library.declaring import COMPARABLE, LIST_OF_T, function, on_call, on_target
from kubecel.library.members import Members
from kubecel.library.nesting import flattened, flattened_size
from kubecel.limits import check_size
from kubecel.macros import Builder, Macro
from kubecel.standard_macros import STANDARD_MACROS
from kubecel.syntax import Expr, Literal, MapLiteral, StructLiteral
from kubecel.types import BYTES, DYN, INT, STRING, Type, list_of

List = Sequence[Any]

_SORT_BY_KEYS: Final = "@sortByAssociatedKeys"
_SORTED: Final = "@sorted"
_MAP_MACRO: Final = next(macro for macro in STANDARD_MACROS if macro.name == "map" and macro.arity == 2)


def slice_of(elements: List, start: int, end: int) -> List:
    problem = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise invalid_argument(f"{problem}negative indexes not supported")
    if start > end:
        raise invalid_argument(f"{problem}start index must be less than or equal to end index")
    if end > len(elements):
        raise invalid_argument(f"{problem}list is length {len(elements)}")
    return elements[start:end]


def flatten(elements: List, depth: int = 1) -> list[Any]:
    """Replace lists in a list by their elements, `depth` times."""
    if depth < 0:
        raise invalid_argument("level must be non-negative")
    return flattened(elements, depth)


def _flatten_cost(elements: List, depth: int = 1) -> int:
    """cel-go charges for the outermost list only, though the result may be much longer."""
    return costs.new_list(max(len(elements) * max(depth, 0), traversal_cost(flattened_size(elements, depth))))


def sort(elements: List) -> List:
    return sort_by_keys(elements, elements)


def sort_by_keys(elements: List, keys: List) -> List:
    """The elements in the order of their keys; elements with equal keys stay in theirs."""
    if len(elements) != len(keys):
        raise invalid_argument(
            f"{_SORT_BY_KEYS}() expected a list of the same size as the associated keys list, "
            f"but got {len(elements)} and {len(keys)} elements respectively"
        )
    if not elements:
        return elements
    kind = type(keys[0])
    if kind not in ORDERED:
        raise invalid_argument("list elements must be comparable")
    if any(type(key) is not kind for key in keys):
        raise invalid_argument("list elements must have the same type")
    return [elements[index] for index in sorted(range(len(keys)), key=keys.__getitem__)]


def _sort_by_keys_cost(_: List, keys: List) -> int:
    return costs.compare_all(keys)


def range_of(count: int) -> list[int]:
    """The numbers from 0 to `count` - 1."""
    check_size(count)
    return list(range(count))


def reverse(elements: List) -> List:
    return elements[::-1]


def distinct(elements: List) -> list[Any]:
    """Every value once, where it first appears."""
    seen = Members()
    return [element for element in elements if seen.add(element)]


def _copy_cost(elements: List) -> int:
    return costs.new_list(len(elements))


def _range_cost(count: int) -> int:
    return costs.new_list(max(count, 0))


def _slice_cost(elements: List, start: int, end: int) -> int:
    return costs.new_list(max(min(end, len(elements)) - max(start, 0), 0))


def _sorts(name: str, element: Type) -> tuple[Any, Any]:
    """The overloads of `sort` and of the function behind `sortBy` for one type."""
    texts = element in (STRING, BYTES)
    elements = list_of(element)
    return (
        on_target(
            f"list_{name}_sort",
            (elements,),
            elements,
            sort,
            costs.compare_all,
            estimates.sorted_by(0, texts=texts),
        ),
        on_target(
            f"list_{name}_sortByAssociatedKeys",
            (LIST_OF_T, elements),
            LIST_OF_T,
            sort_by_keys,
            _sort_by_keys_cost,
            estimates.sorted_by(1, texts=texts),
        ),
    )


def _expand_sort_by(builder: Builder, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    if target is None or isinstance(target, Literal | MapLiteral | StructLiteral):
        raise builder.error(
            target or args[0],
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
        )
    keys = _MAP_MACRO.expand(builder, builder.ident(_SORTED), args)
    if keys is None:
        return None
    return builder.bind(_SORTED, target, builder.member(builder.ident(_SORTED), _SORT_BY_KEYS, keys))


_SORT_OVERLOADS: Final = [_sorts(element.name, element) for element in COMPARABLE.values()]

_FUNCTIONS: Final[tuple[Function, ...]] = (
    function(
        "slice",
        on_target("list_slice", (LIST_OF_T, INT, INT), LIST_OF_T, slice_of, _slice_cost, estimates.slice_of),
    ),
    function(
        "flatten",
        on_target(
            "list_flatten", (list_of(LIST_OF_T),), LIST_OF_T, flatten, _flatten_cost, estimates.flattened
        ),
        on_target(
            "list_flatten_int",
            (list_of(DYN), INT),
            list_of(DYN),
            flatten,
            _flatten_cost,
            estimates.flattened,
        ),
    ),
    function("sort", *(plain for plain, _ in _SORT_OVERLOADS)),
    function(_SORT_BY_KEYS, *(by_keys for _, by_keys in _SORT_OVERLOADS)),
    function(
        "lists.range", on_call("lists_range", (INT,), list_of(INT), range_of, _range_cost, estimates.range_of)
    ),
    function(
        "reverse", on_target("list_reverse", (LIST_OF_T,), LIST_OF_T, reverse, _copy_cost, estimates.copied)
    ),
    function(
        "distinct",
        on_target(
            "list_distinct",
            (LIST_OF_T,),
            LIST_OF_T,
            distinct,
            costs.compare_all,
            estimates.compared_with_itself,
        ),
    ),
)

LISTS: Final = Library("cel.lib.ext.lists", _FUNCTIONS, (Macro("sortBy", 2, _expand_sort_by),))
