"""Where a service keeps its resources: writers see the present, readers may see the past.

AWS is eventually consistent: a tenant just created is not found, one just updated still shows its old values. With a
lag of zero a shelf is a dictionary. With a lag it remembers what each key held, for as long as a reader may be that
far behind. Values are never changed in place, so remembering them costs a reference each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Generic, TypeVar

from edgekeeper.local.aws.cloudtime import CloudTime

K = TypeVar("K")
V = TypeVar("V")


class Shelf(Generic[K, V]):
    """Values by key, in the order in which their keys came."""

    def __init__(self, time: CloudTime, lag: Callable[[], timedelta]) -> None:
        self._time = time
        self._lag = lag
        self._present: dict[K, V] = {}
        self._past: dict[K, list[tuple[float, V | None]]] = {}
        """What a key held before, with the moment at which that ended; oldest first."""

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

    def _remember(self, key: K) -> None:
        if self._lag() > timedelta():
            self._past.setdefault(key, []).append((self._time.monotonic(), self._present.get(key)))
