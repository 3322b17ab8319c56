"""Objects of all kinds of a process, indexed by values that they may share, such as hostnames.

    objects = ObjectIndex()                                       one per process
    objects.add(KIND, HOSTNAME, hostnames_of, wakes=True)         each kind says what its objects are found by
    objects.attach(KIND, informers, controller.wake)              while its controller is attached
    objects.find(HOSTNAME, "shop.example.com")                    objects of any kind
    objects.wake(HOSTNAME, "shop.example.com")                    a pass for each of them

Waking
    When an object changes, the objects of all kinds that share a value with it, before or after the change, get a pass.
    That is a subscription here and not a `runtime.Source` of one controller for each other kind. With such a source, a
    controller would have to know all other kinds in advance, would watch each of them a second time wherever the other
    controller watches other namespaces or labels, and could not start while another kind is not served or may not be
    listed. Here every controller contributes the informers that it has, and kinds come and go while the process runs.

Guarantees
    - `find` and `holders` raise NotSyncedError while a followed store that could have such objects is not synced: that
      an object is unknown is never taken for its absence. `is_used` answers yes then.
    - A kind that was never listed because it is not served, or because we may not list it, holds nobody back: without
      its objects its own controller does nothing either. `is_used` still answers yes for it.
    - Objects in stores that are not synced are not woken, nor anybody by objects that were there when a watch began:
      each of them has its first pass coming.

Assumptions
    - Functions of indexes expect anything in an object: users write them.
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
from edgekeeper.kube.store import Change, IndexValues, Store, SyncState

HOSTNAME: Final = "hostname"
"""The index of hostnames that objects ask for. A wildcard is a value of its own."""

Wake: TypeAlias = Callable[[Key], None]
"""Asks for a pass of an object."""

_decode = msgspec.json.Decoder(dict).decode
_UNLISTABLE: Final = frozenset({SyncState.NOT_SERVED, SyncState.FORBIDDEN})
"""States of stores of which nothing is expected, until their kind can be listed."""


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
        """Sorts older objects first, and of two of the same second the one with the smaller uid, so that all agree."""
        created, uid = (dig(self.tree, "metadata", field) for field in ("creationTimestamp", "uid"))
        return str(created or ""), str(uid or "")

    def is_same(self, other: KindObject) -> bool:
        return (self.kind, self.key) == (other.kind, other.key)

    def name_for(self, reader: Kind) -> str:
        """What an object of the kind `reader` calls it: `default/shop`, of another kind `httproute default/shop`."""
        return str(self.key) if self.kind == reader else f"{self.kind.kind.lower()} {self.key}"


@dataclass(frozen=True, slots=True)
class _Index:
    values: IndexValues
    wakes: bool


class ObjectIndex:
    """The objects of all kinds by shared values, and the means to wake them."""

    def __init__(self) -> None:
        self._indexes: dict[Kind, dict[str, _Index]] = {}
        self._linked: defaultdict[str, set[str]] = defaultdict(set)
        self._stores: dict[Kind, tuple[Store, ...]] = {}
        self._wakes: dict[Kind, Wake] = {}
        self._unsubscribe: dict[Kind, list[Callable[[], None]]] = {}

    # Kinds

    def add(self, kind: Kind, index: str, values: IndexValues, *, wakes: bool = False) -> None:
        """Find objects of a kind by what `values` computes; if `wakes`, those that share a value wake each other."""
        indexes = self._indexes.setdefault(kind, {})
        if index in indexes:
            raise ValueError(f"{kind.qualified_plural} already have an index {index!r}")
        indexes[index] = _Index(values, wakes)
        for store in self._stores.get(kind, ()):
            store.add_index(index, values)

    def link(self, index: str, other: str) -> None:
        """Values of both indexes mean the same: objects that share one across them wake each other, too."""
        self._linked[index].add(other)
        self._linked[other].add(index)

    def follow(self, kind: Kind, stores: Iterable[Store]) -> None:
        """Know the objects of these stores from now on, and no others of the kind."""
        self._stores[kind] = tuple(dict.fromkeys(stores))
        for store in self._stores[kind]:
            for name, index in self._indexes.get(kind, {}).items():
                store.add_index(name, index.values)

    def attach(self, kind: Kind, informers: Iterable[Informer], wake: Wake) -> None:
        """Follow the stores of a controller's informers, and wake its objects by changes of objects of any kind."""
        self.detach(kind)
        watched = list(dict.fromkeys(informers))
        self.follow(kind, [informer.store for informer in watched])
        self._wakes[kind] = wake
        self._unsubscribe[kind] = [informer.subscribe(partial(self._changed, kind)) for informer in watched]

    def detach(self, kind: Kind) -> None:
        """Know no objects of a kind any more."""
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
        """The other objects of any kind with a value. Raise NotSyncedError where they are not all known."""
        return [
            KindObject(kind, key, tree)
            for kind, store in self._listed(index)
            for key in store.by_index(index, value)
            if (kind, key) != (besides.kind, besides.key) and (tree := store.get(key)) is not None
        ]

    def is_used(self, index: str, value: str) -> bool:
        """Does any object have a value? If in doubt, it does."""
        return any(not store.synced or store.by_index(index, value) for _, store in self._indexed(index))

    def sharing(self, obj: KindObject) -> list[tuple[Kind, Key]]:
        """The other objects of any kind that are to be woken when this one changes, as far as they are known."""
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
        """Ask for a pass of every object of any kind with a value."""
        self._wake_all(self._known_holders(index, value))

    def wake_kind(self, kind: Kind) -> None:
        """Ask for a pass of every object of a kind."""
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
        """The stores that have an index, without those whose kinds cannot be listed."""
        return ((kind, store) for kind, store in self._indexed(index) if store.state not in _UNLISTABLE)

    def _indexed(self, index: str) -> Iterator[tuple[Kind, Store]]:
        for kind, stores in self._stores.items():
            if index in self._indexes.get(kind, {}):
                yield from ((kind, store) for store in stores)
