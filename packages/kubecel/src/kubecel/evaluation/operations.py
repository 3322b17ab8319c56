"""Equality, order, sums and membership: operators that occur in nearly every expression, for any types of operands.

Each looks at the classes of its operands and does the common cases itself; all others go the general way.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from kubecel.equality import NUMBERS, PLAIN, compare, contains, equals_within
from kubecel.errors import EvaluationError, overflow
from kubecel.evaluation.calls import Invoke, charge_beyond_call
from kubecel.evaluation.code import CALL_COST, Code, Frame, charge
from kubecel.limits import check_size
from kubecel.syntax import Operator
from kubecel.values import INT_MAX, INT_MIN, map_key

_FREE_LENGTH: Final = 10
"""Texts up to that length cost no more than the call itself."""

_CONTAINERS: Final = frozenset({list, tuple, dict})

RELATIONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    Operator.LESS: operator.lt,
    Operator.LESS_EQUALS: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_EQUALS: operator.ge,
}


def equality(left: Code, right: Code, *, negated: bool) -> Code:
    """`==`, or `!=` if `negated`."""
    evaluate_left, evaluate_right = left.run, right.run
    alike: Callable[[Any, Any], bool] = operator.ne if negated else operator.eq

    def run(frame: Frame) -> bool:
        mine, yours = evaluate_left(frame), evaluate_right(frame)
        kind = type(mine)
        if kind is type(yours) and kind in PLAIN:
            if (kind is str or kind is bytes) and len(mine) > _FREE_LENGTH:
                charge(frame, _surcharge(min(len(mine), len(yours))))
            return alike(mine, yours)
        if kind in _CONTAINERS and type(yours) in _CONTAINERS:
            frame[0] += CALL_COST  # containers are paid for as they are looked at
        return equals_within(mine, yours, frame) is not negated

    return Code(run, left.cost + right.cost + CALL_COST)


def _surcharge(length: int) -> int:
    """What walking over a text costs beyond the cost of the call."""
    return (length - 1) // _FREE_LENGTH if length > 0 else 0


def relation(function: str, left: Code, right: Code, offset: int) -> Code:
    """`<` and its like."""
    evaluate_left, evaluate_right, holds = left.run, right.run, RELATIONS[function]

    def run(frame: Frame) -> bool:
        mine, yours = evaluate_left(frame), evaluate_right(frame)
        if type(mine) is int and type(yours) is int:
            return holds(mine, yours)
        if type(mine) is str and type(yours) is str:
            if len(mine) > _FREE_LENGTH:
                charge(frame, _surcharge(min(len(mine), len(yours))))
            return holds(mine, yours)
        try:
            return holds(compare(mine, yours), 0)
        except EvaluationError as error:
            error.offset = offset
            raise

    return Code(run, left.cost + right.cost + CALL_COST)


def addition(left: Code, right: Code, general: Invoke) -> Code:
    """`+`."""
    evaluate_left, evaluate_right = left.run, right.run

    def run(frame: Frame) -> Any:
        mine, yours = evaluate_left(frame), evaluate_right(frame)
        if type(mine) is str and type(yours) is str:
            length = len(mine) + len(yours)
            if length > _FREE_LENGTH:
                charge(frame, _surcharge(length))
                check_size(length)
            return mine + yours
        if type(mine) is int and type(yours) is int:
            total = mine + yours
            if INT_MIN <= total <= INT_MAX:
                return total
            raise overflow("integer")
        return general(frame, (mine, yours))

    return Code(run, left.cost + right.cost + CALL_COST)


def membership(element: Code, container: Code, general: Invoke) -> Code:
    """`element in container`."""
    evaluate_element, evaluate_container = element.run, container.run

    def run(frame: Frame) -> Any:
        candidate, where = evaluate_element(frame), evaluate_container(frame)
        if type(where) is list:
            charge_beyond_call(frame, len(where))
            return contains(where, candidate, frame)
        if type(where) is dict and (type(candidate) is str or type(candidate) in NUMBERS):
            return map_key(candidate) in where
        return general(frame, (candidate, where))

    return Code(run, element.cost + container.cost + CALL_COST)
