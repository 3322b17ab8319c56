"""Which values are already in a collection, without comparing every value with every other.

Strings, numbers and the like are found by their hash. Lists, maps and optionals have none, so these are compared one by
one, and all comparisons together are limited.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from typing import Any, Final

from edgekeeper.cel.equality import Allowance, equals_within
from edgekeeper.cel.limits import DEFAULT_BUDGET
from edgekeeper.cel.values import Duration, Timestamp

_PLAIN: Final = (str, bytes, Timestamp, Duration)


class Members:
    """A set by the language's own notion of equality."""

    __slots__ = ("_allowance", "_composed", "_hashed")

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._hashed: set[Any] = set()
        self._composed: list[Any] = []
        self._allowance: Allowance = [DEFAULT_BUDGET]
        for value in values:
            self.add(value)

    def add(self, value: Any) -> bool:
        """Whether the value was not there yet."""
        if value in self:
            return False
        key = _key(value)
        if key is not None:
            self._hashed.add(key)
        else:
            self._composed.append(value)
        return True

    def __contains__(self, value: Any) -> bool:
        key = _key(value)
        if key is not None:
            return key in self._hashed
        return any(equals_within(other, value, self._allowance) for other in self._composed)


def _key(value: Any) -> tuple[str, Any] | None:
    """Equal for equal values, and only for these; None for values that have to be compared."""
    if value is None or isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, float) and isnan(value):
        return ("nan", object())
    if isinstance(value, int | float):
        return ("number", value)
    if isinstance(value, _PLAIN):
        return (type(value).__name__, value)
    return None
