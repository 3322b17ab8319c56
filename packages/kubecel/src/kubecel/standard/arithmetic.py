"""Arithmetic: integers of 64 bits that overflow with an error, doubles, and sums of texts, lists and times."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign, inf, isnan, nan
from typing import Any, Final

from kubecel.errors import ErrorKind, EvaluationError, overflow
from kubecel.functions import Function, traversal_cost
from kubecel.limits import check_size
from kubecel.standard.declaring import LIST_OF_A, function, overload
from kubecel.syntax import Operator
from kubecel.types import BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT
from kubecel.values import (
    INT_MAX,
    INT_MIN,
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    UINT_MAX,
    Duration,
    Timestamp,
    Uint,
    UnorderedList,
)

_DIVISION_BY_ZERO: Final = "division by zero"
_MODULUS_BY_ZERO: Final = "modulus by zero"


def checked_int(number: int) -> int:
    """A signed integer, if it fits 64 bits."""
    if INT_MIN <= number <= INT_MAX:
        return number
    raise overflow("integer")


def checked_uint(number: int) -> Uint:
    """An unsigned integer, if it fits 64 bits."""
    if 0 <= number <= UINT_MAX:
        return Uint(number)
    raise overflow("unsigned integer")


def checked_duration(nanos: int) -> Duration:
    if INT_MIN <= nanos <= INT_MAX:
        return Duration(nanos)
    raise overflow("duration")


def checked_timestamp(nanos: int) -> Timestamp:
    if MIN_TIMESTAMP <= nanos <= MAX_TIMESTAMP:
        return Timestamp(nanos)
    raise overflow("timestamp")


def add_texts(left: Any, right: Any) -> Any:
    """Strings, or byte sequences."""
    check_size(len(left) + len(right))
    return left + right


def add_lists(left: Any, right: Any) -> list[Any]:
    check_size(len(left) + len(right))
    return left.plus(right) if isinstance(left, UnorderedList) else [*left, *right]


def _sum_cost(left: Any, right: Any) -> int:
    return max(1, traversal_cost(len(left), len(right)))


def _require_divisor(divisor: int, message: str) -> None:
    if divisor == 0:
        raise EvaluationError(ErrorKind.DIVISION_BY_ZERO, message)


def _divide_ints(left: int, right: int) -> int:
    """Rounds towards zero, unlike Python."""
    _require_divisor(right, _DIVISION_BY_ZERO)
    quotient = abs(left) // abs(right)
    return checked_int(quotient if (left < 0) == (right < 0) else -quotient)


def _modulo_ints(left: int, right: int) -> int:
    """Has the sign of the dividend, unlike Python."""
    _require_divisor(right, _MODULUS_BY_ZERO)
    if left == INT_MIN and right == -1:
        raise overflow("integer")
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _divide_uints(left: Uint, right: Uint) -> Uint:
    _require_divisor(right, _DIVISION_BY_ZERO)
    return Uint(left // right)


def _modulo_uints(left: Uint, right: Uint) -> Uint:
    _require_divisor(right, _MODULUS_BY_ZERO)
    return Uint(left % right)


def _divide_doubles(left: float, right: float) -> float:
    """As IEEE 754 has it: division by zero is infinite, or nothing."""
    if right != 0:
        return left / right
    if left == 0 or isnan(left):
        return nan
    return copysign(inf, left) * copysign(1.0, right)


def _add_to_timestamp(moment: Timestamp, span: Duration) -> Timestamp:
    return checked_timestamp(moment.nanos + span.nanos)


def _pairwise(apply: Callable[[int, int], int], wrap: Callable[[int], Any]) -> Callable[[Any, Any], Any]:
    """An operation on two numbers whose result must fit its type."""

    def operate(left: int, right: int) -> Any:
        return wrap(apply(left, right))

    return operate


def _spans(apply: Callable[[int, int], int], wrap: Callable[[int], Any]) -> Callable[[Any, Any], Any]:
    """An operation on the nanoseconds of two times."""

    def operate(left: Any, right: Any) -> Any:
        return wrap(apply(left.nanos, right.nanos))

    return operate


def _add(left: int, right: int) -> int:
    return left + right


def _subtract(left: int, right: int) -> int:
    return left - right


def _multiply(left: int, right: int) -> int:
    return left * right


def _difference_of_doubles(left: float, right: float) -> float:
    return left - right


def _product_of_doubles(left: float, right: float) -> float:
    return left * right


def _sum_of_doubles(left: float, right: float) -> float:
    return left + right


ARITHMETIC: Final[tuple[Function, ...]] = (
    function(
        Operator.ADD,
        overload("add_bytes", (BYTES, BYTES), BYTES, add_texts, _sum_cost),
        overload("add_double", (DOUBLE, DOUBLE), DOUBLE, _sum_of_doubles),
        overload("add_duration_duration", (DURATION, DURATION), DURATION, _spans(_add, checked_duration)),
        overload("add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP, _spans(_add, checked_timestamp)),
        overload("add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, _add_to_timestamp),
        overload("add_int64", (INT, INT), INT, _pairwise(_add, checked_int)),
        overload("add_list", (LIST_OF_A, LIST_OF_A), LIST_OF_A, add_lists, _sum_cost),
        overload("add_string", (STRING, STRING), STRING, add_texts, _sum_cost),
        overload("add_uint64", (UINT, UINT), UINT, _pairwise(_add, checked_uint)),
    ),
    function(
        Operator.SUBTRACT,
        overload("subtract_double", (DOUBLE, DOUBLE), DOUBLE, _difference_of_doubles),
        overload(
            "subtract_duration_duration", (DURATION, DURATION), DURATION, _spans(_subtract, checked_duration)
        ),
        overload("subtract_int64", (INT, INT), INT, _pairwise(_subtract, checked_int)),
        overload(
            "subtract_timestamp_duration",
            (TIMESTAMP, DURATION),
            TIMESTAMP,
            _spans(_subtract, checked_timestamp),
        ),
        overload(
            "subtract_timestamp_timestamp",
            (TIMESTAMP, TIMESTAMP),
            DURATION,
            _spans(_subtract, checked_duration),
        ),
        overload("subtract_uint64", (UINT, UINT), UINT, _pairwise(_subtract, checked_uint)),
    ),
    function(
        Operator.MULTIPLY,
        overload("multiply_double", (DOUBLE, DOUBLE), DOUBLE, _product_of_doubles),
        overload("multiply_int64", (INT, INT), INT, _pairwise(_multiply, checked_int)),
        overload("multiply_uint64", (UINT, UINT), UINT, _pairwise(_multiply, checked_uint)),
    ),
    function(
        Operator.DIVIDE,
        overload("divide_double", (DOUBLE, DOUBLE), DOUBLE, _divide_doubles),
        overload("divide_int64", (INT, INT), INT, _divide_ints),
        overload("divide_uint64", (UINT, UINT), UINT, _divide_uints),
    ),
    function(
        Operator.MODULO,
        overload("modulo_int64", (INT, INT), INT, _modulo_ints),
        overload("modulo_uint64", (UINT, UINT), UINT, _modulo_uints),
    ),
    function(
        Operator.NEGATE,
        overload("negate_double", (DOUBLE,), DOUBLE, lambda number: -number),
        overload("negate_int64", (INT,), INT, lambda number: checked_int(-number)),
    ),
)
