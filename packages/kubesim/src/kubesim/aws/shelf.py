"""Where a service keeps its resources: writers see the present, readers may see the past.

AWS is eventually consistent: a tenant just created is not found, one just updated still shows its old values. With a
lag of zero a shelf is a dictionary. With a lag it remembers what each key held, for as long as a reader may be that
far behind. Values are never changed in place, so remembering them costs a reference each.

Services that list page by page go through the keys in order. That order is kept rather than made for every page: a
hundred pages of ten thousand resources are asked for at a time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from kubesim.aws.cloudtime import CloudTime


class Ordered(Protocol):
    """What can be sorted."""

    def __lt__(self, other: Any, /) -> bool: ...


K = TypeVar("K", bound=Ordered)
V = TypeVar("V")


class Shelf(Generic[K, V]):
    """Values by key, in the order in which their keys came."""

    def __init__(self, time: CloudTime, lag: Callable[[], timedelta]) -> None:
        self._time = time
        self._lag = lag
        self._present: dict[K, V] = {}
        self._past: dict[K, list[tuple[float, V | None]]] = {}
        """What a key held before, with the moment at which that ended; oldest first."""
        self._order: list[K] | None = None
        """The keys in order, and some that are gone, from the first time that somebody needs them."""

    # --- The present: what writes are checked against ---

    def __contains__(self, key: K) -> bool:
        return key in self._present

    def __getitem__(self, key: K) -> V:
        return self._present[key]

    def __len__(self) -> int:
        return len(self._present)

    def get(self, key: K) -> V | None:
        return self._present.get(key)

    def values(self) -> Iterator[V]:
        return iter(tuple(self._present.values()))

    def items(self) -> Iterator[tuple[K, V]]:
        return iter(tuple(self._present.items()))

    def put(self, key: K, value: V) -> None:
        self._remember(key)
        if self._order is not None and not self._is_in_order(key):
            insort(self._order, key)
        self._present[key] = value

    def remove(self, key: K) -> V:
        self._remember(key)
        return self._present.pop(key)

    # --- What a reader sees ---

    def seen(self, key: K) -> V | None:
        """The value of a key as it was before the lag."""
        past = self._past.get(key)
        if not past:
            return self._present.get(key)
        horizon = self._time.monotonic() - self._lag().total_seconds()
        for ended, value in past:
            if ended > horizon:
                return value
        del self._past[key]
        return self._present.get(key)

    def all_seen(self) -> list[tuple[K, V]]:
        if not self._past:
            return list(self._present.items())
        keys = dict.fromkeys((*self._present, *self._past))
        found = ((key, self.seen(key)) for key in keys)
        return [(key, value) for key, value in found if value is not None]

    def seen_after(self, key: K) -> Iterator[tuple[K, V]]:
        """What a reader sees from the next key on, in the order of keys. Nothing may be changed meanwhile."""
        if self._order is None or len(self._order) > 2 * (len(self._present) + len(self._past)):
            self._order = sorted({*self._present, *self._past})
        for one in islice(self._order, bisect_right(self._order, key), None):
            value = self.seen(one)
            if value is not None:
                yield one, value

    def _is_in_order(self, key: K) -> bool:
        order = self._order or []
        place = bisect_left(order, key)
        return place < len(order) and order[place] == key

    def _remember(self, key: K) -> None:
        if self._lag() > timedelta():
            self._past.setdefault(key, []).append((self._time.monotonic(), self._present.get(key)))
