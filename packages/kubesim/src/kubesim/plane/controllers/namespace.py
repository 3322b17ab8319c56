"""The end of a namespace: everything in it is deleted, then the finalizer that kept the namespace goes."""

from __future__ import annotations

from collections import Counter

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.call import NAMESPACES, Cluster
from kubesim.plane.client import InProcessClient
from kubesim.plane.controllers.paths import collection_path
from kubesim.plane.errors import StatusError
from kubesim.plane.reactor import Reactor
from kubesim.plane.resource import GroupResource, Resource
from kubesim.plane.store import Event, Item, Store

_KEEPER = "kubernetes"
"""The entry in `spec.finalizers` that holds a namespace until its contents are gone."""


def mark_namespace_deleted(namespace: JsonObject) -> None:
    """Namespaces know no grace period: their controller works from the phase."""
    namespace["metadata"].pop("deletionGracePeriodSeconds", None)
    namespace["status"] = {**dig_object(namespace, "status"), "phase": "Terminating"}


class NamespaceController(Reactor):
    """Works through namespaces that are being deleted, by name."""

    def __init__(self, cluster: Cluster, client: InProcessClient) -> None:
        super().__init__("namespaces", self._sync)
        self._cluster = cluster
        self._client = client
        self._terminating: set[str] = set()

    def observe(self, resource: GroupResource, event: Event) -> None:
        namespace, name = event.item.key
        if resource == NAMESPACES:
            if event.type == "DELETED":
                self._terminating.discard(name)
            elif b'"deletionTimestamp"' in event.item.body:
                self._terminating.add(name)
                self.enqueue(name)
        elif event.type == "DELETED" and namespace in self._terminating:
            self.enqueue(namespace)

    def restore(self, store: Store) -> None:
        for item in store.collection(NAMESPACES).ordered():
            if b'"deletionTimestamp"' in item.body:
                self._terminating.add(item.key[1])
                self.enqueue(item.key[1])

    async def _sync(self, name: str) -> None:
        item = self._cluster.store.collection(NAMESPACES).items.get(("", name))
        if item is None or not dig(item.decode(), "metadata", "deletionTimestamp"):
            return
        for resource in self._inhabited(name):
            await self._tolerate_absence("DELETE", collection_path(resource, name))
        remaining = self._remaining(name)
        if remaining:
            await self._report(name, remaining)
        else:
            await self._release(name)

    def _inhabited(self, namespace: str) -> list[Resource]:
        """One served version of each resource that has objects in a namespace."""
        found = []
        for collection in self._cluster.store.collections():
            if any(key[0] == namespace for key in collection.items):
                resource = self._cluster.registry.any_version(collection.resource)
                if resource is not None:
                    found.append(resource)
        return found

    def _remaining(self, namespace: str) -> dict[str, list[Item]]:
        remaining: dict[str, list[Item]] = {}
        for collection in self._cluster.store.collections():
            items = [item for item in collection.items.values() if item.key[0] == namespace]
            if items and self._cluster.registry.any_version(collection.resource) is not None:
                remaining[str(collection.resource)] = items
        return remaining

    async def _release(self, name: str) -> None:
        item = self._cluster.store.collection(NAMESPACES).items.get(("", name))
        if item is None:
            return
        namespace = item.decode()
        kept = [one for one in dig_list(namespace, "spec", "finalizers") if one != _KEEPER]
        body = {"apiVersion": "v1", "kind": "Namespace", **namespace, "spec": {"finalizers": kept}}
        await self._tolerate_absence("PUT", f"/api/v1/namespaces/{name}/finalize", body)

    async def _report(self, name: str, remaining: dict[str, list[Item]]) -> None:
        """Say what keeps a namespace from going, as `kubectl describe` shows it."""
        counts = [
            f"{resource} has {len(items)} resource instances" for resource, items in sorted(remaining.items())
        ]
        finalizers = Counter(
            finalizer
            for items in remaining.values()
            for item in items
            for finalizer in dig_list(item.decode(), "metadata", "finalizers")
        )
        held = [
            f"{finalizer} in {count} resource instances" for finalizer, count in sorted(finalizers.items())
        ]
        conditions = [
            self._condition(
                "NamespaceContentRemaining",
                "SomeResourcesRemain",
                f"Some resources are remaining: {', '.join(counts)}",
            )
        ]
        if held:
            text = f"Some content in the namespace has finalizers remaining: {', '.join(held)}"
            conditions.append(self._condition("NamespaceFinalizersRemaining", "SomeFinalizersRemain", text))
        item = self._cluster.store.collection(NAMESPACES).items.get(("", name))
        if item is None or _facts(dig_list(item.decode(), "status", "conditions")) == _facts(conditions):
            return
        patch = {"status": {"conditions": conditions}}
        await self._tolerate_absence("PATCH", f"/api/v1/namespaces/{name}/status", patch)

    def _condition(self, kind: str, reason: str, message: str) -> JsonObject:
        time = self._cluster.timestamp()
        return {
            "type": kind,
            "status": "True",
            "lastTransitionTime": time,
            "reason": reason,
            "message": message,
        }

    async def _tolerate_absence(self, method: str, path: str, body: JsonObject | None = None) -> None:
        media_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        try:
            await self._client.call(method, path, body, media_type)
        except StatusError as error:
            # Not there any more, changed meanwhile, or cannot be deleted in bulk: the next commit brings us back.
            if error.code not in (404, 405, 409):
                raise


def _facts(conditions: list[JsonObject]) -> list[tuple[str, str]]:
    return [(condition["type"], condition["message"]) for condition in conditions]
