"""What is known of the parts of an expression while its cost is estimated: sizes, paths and the uses of names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kubecel.paths import NO_PATH, Path
from kubecel.sizes import ONE, UNKNOWN, CostEstimate, Operand, SizeEstimate, exactly
from kubecel.syntax import ACCUMULATOR, Comprehension, Expr, ListLiteral, Literal, MapLiteral
from kubecel.types import Kind, Type

SizeLookup: TypeAlias = Callable[[Sequence[str]], SizeEstimate | None]
"""Knows the size of what is at a path, or nothing about it.

A path begins with a variable and goes on with names of fields, `@items`, `@indices`, `@keys` and `@values`.
"""

SELECT_COST: Final = ONE
"""Of using a name or a field."""

_COPIED: Final = "@target"
"""The name by which macros refer twice to one expression."""

_SCALARS: Final = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT})


@dataclass(frozen=True, slots=True)
class Entries:
    """The sizes of what is inside a list or map."""

    kind: Kind
    key: SizeEstimate
    value: SizeEstimate

    def union(self, other: Entries | None) -> Entries | None:
        return None if other is None else Entries(self.kind, self.key | other.key, self.value | other.value)


@dataclass(frozen=True, slots=True)
class Local:
    """What is known of a loop variable, an accumulator or a bound name."""

    path: Path
    size: SizeEstimate | None
    entries: Entries | None = None
    cost: CostEstimate = SELECT_COST
    """Of each use."""


@dataclass(frozen=True, slots=True)
class KnownOperand:
    """An argument, as rules see it."""

    type: Type
    path: Path
    known_size: SizeEstimate | None
    literal: Any
    sizes: SizeLookup

    @property
    def size(self) -> SizeEstimate:
        return self.known_size or UNKNOWN

    @property
    def element(self) -> Operand | None:
        if not self.type.params:
            return None
        path = self.path.element() if self.path else NO_PATH
        size = self.sizes(path.steps) if path else None
        return KnownOperand(self.type.params[0], path, size, None, self.sizes)


def is_binding(node: Comprehension) -> bool:
    """Whether it only gives a name to a value, as `cel.bind` does, and never loops."""
    return (
        isinstance(node.range, ListLiteral)
        and not node.range.elements
        and isinstance(node.condition, Literal)
        and node.condition.value is False
        and node.accumulator != ACCUMULATOR
    )


def is_copy(node: Comprehension) -> bool:
    """Whether it is a binding where API servers have the expression twice instead."""
    return node.accumulator == _COPIED and is_binding(node)


def written_size(node: Expr) -> SizeEstimate | None:
    """The size of what is written out in the expression."""
    match node:
        case Literal(value=str() | bytes() as value):
            return exactly(len(value))
        case Literal():
            return ONE
        case ListLiteral():
            return exactly(len(node.elements))
        case MapLiteral():
            return exactly(len(node.entries))
    return None


def is_scalar(subject: Type) -> bool:
    if subject.kind is Kind.OPTIONAL:
        return is_scalar(subject.params[0])
    return subject.kind in _SCALARS
