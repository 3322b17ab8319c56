"""How much an expression may ask for.

Three things could hurt the process that evaluates an expression written by somebody else: a text which is too long or
nested too deeply, too much work, and too much memory. The first is refused by the parser; the second is what the cost
budget is for; the third is refused here, *before* memory is taken: a function whose result may be much larger than its
arguments calls `check_size` with the size it is about to build.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubecel.errors import ErrorKind, EvaluationError

MAX_SIZE = 10_000_000
"""The longest string (code points), byte sequence (bytes), list or map (entries) that an expression may build."""

DEFAULT_BUDGET = 1_000_000
"""The cost one evaluation may reach unless the caller says otherwise; the API server's limit per expression."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the parser accepts."""

    source: int = 100_000
    """Length of the text in code points."""
    depth: int = 250
    """Height of the syntax tree, after macros are expanded."""
    nesting: int = 120
    """Brackets within brackets; the parser recurses here, with several frames for each."""
    nodes: int = 100_000
    """Nodes of the syntax tree after macros are expanded; bounds what nested macros can multiply."""


DEFAULT_LIMITS = Limits()


def check_size(size: int) -> None:
    """Refuse to build something of this size."""
    if size > MAX_SIZE:
        raise EvaluationError(ErrorKind.TOO_LARGE, f"result of size {size} exceeds the limit of {MAX_SIZE}")


_ELEMENT_SIZE = 10
"""How many code points an element of a list or map stands for, roughly."""


def check_total_size(value: Any) -> None:
    """Refuse a value that is too large when written out.

    Lists and maps share what they hold, so that a short expression can make a value of a hundred nodes which stands for
    more than the memory of the machine as soon as somebody prints it.
    """
    room, waiting = MAX_SIZE, [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            room -= len(current) * _ELEMENT_SIZE
            waiting.extend(current.values())
        elif isinstance(current, list | tuple):
            room -= len(current) * _ELEMENT_SIZE
            waiting.extend(current)
        elif isinstance(current, str | bytes):
            room -= len(current)
        if room < 0:
            raise EvaluationError(ErrorKind.TOO_LARGE, f"result exceeds the size limit of {MAX_SIZE}")
