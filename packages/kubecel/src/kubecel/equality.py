"""When two values are equal, and which comes first.

Numbers of all types lie on one line (`1 == 1u`, `1 == 1.0`), `true` is not 1, values of different types are unequal
rather than an error, and NaN is unequal to everything. Python's own `==` differs in the second point, also inside lists
and maps, so these are compared element by element.

Comparing can be much work: a list may hold the same list twice, which holds another twice, and so on. So each container
that is looked at is paid for from an `Allowance`, whose first element is what is left: the outermost as cel-go has it, a
tenth per element, and those inside in full, which cel-go does not charge at all. The frame of an evaluation is an
allowance, which is how `==` in an expression charges its budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isnan
from types import NoneType
from typing import Any, Final, TypeAlias

from kubecel.errors import ErrorKind, EvaluationError, no_such_overload
from kubecel.functions import traversal_cost
from kubecel.limits import DEFAULT_BUDGET
from kubecel.types import Type
from kubecel.values import Duration, Optional, Timestamp, Uint, UnorderedList, Value

Allowance: TypeAlias = list[Any]
"""What is left to spend, as the first element."""

PLAIN: Final = frozenset({str, int, bool, float, bytes, Uint, NoneType, Timestamp, Duration})
"""Classes whose `==` is right for two values of the same class."""

NUMBERS: Final = frozenset({int, float, Uint})

ORDERED: Final = frozenset({str, int, bool, float, bytes, Uint, Timestamp, Duration})
"""Classes whose `<` is right for two values of the same class."""

_ABSENT: Final = object()


def equals(left: Value, right: Value) -> bool:
    """Whether two values are equal."""
    return equals_within(left, right, [DEFAULT_BUDGET])


def equals_within(left: Value, right: Value, allowance: Allowance) -> bool:
    """Whether two values are equal, at the expense of an allowance."""
    left_class = type(left)
    if left_class is type(right) and left_class in PLAIN:
        return bool(left == right)
    # Containers are compared with a list of our own instead of recursion: values may be nested as deep as they like.
    waiting, price = [(left, right)], _outer_price
    while waiting:
        mine, yours = waiting.pop()
        pairs = _matching_parts(mine, yours, allowance, price)
        if pairs is None:
            return False
        price = _inner_price
        for pair in pairs:
            part, counterpart = pair
            kind = type(part)
            if kind is not type(counterpart) or kind not in PLAIN:
                waiting.append(pair)
            elif part != counterpart:
                return False
    return True


def _outer_price(elements: int) -> int:
    return max(1, traversal_cost(elements))


def _inner_price(elements: int) -> int:
    return 1 + elements


_Pairs: TypeAlias = Iterable[tuple[Value, Value]]


def _matching_parts(
    left: Value, right: Value, allowance: Allowance, price: Callable[[int], int]
) -> _Pairs | None:
    """What must be equal for two values to be equal, or None if they differ in any case."""
    if isinstance(left, list | tuple):
        if not isinstance(right, list | tuple):
            return None
        _pay(allowance, price(min(len(left), len(right))))
        if isinstance(left, UnorderedList):
            return left.matching_parts(right)
        return zip(left, right, strict=True) if len(left) == len(right) else None
    if isinstance(left, dict):
        if not isinstance(right, dict):
            return None
        _pay(allowance, price(min(len(left), len(right))))
        return _map_parts(left, right) if len(left) == len(right) else None
    if isinstance(left, Optional):
        return _optional_parts(left, right) if isinstance(right, Optional) else None
    return () if _equal_atoms(left, right) else None


def _map_parts(left: dict[Any, Any], right: dict[Any, Any]) -> _Pairs:
    """Pairs of values by key; nothing equals the counterpart of a key that the other map lacks."""
    return [(value, right.get(key, _ABSENT)) for key, value in left.items()]


def _optional_parts(left: Optional, right: Optional) -> _Pairs | None:
    if left.present != right.present:
        return None
    return ((left.value, right.value),) if left.present else ()


def _equal_atoms(left: Value, right: Value) -> bool:
    """Values without parts. Classes that are neither plain nor types are opaque and compare as they like."""
    left_class, right_class = type(left), type(right)
    if left_class is right_class and left_class in PLAIN:
        return bool(left == right)
    if left_class in NUMBERS and right_class in NUMBERS:
        left, right = _on_one_line(left, right)
        return bool(left == right)
    if isinstance(left, Type):
        return isinstance(right, Type) and left.kind is right.kind and left.name == right.name
    related = isinstance(left, right_class) or isinstance(right, left_class)
    return related and isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _pay(allowance: Allowance, price: int) -> None:
    allowance[0] -= price
    if allowance[0] < 0:
        raise EvaluationError(ErrorKind.COST_EXCEEDED, "operation cancelled: actual cost limit exceeded")


def contains(container: Any, element: Value, allowance: Allowance | None = None) -> bool:
    """Whether a list holds an element."""
    budget = [DEFAULT_BUDGET] if allowance is None else allowance
    if type(element) is str:
        return any(type(candidate) is str and candidate == element for candidate in container)
    return any(equals_within(candidate, element, budget) for candidate in container)


def compare(left: Value, right: Value) -> int:
    """Negative, zero or positive; an error for values that have no order, such as lists and NaN."""
    left_class, right_class = type(left), type(right)
    if left_class in NUMBERS and right_class in NUMBERS:
        left, right = _on_one_line(left, right)
        if isnan(left) or isnan(right):
            raise EvaluationError(ErrorKind.INVALID_ARGUMENT, "NaN values cannot be ordered")
    elif left_class is not right_class or left_class not in ORDERED:
        raise no_such_overload()
    return int(left > right) - int(left < right)


def _on_one_line(left: Any, right: Any) -> tuple[Any, Any]:
    """Whole numbers are compared with doubles as doubles, as in cel-go, although the largest of them are rounded."""
    if type(left) is float or type(right) is float:
        return float(left), float(right)
    return left, right
