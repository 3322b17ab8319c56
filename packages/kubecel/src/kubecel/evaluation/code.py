"""What all closures share: the frame they run in, and the budget they run on.

A frame is a plain list, because nothing in Python is quicker to read: what is left of the budget comes first, then one
slot for each variable of the expression and for each variable that a macro introduces.

Costs are those of cel-go. What a piece of straight-line code costs is known beforehand, so it is added up while compiling
and charged at once: by the program for what runs in any case, by branches for what they choose, by loops for each
round. Costs that depend on the size of values are charged when the values are there, before the work is done. Charging
may drive the budget below zero unnoticed only where a bounded amount of work is left; loops and sized work look. A
call costs at least 1 here, where cel-go takes nothing for empty strings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from kubecel.errors import ErrorKind, EvaluationError

Frame: TypeAlias = list[Any]
Run: TypeAlias = Callable[[Frame], Any]

BUDGET: Final = 0
"""The slot of the budget."""

IDENT_COST: Final = 1
SELECT_COST: Final = 1
CALL_COST: Final = 1
LIST_COST: Final = 10
MAP_COST: Final = 30


class Code(NamedTuple):
    """A compiled expression, with what it costs to run it straight through."""

    run: Run
    cost: int


def budget_exceeded() -> EvaluationError:
    return EvaluationError(ErrorKind.COST_EXCEEDED, "operation cancelled: actual cost limit exceeded")


def charge(frame: Frame, cost: int) -> None:
    """Take from the budget before work is done."""
    frame[0] = left = frame[0] - cost
    if left < 0:
        raise budget_exceeded()


def constant(value: Any) -> Code:
    return Code(lambda _: value, 0)
