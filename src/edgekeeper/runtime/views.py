"""What a controller sees of its own kind: one store for all namespaces, or one for each that the process looks at.

A process may be limited to some namespaces, because its rights are. Each then has a watch and a store of its own, and
an object is looked up in that of its namespace. What lies elsewhere does not concern us, so there it is absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import Store

EVERYWHERE = ""


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
