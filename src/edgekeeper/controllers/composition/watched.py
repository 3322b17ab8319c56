"""What is known about the objects that instances consist of and refer to.

Children are watched by one metadata-only informer for each kind (`kind_watches`), shared by all instances, and selected by
label. Objects of others that definitions refer to are watched by one metadata-only informer for each kind too. Content is
read where expressions use it, or where it has to be compared, and only when the object has changed.

    children.find(address)              metadata, or all of it if that is known
    await children.read(addresses)      makes sure that it is

Of what was applied it is remembered with which generation (or version, for kinds without one) it is in accordance: while
that is the same nothing needs to be compared or written. After a restart the hash on the child says what was applied, and
one comparison with its content whether it still is so.

Guarantees
    - What is found is never older than our own last write of it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.instance_plan import Address, Desired, Seen
from edgekeeper.controllers.composition.kind_watches import KindWatches
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import NotFoundError
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.raw import is_older, peek
from edgekeeper.kube.store import Change, Store, SyncState

PATIENCE: Final = 10.0
"""For how many seconds an object that we applied counts as there, though no watch has shown it."""
MOST_AT_ONCE: Final = 20
"""Requests that one instance sends at the same time."""
_MANY: Final = 20
"""Objects of a kind whose content is not known: from here on they are listed, and not read one by one."""
_PART_OF_INDEX: Final = "part-of"


@dataclass(slots=True)
class _Known:
    """What is remembered about one object."""

    uid: str
    version: str
    generation: int
    applied: str = ""
    content: bytes | None = None
    """All of it, as of `version`, encoded: a decoded object takes several times as much memory."""
    keep: bool = False
    """Whether its content is used by expressions."""
    until: float | None = None
    """Until when it counts as there without being in the store; None once it was."""

    @property
    def object(self) -> JsonObject:
        """The content, which has to be known."""
        assert self.content is not None  # noqa: S101 - the caller has checked it
        found: JsonObject = msgspec.json.decode(self.content)
        return found

    def accords_with(self, live: JsonObject) -> bool:
        """Whether it has not changed since, but for its status and its metadata."""
        if self.uid != dig(live, "metadata", "uid"):
            return False
        generation = dig(live, "metadata", "generation") or 0
        if generation:
            return bool(generation == self.generation)
        return bool(self.version == dig(live, "metadata", "resourceVersion"))


def _part_of(obj: JsonObject) -> Iterable[str]:
    value = labels.label_of(obj, labels.PART_OF)
    return (value,) if value else ()


class Watched:
    """The objects of some kinds: metadata in stores, and what else is known about each."""

    def __init__(
        self, client: KubeClient, informers: Informers, namespaces: tuple[str, ...] = (), selector: str = ""
    ) -> None:
        self._client = client
        self._selector = selector
        self.watches = KindWatches(informers, namespaces, selector)
        self.watches.add_index(_PART_OF_INDEX, _part_of)
        self.watches.on_change = self._changed
        self.watches.on_state = self._state_changed
        self.watches.on_closed = self._forget_kind
        self._known: dict[Kind, dict[Key, _Known]] = defaultdict(dict)
        self._unseen: set[Address] = set()
        """Objects that we know of, and that the store has not shown yet."""
        self._listing: dict[Kind, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.on_change: Callable[[Kind, Change], None] | None = None
        self.on_state: Callable[[Kind], None] | None = None

    @property
    def size(self) -> int:
        """How many objects are remembered, to show in tests that memory is bounded."""
        return sum(map(len, self._known.values()))

    def set_namespaces(self, namespaces: tuple[str, ...]) -> None:
        """Watch these namespaces from now on; empty for all. What is known about objects elsewhere is forgotten."""
        self.watches.set_namespaces(namespaces)
        for kind in self.watches:
            for key in [key for key in self._known[kind] if not self.watches.covers(kind, key.namespace)]:
                self.forget(Address(kind, key))

    def _store(self, address: Address) -> Store | None:
        return self.watches.store(address.kind, address.key.namespace)

    # What is there

    def find(self, address: Address) -> Seen | None:
        """An object that is watched; None if it does not exist."""
        store = self._store(address)
        stored = store.get(address.key) if store is not None else None
        known = self._known[address.kind].get(address.key)
        if known is not None and known.content is not None and self._is_newer(known, stored):
            return Seen(known.object, True, known.applied)
        if stored is None:
            return None
        if known is None:
            return Seen(stored, False)
        applied = known.applied if known.accords_with(stored) else ""
        if known.content is not None and known.version == dig(stored, "metadata", "resourceVersion"):
            return Seen(known.object, True, applied)
        return Seen(stored, False, applied)

    def _is_newer(self, known: _Known, stored: JsonObject | None) -> bool:
        if stored is None:
            return known.until is not None and _now() < known.until
        return is_older(str(dig(stored, "metadata", "resourceVersion")), known.version)

    def of_part(self, kind: Kind, apply_set: str, known: Container[Key] = ()) -> dict[Key, JsonObject]:
        """The objects of a kind that belong to an ApplySet, without those that are known to."""
        found: dict[Key, JsonObject] = {}
        for store in self.watches.stores(kind):
            for key in store.by_index(_PART_OF_INDEX, apply_set):
                seen = None if key in known else self.find(Address(kind, key))
                if seen is not None:
                    found[key] = seen.object
        for address in self._unseen:
            if address.kind == kind and address.key not in found and address.key not in known:
                seen = self.find(address)
                if seen is not None and labels.label_of(seen.object, labels.PART_OF) == apply_set:
                    found[address.key] = seen.object
        return found

    def keys(self, kind: Kind) -> list[Key]:
        return [key for store in self.watches.stores(kind) for key in store.keys()]  # noqa: SIM118 - a store is no dict

    # What is remembered

    def note(self, address: Address, obj: JsonObject, *, applied: str = "", keep: bool = False) -> None:
        """Remember an object as the server has just returned it."""
        metadata = obj.get("metadata", {})
        metadata.pop("managedFields", None)
        before = self._known[address.kind].get(address.key)
        if before is not None and before.uid == metadata.get("uid") and not applied:
            applied = before.applied if before.accords_with(obj) else ""
        store = self._store(address)
        stored = store.peek(address.key) if store is not None else None
        is_there = stored is not None and peek(stored).resource_version == metadata.get("resourceVersion")
        (self._unseen.discard if is_there else self._unseen.add)(address)
        self._known[address.kind][address.key] = _Known(
            uid=str(metadata.get("uid", "")),
            version=str(metadata.get("resourceVersion", "")),
            generation=metadata.get("generation") or 0,
            applied=applied,
            content=msgspec.json.encode(obj) if keep or not is_there else None,
            keep=keep,
            until=None if is_there else _now() + PATIENCE,
        )

    def verified(self, desired: Desired, seen: Seen) -> None:
        """Remember that an object is as it should be."""
        self.note(desired.address, seen.object, applied=desired.hash, keep=desired.keep)

    def forget(self, address: Address) -> None:
        """Drop what is remembered about an object."""
        self._known[address.kind].pop(address.key, None)
        self._unseen.discard(address)

    def _changed(self, kind: Kind, change: Change) -> None:
        address = Address(kind, change.key)
        known = self._known[kind].get(change.key)
        if known is not None:
            if change.new is None:
                if change.old is None or peek(change.old).uid == known.uid:
                    self.forget(address)
            elif peek(change.new).resource_version == known.version:
                self._unseen.discard(address)
                known.until = None
                if not known.keep:
                    known.content = None
                return  # nothing that was not known
        if self.on_change is not None:
            self.on_change(kind, change)

    def _state_changed(self, kind: Kind) -> None:
        if any(store.state is SyncState.NOT_SERVED for store in self.watches.stores(kind)):
            self._forget_kind(kind)
        if self.on_state is not None:
            self.on_state(kind)

    def _forget_kind(self, kind: Kind) -> None:
        self._known.pop(kind, None)
        self._listing.pop(kind, None)
        self._unseen = {address for address in self._unseen if address.kind != kind}

    # Reading

    async def read(self, addresses: Iterable[Address]) -> None:
        """Read the content of objects. One that does not exist any more is forgotten."""
        gate = asyncio.Semaphore(MOST_AT_ONCE)
        chosen = sorted(addresses, key=str)
        for kind in dict.fromkeys(address.kind for address in chosen):
            if self._selector and self._unread(kind) > _MANY:
                await self._list(kind)
        async with asyncio.TaskGroup() as group:
            for address in chosen:
                seen = self.find(address)
                if seen is not None and not seen.complete:
                    group.create_task(self._read(address, gate))

    def _unread(self, kind: Kind) -> int:
        return sum(map(len, self.watches.stores(kind))) - len(self._known[kind])

    async def _read(self, address: Address, gate: asyncio.Semaphore) -> None:
        async with gate:
            try:
                self.note(address, await self._client.get(address.kind, address.key), keep=True)
            except NotFoundError:
                self.forget(address)

    async def _list(self, kind: Kind) -> None:
        """Read all objects of a kind: after a restart, when nothing is known about any."""
        async with self._listing[kind]:
            if self._unread(kind) <= _MANY:
                return
            for place in self.watches.places(kind):
                async for page in self._client.pages(kind, namespace=place, labels=self._selector):
                    for raw in page.items:
                        obj: JsonObject = msgspec.json.decode(raw)
                        obj = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
                        self.note(Address(kind, peek(raw).key), obj, keep=True)

    async def get(self, address: Address) -> JsonObject | None:
        """An object as it is on the server."""
        try:
            return await self._client.get(address.kind, address.key)
        except NotFoundError:
            return None


def _now() -> float:
    return asyncio.get_running_loop().time()
