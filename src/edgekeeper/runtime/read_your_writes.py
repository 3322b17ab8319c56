"""What a controller reads of its own kind, and never older than what it wrote.

A process may be limited to some namespaces, because its rights are. Each then has a watch and a store of its own, and
an object is looked up in that of its namespace (`View`). What lies elsewhere does not concern us, so there it is absent.

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
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import Store

EVERYWHERE = ""
PATIENCE = timedelta(seconds=10)
"""How long a key waits for its own write: a watch tells of it within milliseconds, or something is broken."""


class View(Protocol):
    """Where objects are looked up."""

    def raw(self, key: Key) -> bytes | None:
        """The object as JSON. Raise NotSyncedError while nothing is known for certain."""


class NamespacedView:
    """The stores of some namespaces as one."""

    def __init__(self, stores: Mapping[str, Store]) -> None:
        self._stores = stores

    def raw(self, key: Key) -> bytes | None:
        store = self._stores.get(key.namespace)
        return store.raw(key) if store is not None else None


def watched_namespaces(kind: Kind, namespaces: tuple[str, ...]) -> tuple[str, ...]:
    """The namespaces in which a kind is watched. Cluster-scoped kinds are in none, so limits do not concern them."""
    return namespaces if kind.namespaced and namespaces else (EVERYWHERE,)


def view_of(stores: Mapping[str, Store]) -> View:
    """The view over the stores of a kind, by namespace."""
    return stores[EVERYWHERE] if EVERYWHERE in stores else NamespacedView(stores)


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

    def caught_up(self, key: Key) -> bool:
        """The store has news of the key. Return whether somebody wanted to look at it meanwhile."""
        outdated = self._outdated.pop(key, None)
        return outdated is not None and outdated.wanted


def _now() -> float:
    return asyncio.get_running_loop().time()
