"""The objects of one kind over all stores of a controller, which has one for each namespace that it watches.

    tenants = KindView(TENANT, {BY_NAMESPACE: namespace_of})
    tenants.follow(controller.informers)                # in `Controller.informers_changed`
    tenants.get(Key("shop", "main"))                    # None if there is none, or if its namespace is not watched

Reading a store that is not synced raises NotSyncedError, as in `kube.store`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.informers import Informer
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import UNLISTABLE, IndexValues, Store

T = TypeVar("T")


class KindView:
    """The objects of a kind that a controller watches."""

    def __init__(self, kind: Kind, indexes: Mapping[str, IndexValues] | None = None) -> None:
        self.kind = kind
        self._indexes = dict(indexes or {})
        self._stores: dict[str, Store] = {}

    def follow(self, informers: Iterable[Informer]) -> None:
        """Read the stores of these informers, as far as they are of this kind, from now on."""
        own = [informer for informer in informers if informer.kind == self.kind]
        self.use({informer.selection.namespace: informer.store for informer in own})

    def use(self, stores: Mapping[str, Store]) -> None:
        """Read these stores, by the namespace of their objects; empty for all namespaces."""
        self._stores = dict(stores)
        for store in self._stores.values():
            for name, values in self._indexes.items():
                store.add_index(name, values)

    def store(self, namespace: str) -> Store | None:
        """The store with the objects of a namespace, or None if they are not watched."""
        everywhere = self._stores.get("")
        return self._stores.get(namespace) if everywhere is None else everywhere

    def covers(self, namespace: str) -> bool:
        """Whether the objects of a namespace are watched."""
        return self.store(namespace) is not None

    def get(self, key: Key) -> JsonObject | None:
        """The object, or None if it does not exist or its namespace is not watched."""
        store = self.store(key.namespace)
        return None if store is None else store.get(key)

    def decode(self, key: Key, type_: type[T]) -> T | None:
        """The same, as an instance of `type_`. Raise msgspec.ValidationError where it does not fit."""
        store = self.store(key.namespace)
        return None if store is None else store.decode(key, type_)

    def by_index(self, index: str, value: str) -> list[Key]:
        """The keys of the objects that have `value` in the index, in all stores."""
        return [key for store in self._stores.values() for key in store.by_index(index, value)]

    def listed_by_index(self, index: str, value: str) -> list[Key]:
        """The same in those stores whose kind is served and may be listed. Raise NotSyncedError where one is not filled yet."""
        stores = [store for store in self._stores.values() if store.state not in UNLISTABLE]
        return [key for store in stores for key in store.by_index(index, value)]

    def known_by_index(self, index: str, value: str) -> list[Key]:
        """The same in those stores that are synced: for waking, where an object that is unknown has a pass coming."""
        stores = [store for store in self._stores.values() if store.synced]
        return [key for store in stores for key in store.by_index(index, value)]

    def keys(self) -> list[Key]:
        """The keys of all objects."""
        return [key for store in self._stores.values() for key in store.keys()]  # noqa: SIM118 - a store is no dict
