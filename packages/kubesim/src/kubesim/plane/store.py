"""The objects, their history, and the one counter behind every resourceVersion.

An object is kept as the bytes it is served as, without `apiVersion` and `kind`: versions of one resource differ in
nothing else unless a kind says otherwise, so a list of ten thousand objects is a join of bytes and never a parse.
Each resource has a `Collection`: the current items, and a log of what happened to them. Watchers read the log at
their own pace; a list that continues from an earlier page undoes the log back to the version of its first page.

    commit ──► items[key] = Item            what is
          └──► log.append(Event)            what happened, bounded; forgetting moves `compacted` forward
          └──► wake watchers, tell the journal
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import msgspec

from edgekeeper.core.json import JsonObject
from kubesim.plane.resource import GroupResource

Key: TypeAlias = tuple[str, str]
"""Namespace (empty for cluster-scoped objects) and name."""

EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]

DEFAULT_HISTORY = 20_000
"""Events a collection remembers. A watcher that falls further behind is told to list again (410)."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict).decode


@dataclass(frozen=True, slots=True)
class Item:
    """One version of one object. `body` is a JSON object without `apiVersion` and `kind`."""

    key: Key
    revision: int
    uid: str
    body: bytes

    @classmethod
    def unsaved(cls, tree: JsonObject) -> Item:
        """An item that only looks like one: what a dry run would have stored."""
        metadata = tree["metadata"]
        kept = {name: value for name, value in tree.items() if name not in ("apiVersion", "kind")}
        return cls(
            (metadata.get("namespace", ""), metadata["name"]), 0, metadata.get("uid", ""), _encode(kept)
        )

    def decode(self) -> JsonObject:
        """Return a fresh tree that the caller may change."""
        return _decode(self.body)


@dataclass(frozen=True, slots=True)
class Event:
    """A change, with the version before it: selectors need both, and so does undoing it."""

    revision: int
    type: EventType
    item: Item
    previous: Item | None


class Journal(Protocol):
    """Where commits are made durable. See `journal.py`."""

    def put(self, resource: GroupResource, item: Item) -> None: ...

    def remove(self, resource: GroupResource, key: Key, revision: int) -> None: ...


class CompactedError(Exception):
    """The log no longer reaches back to the revision asked for."""

    def __init__(self, requested: int, compacted: int) -> None:
        super().__init__(f"revision {requested} is older than {compacted}")
        self.requested = requested
        self.compacted = compacted


@dataclass(slots=True)
class Collection:
    """All objects of one resource, across namespaces and versions."""

    resource: GroupResource
    items: dict[Key, Item] = field(default_factory=dict)
    log: list[Event] = field(default_factory=list)
    dropped: int = 0
    """How many events were forgotten: a watcher's position counts from the very first event."""
    compacted: int = 0
    """The newest revision whose event is forgotten."""
    closed: bool = False
    """The resource ceased to exist; its watches end."""
    _wakers: set[asyncio.Event] = field(default_factory=set)
    _ordered: list[Item] | None = None

    def ordered(self) -> list[Item]:
        """The current items in key order, as etcd lists them. Copy it to keep it: the next commit changes it."""
        if self._ordered is None:
            self._ordered = [self.items[key] for key in sorted(self.items)]
        return self._ordered

    def at(self, revision: int) -> list[Item]:
        """The items as they were at `revision`, by undoing what happened since."""
        if revision < self.compacted:
            raise CompactedError(revision, self.compacted)
        since = self.log[self._index_after(revision) :]
        if not since:
            return self.ordered()
        state = dict(self.items)
        for event in reversed(since):
            if event.previous is None:
                del state[event.item.key]
            else:
                state[event.item.key] = event.previous
        return [state[key] for key in sorted(state)]

    def position_after(self, revision: int) -> int:
        """Where in the log a watch that has seen `revision` goes on."""
        if revision < self.compacted:
            raise CompactedError(revision, self.compacted)
        return self.dropped + self._index_after(revision)

    def end(self) -> int:
        """The position after the newest event."""
        return self.dropped + len(self.log)

    def events_from(self, position: int) -> list[Event] | None:
        """The events at and after `position`, or None when some of them are forgotten."""
        if position < self.dropped:
            return None
        return self.log[position - self.dropped :]

    def subscribe(self) -> asyncio.Event:
        waker = asyncio.Event()
        self._wakers.add(waker)
        return waker

    def unsubscribe(self, waker: asyncio.Event) -> None:
        self._wakers.discard(waker)

    def close(self) -> None:
        self.closed = True
        self.wake()

    def wake(self) -> None:
        for waker in self._wakers:
            waker.set()

    def forget(self, keep: int) -> None:
        """Drop all but the newest `keep` events."""
        excess = len(self.log) - keep
        if excess > 0:
            self.compacted = self.log[excess - 1].revision
            del self.log[:excess]
            self.dropped += excess

    def append(self, event: Event, history: int) -> None:
        key = event.item.key
        if event.type == "DELETED":
            del self.items[key]
            self._ordered = None
        else:
            self.items[key] = event.item
            self._refresh_order(event)
        self.log.append(event)
        # Trimming in blocks keeps the amortised cost of one append constant.
        if len(self.log) > history + history // 4:
            self.forget(history)
        self.wake()

    def amend(self, item: Item, tree: JsonObject) -> None:
        """Show a current item in another form, without an event and at the same revision."""
        kept = Item(item.key, item.revision, item.uid, _encode(tree))
        if kept.body != item.body and self.items.get(item.key) is item:
            self.items[item.key] = kept
            self._ordered = None

    def _refresh_order(self, event: Event) -> None:
        if event.previous is None or self._ordered is None:
            self._ordered = None
            return
        index = bisect_right(self._ordered, event.item.key, key=lambda item: item.key) - 1
        self._ordered[index] = event.item

    def _index_after(self, revision: int) -> int:
        return bisect_right(self.log, revision, key=lambda event: event.revision)


class Store:
    """Every collection, and the revision they share."""

    def __init__(self, journal: Journal | None = None, history: int = DEFAULT_HISTORY) -> None:
        self.revision = 1
        self._journal = journal
        self._history = history
        self._collections: dict[GroupResource, Collection] = {}
        self._listeners: list[Callable[[GroupResource, Event], None]] = []

    def collection(self, resource: GroupResource) -> Collection:
        found = self._collections.get(resource)
        if found is None:
            found = self._collections[resource] = Collection(resource, compacted=self.revision)
        return found

    def collections(self) -> Iterator[Collection]:
        yield from list(self._collections.values())

    def drop(self, resource: GroupResource) -> None:
        """Forget a resource that no longer exists and end its watches."""
        collection = self._collections.pop(resource, None)
        if collection is not None:
            collection.close()

    def listen(self, listener: Callable[[GroupResource, Event], None]) -> None:
        """Call `listener` after each commit: how the server's own controllers learn of changes."""
        self._listeners.append(listener)

    def put(self, resource: GroupResource, tree: JsonObject) -> Item:
        """Create or replace an object. The tree gets its new resourceVersion; `apiVersion` and `kind` are not kept."""
        collection = self.collection(resource)
        metadata = tree["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        previous = collection.items.get(key)
        item = self._item(key, tree)
        if self._journal is not None:
            self._journal.put(resource, item)
        self._commit(collection, Event(item.revision, "MODIFIED" if previous else "ADDED", item, previous))
        return item

    def delete(self, resource: GroupResource, key: Key, last: JsonObject | None = None) -> Item:
        """Remove an object; the item returned bears the revision of its removal, as watchers see it.

        `last` is the object's final form where the removal comes with a last change.
        """
        collection = self.collection(resource)
        previous = collection.items[key]
        item = self._item(key, last or previous.decode())
        if self._journal is not None:
            self._journal.remove(resource, key, item.revision)
        self._commit(collection, Event(item.revision, "DELETED", item, previous))
        return item

    def restore(self, resource: GroupResource, item: Item) -> None:
        """Put back an item read from the journal: no event, no new revision."""
        self.collection(resource).items[item.key] = item

    def restored(self, revision: int) -> None:
        """Finish a restore: what happened before is not known any more."""
        self.revision = revision
        for collection in self._collections.values():
            collection.compacted = revision

    def compact(self) -> None:
        """Forget all history, as etcd does every five minutes: watches from before now get 410."""
        for collection in self._collections.values():
            collection.forget(0)
            collection.compacted = self.revision

    def _item(self, key: Key, tree: JsonObject) -> Item:
        self.revision += 1
        metadata = tree["metadata"]
        metadata["resourceVersion"] = str(self.revision)
        kept = {name: value for name, value in tree.items() if name not in ("apiVersion", "kind")}
        return Item(key, self.revision, metadata.get("uid", ""), _encode(kept))

    def _commit(self, collection: Collection, event: Event) -> None:
        collection.append(event, self._history)
        for listener in self._listeners:
            listener(collection.resource, event)
