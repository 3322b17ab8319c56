"""Which values are in a collection, without comparing every value with every other.

Every value gets a key that can be hashed, such that equal values, by the language's own notion, have equal keys. Lists and
maps are made of parts whose keys are known already, so they are known by a number that stands for the combination of
these. Parts that occur many times are looked at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import isnan
from typing import Any

from kubecel.library.nesting import check_depth, write_weight
from kubecel.types import Type
from kubecel.values import Optional

_CONTAINERS = (list, tuple, dict)


class Keys:
    """Keys of values that live as long as this."""

    __slots__ = ("_by_identity", "_combinations")

    def __init__(self) -> None:
        self._by_identity: dict[int, Hashable] = {}
        self._combinations: dict[Hashable, int] = {}

    def of(self, value: Any, depth: int = 0) -> Hashable:
        if isinstance(value, str):
            return ("string", value)
        if value is None or isinstance(value, bool):
            return ("bool", value)
        if isinstance(value, int | float):
            # No NaN is equal to anything, not even to itself.
            return ("number", value if not isinstance(value, float) or not isnan(value) else object())
        if isinstance(value, _CONTAINERS):
            return self._of_container(value, depth)
        if isinstance(value, Optional):
            return ("optional", value.present, self.of(value.value, depth + 1))
        if isinstance(value, Type):
            return ("type", value.kind, value.name)
        return (type(value).__name__, value)

    def _of_container(self, value: Any, depth: int) -> Hashable:
        found = self._by_identity.get(id(value))
        if found is None:
            check_depth(depth)
            combination: Hashable
            if isinstance(value, dict):
                combination = frozenset((key, self.of(part, depth + 1)) for key, part in value.items())
            else:
                combination = tuple([self.of(part, depth + 1) for part in value])
            number = self._combinations.setdefault(combination, len(self._combinations))
            found = self._by_identity[id(value)] = ("container", number)
        return found


class Members:
    """A set by the language's own notion of equality."""

    __slots__ = ("_keys", "_known")

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._keys = Keys()
        self._known = {self._keys.of(value) for value in values}

    def add(self, value: Any) -> bool:
        """Whether the value was not there yet."""
        key = self._keys.of(value)
        if key in self._known:
            return False
        self._known.add(key)
        return True

    def __contains__(self, value: Any) -> bool:
        return self._keys.of(value) in self._known


def find_position(elements: Sequence[Any], wanted: Any, positions: Iterable[int]) -> int:
    """The first of the positions at which a value is found, -1 if at none."""
    keys = Keys()
    sought = keys.of(wanted)
    return next((position for position in positions if keys.of(elements[position]) == sought), -1)


def inner_cost(*collections: Sequence[Any]) -> int:
    """What it costs to look into the lists and maps in these collections, which cel-go does for nothing."""
    composed = [value for values in collections for value in values if isinstance(value, _CONTAINERS)]
    return write_weight(composed) // 10 if composed else 0
