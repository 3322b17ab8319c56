"""What the functions of the language itself cost, estimated from the sizes of their arguments.

All others cost one, or what their library says. `&&`, `||` and `?:` are not here: they may leave arguments alone, so
`kubecel.estimate` treats them as part of the language.
"""

from __future__ import annotations

from typing import Final

from kubecel.sizes import (
    ONE,
    PATTERN_FACTOR,
    TRAVERSAL_FACTOR,
    CallEstimate,
    Estimate,
    EstimateRule,
    Operands,
    exactly,
)
from kubecel.types import Kind

_COMPARED_AT_ONCE: Final = frozenset({"kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR"})
"""Types of libraries whose values are equal or not at the cost of one."""
_FORMAT: Final = "kubernetes.NamedFormat"
_URL: Final = "kubernetes.URL"
_MAX_FORMAT: Final = 64
"""Characters of the longest name of a format."""


def _walk_receiver(operands: Operands) -> CallEstimate:
    return CallEstimate(operands[0].size.scaled(TRAVERSAL_FACTOR))


def _walk_argument(operands: Operands) -> CallEstimate:
    return CallEstimate(operands[1].size.scaled(TRAVERSAL_FACTOR))


def _string_to_bytes(operands: Operands) -> CallEstimate:
    size = operands[0].size
    return CallEstimate(size.scaled(TRAVERSAL_FACTOR), Estimate(size.min, (size * exactly(4)).max))


def _bytes_to_string(operands: Operands) -> CallEstimate:
    size = operands[0].size
    return CallEstimate(size.scaled(TRAVERSAL_FACTOR), Estimate(size.min // 4, size.max))


def _quote(operands: Operands) -> CallEstimate:
    size = operands[0].size
    longest = (size * exactly(2) + exactly(2)).max
    return CallEstimate(size.scaled(TRAVERSAL_FACTOR), Estimate((size + exactly(2)).min, longest))


def _in_list(operands: Operands) -> CallEstimate:
    return CallEstimate(operands[1].size.scaled(1))


def _matches(operands: Operands) -> CallEstimate:
    subject, pattern = operands
    # One more than the string is long: a pattern costs something on an empty string too.
    walk = (subject.size + ONE).scaled(TRAVERSAL_FACTOR)
    return CallEstimate(walk * pattern.size.scaled(PATTERN_FACTOR))


def _contains(operands: Operands) -> CallEstimate:
    text, part = operands
    return CallEstimate(text.size.scaled(TRAVERSAL_FACTOR) * part.size.scaled(TRAVERSAL_FACTOR))


def _concatenate(operands: Operands) -> CallEstimate:
    size = operands[0].size + operands[1].size
    return CallEstimate(size.scaled(TRAVERSAL_FACTOR), size)


def _concatenate_lists(operands: Operands) -> CallEstimate:
    return CallEstimate(ONE, operands[0].size + operands[1].size)


def _compare(operands: Operands) -> CallEstimate:
    """Two values are compared until the shorter one ends."""
    most = min(operands[0].size.max, operands[1].size.max)
    return CallEstimate(Estimate(1 if most else 0, most).scaled(TRAVERSAL_FACTOR))


def _equals(operands: Operands) -> CallEstimate:
    one, other = operands
    if one.type.name != other.type.name or one.type.kind not in (Kind.OPAQUE, Kind.OBJECT):
        return _compare(operands)
    if one.type.name in _COMPARED_AT_ONCE:
        return CallEstimate(ONE)
    if one.type.name == _FORMAT:
        return CallEstimate(Estimate(1, _MAX_FORMAT).scaled(TRAVERSAL_FACTOR))
    if one.type.name == _URL:
        size = other.known_size or ONE
        return CallEstimate(Estimate(1, size.max).scaled(TRAVERSAL_FACTOR))
    return _compare(operands)


STANDARD_RULES: Final[dict[str, EstimateRule]] = {
    "string_format": _walk_receiver,
    "string_to_bytes": _string_to_bytes,
    "bytes_to_string": _bytes_to_string,
    "strings_quote": _quote,
    "starts_with_string": _walk_argument,
    "ends_with_string": _walk_argument,
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
    "add_string": _concatenate,
    "add_bytes": _concatenate,
    "add_list": _concatenate_lists,
    "equals": _equals,
    "not_equals": _compare,
    **{
        f"{relation}_{kind}": _compare
        for relation in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
}
"""By the identifier of the overload, which is cel-go's."""
