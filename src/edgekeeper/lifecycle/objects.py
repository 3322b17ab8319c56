"""The objects of all kinds of a process, indexed by values that they may share, such as hostnames.

    objects = ObjectIndex()                                       one per process
    objects.add(KIND, HOSTNAME, hostnames_of, wakes=True)         for each kind
    objects.attach(KIND, informers, controller.wake)              while its controller is attached
    objects.find(HOSTNAME, "shop.example.com")                    objects of any kind
    objects.wake(HOSTNAME, "shop.example.com")                    a pass for each of them

Waking
    When an object changes, all objects that share a value with it, before or after the change, are requeued. This uses
    subscriptions to the informers of the controllers instead of a `runtime.Source` per other kind, because such a source
    would require a controller to know all other kinds in advance, would need a second watch if the other controller
    watches other namespaces or labels, and would block the start while another kind is not served or may not be listed.
    Kinds can be added and removed while the process runs.

Guarantees
    - `find` and `holders` raise NotSyncedError while a store that could contain such objects is not synced, and `is_used`
      returns True: an unknown object is never treated as absent.
    - A kind that was never listed, because it is not served or may not be listed, is ignored: its own controller does
      nothing either. `is_used` still returns True for it.
    - Objects in unsynced stores are not woken, and objects of the initial listing wake no others: their first pass is
      queued anyway.

Assumptions
    - Index functions accept any content, since objects are not validated here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import msgspec

from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.informers import Informer
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import UNLISTABLE, Change, IndexValues, Store

HOSTNAME: Final = "hostname"
"""The index of hostnames that objects claim. A wildcard is a separate value."""

Wake: TypeAlias = Callable[[Key], None]
"""Requeues an object."""

_decode = msgspec.json.Decoder(dict).decode


@dataclass(frozen=True, slots=True)
class KindObject:
    """An object and its kind."""

    kind: Kind
    key: Key
    tree: JsonObject

    @property
    def uid(self) -> str:
        return str(dig(self.tree, "metadata", "uid") or "")

    @property
    def generation(self) -> int:
        generation = dig(self.tree, "metadata", "generation")
        return generation if isinstance(generation, int) else 0

    @property
    def seniority(self) -> tuple[str, str]:
        """A sort key by age: older objects first, ties broken by uid."""
        created, uid = (dig(self.tree, "metadata", field) for field in ("creationTimestamp", "uid"))
        return str(created or ""), str(uid or "")

    def is_same(self, other: KindObject) -> bool:
        return (self.kind, self.key) == (other.kind, other.key)

    def name_for(self, reader: Kind) -> str:
        """The name in messages for an object of the kind `reader`: `default/shop`, or `httproute default/shop` if they differ."""
        return str(self.key) if self.kind == reader else f"{self.kind.kind.lower()} {self.key}"


@dataclass(frozen=True, slots=True)
class _Index:
    values: IndexValues
    wakes: bool


class ObjectIndex:
    """Indexes the objects of all kinds, and wakes those that share a value."""

    def __init__(self) -> None:
        self._indexes: dict[Kind, dict[str, _Index]] = {}
        self._linked: defaultdict[str, set[str]] = defaultdict(set)
        self._stores: dict[Kind, tuple[Store, ...]] = {}
        self._wakes: dict[Kind, Wake] = {}
        self._unsubscribe: dict[Kind, list[Callable[[], None]]] = {}

    # Kinds

    def add(self, kind: Kind, index: str, values: IndexValues, *, wakes: bool = False) -> None:
        """Index the objects of a kind by `values`. If `wakes`, objects that share a value wake each other."""
        indexes = self._indexes.setdefault(kind, {})
        if index in indexes:
            raise ValueError(f"{kind.qualified_plural} already have an index {index!r}")
        indexes[index] = _Index(values, wakes)
        for store in self._stores.get(kind, ()):
            store.add_index(index, values)

    def link(self, index: str, other: str) -> None:
        """Treat the values of two indexes as the same for waking."""
        self._linked[index].add(other)
        self._linked[other].add(index)

    def follow(self, kind: Kind, stores: Iterable[Store]) -> None:
        """Use these stores for a kind, instead of any others."""
        self._stores[kind] = tuple(dict.fromkeys(stores))
        for store in self._stores[kind]:
            for name, index in self._indexes.get(kind, {}).items():
                store.add_index(name, index.values)

    def attach(self, kind: Kind, informers: Iterable[Informer], wake: Wake) -> None:
        """Use the informers of a controller for its kind, and wake its objects with `wake`."""
        self.detach(kind)
        watched = list(dict.fromkeys(informers))
        self.follow(kind, [informer.store for informer in watched])
        self._wakes[kind] = wake
        self._unsubscribe[kind] = [informer.subscribe(partial(self._changed, kind)) for informer in watched]

    def detach(self, kind: Kind) -> None:
        """Remove the objects of a kind."""
        for unsubscribe in self._unsubscribe.pop(kind, ()):
            unsubscribe()
        self._wakes.pop(kind, None)
        self._stores.pop(kind, None)

    # Looking up

    def values(self, obj: KindObject, index: str) -> list[str]:
        """The values under which an index has an object; none where its kind has no such index."""
        declared = self._indexes.get(obj.kind, {}).get(index)
        return [] if declared is None else list(dict.fromkeys(declared.values(obj.tree)))

    def holders(self, index: str, value: str) -> list[tuple[Kind, Key]]:
        """The objects of any kind with a value. Raise NotSyncedError where they are not all known."""
        return [(kind, key) for kind, store in self._listed(index) for key in store.by_index(index, value)]

    def find(self, index: str, value: str, *, besides: KindObject) -> list[KindObject]:
        """The other objects of any kind with a value. Raise NotSyncedError unless all objects are known."""
        return [
            KindObject(kind, key, tree)
            for kind, store in self._listed(index)
            for key in store.by_index(index, value)
            if (kind, key) != (besides.kind, besides.key) and (tree := store.get(key)) is not None
        ]

    def is_used(self, index: str, value: str) -> bool:
        """Whether any object has a value. True if that is unknown."""
        return any(not store.synced or store.by_index(index, value) for _, store in self._indexed(index))

    def sharing(self, obj: KindObject) -> list[tuple[Kind, Key]]:
        """The other objects of any kind, in synced stores, to wake when this one changes."""
        values = {
            (shared, value): None
            for name, index in self._indexes.get(obj.kind, {}).items()
            if index.wakes
            for value in index.values(obj.tree)
            for shared in (name, *sorted(self._linked[name]))
        }
        holders = [holder for index, value in values for holder in self._known_holders(index, value)]
        return [holder for holder in dict.fromkeys(holders) if holder != (obj.kind, obj.key)]

    # Waking

    def wake(self, index: str, value: str) -> None:
        """Requeue all objects of any kind with a value."""
        self._wake_all(self._known_holders(index, value))

    def wake_kind(self, kind: Kind) -> None:
        """Requeue all objects of a kind."""
        stores = [store for store in self._stores.get(kind, ()) if store.synced]
        self._wake_all((kind, key) for store in stores for key in store.keys())  # noqa: SIM118 - a store is no dict

    def _changed(self, kind: Kind, change: Change) -> None:
        if change.initial:
            return
        sides = [raw for raw in (change.old, change.new) if raw is not None]
        objects = [KindObject(kind, change.key, _decode(raw)) for raw in sides]
        self._wake_all([holder for obj in objects for holder in self.sharing(obj)])

    def _wake_all(self, holders: Iterable[tuple[Kind, Key]]) -> None:
        for kind, key in dict.fromkeys(holders):
            if kind in self._wakes:
                self._wakes[kind](key)

    def _known_holders(self, index: str, value: str) -> list[tuple[Kind, Key]]:
        return [
            (kind, key)
            for kind, store in self._listed(index)
            if store.synced
            for key in store.by_index(index, value)
        ]

    def _listed(self, index: str) -> Iterator[tuple[Kind, Store]]:
        """The stores with an index, except those of kinds that cannot be listed."""
        return ((kind, store) for kind, store in self._indexed(index) if store.state not in UNLISTABLE)

    def _indexed(self, index: str) -> Iterator[tuple[Kind, Store]]:
        for kind, stores in self._stores.items():
            if index in self._indexes.get(kind, {}):
                yield from ((kind, store) for store in stores)
