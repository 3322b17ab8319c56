"""Applies lists and watch events to a store, and ignores those that are duplicates or older than what it holds.

A watch may repeat events, a proxy may replay them, and a server that has just restarted may serve an older state. So
an event is not applied merely because it arrived last:

    received                    in the store                        applied
    an object                   nothing                             yes, as a new object
    an object                   the same uid, this version          no: a duplicate
    an object                   the same uid, a newer version       no: a replay
    an object                   another uid, an older version       yes, as a deletion and a new object
    an object                   another uid, a newer version        no: a replay
    an object                   its deletion, at a newer version    no: a replay
    a deletion                  the same uid, not newer             yes
    a deletion                  another uid, an older version       yes: a name belongs to one object at a time
    a deletion                  anything else                       no: a replay
    a complete list             objects that are not in the list    they are removed
    a list older than us        anything                            no: `StaleViewError`

Objects are identified by uid: a name may be reused, but at any version it belongs to at most one object. An object is
removed from the store for two reasons only: the server sent a deletion of it, or a *complete* list does not contain
it. Pages of a list that is never completed remove nothing.

The position is the resourceVersion from which a watch resumes. It only moves forward, except that the complete list of
a server that keeps serving an older state (one restored from a backup) sets it back.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from edgekeeper.kube.kinds import Key
from edgekeeper.kube.raw import Header, compact, is_older, peek
from edgekeeper.kube.store import Change, Store

MOST_TOMBSTONES = 10_000
"""The maximum number of deletions that are remembered, so that a replay does not restore deleted objects."""


class StaleViewError(Exception):
    """The server returned a state that is older than one it returned before."""


class Ledger:
    """Applies the lists and watch events of one kind to a store, and delivers the resulting changes."""

    def __init__(self, store: Store, deliver: Callable[[Change], None]) -> None:
        self.store = store
        self.position = ""
        """Resume a watch after this version; empty before the first complete list."""
        self._deliver = deliver
        self._tombstones: OrderedDict[Key, Header] = OrderedDict()
        """The last deletion of each name that no stored object has, oldest first."""
        self._listed: set[Key] = set()

    # A list

    def begin_list(self) -> None:
        self._listed.clear()

    def add_page(self, items: Iterable[bytes], resource_version: str, *, trusted: bool = False) -> None:
        """Apply one page of a list. Raise StaleViewError if it is older than the position and not `trusted`."""
        if not trusted and is_older(resource_version, self.position):
            raise StaleViewError(f"a list at version {resource_version} is older than {self.position}")
        for item in items:
            incoming, raw = compact(item, self.store.kind)
            self._listed.add(incoming.key)
            stored = self._stored(incoming.key)
            if not (_is_duplicate(incoming, stored) if trusted else self._is_replay(incoming, stored)):
                self._put(incoming, raw, stored)

    def end_list(self, resource_version: str) -> None:
        """Complete the list: remove the objects that it did not contain, and set the position to its version."""
        if is_older(resource_version, self.position):
            self._tombstones.clear()  # the server was set back to before these deletions
        for key, raw in self.store.snapshot():
            if key not in self._listed:
                self._remove(Header(key, peek(raw).uid, resource_version))
        self._listed.clear()
        self.position = resource_version
        self.store.mark_synced()

    # A watch

    def upsert(self, item: bytes) -> None:
        """Apply an ADDED or MODIFIED event."""
        incoming, raw = compact(item, self.store.kind)
        stored = self._stored(incoming.key)
        if not self._is_replay(incoming, stored):
            self._put(incoming, raw, stored, item)
        self.advance(incoming.resource_version)

    def delete(self, item: bytes) -> None:
        """Apply a DELETED event: the object was deleted, or no longer matches the selection."""
        incoming = peek(item)
        stored = self._stored(incoming.key)
        if stored is None:
            self._add_tombstone(incoming)
        elif _is_deleted(incoming, stored):
            self._remove(incoming)
        self.advance(incoming.resource_version)

    def advance(self, resource_version: str) -> None:
        """Move the position forward: all events up to this version have been received."""
        if not is_older(resource_version, self.position):
            self.position = resource_version

    def forget(self) -> None:
        """Empty the store because the kind is not served. No deletions are delivered: the objects may still exist."""
        self._listed.clear()
        self._tombstones.clear()
        self.position = ""
        self.store.mark_not_served()

    def _stored(self, key: Key) -> Header | None:
        raw = self.store.peek(key)
        return None if raw is None else peek(raw)

    def _is_replay(self, incoming: Header, stored: Header | None) -> bool:
        return _is_surpassed(incoming, stored) or _is_surpassed(incoming, self._tombstones.get(incoming.key))

    def _put(
        self, incoming: Header, raw: bytes, stored: Header | None, received: bytes | None = None
    ) -> None:
        if stored is not None and stored.uid != incoming.uid:
            self._remove(stored)
        self._tombstones.pop(incoming.key, None)
        old = self.store.put(incoming.key, raw)
        self._deliver(Change(incoming.key, old, raw, initial=not self.store.synced, received=received))

    def _remove(self, incoming: Header) -> None:
        """Remove the stored object of this name, and remember the version of its deletion."""
        old = self.store.remove(incoming.key)
        self._add_tombstone(incoming)
        self._deliver(Change(incoming.key, old, None, initial=not self.store.synced))

    def _add_tombstone(self, incoming: Header) -> None:
        tombstone = self._tombstones.get(incoming.key)
        if tombstone is not None and is_older(incoming.resource_version, tombstone.resource_version):
            return
        self._tombstones[incoming.key] = incoming
        self._tombstones.move_to_end(incoming.key)
        if len(self._tombstones) > MOST_TOMBSTONES:
            self._tombstones.popitem(last=False)


def _is_duplicate(incoming: Header, stored: Header | None) -> bool:
    return stored is not None and (incoming.uid, incoming.resource_version) == (
        stored.uid,
        stored.resource_version,
    )


def _is_surpassed(incoming: Header, stored: Header | None) -> bool:
    """Whether `incoming` is the same version as `stored` or an older one. The uid may differ: names are reused."""
    if stored is None:
        return False
    return _is_duplicate(incoming, stored) or is_older(incoming.resource_version, stored.resource_version)


def _is_deleted(incoming: Header, stored: Header) -> bool:
    """Whether the deletion of `incoming` means that `stored`, which has the same name, no longer exists."""
    if incoming.uid == stored.uid:
        return not is_older(incoming.resource_version, stored.resource_version)
    return is_older(stored.resource_version, incoming.resource_version)
