"""What is known of sizes and costs before an expression runs: a least and a most.

An API server accepts a rule only if the worst that the rule may cost fits a budget, so it must know how large the values
may become (from `maxLength`, `maxItems` and their like, or from the size of a request) and what each function costs for
arguments of such sizes. A function whose cost depends on its arguments says so with an `EstimateRule` on its overload:

    def estimate_trim(operands: Operands) -> CallEstimate:
        size = operands[0].size
        return CallEstimate(size.scaled(TRAVERSAL_FACTOR), result_size=size)

The arithmetic is that of unsigned 64-bit numbers that stick at their largest value: "too much" stays "too much".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from kubecel.types import Type

LARGEST: Final = 2**64 - 1
"""Where all arithmetic sticks."""

TRAVERSAL_FACTOR: Final = 0.1
"""Cost of looking at one character or byte."""

PATTERN_FACTOR: Final = 0.25
"""Cost of one character of a regular expression: about four of them make one state."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A least and a most, of a size or of a cost."""

    min: int
    max: int

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(_capped(self.min + other.min), _capped(self.max + other.max))

    def __mul__(self, other: Estimate) -> Estimate:
        return Estimate(_capped(self.min * other.min), _capped(self.max * other.max))

    def __or__(self, other: Estimate) -> Estimate:
        """The smallest range that holds both."""
        return Estimate(min(self.min, other.min), max(self.max, other.max))

    def scaled(self, factor: float) -> Estimate:
        """So much per unit, rounded up."""
        return Estimate(_scaled(self.min, factor), _scaled(self.max, factor))


SizeEstimate: TypeAlias = Estimate
"""Of what `size()` would return: characters, bytes, items or entries."""

CostEstimate: TypeAlias = Estimate
"""In the units that evaluation charges."""

UNKNOWN: Final = Estimate(0, LARGEST)
ONE: Final = Estimate(1, 1)
NOTHING: Final = Estimate(0, 0)


def exactly(value: int) -> Estimate:
    return Estimate(value, value)


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """What a call costs beside its arguments, and how large its result is if it is a string, bytes, list or map."""

    cost: CostEstimate
    result_size: SizeEstimate | None = None


class Operand(Protocol):
    """One argument of a call, or its receiver."""

    @property
    def type(self) -> Type: ...

    @property
    def size(self) -> SizeEstimate:
        """What is known of its size, `UNKNOWN` if nothing is."""

    @property
    def known_size(self) -> SizeEstimate | None:
        """Its size as far as the expression itself or its type tells."""

    @property
    def literal(self) -> Any:
        """The value if it is written out in the expression, otherwise None."""

    @property
    def element(self) -> Operand | None:
        """Any one element, if it is of a type with parameters (a list)."""


Operands: TypeAlias = Sequence[Operand]
"""The receiver first, if the overload is called as a member; then the arguments."""

EstimateRule: TypeAlias = Callable[[Operands], CallEstimate | None]
"""Returns None where it has nothing to say: then the call costs one."""


def _capped(value: int) -> int:
    return min(LARGEST, value)


def _scaled(value: int, factor: float) -> int:
    return _capped(math.ceil(float(value) * factor))
