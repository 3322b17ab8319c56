"""Where work comes from: which changes of which kinds concern which objects of a controller.

    Primary    the controller's own kind: an object concerns itself, if what changed is not merely its status
    Owned      a kind whose objects are owned: they concern the owner that `controller: true` names
    Mapped     any kind: a function says whom an object concerns

Each is watched in the namespaces that the process looks at, and `Scope` says otherwise: in namespaces of its own choice
(the operator's own, say), single objects by their names, metadata only.

A source answers with keys, never with the change itself: what a pass does follows from how things are, not from what
happened. What does not come by a watch, such as a mirror of a cloud, calls `Controller.wake`.

A change is asked about twice, before and after, so that an object which moves from one owner to another, or out of
a selector, concerns both.
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
    """In these namespaces, whatever the process looks at; empty for all. None for those that the process looks at."""
    names: tuple[str, ...] = ()
    """Only objects of these names. Each is a watch of its own, which needs no right to see any other object."""
    metadata_only: bool = False
    """Their metadata and nothing else (PartialObjectMetadata): cheap for many objects, and harmless for Secrets."""


ANYWHERE = Scope()


class Source(Protocol):
    """A kind to watch, and whom its changes concern."""

    @property
    def kind(self) -> Kind: ...

    @property
    def labels(self) -> str:
        """A label selector: other objects of the kind are not even fetched."""

    def concerned(self, change: Change) -> Iterable[Key]: ...


@runtime_checkable
class Scoped(Protocol):
    """A source that says where it looks. Others look where the process does."""

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
    """Everything about an object but its status and what only the server writes; texts are compared as they are."""

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
    """Ignore changes of the status: our own writes would otherwise cause a pass each."""
    scope: Scope = ANYWHERE

    def concerned(self, change: Change) -> Iterable[Key]:
        if self.generation_predicate and not is_meaningful(change):
            return ()
        return (change.key,)


@dataclass(frozen=True, slots=True)
class Owned:
    """A kind whose objects our objects own."""

    kind: Kind
    owner: Kind
    labels: str = ""
    scope: Scope = ANYWHERE

    def concerned(self, change: Change) -> Iterable[Key]:
        return {key for raw in _sides(change) for key in self._owners(change.key, raw)}

    def _owners(self, key: Key, raw: bytes) -> Iterable[Key]:
        namespace = key.namespace if self.owner.namespaced else ""
        for owner in _owned_object(raw).metadata.owners or ():
            # The version may be another one: what counts is the group.
            group = owner.api_version.rpartition("/")[0]
            if owner.controller and (group, owner.kind) == (self.owner.group, self.owner.kind):
                yield Key(namespace, owner.name)


@dataclass(frozen=True, slots=True)
class Mapped:
    """A kind that our objects refer to in ways of their own."""

    kind: Kind
    keys: Callable[[JsonObject], Iterable[Key]]
    """Whom an object concerns. Asked about objects that users wrote, so it must expect anything in them."""
    labels: str = ""
    scope: Scope = ANYWHERE

    def concerned(self, change: Change) -> Iterable[Key]:
        return {key for raw in _sides(change) for key in self.keys(msgspec.json.decode(raw))}


def is_meaningful(change: Change) -> bool:
    """Whether more than the status has changed. Kinds without a generation have no status to tell apart."""
    if change.old is None or change.new is None:
        return True
    old, new = _marked_object(change.old).metadata, _marked_object(change.new).metadata
    return not new.generation or old != new


def _sides(change: Change) -> Iterable[bytes]:
    return [side for side in (change.old, change.new) if side is not None]
