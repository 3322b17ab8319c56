"""Filters of listings: `name=`, `name.exact=`, `comment.startswith=`, … combined by `match=all|any`; and their order.

Comparisons ignore case, as the provider's do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from edgekeeper.core.json import JsonObject

_OPERATORS: dict[str, Callable[[str, str], bool]] = {
    "exact": lambda text, wanted: text == wanted,
    "contains": lambda text, wanted: wanted in text,
    "startswith": lambda text, wanted: text.startswith(wanted),
    "endswith": lambda text, wanted: text.endswith(wanted),
    "present": lambda text, _: text != "",
    "absent": lambda text, _: text == "",
}


def matches(item: JsonObject, query: Mapping[str, str], fields: Sequence[str]) -> bool:
    """Whether an object is among those that the query asks for, as far as `fields` are concerned."""
    verdicts = [
        _OPERATORS[operator](_text(item.get(name)), wanted.lower())
        for name, operator, wanted in _conditions(query)
        if name in fields and operator in _OPERATORS
    ]
    return any(verdicts) if verdicts and query.get("match") == "any" else all(verdicts)


def ordered(items: list[JsonObject], query: Mapping[str, str]) -> list[JsonObject]:
    """In the order that the query asks for, or in that of creation."""
    field = query.get("order", "")
    if not field:
        return items
    return sorted(items, key=lambda item: _text(item.get(field)), reverse=query.get("direction") == "desc")


def _conditions(query: Mapping[str, str]) -> list[tuple[str, str, str]]:
    conditions = []
    for parameter, wanted in query.items():
        name, _, operator = parameter.partition(".")
        conditions.append((name, operator or "exact", wanted))
    return conditions


def _text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower()
