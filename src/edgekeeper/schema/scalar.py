"""The checks of single values: type, length, pattern, format, enumeration. Numbers have a module of their own.

Each function compiles one group of keywords for values of one JSON type, and returns `None` when they demand nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import NoneType
from typing import Any, TypeAlias

import msgspec

from edgekeeper.core.json import dig_list
from edgekeeper.schema.field_error import too_long, unsupported_value
from edgekeeper.schema.formats import format_test, node_format
from edgekeeper.schema.node import Node
from edgekeeper.schema.pattern import PatternError, compile_pattern
from edgekeeper.schema.problem import (
    NOTHING,
    Problem,
    invalid,
    refused,
    wrong_type,
)
from edgekeeper.schema.table import TYPE_NAMES

Check: TypeAlias = Callable[[Any], list[Problem]]

_WIDTH_NAMES: dict[type, str] = {int: "int64", float: "float64"}
"""How Go calls the widths that JSON numbers decode to."""

_LARGEST_EXACT = 2**53
_NUMBERS = (int, float)


def check_type(node: Node, kind: type) -> Check | None:
    """Refuse values of the wrong type, or of every type but float, where only the value can tell."""
    if not node.types:
        return None
    if kind is NoneType:
        return None if node.nullable else _always(wrong_type(",".join(node.types), "null"))
    name, declared = TYPE_NAMES[kind], node_format(node)
    if name in node.types or (kind is int and "number" in node.types):
        return None
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


def _is_whole(value: float) -> bool:
    return value.is_integer() and abs(value) <= _LARGEST_EXACT


def check_string(node: Node) -> Check | None:
    """Length and pattern; the first that fails is the one reported."""
    least, most = node.source.get("minLength") or 0, node.source.get("maxLength")
    pattern = str(node.source.get("pattern") or "")
    if not least and most is None and not pattern:
        return None
    longest = sys.maxsize if most is None else most
    matches, expectation = _pattern_test(pattern)

    def check(value: str) -> list[Problem]:
        length = len(value)
        if length > longest:
            return [refused(lambda path: too_long(path, longest))]
        if length < least:
            return [invalid(value, f"should be at least {least} chars long")]
        return NOTHING if matches is None or matches(value) else [invalid(value, expectation)]

    def check_length(value: str) -> list[Problem]:
        return NOTHING if len(value) <= longest else check(value)

    return check_length if matches is None and not least else check


def _pattern_test(pattern: str) -> tuple[Callable[[str], bool] | None, str]:
    if not pattern:
        return None, ""
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
        return NOTHING if accepts(value) else [wrong_type(declared, value)]

    return check


def check_enum(node: Node, kind: type) -> Check | None:
    choices = dig_list(node.source, "enum")
    if not choices:
        return None
    shown = [
        choice if isinstance(choice, str) else msgspec.json.encode(choice).decode() for choice in choices
    ]
    allowed = [choice for choice in choices if type(choice) is kind]
    if kind in _NUMBERS:
        return _check_number_enum(choices, shown)
    quick = frozenset(allowed) if kind not in (list, dict) else allowed

    def check(value: Any) -> list[Problem]:
        return [] if value in quick else [refused(lambda path: unsupported_value(path, value, shown))]

    return _never(shown) if kind is NoneType else check


def _check_number_enum(choices: list[Any], shown: list[str]) -> Check:
    """A number is compared with a choice in the type of the choice, so 1.5 passes for the integer 1."""
    whole = frozenset(choice for choice in choices if type(choice) is int)
    floating = frozenset(choice for choice in choices if type(choice) is float)

    def check(value: float) -> list[Problem]:
        if int(value) in whole or value in floating:
            return []
        return [refused(lambda path: unsupported_value(path, value, shown))]

    return check


def _never(shown: list[str]) -> Check:
    """Null is no choice, even where it is listed."""
    return lambda value: [refused(lambda path: unsupported_value(path, value, shown))]
