"""Objects of the cluster that ours refer to: ACK's APIs and Functions, and the ReferenceGrants for those of other namespaces.

A reference to something that is not there, or not ready, is waited for: the objects that refer to it are requeued when it
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from edgekeeper.controllers.bridge.ack import API, condition_message, is_synced, metadata
from edgekeeper.controllers.bridge.ack import TERMINAL as ACK_TERMINAL
from edgekeeper.core.aws_identifiers import is_form
from edgekeeper.core.errors import Stall, Wait
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.informers import Informer
from edgekeeper.kube.kinds import REFERENCE_GRANT, Key, Kind
from edgekeeper.kube.store import IndexValues, NotSyncedError, SyncState
from edgekeeper.runtime.references import NOT_GRANTED, Reference, References, grants_to
from edgekeeper.runtime.sources import Mapped, Source
from edgekeeper.runtime.views import KindView

REFERENCE_NOT_FOUND: Final = "ReferenceNotFound"
REFERENCE_PAUSE: Final = timedelta(seconds=30)
"""How long a missing reference is waited for, at most, before it is looked for again."""
_NAMESPACE: Final = "namespace"
_REGION: Final = "[a-z]{2}(?:-[a-z]+)+-[0-9]{1,2}"
_UNAVAILABLE: Final = {
    SyncState.NOT_SERVED: "its kind is not installed in the cluster",
    SyncState.FORBIDDEN: "objects of its kind may not be listed",
}


@dataclass(frozen=True, slots=True)
class ApiTarget:
    """An API in AWS."""

    id: str
    region: str = ""
    """Empty for the region of the operator."""
    account: str = ""
    partition: str = "aws"


class Cluster:
    """The objects of one of our kinds, and those of other kinds that they refer to."""

    def __init__(self, kind: Kind, references: Mapping[Kind, Callable[[JsonObject], Iterable[Key]]]) -> None:
        """`references` lists the objects of another kind that an object of ours refers to."""
        indexes: dict[str, IndexValues] = {
            target.kind: partial(_index_values, keys) for target, keys in references.items()
        }
        indexes[_NAMESPACE] = _namespaces
        self.own = KindView(kind, indexes)
        self._views = {target: KindView(target) for target in (*references, REFERENCE_GRANT)}

    def follow(self, informers: Iterable[Informer]) -> None:
        """Read the stores of these informers from now on."""
        watched = list(informers)
        for view in (self.own, *self._views.values()):
            view.follow(watched)

    @property
    def views(self) -> list[KindView]:
        """The kinds that objects of ours refer to."""
        return list(self._views.values())

    def sources(self) -> list[Source]:
        """Watches that requeue objects of ours when what they refer to changes."""
        kinds = [kind for kind in self._views if kind != REFERENCE_GRANT]
        grants = grants_to(self.own.kind, partial(self.own.known_by_index, _NAMESPACE))
        return [grants, *(Mapped(kind, partial(self._referrers, kind)) for kind in kinds)]

    def is_served(self, kind: Kind, namespace: str) -> bool:
        """Can objects of a kind be read? Raise NotSyncedError if that is not known yet."""
        store = self._views[kind].store(namespace)
        if store is not None and store.state is SyncState.PENDING:
            raise NotSyncedError(kind)
        return store is not None and store.synced

    def look(self, kind: Kind, key: Key) -> JsonObject | None:
        """An object; None if there is none, or its kind is not installed."""
        store = self._views[kind].store(key.namespace)
        return None if store is None or store.state in _UNAVAILABLE else store.get(key)

    def granted(self, reference: Reference) -> Key:
        """The key of a reference. Raise Stall if it leads to another namespace, and no ReferenceGrant there allows it."""
        namespace = reference.namespace or reference.referrer_namespace
        store = self._views[REFERENCE_GRANT].store(namespace)
        if store is None:
            raise Stall(
                NOT_GRANTED, f"namespace {namespace} is not watched, so that nothing there can be used"
            )
        return References(store).resolve(reference)

    def find(self, kind: Kind, key: Key) -> JsonObject:
        """An object that ours refers to. Raise Wait if there is none, or it is not known."""
        view = self._views[kind]
        store = view.store(key.namespace)
        if store is None:
            raise missing(kind, key, "its namespace is not watched")
        if store.state in _UNAVAILABLE:
            raise missing(kind, key, _UNAVAILABLE[store.state])
        found = view.get(key)
        if found is None:
            raise missing(kind, key, "it does not exist")
        return found

    def synced(self, kind: Kind, key: Key) -> JsonObject:
        """The same, once ACK has made it in AWS."""
        found = self.find(kind, key)
        if (why := condition_message(found, ACK_TERMINAL)) is not None:
            raise missing(kind, key, f"ACK cannot make it: {why}")
        if not is_synced(found):
            raise missing(kind, key, "ACK has not made it in AWS yet")
        return found

    def api(self, key: Key) -> ApiTarget:
        """The API of an ACK object. Raise Wait if it is not ready."""
        found = self.synced(API, key)
        api_id = dig(found, "status", "apiID")
        if not isinstance(api_id, str) or not api_id:
            raise missing(API, key, "its status has no apiID yet")
        partition = metadata(found, "arn").split(":")[1:2]
        region, account = known_region(metadata(found, "region")), metadata(found, "ownerAccountID")
        return ApiTarget(api_id, region, account, partition[0] if partition else "aws")

    def _referrers(self, kind: Kind, obj: JsonObject) -> list[Key]:
        key = f"{dig(obj, 'metadata', 'namespace')}/{dig(obj, 'metadata', 'name')}"
        return self.own.known_by_index(kind.kind, key)


def known_region(text: str) -> str:
    """The name of a region, as a status has it; empty if it is none. It becomes part of the address of a service."""
    return text if is_form(_REGION, text) else ""


def missing(kind: Kind, key: Key, why: str) -> Wait:
    """The error for a reference that cannot be resolved yet."""
    return Wait(REFERENCE_PAUSE, REFERENCE_NOT_FOUND, f"waiting for {kind.kind} {key}: {why}")


def _index_values(keys: Callable[[JsonObject], Iterable[Key]], obj: JsonObject) -> list[str]:
    return [str(key) for key in keys(obj)]


def _namespaces(obj: JsonObject) -> list[str]:
    return [str(dig(obj, "metadata", "namespace") or "")]
