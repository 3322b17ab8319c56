"""A controller's view of its own kind, which is never older than the controller's own writes.

A process may be limited to some namespaces, because its permissions are, and a controller to some names. Each then has a
watch and a store of its own, and an object is looked up in the store that covers it (`ScopedView`). Objects that no
store covers are treated as absent. Namespaces may be added and removed while the controller runs.

Watches lag. After a write, or after one that was refused with a conflict, the store still contains a version that is
certainly not the latest. A pass that started from it would repeat its work, or run into the same conflict. So the key
waits until the store has a newer version (`OutdatedKeys`), but no longer than `patience`, because the watch may be
broken: a pass on the old version does no harm then, since its writes carry preconditions.

    written, or a conflict          outdated: the key gets no pass
    the store has a newer version   the key is queued, if it was taken meanwhile
    `patience` is over              the key gets a pass with the old version
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
"""How long a key waits for its own write, which a healthy watch delivers within milliseconds."""


_ANYWHERE = Place()


class View(Protocol):
    """Something from which objects can be read."""

    def raw(self, key: Key) -> bytes | None:
        """The object as JSON, or None if it does not exist. Raise NotSyncedError if the store is not synced."""


class ScopedView:
    """The stores of a kind as one, by the namespace and name that each covers."""

    def __init__(self) -> None:
        self._stores: dict[Place, Store] = {}

    def cover(self, stores: Mapping[Place, Store]) -> bool:
        """Replace the stores. Return whether they have changed."""
        before, self._stores = self._stores, dict(stores)
        return before != self._stores

    def raw(self, key: Key) -> bytes | None:
        for place in (_ANYWHERE, Place(key.namespace), Place(key.namespace, key.name), Place(name=key.name)):
            store = self._stores.get(place)
            if store is not None:
                return store.raw(key)
        return None

    def keys(self) -> list[Key]:
        """The keys of all objects in the stores that are synced."""
        stores = [store for store in self._stores.values() if store.synced]
        return [key for store in stores for key in store.keys()]  # noqa: SIM118 - a store is no dict


@dataclass(slots=True)
class _Outdated:
    raw: bytes
    until: float
    wanted: bool = False


class OutdatedKeys:
    """The keys that wait for the store, with time limits by the event loop's clock."""

    def __init__(self, store: View, patience: timedelta = PATIENCE) -> None:
        self._store = store
        self._patience = patience.total_seconds()
        self._outdated: dict[Key, _Outdated] = {}

    def __len__(self) -> int:
        return len(self._outdated)

    def mark(self, key: Key, raw: bytes) -> None:
        """Mark a key as outdated for as long as the store has `raw`, which is no longer the latest version."""
        with suppress(NotSyncedError):  # the kind is no longer served: there is nothing to wait for
            if self._store.raw(key) == raw:
                self._outdated[key] = _Outdated(raw, _now() + self._patience)

    def wait_for(self, key: Key) -> timedelta | None:
        """How long the key has to wait at most, or None if it need not. A key that waits is queued by `caught_up`."""
        outdated = self._outdated.get(key)
        if outdated is None:
            return None
        # Rounded to microseconds: a fraction of one would requeue the key in a busy loop.
        left = timedelta(seconds=outdated.until - _now())
        if left <= timedelta(0) or self._store.raw(key) != outdated.raw:
            del self._outdated[key]
            return None
        outdated.wanted = True
        return left

    def clear(self) -> None:
        """Let no key wait, because the selection has changed, or a store is no longer synced."""
        self._outdated.clear()

    def caught_up(self, key: Key) -> bool:
        """The store has a newer version. Return whether the key was taken from the queue meanwhile, and is to be queued."""
        outdated = self._outdated.pop(key, None)
        return outdated is not None and outdated.wanted


def _now() -> float:
    return asyncio.get_running_loop().time()
