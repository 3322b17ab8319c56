"""The sources of a controller: which kinds it watches, and which objects are queued when they change.

    Primary    the controller's own kind: queues the object itself, unless only its status has changed
    Owned      a kind that is owned by the controller's kind: queues the owner that has `controller: true`
    Mapped     any kind: a function maps an object to keys

Each is watched in the namespaces of the process, unless a `Scope` chooses other namespaces (the operator's own, say),
single objects by name, or metadata only.

A source returns keys, never the change itself: a pass depends on the present state, not on events (level-triggered).
Whatever has no watch, such as a mirror of a cloud, calls `Controller.wake`.

Both the old and the new version of an object are mapped, so that a move from one owner to another queues both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import msgspec

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import Change


@dataclass(frozen=True, slots=True)
class Scope:
    """Which objects of a kind are watched, and how much of them."""

    namespaces: tuple[str, ...] | None = None
    """The namespaces to watch; empty for all. None for those of the process."""
    also: tuple[str, ...] = ()
    """Further namespaces, which are watched whatever namespaces the process watches."""
    names: tuple[str, ...] = ()
    """Only objects of these names. Each has a watch of its own, which needs no permission for other objects."""
    metadata_only: bool = False
    """Only their metadata (PartialObjectMetadata): cheaper for many objects, and does not read the data of Secrets."""


ANYWHERE = Scope()


class Source(Protocol):
    """A kind to watch, and the mapping of its changes to keys."""

    @property
    def kind(self) -> Kind: ...

    @property
    def labels(self) -> str:
        """A label selector: other objects of the kind are not listed."""

    def concerned(self, change: Change) -> Iterable[Key]:
        """The keys of the objects to queue after a change."""


@runtime_checkable
class Scoped(Protocol):
    """A source with a scope. Others are watched in the namespaces of the process."""

    @property
    def scope(self) -> Scope: ...


def scope_of(source: Source) -> Scope:
    return source.scope if isinstance(source, Scoped) else ANYWHERE


class _Owner(msgspec.Struct, gc=False):
    api_version: str = msgspec.field(default="", name="apiVersion")
    kind: str = ""
    name: str = ""
    controller: bool | None = None


class _Owned(msgspec.Struct, gc=False):
    owners: list[_Owner] | None = msgspec.field(default=None, name="ownerReferences")


class _OwnedObject(msgspec.Struct, gc=False):
    metadata: _Owned


class _Marks(msgspec.Struct, gc=False):
    """The metadata that changes with anything but the status. Raw values are compared as text."""

    uid: str = ""
    generation: int = 0
    deletion: str | None = msgspec.field(default=None, name="deletionTimestamp")
    labels: msgspec.Raw = msgspec.Raw()
    annotations: msgspec.Raw = msgspec.Raw()
    finalizers: msgspec.Raw = msgspec.Raw()


class _MarkedObject(msgspec.Struct, gc=False):
    metadata: _Marks


_owned_object = msgspec.json.Decoder(_OwnedObject).decode
_marked_object = msgspec.json.Decoder(_MarkedObject).decode


@dataclass(frozen=True, slots=True)
class Primary:
    """The controller's own kind."""

    kind: Kind
    labels: str = ""
    generation_predicate: bool = True
    """Ignore changes of the status, so that our own status writes cause no pass."""
    scope: Scope = ANYWHERE

    def concerned(self, change: Change) -> Iterable[Key]:
        if self.generation_predicate and not is_meaningful(change):
            return ()
        return (change.key,)


@dataclass(frozen=True, slots=True)
class Owned:
    """A kind whose objects are owned by objects of the controller's kind."""

    kind: Kind
    owner: Kind
    labels: str = ""
    scope: Scope = ANYWHERE

    def concerned(self, change: Change) -> Iterable[Key]:
        return {key for raw in _sides(change) for key in self._owners(change.key, raw)}

    def _owners(self, key: Key, raw: bytes) -> Iterable[Key]:
        namespace = key.namespace if self.owner.namespaced else ""
        for owner in _owned_object(raw).metadata.owners or ():
            # Only the group is compared: the version may be another one.
            group = owner.api_version.rpartition("/")[0]
            if owner.controller and (group, owner.kind) == (self.owner.group, self.owner.kind):
                yield Key(namespace, owner.name)


@dataclass(frozen=True, slots=True)
class Mapped:
    """Any kind, with a function that maps its objects to keys."""

    kind: Kind
    keys: Callable[[JsonObject], Iterable[Key]]
    """The keys to queue for an object. It gets users' objects, so it must handle any content."""
    labels: str = ""
    scope: Scope = ANYWHERE
    generation_predicate: bool = False
    """Ignore changes of the status."""

    def concerned(self, change: Change) -> Iterable[Key]:
        if self.generation_predicate and not is_meaningful(change):
            return ()
        return {key for raw in _sides(change) for key in self.keys(msgspec.json.decode(raw))}


def is_meaningful(change: Change) -> bool:
    """Whether more than the status has changed. Always true for kinds without a generation."""
    if change.old is None or change.new is None:
        return True
    old, new = _marked_object(change.old).metadata, _marked_object(change.new).metadata
    return not new.generation or old != new


def _sides(change: Change) -> Iterable[bytes]:
    return [side for side in (change.old, change.new) if side is not None]
