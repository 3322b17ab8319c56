"""DistributionTenants and routes in the caches of informers, without an API server, and what the page makes of them."""

from __future__ import annotations

from typing import Any

import msgspec

from edgekeeper.api.cloudfront import DISTRIBUTION_TENANT
from edgekeeper.cli.kinds import MODULES
from edgekeeper.core.json import JsonObject
from edgekeeper.diagnosis.catalog import KnownKind
from edgekeeper.kube.informer import Informer
from edgekeeper.kube.kinds import HTTP_ROUTE, Key, Kind
from edgekeeper.kube.requests import Selection
from edgekeeper.kube.store import Change
from edgekeeper.lifecycle.module import kind_of
from edgekeeper.web.directory import Directory
from edgekeeper.web.rows import ObjectRow, object_row

TENANT = kind_of(DISTRIBUTION_TENANT)


def condition(status: str, reason: str, message: str = "", type_: str = "Ready") -> JsonObject:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-01-02T03:04:05Z",
        "observedGeneration": 1,
    }


READY = condition("True", "Deployed", "the tenant is deployed as the spec says")
DEPLOYING = condition("False", "Deploying", "CloudFront deploys the tenant")
REFUSED = condition("False", "ValidationFailed", "spec.domains: not allowed")


def tenant(name: str, *conditions: JsonObject, namespace: str = "edge", **metadata: Any) -> JsonObject:
    return {
        "apiVersion": TENANT.api_version,
        "kind": TENANT.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "generation": 1,
            "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            **metadata,
        },
        "spec": {"distributionId": "E1", "domains": [{"domain": f"{name}.example.com"}]},
        "status": {"observedGeneration": 1, "conditions": list(conditions)},
    }


def known(kind: Kind = TENANT) -> KnownKind:
    found = Directory((), MODULES).known(kind.group, kind.kind)
    assert found is not None
    return found


def row(obj: JsonObject) -> ObjectRow:
    return object_row(obj, known())


class Fleet:
    """The caches of a process."""

    def __init__(self, *objects: JsonObject) -> None:
        self.tenants = Informer(TENANT, Selection())
        self.routes = Informer(HTTP_ROUTE, Selection())
        self.informers = [self.tenants, self.routes]
        for informer in self.informers:
            informer.store.mark_synced()
        self.directory = Directory(self.informers, MODULES)
        for obj in objects:
            self.put(obj)

    def put(self, obj: JsonObject, *, initial: bool = False) -> None:
        """An object is created or changed."""
        informer = self.tenants if obj["kind"] == TENANT.kind else self.routes
        key = Key(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        raw = msgspec.json.encode(obj)
        informer.deliver(Change(key, informer.store.put(key, raw), raw, initial))

    def delete(self, name: str, namespace: str = "edge") -> None:
        key = Key(namespace, name)
        self.tenants.deliver(Change(key, self.tenants.store.remove(key), None, initial=False))

    async def work(self) -> None:
        """Let the directory make all rows."""
        self.directory.refresh()
        await self.directory._work()

    def names(self) -> set[str]:
        return {one.row.name for one in self.directory.listed}
