"""What calls may cost, estimated before anything runs: the rules by which kube-apiserver accepts or refuses a rule.

The figures are part of its interface: a rule that is accepted today must be accepted tomorrow. So they follow it to the
letter, also where they are odd.
"""

from __future__ import annotations

import math
from typing import Any, Final

from kubecel.sizes import (
    LARGEST,
    NOTHING,
    ONE,
    PATTERN_FACTOR,
    TRAVERSAL_FACTOR,
    CallEstimate,
    Estimate,
    EstimateRule,
    Operand,
    Operands,
    SizeEstimate,
    exactly,
)
from kubecel.types import Kind

_NEW_LIST: Final = exactly(1 + 10)
"""The call, and the list it makes."""
_FORMAT_PATTERN: Final = 128
"""Characters of the longest pattern behind a named format."""
_ADDRESS: Final = Estimate(4, 16)
"""Bytes of an IP address."""


def walk(operands: Operands) -> CallEstimate:
    """One look at every character of the first operand."""
    return CallEstimate(operands[0].size.scaled(TRAVERSAL_FACTOR))


def walk_keeping_size(operands: Operands) -> CallEstimate:
    """The same, and the result is at most as long."""
    size = operands[0].size
    return CallEstimate(size.scaled(TRAVERSAL_FACTOR), size)


def walk_twice(operands: Operands) -> CallEstimate:
    return CallEstimate(operands[0].size.scaled(2 * TRAVERSAL_FACTOR))


def walk_elements(operands: Operands) -> CallEstimate:
    """One look at every element of a list, and at every character where these are strings."""
    elements = operands[0].element
    if elements is None:
        return walk(operands)
    each = ONE
    if elements.type.kind in (Kind.STRING, Kind.BYTES):
        each = ONE + elements.size.scaled(TRAVERSAL_FACTOR)
    return CallEstimate(operands[0].size * each)


def replace(operands: Operands) -> CallEstimate:
    text, old, new = (operand.size for operand in operands[:3])
    grown = _most_replaced(text, old, new)
    shrunk = _least_replaced(text, old, new)
    size = Estimate(shrunk.min, grown.max)
    return CallEstimate(text.scaled(2 * TRAVERSAL_FACTOR), size)


def _most_replaced(text: SizeEstimate, old: SizeEstimate, new: SizeEstimate) -> SizeEstimate:
    """The longest result: as many as possible of the shortest finds become the longest replacement."""
    if old.min == 0:
        return exactly(min(text.max + 1, LARGEST)) * exactly(new.max) + exactly(text.max)
    if new.max <= old.min:
        return exactly(text.max)
    return exactly(math.ceil(text.max / old.min)) * exactly(new.max)


def _least_replaced(text: SizeEstimate, old: SizeEstimate, new: SizeEstimate) -> SizeEstimate:
    """The shortest result: as many as possible of the longest finds become the shortest replacement."""
    if old.max == 0:
        return exactly(min(text.min + 1, LARGEST)) * exactly(new.min) + exactly(text.min)
    if old.max <= new.min:
        return exactly(text.min)
    return exactly(math.ceil(text.min / old.max)) * exactly(new.min)


def split(operands: Operands) -> CallEstimate:
    """At worst every character becomes an element, unless a limit is written out."""
    size = operands[0].size
    limit = operands[2].literal if len(operands) > 2 else None
    most = limit % (LARGEST + 1) if isinstance(limit, int) and not isinstance(limit, bool) else size.max
    return CallEstimate(size.scaled(2 * TRAVERSAL_FACTOR), Estimate(0, most))


def join(operands: Operands) -> CallEstimate:
    elements, each = operands[0].size, operands[0].element
    size = elements * each.size if each is not None else NOTHING
    if len(operands) > 1:
        separators = Estimate(max(elements.min - 1, 0), max(elements.max - 1, 0))
        size = size + operands[1].size * separators
    return CallEstimate(size.scaled(TRAVERSAL_FACTOR), size)


def search(operands: Operands) -> CallEstimate:
    """Matching costs something on an empty string too, hence one more than the text is long."""
    text, pattern = operands[0].size, operands[1].size
    cost = (text + ONE).scaled(TRAVERSAL_FACTOR) * pattern.scaled(PATTERN_FACTOR)
    return CallEstimate(cost, Estimate(0, text.max))


def validate_format(operands: Operands) -> CallEstimate:
    walked = operands[1].size.scaled(TRAVERSAL_FACTOR)
    return CallEstimate(walked.scaled(_FORMAT_PATTERN * PATTERN_FACTOR))


def contains_address(operands: Operands) -> CallEstimate:
    return CallEstimate((_ADDRESS + _ADDRESS).scaled(TRAVERSAL_FACTOR))


def contains_address_text(operands: Operands) -> CallEstimate:
    return CallEstimate(contains_address(operands).cost + operands[1].size.scaled(TRAVERSAL_FACTOR))


def contains_network(operands: Operands) -> CallEstimate:
    masking = _ADDRESS.scaled(TRAVERSAL_FACTOR) + ONE
    return CallEstimate(contains_address(operands).cost + masking)


def contains_network_text(operands: Operands) -> CallEstimate:
    return CallEstimate(contains_network(operands).cost + operands[1].size.scaled(TRAVERSAL_FACTOR))


def _new_list(size: SizeEstimate, factor: float = 1.0) -> CallEstimate:
    return CallEstimate(size.scaled(factor) + _NEW_LIST, size)


def _written(operand: Operand, default: int) -> int:
    """The number if it is written out; negative ones count as nothing."""
    value: Any = operand.literal
    return max(value, 0) if isinstance(value, int) and not isinstance(value, bool) else default


def slice_of(operands: Operands) -> CallEstimate:
    size, start, end = operands[0].size, operands[1], operands[2]
    length = _written(end, size.max) - _written(start, 0)
    return _new_list(exactly(length % (LARGEST + 1)))


def range_of(operands: Operands) -> CallEstimate:
    return _new_list(exactly(_written(operands[0], LARGEST)))


def copied(operands: Operands) -> CallEstimate:
    return _new_list(operands[0].size)


def flattened(operands: Operands) -> CallEstimate:
    depth = _written(operands[1], LARGEST) if len(operands) > 1 else 1
    return _new_list(operands[0].size, float(depth))


def compared_with_itself(operands: Operands) -> CallEstimate:
    """Elements of the first operand, each with each."""
    size = operands[0].size
    return _new_list(size * size, 2.0)


def sorted_by(keys: int, *, texts: bool) -> EstimateRule:
    """Sorting by the elements of one of the operands."""

    def rule(operands: Operands) -> CallEstimate:
        size = operands[keys].size
        return _new_list(size * size, 2.0 + TRAVERSAL_FACTOR if texts else 2.0)

    return rule


def product_of_lists(factor: float) -> EstimateRule:
    def rule(operands: Operands) -> CallEstimate:
        return CallEstimate((operands[0].size * operands[1].size).scaled(factor) + ONE)

    return rule
