"""What we know of one kind: raw JSON by key, and indexes that hold keys only.

An object is decoded when somebody asks for it, which costs a few microseconds and hands out a fresh tree that the
caller may change: there is nothing to share, so nothing to copy and nothing to spoil. Fifty thousand objects take
about 140 MB and, since bytes are no business of the garbage collector, a full collection takes milliseconds.

    state         what is known
    ────────────  ──────────────────────────────────────────────────────────────────────────────────────
    PENDING       nothing yet: the first list is not complete
    SYNCED        all objects, as of some moment
    NOT_SERVED    nothing: the server does not serve the kind, or does not any more
    FORBIDDEN     nothing: the kind may not be listed, and never could be

Guarantees
    - *Unsynced never means absent.* In any state but SYNCED every question about objects raises `NotSyncedError`; there
      is no answer that could be mistaken for "there is none".
    - What was once synced stays readable, though perhaps out of date, while the server cannot be reached or refuses.
      Only a kind that is not served any more is forgotten, without a word to anybody: nobody takes that for deletions.
    - A change is in the store, and in its indexes, before anybody is told of it.

`kube.ledger` is the only writer of objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import NamedTuple, TypeVar

import msgspec

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.raw import peek

T = TypeVar("T")

IndexValues = Callable[[JsonObject], Iterable[str]]
"""The values under which an object is to be found. All indexes see the same tree, which none of them may change."""

_NO_KEYS: Mapping[Key, None] = {}
_decode_tree = msgspec.json.Decoder(dict).decode


class SyncState(Enum):
    """What is known about the objects of a store. See the module."""

    PENDING = "not synced yet"
    SYNCED = "synced"
    NOT_SERVED = "not served"
    FORBIDDEN = "forbidden to list"


class NotSyncedError(Exception):
    """Nothing can be said about the objects of a kind: they are not listed yet, not served, or may not be listed."""

    def __init__(self, kind: Kind, state: SyncState = SyncState.PENDING) -> None:
        super().__init__(f"{kind.qualified_plural} are {state.value}")
        self.kind = kind
        self.state = state


class Change(NamedTuple):
    """What happened to one object: `old` is missing where it is new, `new` where it is gone."""

    key: Key
    old: bytes | None
    new: bytes | None
    initial: bool
    """It was there already when we, or a late subscriber, first looked."""


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
        """Whether the objects are known. Once they are, only a kind that is not served any more is forgotten."""
        return self.state is SyncState.SYNCED

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def wait_settled(self) -> None:
        """Wait until the objects are known, or the server has said why they are not."""
        await self._settled.wait()

    def raw(self, key: Key) -> bytes | None:
        """The object as JSON, without managedFields."""
        self._confirm_synced()
        return self._objects.get(key)

    def get(self, key: Key) -> JsonObject | None:
        """The object as a tree of the caller's own."""
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
        """The keys of the objects that the index files under `value`. Raise KeyError for an unknown index."""
        self._confirm_synced()
        return list(self._indexes[index].keys(value))

    def add_index(self, name: str, values: IndexValues) -> None:
        """File every object, present and future, under the values computed from it.

        An object is decoded once for all indexes, when it is put. Adding the same index twice is fine, adding another one
        under the same name is not: two users of a shared store would see each other's.
        """
        known = self._indexes.get(name)
        if known is not None:
            if known.values is not values:
                raise ValueError(f"{self.kind.qualified_plural} already have another index {name!r}")
            return
        index = _Index(values)
        for key, raw in self._objects.items():
            index.file(key, _decode_tree(raw))
        self._indexes[name] = index

    # For the ledger and the watch, which are the only writers, and for those who only care about what is certainly there.

    def snapshot(self) -> list[tuple[Key, bytes]]:
        """Everything in the store, synced or not: what is here is certainly there, whatever else may be."""
        return list(self._objects.items())

    def peek(self, key: Key) -> bytes | None:
        """The object if it is here, synced or not. None says nothing."""
        return self._objects.get(key)

    def mark_synced(self) -> None:
        """The first list is complete."""
        self._enter(SyncState.SYNCED)

    def mark_forbidden(self) -> None:
        """The kind may not be listed. What was known before stays readable."""
        if self.state is not SyncState.SYNCED:
            self._enter(SyncState.FORBIDDEN)

    def mark_not_served(self) -> None:
        """The kind is not served. Its objects are forgotten."""
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
        """Keep an object; return what it replaces."""
        old = self._objects.get(key)
        self._objects[key] = raw
        if self._indexes:
            tree = _decode_tree(raw)
            for index in self._indexes.values():
                index.file(key, tree)
        return old

    def remove(self, key: Key) -> bytes | None:
        """Drop an object; return what it was."""
        old = self._objects.pop(key, None)
        for index in self._indexes.values():
            index.remove(key)
        return old

    def _confirm_synced(self) -> None:
        if self.state is not SyncState.SYNCED:
            raise NotSyncedError(self.kind, self.state)


class _Index:
    """Keys by value, in the order in which they came, and values by key, so that what is gone need not be read again."""

    def __init__(self, values: IndexValues) -> None:
        self.values = values
        self._keys: dict[str, dict[Key, None]] = {}
        self._filed: dict[Key, tuple[str, ...]] = {}

    def keys(self, value: str) -> Iterable[Key]:
        return self._keys.get(value, _NO_KEYS)

    def file(self, key: Key, tree: JsonObject) -> None:
        """File an object under the values that it has now, and under no others."""
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
