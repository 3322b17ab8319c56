"""What the server says, turned into changes of a store: which news are news, and what a list proves.

A watch may repeat itself, a proxy may replay, a server that has just restarted may look back in time. So nothing is
believed just because it arrived last:

    told                        known                               believed
    an object                   nothing                             yes, as new
    an object                   this version of it                  no: a duplicate
    an object                   a newer version of it               no: a replay
    an object                   an older one of that name           yes, as a deletion and a new object
    an object                   a newer one of that name            no: a replay
    an object                   its deletion, at a newer version    no: a replay
    an object is gone           it, and not at a newer version      yes
    an object is gone           an older one of that name           yes: there is one of a name at a time
    an object is gone           anything else                       no: a replay
    a complete list             objects that it does not hold       they are gone
    a list older than we are    anything                            no: `StaleViewError`

"It" is a uid, for a name may pass from one object to another; but at any version a name is at most one object's.
Deletions come from two sources only: the server says so of this very object (by uid), or a *complete* list without it.
Pages of a list that is never completed delete nothing.

The position is the version at which a watch goes on. It only moves forward, except that the complete list of a server
which insists on an older state (one restored from a backup) sets it back.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from edgekeeper.kube.kinds import Key
from edgekeeper.kube.raw import Header, compact, is_older, peek
from edgekeeper.kube.store import Change, Store

MOST_TOMBSTONES = 10_000
"""Deletions that are remembered, so that a replay does not bring their objects back."""


class StaleViewError(Exception):
    """The server shows a state that is older than one it has shown before."""


class Ledger:
    """Keeps a store equal to what the server has, as far as the server has told."""

    def __init__(self, store: Store, deliver: Callable[[Change], None]) -> None:
        self.store = store
        self.position = ""
        """Resume a watch after this version; empty before the first complete list."""
        self._deliver = deliver
        self._tombstones: OrderedDict[Key, Header] = OrderedDict()
        """The last deletion of each name that is free now, oldest first."""
        self._listed: set[Key] = set()

    # A list

    def begin_list(self) -> None:
        self._listed.clear()

    def add_page(self, items: Iterable[bytes], resource_version: str, *, trusted: bool = False) -> None:
        """Take in a part of a list. Raise StaleViewError where it is of the past, unless it is trusted all the same."""
        if not trusted and is_older(resource_version, self.position):
            raise StaleViewError(f"a list at version {resource_version} is older than {self.position}")
        for item in items:
            told, raw = compact(item, self.store.kind)
            self._listed.add(told.key)
            known = self._known(told.key)
            if not (_is_duplicate(told, known) if trusted else self._is_replay(told, known)):
                self._put(told, raw, known)

    def end_list(self, resource_version: str) -> None:
        """The list is complete: what it does not hold is gone, and what it says is where a watch goes on."""
        if is_older(resource_version, self.position):
            self._tombstones.clear()  # they are of a future that did not happen
        for key, raw in self.store.snapshot():
            if key not in self._listed:
                self._remove(Header(key, peek(raw).uid, resource_version))
        self._listed.clear()
        self.position = resource_version
        self.store.mark_synced()

    # A watch

    def upsert(self, item: bytes) -> None:
        """An object was added or modified."""
        told, raw = compact(item, self.store.kind)
        known = self._known(told.key)
        if not self._is_replay(told, known):
            self._put(told, raw, known)
        self.advance(told.resource_version)

    def delete(self, item: bytes) -> None:
        """An object was deleted, or has left the selection."""
        told = peek(item)
        known = self._known(told.key)
        if known is None:
            self._bury(told)
        elif _is_deleted(told, known):
            self._remove(told)
        self.advance(told.resource_version)

    def advance(self, resource_version: str) -> None:
        """Everything up to this version has been told."""
        if not is_older(resource_version, self.position):
            self.position = resource_version

    def forget(self) -> None:
        """The kind is not served: nothing is known any more, and nobody is told of deletions that may not have been."""
        self._listed.clear()
        self._tombstones.clear()
        self.position = ""
        self.store.mark_not_served()

    def _known(self, key: Key) -> Header | None:
        raw = self.store.peek(key)
        return None if raw is None else peek(raw)

    def _is_replay(self, told: Header, known: Header | None) -> bool:
        return _is_surpassed(told, known) or _is_surpassed(told, self._tombstones.get(told.key))

    def _put(self, told: Header, raw: bytes, known: Header | None) -> None:
        if known is not None and known.uid != told.uid:
            self._remove(known)
        self._tombstones.pop(told.key, None)
        old = self.store.put(told.key, raw)
        self._deliver(Change(told.key, old, raw, initial=not self.store.synced))

    def _remove(self, told: Header) -> None:
        """Whatever has this name is gone, as of this version."""
        old = self.store.remove(told.key)
        self._bury(told)
        self._deliver(Change(told.key, old, None, initial=not self.store.synced))

    def _bury(self, told: Header) -> None:
        buried = self._tombstones.get(told.key)
        if buried is not None and is_older(told.resource_version, buried.resource_version):
            return
        self._tombstones[told.key] = told
        self._tombstones.move_to_end(told.key)
        if len(self._tombstones) > MOST_TOMBSTONES:
            self._tombstones.popitem(last=False)


def _is_duplicate(told: Header, known: Header | None) -> bool:
    return known is not None and (told.uid, told.resource_version) == (known.uid, known.resource_version)


def _is_surpassed(told: Header, known: Header | None) -> bool:
    """Whether what is told is no news to somebody who knows that: there is one object of a name at a time."""
    if known is None:
        return False
    return _is_duplicate(told, known) or is_older(told.resource_version, known.resource_version)


def _is_deleted(told: Header, known: Header) -> bool:
    """Whether the deletion of `told` means that `known`, of the same name, is no more."""
    if told.uid == known.uid:
        return not is_older(told.resource_version, known.resource_version)
    return is_older(known.resource_version, told.resource_version)
