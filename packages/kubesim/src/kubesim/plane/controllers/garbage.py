"""Garbage collection: what belongs to an owner goes with it, in the order the deletion asked for.

    Background   the owner goes at once; dependents without another living owner follow
    Foreground   the owner waits (finalizer `foregroundDeletion`) until the dependents that block it are gone
    Orphan       the owner waits (finalizer `orphan`) until its dependents have forgotten it

Dependents are known by the uid in their owner references, kept in an index that follows every commit. An owner
reference counts as dangling only when the object it names is not there or has another uid.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgekeeper.core.json import JsonObject, dig_list
from kubesim.plane.call import Cluster
from kubesim.plane.client import InProcessClient
from kubesim.plane.controllers.paths import object_path
from kubesim.plane.delete import FOREGROUND, ORPHAN
from kubesim.plane.errors import StatusError
from kubesim.plane.reactor import Reactor
from kubesim.plane.resource import GroupResource, Resource
from kubesim.plane.store import Event, Item, Key, Store


@dataclass(frozen=True, slots=True)
class Place:
    """One object, wherever it is."""

    resource: GroupResource
    key: Key


class GarbageCollector(Reactor):
    """Works through places that may have lost an owner or wait for their dependents."""

    def __init__(self, cluster: Cluster, client: InProcessClient) -> None:
        super().__init__("garbage collector", self._sync)
        self._cluster = cluster
        self._client = client
        self._dependents: dict[str, set[Place]] = {}
        self._owners: dict[Place, tuple[str, ...]] = {}

    def observe(self, resource: GroupResource, event: Event) -> None:
        """Follow a commit. Most objects have no owner and no finalizer: those cost two searches in their bytes."""
        place = Place(resource, event.item.key)
        self._index(place, None if event.type == "DELETED" else event.item)
        if event.type == "DELETED":
            self._enqueue_related(event.item.uid, event.previous)
        elif place in self._owners or b'"deletionTimestamp"' in event.item.body:
            self.enqueue(place)

    def restore(self, store: Store) -> None:
        """Index what survived a restart."""
        for collection in store.collections():
            for item in collection.ordered():
                place = Place(collection.resource, item.key)
                self._index(place, item)
                self.enqueue(place)

    def _index(self, place: Place, item: Item | None) -> None:
        uids: tuple[str, ...] = ()
        if item is not None and b'"ownerReferences"' in item.body:
            references = dig_list(item.decode(), "metadata", "ownerReferences")
            uids = tuple(reference["uid"] for reference in references)
        known = self._owners.get(place, ())
        if uids == known:
            return
        for uid in known:
            self._dependents[uid].discard(place)
            if not self._dependents[uid]:
                del self._dependents[uid]
        for uid in uids:
            self._dependents.setdefault(uid, set()).add(place)
        if uids:
            self._owners[place] = uids
        else:
            self._owners.pop(place, None)

    def _enqueue_related(self, uid: str, gone: Item | None) -> None:
        """After an object has gone: its dependents may be garbage, and owners that waited for it may go."""
        for dependent in self._dependents.get(uid, ()):
            self.enqueue(dependent)
        if gone is None or b'"ownerReferences"' not in gone.body:
            return
        for reference in dig_list(gone.decode(), "metadata", "ownerReferences"):
            owner = self._locate(reference, gone.key[0])
            if owner is not None:
                self.enqueue(owner)

    async def _sync(self, place: Place) -> None:
        item = self._item(place)
        if item is None:
            return
        metadata = item.decode()["metadata"]
        finalizers = dig_list(metadata, "finalizers")
        if "deletionTimestamp" in metadata and ORPHAN in finalizers:
            await self._release_dependents(place, item)
        elif "deletionTimestamp" in metadata and FOREGROUND in finalizers:
            await self._drain_dependents(place, item)
        elif "deletionTimestamp" not in metadata and metadata.get("ownerReferences"):
            await self._collect(place, item, metadata)

    async def _collect(self, place: Place, item: Item, metadata: JsonObject) -> None:
        """Delete an object when none of its owners is left, or forget the owners that are gone."""
        references = metadata["ownerReferences"]
        living = [reference for reference in references if self._is_alive(reference, place)]
        if not living:
            await self._delete(place, item, "Background")
        elif len(living) < len(references):
            await self._write_references(place, item, living)

    async def _release_dependents(self, place: Place, item: Item) -> None:
        for dependent in sorted(
            self._dependents.get(item.uid, ()), key=lambda one: (str(one.resource), one.key)
        ):
            held = self._item(dependent)
            if held is not None:
                references = dig_list(held.decode(), "metadata", "ownerReferences")
                kept = [reference for reference in references if reference["uid"] != item.uid]
                await self._write_references(dependent, held, kept)
        await self._drop_finalizer(place, item, ORPHAN)

    async def _drain_dependents(self, place: Place, item: Item) -> None:
        dependents = sorted(self._dependents.get(item.uid, ()), key=lambda one: (str(one.resource), one.key))
        for dependent in dependents:
            held = self._item(dependent)
            if held is not None and b'"deletionTimestamp"' not in held.body:
                await self._take_along(dependent, held)
        still_there = any(
            (held := self._item(one)) is not None and _blocks(held, item.uid)
            for one in self._dependents.get(item.uid, ())
        )
        if not still_there:
            await self._drop_finalizer(place, item, FOREGROUND)

    async def _take_along(self, dependent: Place, held: Item) -> None:
        """Delete what belongs to an owner that waits for it; what others own too only loses the reference."""
        references = dig_list(held.decode(), "metadata", "ownerReferences")
        staying = [reference for reference in references if self._is_staying(reference, dependent)]
        if staying:
            await self._write_references(dependent, held, staying)
        else:
            await self._delete(dependent, held, "Foreground")

    async def _delete(self, place: Place, item: Item, policy: str) -> None:
        options: JsonObject = {"propagationPolicy": policy, "preconditions": {"uid": item.uid}}
        await self._attempt_call("DELETE", place, options)

    async def _write_references(self, place: Place, item: Item, references: list[JsonObject]) -> None:
        patch = {"metadata": {"uid": item.uid, "ownerReferences": references or None}}
        await self._attempt_call("PATCH", place, patch)

    async def _drop_finalizer(self, place: Place, item: Item, finalizer: str) -> None:
        current = self._item(place)
        if current is None or current.uid != item.uid:
            return
        metadata = current.decode()["metadata"]
        kept = [one for one in dig_list(metadata, "finalizers") if one != finalizer]
        patch = {
            "metadata": {"uid": item.uid, "resourceVersion": metadata["resourceVersion"], "finalizers": kept}
        }
        await self._attempt_call("PATCH", place, patch)

    async def _attempt_call(self, method: str, place: Place, body: JsonObject) -> None:
        resource = self._cluster.registry.any_version(place.resource)
        if resource is None:
            return
        media_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        try:
            await self._client.call(method, object_path(resource, *place.key), body, media_type)
        except StatusError as error:
            # Gone or changed meanwhile: the commit that did it has put the object back into the queue.
            if error.code not in (404, 409):
                raise

    def _item(self, place: Place) -> Item | None:
        return self._cluster.store.collection(place.resource).items.get(place.key)

    def _is_alive(self, reference: JsonObject, dependent: Place) -> bool:
        """Whether an owner is there. One whose kind is not served cannot be judged, and counts as there."""
        resource = self._kind_of(reference)
        if resource is None or (resource.namespaced and not dependent.key[0]):
            return True
        owner = self._locate(reference, dependent.key[0])
        item = self._item(owner) if owner is not None else None
        return item is not None and item.uid == reference["uid"]

    def _is_staying(self, reference: JsonObject, dependent: Place) -> bool:
        """Whether an owner is there, and not about to go together with its dependents."""
        if not self._is_alive(reference, dependent):
            return False
        owner = self._locate(reference, dependent.key[0])
        item = self._item(owner) if owner is not None else None
        return item is None or not _awaits_dependents(item)

    def _locate(self, reference: JsonObject, namespace: str) -> Place | None:
        resource = self._kind_of(reference)
        if resource is None:
            return None
        return Place(resource.stored_as, (namespace if resource.namespaced else "", reference["name"]))

    def _kind_of(self, reference: JsonObject) -> Resource | None:
        return self._cluster.registry.find_kind(reference["apiVersion"], reference["kind"])


def _awaits_dependents(owner: Item) -> bool:
    metadata = owner.decode()["metadata"]
    return "deletionTimestamp" in metadata and FOREGROUND in dig_list(metadata, "finalizers")


def _blocks(dependent: Item, owner_uid: str) -> bool:
    for reference in dig_list(dependent.decode(), "metadata", "ownerReferences"):
        if reference["uid"] == owner_uid and reference.get("blockOwnerDeletion"):
            return True
    return False
