"""The cache of the objects of one kind: raw JSON by key, and indexes that hold keys only.

An object is decoded on each read, which costs a few microseconds and returns a new tree that the caller may change.
Fifty thousand objects take about 140 MB and, since the garbage collector does not track bytes, a full collection takes
milliseconds.

    state         content
    ────────────  ──────────────────────────────────────────────────────────────────────────────────────
    PENDING       incomplete: the first list is not complete
    SYNCED        all objects, perhaps out of date
    NOT_SERVED    none: the server does not serve the kind, or no longer does
    FORBIDDEN     none: the kind may not be listed, and never could be

Guarantees
    - *Unsynced never means absent.* In any state but SYNCED every read raises `NotSyncedError`; none returns a value
      that could be mistaken for "does not exist".
    - A synced store stays readable, though perhaps out of date, while the server cannot be reached or refuses. Only the
      objects of a kind that is no longer served are dropped; that delivers no deletions.
    - A change is in the store, and in its indexes, before subscribers are notified of it.

`kube.ledger` is the only writer of objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Final, NamedTuple, TypeVar

import msgspec

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.raw import peek

T = TypeVar("T")

IndexValues = Callable[[JsonObject], Iterable[str]]
"""The index values of an object. All indexes get the same tree, which they must not change."""

_NO_KEYS: Mapping[Key, None] = {}
_decode_tree = msgspec.json.Decoder(dict).decode


class SyncState(Enum):
    """Whether a store holds the objects of its kind, and if not, why."""

    PENDING = "not synced yet"
    SYNCED = "synced"
    NOT_SERVED = "not served"
    FORBIDDEN = "forbidden to list"


UNLISTABLE: Final = frozenset({SyncState.NOT_SERVED, SyncState.FORBIDDEN})
"""States of stores of which nothing is expected, until their kind can be listed."""


class NotSyncedError(Exception):
    """The objects of a kind cannot be read: they are not listed yet, not served, or may not be listed."""

    def __init__(self, kind: Kind, state: SyncState = SyncState.PENDING) -> None:
        super().__init__(f"{kind.qualified_plural} are {state.value}")
        self.kind = kind
        self.state = state


class Change(NamedTuple):
    """A change of one object: `old` is None if it was created, `new` is None if it was deleted."""

    key: Key
    old: bytes | None
    new: bytes | None
    initial: bool
    """The object comes from the first list, or existed before a late subscriber subscribed."""
    received: bytes | None = None
    """`new` as a watch has sent it, with managedFields. Not to be kept: it is often twice as large."""


class Store:
    """The objects of one kind, within one selection."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.state = SyncState.PENDING
        self.on_state: Callable[[], None] | None = None
        """Called when the state has changed."""
        self._synced = asyncio.Event()
        self._settled = asyncio.Event()
        self._objects: dict[Key, bytes] = {}
        self._indexes: dict[str, _Index] = {}

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def synced(self) -> bool:
        """Whether the objects can be read. Once synced, a store stays so until its kind is no longer served."""
        return self.state is SyncState.SYNCED

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def wait_settled(self) -> None:
        """Wait until the first list is complete, or the kind turns out not to be served or listable."""
        await self._settled.wait()

    def raw(self, key: Key) -> bytes | None:
        """The object as JSON, without managedFields."""
        self._confirm_synced()
        return self._objects.get(key)

    def get(self, key: Key) -> JsonObject | None:
        """The object, decoded anew: the caller may change it."""
        raw = self.raw(key)
        return None if raw is None else _decode_tree(raw)

    def decode(self, key: Key, type_: type[T]) -> T | None:
        """The object as an instance of `type_`; raise msgspec.ValidationError where it does not fit."""
        raw = self.raw(key)
        return None if raw is None else msgspec.json.decode(raw, type=type_)

    def resource_version(self, key: Key) -> str | None:
        raw = self.raw(key)
        return None if raw is None else peek(raw).resource_version

    def keys(self) -> list[Key]:
        self._confirm_synced()
        return list(self._objects)

    def by_index(self, index: str, value: str) -> list[Key]:
        """The keys of the objects that have `value` in the index. Raise KeyError for an unknown index."""
        self._confirm_synced()
        return list(self._indexes[index].keys(value))

    def add_index(self, name: str, values: IndexValues) -> None:
        """Index all objects, present and future, by the values computed from them.

        An object is decoded once for all indexes, when it is put. Adding the same index again has no effect; adding a
        different one under the same name raises ValueError, because stores are shared.
        """
        existing = self._indexes.get(name)
        if existing is not None:
            if existing.values is not values:
                raise ValueError(f"{self.kind.qualified_plural} already have another index {name!r}")
            return
        index = _Index(values)
        for key, raw in self._objects.items():
            index.file(key, _decode_tree(raw))
        self._indexes[name] = index

    # For the ledger and the watch, which are the only writers, and for readers that need no complete view.

    def snapshot(self) -> list[tuple[Key, bytes]]:
        """All objects in the store, synced or not. Before the store is synced others may exist."""
        return list(self._objects.items())

    def peek(self, key: Key) -> bytes | None:
        """The object if it is in the store, synced or not. None does not mean that it does not exist."""
        return self._objects.get(key)

    def mark_synced(self) -> None:
        """The first list is complete."""
        self._enter(SyncState.SYNCED)

    def mark_forbidden(self) -> None:
        """The kind may not be listed. A synced store stays synced."""
        if self.state is not SyncState.SYNCED:
            self._enter(SyncState.FORBIDDEN)

    def mark_not_served(self) -> None:
        """The kind is not served. Its objects are dropped."""
        self._objects.clear()
        for index in self._indexes.values():
            index.clear()
        self._enter(SyncState.NOT_SERVED)

    def _enter(self, state: SyncState) -> None:
        if state is self.state:
            return
        self.state = state
        self._settled.set()
        if state is SyncState.SYNCED:
            self._synced.set()
        else:
            self._synced.clear()
        if self.on_state is not None:
            self.on_state()

    def put(self, key: Key, raw: bytes) -> bytes | None:
        """Store an object; return the version that it replaces."""
        old = self._objects.get(key)
        self._objects[key] = raw
        if self._indexes:
            tree = _decode_tree(raw)
            for index in self._indexes.values():
                index.file(key, tree)
        return old

    def remove(self, key: Key) -> bytes | None:
        """Remove an object; return its last version."""
        old = self._objects.pop(key, None)
        for index in self._indexes.values():
            index.remove(key)
        return old

    def _confirm_synced(self) -> None:
        if self.state is not SyncState.SYNCED:
            raise NotSyncedError(self.kind, self.state)


class _Index:
    """Keys by value, in order of insertion, and values by key, so that removing an object does not decode it."""

    def __init__(self, values: IndexValues) -> None:
        self.values = values
        self._keys: dict[str, dict[Key, None]] = {}
        self._filed: dict[Key, tuple[str, ...]] = {}

    def keys(self, value: str) -> Iterable[Key]:
        return self._keys.get(value, _NO_KEYS)

    def file(self, key: Key, tree: JsonObject) -> None:
        """Replace the values of an object by those that it has now."""
        values = tuple(dict.fromkeys(self.values(tree)))
        if values == self._filed.get(key, ()):
            return
        self.remove(key)
        for value in values:
            self._keys.setdefault(value, {})[key] = None
        if values:
            self._filed[key] = values

    def clear(self) -> None:
        self._keys.clear()
        self._filed.clear()

    def remove(self, key: Key) -> None:
        for value in self._filed.pop(key, ()):
            keys = self._keys[value]
            del keys[key]
            if not keys:
                del self._keys[value]
