"""Logic, equality, order, membership and size.

Operators that the compiler treats itself, because they evaluate their operands only when needed (`&&`) or because they
are in nearly every expression (`==`, `<`, `[]`), are declared here for the checker. Their implementations serve whoever
calls a function by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from kubecel.equality import compare, contains, equals
from kubecel.functions import Function, Overload, traversal_cost
from kubecel.standard.declaring import LIST_OF_A, MAP_OF_A_B, A, B, function, member, overload
from kubecel.standard.indexing import KEYS, index_value
from kubecel.syntax import Operator
from kubecel.types import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, Type
from kubecel.values import map_key

_SIZED: Final = (str, bytes, list, tuple, dict)


def evaluated_by_compiler(*_: Any) -> NoReturn:
    """Stands for operators that cannot be functions: these decide themselves what they evaluate."""
    raise TypeError("this operator does not evaluate all its operands, so it cannot be called")


def size_of(value: Any) -> int:
    """What cel-go takes for the size of a value when it charges for it: 1, unless the value has a length."""
    return len(value) if isinstance(value, _SIZED) else 1


def comparison_cost(left: Any, right: Any) -> int:
    return max(1, traversal_cost(min(size_of(left), size_of(right))))


def _has_key(key: Any, container: dict[Any, Any]) -> bool:
    return isinstance(key, KEYS) and map_key(key) in container


_NUMBERS: Final = (("int64", INT), ("uint64", UINT), ("double", DOUBLE))
_OTHERS: Final = (
    ("bool", BOOL),
    ("string", STRING),
    ("bytes", BYTES),
    ("timestamp", TIMESTAMP),
    ("duration", DURATION),
)


def _relation(operator: str, name: str, holds: Callable[[int], bool]) -> Function:
    """An order relation: over one type, and over any two types of numbers."""

    def apply(left: Any, right: Any) -> bool:
        return holds(compare(left, right))

    def declare(suffix: str, left: Type, right: Type) -> Overload:
        return overload(f"{name}_{suffix}", (left, right), BOOL, apply, comparison_cost)

    same = [declare(label, subject, subject) for label, subject in (*_NUMBERS, *_OTHERS)]
    mixed = [
        declare(f"{left_label}_{right_label}", left, right)
        for left_label, left in _NUMBERS
        for right_label, right in _NUMBERS
        if left is not right
    ]
    return Function(operator, (*same, *mixed))


def _sizes(subject: Type, name: str) -> tuple[Overload, Overload]:
    return (
        overload(f"size_{name}", (subject,), INT, len),
        member(f"{name}_size", (subject,), INT, len),
    )


COMPARISON: Final[tuple[Function, ...]] = (
    function(Operator.CONDITIONAL, overload("conditional", (BOOL, A, A), A, evaluated_by_compiler)),
    function(Operator.AND, overload("logical_and", (BOOL, BOOL), BOOL, evaluated_by_compiler)),
    function(Operator.OR, overload("logical_or", (BOOL, BOOL), BOOL, evaluated_by_compiler)),
    function(Operator.NOT, overload("logical_not", (BOOL,), BOOL, lambda value: not value)),
    function(
        Operator.NOT_STRICTLY_FALSE, overload("not_strictly_false", (BOOL,), BOOL, evaluated_by_compiler)
    ),
    function(Operator.EQUALS, overload("equals", (A, A), BOOL, equals, comparison_cost)),
    function(
        Operator.NOT_EQUALS,
        overload("not_equals", (A, A), BOOL, lambda left, right: not equals(left, right), comparison_cost),
    ),
    _relation(Operator.LESS, "less", lambda order: order < 0),
    _relation(Operator.LESS_EQUALS, "less_equals", lambda order: order <= 0),
    _relation(Operator.GREATER, "greater", lambda order: order > 0),
    _relation(Operator.GREATER_EQUALS, "greater_equals", lambda order: order >= 0),
    function(
        Operator.INDEX,
        overload("index_list", (LIST_OF_A, INT), A, index_value),
        overload("index_map", (MAP_OF_A_B, A), B, index_value),
    ),
    function(
        Operator.IN,
        overload(
            "in_list",
            (A, LIST_OF_A),
            BOOL,
            lambda element, container: contains(container, element),
            lambda _, container: len(container),
        ),
        overload("in_map", (A, MAP_OF_A_B), BOOL, _has_key),
    ),
    function(
        "size",
        *_sizes(BYTES, "bytes"),
        *_sizes(LIST_OF_A, "list"),
        *_sizes(MAP_OF_A_B, "map"),
        *_sizes(STRING, "string"),
    ),
)
