"""What a controller reads of its own kind, and never older than what it wrote.

A process may be limited to some namespaces, because its rights are, and a controller to some names. Each then has a watch
and a store of its own, and an object is looked up in the one that would have it (`ScopedView`). What lies elsewhere does
not concern us, so there it is absent. Namespaces may come and go while the controller works.

Watches lag. After a write of ours, or after one that was refused because somebody else had been quicker, the store
still shows a version that is certainly not the latest. A pass that started from it would do its work twice, or run
into the same refusal. So the key waits until the store shows anything newer (`OutdatedKeys`), and no longer than
`patience`, since a watch may be broken: what a pass does then carries preconditions and does no harm.

    refused or written         outdated: the key is not looked at
    the store shows news       looked at again, if somebody wanted to meanwhile
    patience is over           looked at all the same
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from edgekeeper.kube.kinds import Key
from edgekeeper.kube.store import NotSyncedError, Store
from edgekeeper.runtime.watches import Place

PATIENCE = timedelta(seconds=10)
"""How long a key waits for its own write: a watch tells of it within milliseconds, or something is broken."""


_ANYWHERE = Place()


class View(Protocol):
    """Where objects are looked up."""

    def raw(self, key: Key) -> bytes | None:
        """The object as JSON. Raise NotSyncedError while nothing is known for certain."""


class ScopedView:
    """The stores of a kind as one, each by the place that it covers."""

    def __init__(self) -> None:
        self._stores: dict[Place, Store] = {}

    def cover(self, stores: Mapping[Place, Store]) -> bool:
        """Look into these stores from now on, and into no others. Return whether they are others than before."""
        before, self._stores = self._stores, dict(stores)
        return before != self._stores

    def raw(self, key: Key) -> bytes | None:
        for place in (_ANYWHERE, Place(key.namespace), Place(key.namespace, key.name), Place(name=key.name)):
            store = self._stores.get(place)
            if store is not None:
                return store.raw(key)
        return None

    def keys(self) -> list[Key]:
        """The objects of all stores that are synced."""
        stores = [store for store in self._stores.values() if store.synced]
        return [key for store in stores for key in store.keys()]  # noqa: SIM118 - a store is no dict


@dataclass(slots=True)
class _Outdated:
    raw: bytes
    until: float
    wanted: bool = False


class OutdatedKeys:
    """Which keys wait for the store, by the loop's clock."""

    def __init__(self, store: View, patience: timedelta = PATIENCE) -> None:
        self._store = store
        self._patience = patience.total_seconds()
        self._outdated: dict[Key, _Outdated] = {}

    def __len__(self) -> int:
        return len(self._outdated)

    def mark(self, key: Key, raw: bytes) -> None:
        """The object was like this when it was read, and is not any more."""
        with suppress(NotSyncedError):  # the kind went meanwhile: there is no news to wait for
            if self._store.raw(key) == raw:
                self._outdated[key] = _Outdated(raw, _now() + self._patience)

    def wait_for(self, key: Key) -> timedelta | None:
        """How long the key may have to wait for the store, or None where there is no need. It counts as wanted."""
        outdated = self._outdated.get(key)
        if outdated is None:
            return None
        # What is left of a microsecond is nothing: a pause of it would end before it began, again and again.
        left = timedelta(seconds=outdated.until - _now())
        if left <= timedelta(0) or self._store.raw(key) != outdated.raw:
            del self._outdated[key]
            return None
        outdated.wanted = True
        return left

    def clear(self) -> None:
        """Let nobody wait: what is watched is another selection now, or nothing is known of the kind any more."""
        self._outdated.clear()

    def caught_up(self, key: Key) -> bool:
        """The store has news of the key. Return whether somebody wanted to look at it meanwhile."""
        outdated = self._outdated.pop(key, None)
        return outdated is not None and outdated.wanted


def _now() -> float:
    return asyncio.get_running_loop().time()
