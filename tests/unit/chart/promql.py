"""The metrics and labels that an expression of PromQL names. Enough for expressions of dashboards and alerts."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STRING = re.compile(r'"[^"]*"')
_RANGE = re.compile(r"\[[^\]]*\]")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_SELECTOR = re.compile(r"\{([^}]*)\}")
_NAME = re.compile(r"(?<![\w.])([a-zA-Z_:][\w:]*)\b(?!\s*\()")
_WORDS = frozenset({"and", "or", "unless", "bool", "offset", "inf", "nan"})


@dataclass(frozen=True)
class Named:
    """What an expression names."""

    metrics: frozenset[str]
    labels: frozenset[str]


def names_in(expression: str) -> Named:
    """All metrics and labels of an expression. Labels are not told apart by metric."""
    bare = _RANGE.sub("", _STRING.sub("", expression))
    labels = {name.strip() for group in _GROUPING.findall(bare) for name in group.split(",")}
    labels |= {
        re.split(r"[=!]", matcher)[0].strip()
        for group in _SELECTOR.findall(bare)
        for matcher in group.split(",")
    }
    rest = _SELECTOR.sub("", _GROUPING.sub("", bare))
    metrics = {name for name in _NAME.findall(rest) if name.lower() not in _WORDS}
    return Named(frozenset(metrics), frozenset(labels - {""}))
