"""The contents of a mirror, and how a listing changes them. Pure: the time is passed in.

a listing          the mirror                                  result
holds an object    has none, or another version                new, or changed
holds an object    has an own write or deletion since          ignored: the listing is older
lacks an object    has it                                      missing: the mirror decides whether to remove it
lacks an object    has an own write since                      ignored: the listing is older
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Change(NamedTuple, Generic[K, V]):
    """The old and the new object of a key; None where there is none."""

    key: K
    old: V | None
    new: V | None


class MirrorState(Generic[K, V]):
    """The objects of a remote collection, as last listed or written."""

    def __init__(self, version: Callable[[V], object], in_progress: Callable[[V], bool]) -> None:
        self.objects: dict[K, V] = {}
        self.unfinished: set[K] = set()
        """Objects that are in progress at the provider."""
        self._version = version
        self._in_progress = in_progress
        self._written: dict[K, float] = {}
        """When objects were written or deleted by us, as long as a listing may not include that."""

    def write(self, key: K, value: V | None, now: float) -> list[Change[K, V]]:
        """Record an own write, or an own deletion (None)."""
        self._written[key] = now
        return self._replace(key, value)

    def take_in(self, listed: Mapping[K, V], as_of: float) -> list[Change[K, V]]:
        """Apply the objects of a listing, which includes everything that was written before `as_of`."""
        self._written = {key: when for key, when in self._written.items() if when >= as_of}
        return self._each((key, value) for key, value in listed.items() if key not in self._written)

    def missing(self, listed: Collection[K], as_of: float) -> list[K]:
        """The objects that are missing from a listing."""
        return [key for key in self.objects if key not in listed and not self._written_since(key, as_of)]

    def drop(self, keys: Iterable[K], as_of: float) -> list[Change[K, V]]:
        """Remove objects that are gone, as of that moment."""
        return self._each((key, None) for key in list(keys) if not self._written_since(key, as_of))

    def _written_since(self, key: K, moment: float) -> bool:
        return self._written.get(key, float("-inf")) >= moment

    def _each(self, news: Iterable[tuple[K, V | None]]) -> list[Change[K, V]]:
        return [change for key, value in news for change in self._replace(key, value)]

    def _replace(self, key: K, new: V | None) -> list[Change[K, V]]:
        old = self.objects.get(key)
        if new is None:
            self.objects.pop(key, None)
        else:
            self.objects[key] = new
        if new is not None and self._in_progress(new):
            self.unfinished.add(key)
        else:
            self.unfinished.discard(key)
        return [] if self._same(old, new) else [Change(key, old, new)]

    def _same(self, old: V | None, new: V | None) -> bool:
        if old is None or new is None:
            return old is new
        return self._version(old) == self._version(new)
