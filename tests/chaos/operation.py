"""Operations: what happens in a run, as pure data.

An operation is an action and its arguments, which are literals. It says everything that it takes to carry it out, and it
does nothing where what it is about is not there. Therefore any part of a sequence is a sequence as well, which plays the
same way every time: that is what shrinking depends on, and what makes a failure a test case that can be pasted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Operation:
    """One thing that happens."""

    action: str
    arguments: Mapping[str, Any]

    def __repr__(self) -> str:
        """As Python would have it again."""
        named = (f"{name}={value!r}" for name, value in self.arguments.items())
        return f"op({', '.join([repr(self.action), *named])})"


def op(action: str, /, **arguments: Any) -> Operation:
    """An operation: `op("wait", seconds=30)`."""
    return Operation(action, arguments)


def listing(operations: Iterable[Operation], indent: str = "    ") -> str:
    """Operations as a list that can be pasted."""
    return "\n".join(["[", *(f"{indent}{one!r}," for one in operations), "]"])
