"""Reduces a sequence that fails to a short one that fails in the same way.

First parts of it are left out, from halves down to single operations (delta debugging), until nothing can be left out any
more; then pauses are made shorter, and rounder. Every attempt is a whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tests.chaos.operation import Operation, op

Fails = Callable[[Sequence[Operation]], bool]
MOST_RUNS = 400
_PAUSES = (0.1, 1, 5, 10, 30, 60, 120, 300, 600)


class _Attempts:
    """Asks as long as it may, and never twice."""

    def __init__(self, fails: Fails, most: int) -> None:
        self._fails = fails
        self._left = most
        self._known: dict[str, bool] = {}

    def __call__(self, operations: Sequence[Operation]) -> bool:
        key = repr(list(operations))
        if key not in self._known:
            if self._left == 0:
                return False
            self._left -= 1
            self._known[key] = self._fails(operations)
        return self._known[key]


def shrink(operations: Sequence[Operation], fails: Fails, *, most: int = MOST_RUNS) -> list[Operation]:
    """The shortest sequence that was found. `fails` must be true for `operations`."""
    attempts = _Attempts(fails, most)
    shortest = _without_parts(list(operations), attempts)
    return _with_round_pauses(shortest, attempts)


def _without_parts(operations: list[Operation], fails: Fails) -> list[Operation]:
    size = max(1, len(operations) // 2)
    while operations:
        shorter = next((one for one in _left_out(operations, size) if fails(one)), None)
        if shorter is not None:
            operations = shorter
            size = min(size, max(1, len(operations) // 2))
        elif size == 1:
            return operations
        else:
            size = max(1, size // 2)
    return operations


def _left_out(operations: list[Operation], size: int) -> Iterator[list[Operation]]:
    """Sequences without one part of this size, the last part first: what came late is most often beside the point."""
    for start in reversed(range(0, len(operations), size)):
        yield [*operations[:start], *operations[start + size :]]


def _with_round_pauses(operations: list[Operation], fails: Fails) -> list[Operation]:
    for index, one in enumerate(operations):
        if one.action != "wait":
            continue
        for seconds in (pause for pause in _PAUSES if pause < one.arguments["seconds"]):
            rounder = [*operations[:index], op("wait", seconds=seconds), *operations[index + 1 :]]
            if fails(rounder):
                operations = rounder
                break
    return operations
