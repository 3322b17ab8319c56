"""The checks of single values: type, length, pattern, format, limits, enumeration.

Each function compiles one group of keywords for values of one JSON type, and returns `None` when they demand nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import NoneType
from typing import Any, TypeAlias

import msgspec

from edgekeeper.core.json import dig_list
from edgekeeper.local.plane.errors import FieldError, invalid_value, too_long, unsupported_value
from edgekeeper.local.plane.schema.formats import effective_format, format_test
from edgekeeper.local.plane.schema.node import Node
from edgekeeper.local.plane.schema.pattern import PatternError, compile_pattern
from edgekeeper.local.plane.schema.problem import (
    NO_FIELD,
    Problem,
    invalid,
    refused,
    unattributed,
    wrong_type,
)
from edgekeeper.local.plane.schema.table import TYPE_NAMES

Check: TypeAlias = Callable[[Any], list[Problem]]

_WIDTH_NAMES: dict[type, str] = {int: "int64", float: "float64"}
"""How Go calls the widths that JSON numbers decode to."""

_LARGEST_EXACT = 2**53
_INT64 = range(-(2**63), 2**63)
_INT32 = range(-(2**31), 2**31)
_LARGEST_FLOAT32 = 3.4028234663852886e38
_NUMBERS = (int, float)


def node_format(node: Node) -> str:
    return effective_format(node.types, str(node.source.get("format") or ""))


def check_type(node: Node, kind: type) -> Check | None:
    """Refuse values of the wrong type, or of every type but float, where only the value can tell."""
    if not node.types:
        return None
    if kind is NoneType:
        return None if node.nullable else _always(wrong_type(",".join(node.types), "null"))
    name, declared = TYPE_NAMES[kind], node_format(node)
    if name in node.types or (kind is int and "number" in node.types):
        return _check_int64 if kind is int and "integer" in node.types else None
    numeric = "integer" in node.types or "number" in node.types
    if declared and not numeric and kind is list:
        return None  # kube-openapi overlooks lists where a formatted string belongs
    mismatch = wrong_type(",".join(node.types), name)
    if declared and kind not in (str, list):
        mismatch = wrong_type(declared, _WIDTH_NAMES.get(kind, ""))
    if kind is float and "integer" in node.types:
        return lambda value: [] if _is_whole(value) else [mismatch]
    return _always(mismatch)


def _always(problem: Problem) -> Check:
    return lambda _: [problem]


def _check_int64(value: int) -> list[Problem]:
    """Go decodes whole numbers that do not fit as floats, so they are of another type."""
    return [] if value in _INT64 else [wrong_type("integer", "number")]


def _is_whole(value: float) -> bool:
    return value.is_integer() and abs(value) <= _LARGEST_EXACT


def check_string(node: Node) -> Check | None:
    """Length and pattern; the first that fails is the one reported."""
    least, most = node.source.get("minLength") or 0, node.source.get("maxLength")
    pattern = str(node.source.get("pattern") or "")
    if not least and most is None and not pattern:
        return None
    matches, expectation = _pattern_test(pattern)

    def check(value: str) -> list[Problem]:
        length = len(value)
        if most is not None and length > most:
            return [refused(lambda path: too_long(path, most))]
        if length < least:
            return [invalid(value, f"should be at least {least} chars long")]
        return [] if matches(value) else [invalid(value, expectation)]

    return check


def _pattern_test(pattern: str) -> tuple[Callable[[str], bool], str]:
    if not pattern:
        return lambda _: True, ""
    try:
        return compile_pattern(pattern), f"should match '{pattern}'"
    except PatternError as error:
        return lambda _: False, f"should match '{pattern}, but pattern is invalid: {error}'"


def check_format(node: Node) -> Check | None:
    declared = node_format(node)
    accepts = format_test(declared)
    if accepts is None:
        return None

    def check(value: str) -> list[Problem]:
        return [] if accepts(value) else [wrong_type(declared, value)]

    return check


def check_number(node: Node, kind: type) -> Check | None:
    checks = [
        check
        for check in (_check_range(node, kind), _check_multiple(node, kind), *_check_limits(node, kind))
        if check is not None
    ]
    if len(checks) <= 1:
        return checks[0] if checks else None
    return lambda value: [problem for check in checks for problem in check(value)]


def _check_range(node: Node, kind: type) -> Check | None:
    """What the format can hold: `int32` and `float` are narrower than what JSON numbers decode to."""
    declared = node_format(node)
    if declared == "int32":
        fits: Callable[[Any], bool] = (lambda value: value in _INT32) if kind is int else _fits_int32
    elif declared == "float":
        fits = lambda value: abs(value) <= _LARGEST_FLOAT32  # noqa: E731  (the sibling of the line above)
    else:
        return None
    expectation = f"Checked value must be of type {node.types[0]} with format {declared} in "
    problem = unattributed(lambda path: expectation + path)
    return lambda value: [] if fits(value) else [problem]


def _fits_int32(value: float) -> bool:
    return value.is_integer() and int(value) in _INT32


def _check_multiple(node: Node, kind: type) -> Check | None:
    factor = node.source.get("multipleOf")
    if not isinstance(factor, _NUMBERS):
        return None
    divisor = int(factor) if kind is int else float(factor)
    if divisor <= 0:
        return _always(Problem((), lambda path: _useless_factor(path, divisor)))
    is_multiple: Callable[[Any], bool] = (
        (lambda value: value % divisor == 0)
        if kind is int
        else (lambda value: _is_near_integer(value / divisor))
    )
    expectation = f"should be a multiple of {go_number(divisor)}"
    return lambda value: [] if is_multiple(value) else [invalid(value, expectation)]


def _useless_factor(path: str, divisor: float) -> FieldError:
    detail = f"factor MultipleOf declared for {path} must be positive: {go_number(divisor)}"
    return invalid_value(path or NO_FIELD, divisor, detail)


def _is_near_integer(value: float) -> bool:
    return math.isfinite(value) and math.isclose(value, round(value), rel_tol=1e-9, abs_tol=1e-9)


def _check_limits(node: Node, kind: type) -> list[Check | None]:
    return [
        _check_limit(node, kind, "minimum", "greater", lambda value, limit: value < limit),
        _check_limit(node, kind, "maximum", "less", lambda value, limit: value > limit),
    ]


def _check_limit(
    node: Node, kind: type, keyword: str, direction: str, beyond: Callable[[float, float], bool]
) -> Check | None:
    declared = node.source.get(keyword)
    if not isinstance(declared, _NUMBERS):
        return None
    limit = int(declared) if kind is int else float(declared)
    if node.source.get(f"exclusive{keyword.capitalize()}"):
        expectation = f"should be {direction} than {go_number(limit)}"
        return lambda value: [invalid(value, expectation)] if beyond(value, limit) or value == limit else []
    expectation = f"should be {direction} than or equal to {go_number(limit)}"
    return lambda value: [invalid(value, expectation)] if beyond(value, limit) else []


def go_number(value: float) -> str:
    """A number as Go's `%v` prints it: floats from a million on have an exponent."""
    if isinstance(value, int):
        return str(value)
    if value != 0 and (abs(value) >= 1e6 or abs(value) < 1e-4) and math.isfinite(value):
        shortest = next(text for text in (f"{value:.{n}e}" for n in range(17)) if float(text) == value)
        digits, _, exponent = shortest.partition("e")
        return f"{digits}e{exponent[0]}{exponent[1:].zfill(2)}"
    return repr(value).removesuffix(".0")


def check_enum(node: Node, kind: type) -> Check | None:
    choices = dig_list(node.source, "enum")
    if not choices:
        return None
    shown = [
        choice if isinstance(choice, str) else msgspec.json.encode(choice).decode() for choice in choices
    ]
    candidates = [choice for choice in choices if _comparable(choice, kind)]
    allowed = frozenset(candidates) if kind not in (list, dict) else candidates

    def check(value: Any) -> list[Problem]:
        return [] if value in allowed else [refused(lambda path: unsupported_value(path, value, shown))]

    return check


def _comparable(choice: Any, kind: type) -> bool:
    """Numbers compare with numbers, everything else within its type; null equals nothing, not even null."""
    if kind is NoneType:
        return False
    return type(choice) is kind or (type(choice) in _NUMBERS and kind in _NUMBERS)
