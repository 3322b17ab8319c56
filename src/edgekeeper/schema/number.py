"""The limits of numbers: what their type and format can hold, `minimum`, `maximum` and `multipleOf`.

Nearly every number is within its limits, so all of them are folded into one interval. Only a number outside is taken
through the single checks, which know the words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from edgekeeper.schema.field_error import FieldError, invalid_value
from edgekeeper.schema.formats import node_format
from edgekeeper.schema.gotext import show_number
from edgekeeper.schema.node import Node
from edgekeeper.schema.problem import NO_FIELD, Problem, invalid, unattributed, wrong_type

Check: TypeAlias = Callable[[Any], list[Problem]]
Interval: TypeAlias = tuple[float, float]
"""The least and the greatest number allowed."""

_INT64 = (-(2**63), 2**63 - 1)
_INT32 = (-(2**31), 2**31 - 1)
_FLOAT32 = (-3.4028234663852886e38, 3.4028234663852886e38)
_UNLIMITED = (-math.inf, math.inf)
_CAPACITIES = {"int32": _INT32, "float": _FLOAT32}


def check_number(node: Node, kind: type) -> Check | None:
    parts = [_type_limit(node, kind), _capacity(node, kind), *_bounds(node, kind)]
    least = max(interval[0] for interval, _ in parts)
    most = min(interval[1] for interval, _ in parts)
    explanations = [check for _, check in parts if check is not None]
    multiple = _check_multiple(node, kind)
    if multiple is not None:
        explanations.append(multiple)
    if not explanations:
        return None
    is_range_sufficient = multiple is None and not (kind is float and "integer" in node.types)

    def check(value: float) -> list[Problem]:
        if least <= value <= most and is_range_sufficient:
            return []
        return [problem for explain in explanations for problem in explain(value)]

    return check


def _within(interval: Interval, problem: Problem) -> tuple[Interval, Check]:
    least, most = interval
    return interval, lambda value: [] if least <= value <= most else [problem]


def _type_limit(node: Node, kind: type) -> tuple[Interval, Check | None]:
    """Go decodes whole numbers beyond 64 bits as floats, which are no integers."""
    if kind is not int or "integer" not in node.types:
        return _UNLIMITED, None
    return _within(_INT64, wrong_type(",".join(node.types), "number"))


def _capacity(node: Node, kind: type) -> tuple[Interval, Check | None]:
    """What the Go type behind type and format can hold: `int32` and `float` are narrower than numbers in JSON."""
    declared = node_format(node)
    only = node.types[0] if len(node.types) == 1 else ""
    interval = _CAPACITIES.get(declared) or (_INT64 if only == "integer" else None)
    if interval is None:
        return _UNLIMITED, None
    kept = f"with format {declared}" if declared else "(default format)"
    problem = unattributed(lambda path: f"Checked value must be of type {only} {kept} in {path}")
    if kind is float and only == "integer":
        least, most = interval
        return interval, lambda value: [] if least <= value <= most and value.is_integer() else [problem]
    return _within(interval, problem)


def _bounds(node: Node, kind: type) -> list[tuple[Interval, Check | None]]:
    return [_bound(node, kind, "minimum"), _bound(node, kind, "maximum")]


def _bound(node: Node, kind: type, keyword: str) -> tuple[Interval, Check | None]:
    declared = node.source.get(keyword)
    if not isinstance(declared, int | float):
        return _UNLIMITED, None
    limit = int(declared) if kind is int else float(declared)
    exclusive = bool(node.source.get(f"exclusive{keyword.capitalize()}"))
    inward = math.inf if keyword == "minimum" else -math.inf
    allowed = _next(limit, inward) if exclusive else limit
    direction = "greater" if keyword == "minimum" else "less"
    expectation = f"should be {direction} than {'' if exclusive else 'or equal to '}{show_number(limit)}"
    interval = (allowed, math.inf) if keyword == "minimum" else (-math.inf, allowed)
    least, most = interval
    return interval, lambda value: [] if least <= value <= most else [invalid(value, expectation)]


def _next(limit: float, towards: float) -> float:
    if isinstance(limit, int):
        return limit + (1 if towards > 0 else -1)
    return math.nextafter(limit, towards)


def _check_multiple(node: Node, kind: type) -> Check | None:
    factor = node.source.get("multipleOf")
    if not isinstance(factor, int | float):
        return None
    divisor = int(factor) if kind is int else float(factor)
    if divisor <= 0:
        return lambda _: [Problem((), lambda path: _useless_factor(path, divisor))]
    expectation = f"should be a multiple of {show_number(divisor)}"
    if kind is int:
        return lambda value: [] if value % divisor == 0 else [invalid(value, expectation)]
    return lambda value: [] if _is_near_integer(value / divisor) else [invalid(value, expectation)]


def _useless_factor(path: str, divisor: float) -> FieldError:
    detail = f"factor MultipleOf declared for {path} must be positive: {show_number(divisor)}"
    return invalid_value(path or NO_FIELD, divisor, detail)


def _is_near_integer(value: float) -> bool:
    return math.isfinite(value) and math.isclose(value, round(value), rel_tol=1e-9, abs_tol=1e-9)
