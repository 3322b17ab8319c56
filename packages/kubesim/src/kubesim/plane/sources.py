"""What access control and webhooks read of the cluster, with a version that tells when to read again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from edgekeeper.core.json import JsonObject, dig
from kubesim.plane.call import NAMESPACES
from kubesim.plane.registry import Registry
from kubesim.plane.resource import GroupResource
from kubesim.plane.store import Store

_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"


class _Kinds:
    """Objects of a few kinds. Events are only ever added, so their number is a version."""

    def __init__(self, store: Store, group: str, *plurals: str) -> None:
        self._collections = {plural: store.collection(GroupResource(group, plural)) for plural in plurals}

    def version(self) -> int:
        return sum(collection.end() for collection in self._collections.values())

    def objects(self, plural: str) -> Iterable[JsonObject]:
        return [item.decode() for item in self._collections[plural].ordered()]


class StoredRoles(_Kinds):
    def __init__(self, store: Store) -> None:
        super().__init__(store, _RBAC, "roles", "clusterroles", "rolebindings", "clusterrolebindings")

    def roles(self) -> Iterable[JsonObject]:
        return self.objects("roles")

    def cluster_roles(self) -> Iterable[JsonObject]:
        return self.objects("clusterroles")

    def role_bindings(self) -> Iterable[JsonObject]:
        return self.objects("rolebindings")

    def cluster_role_bindings(self) -> Iterable[JsonObject]:
        return self.objects("clusterrolebindings")


class StoredWebhooks(_Kinds):
    def __init__(self, store: Store) -> None:
        super().__init__(
            store, _ADMISSION, "mutatingwebhookconfigurations", "validatingwebhookconfigurations"
        )

    def mutating(self) -> Iterable[JsonObject]:
        return self.objects("mutatingwebhookconfigurations")

    def validating(self) -> Iterable[JsonObject]:
        return self.objects("validatingwebhookconfigurations")


def namespace_labels(store: Store, name: str) -> JsonObject | None:
    """The labels of a namespace, or None where it does not exist."""
    item = store.collection(NAMESPACES).items.get(("", name))
    return None if item is None else (dig(item.decode(), "metadata", "labels") or {})


def account_uid(store: Store, namespace: str, name: str) -> str | None:
    """The uid of a service account, or None where it does not exist: its tokens are void then."""
    item = store.collection(GroupResource("", "serviceaccounts")).items.get((namespace, name))
    return None if item is None else item.uid


def served_versions(registry: Registry, group: str, plural: str) -> Sequence[str]:
    return [resource.version for resource in registry.of_group(group) if resource.plural == plural]
