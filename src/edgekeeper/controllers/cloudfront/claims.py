"""Who claims which tenant name and which domain within the cluster: the oldest object has it.

Tenants have unique names per account and domains belong to one tenant, so two objects that want the same would take it
from each other for ever. The younger one waits instead, and is woken when the elder gives up its claim. An object whose
hostnames are refused claims nothing, so that nobody can keep others' names by asking early.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from edgekeeper.cloud.aws.records import normalise_name
from edgekeeper.controllers.cloudfront.guards import EVERYTHING, Guards
from edgekeeper.controllers.cloudfront.snapshot import Rival
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.store import Store
from edgekeeper.runtime.contract import Request

BY_NAME, BY_DOMAIN, BY_CERTIFICATE = "tenant name", "domain", "certificate"


class Claims:
    """The claims of all objects that we see."""

    def __init__(
        self, stores: Sequence[Store], template: str, cluster: str, guards: Guards = EVERYTHING
    ) -> None:
        """`template` makes a tenant's name of `{name}`, `{namespace}` and `{cluster}`."""
        self._stores = stores
        self._guards = guards
        self._template = template
        self._cluster = cluster
        for store in stores:
            store.add_index(BY_NAME, lambda raw: [self.tenant_name(_tree(raw))])
            store.add_index(BY_DOMAIN, lambda raw: _domains(_tree(raw)))
            store.add_index(BY_CERTIFICATE, lambda raw: _certificates(_tree(raw)))

    def tenant_name(self, obj: JsonObject) -> str:
        """What the object's tenant is called."""
        metadata = obj["metadata"]
        return self._template.format(
            name=metadata["name"], namespace=metadata.get("namespace", ""), cluster=self._cluster
        )

    def rivals(self, request: Request) -> tuple[Rival, ...]:
        """Older objects that claim what this one claims."""
        own = _seniority(request.object)
        found = [
            Rival("name", name, str(key))
            for name in [self.tenant_name(request.object)]
            for key in self._elder(BY_NAME, name, request.key, own)
        ]
        return (*found, *self.claimants(request, _domains(request.object)))

    def claimants(self, request: Request, domains: Iterable[str]) -> tuple[Rival, ...]:
        """Older objects that claim any of these domains."""
        own = _seniority(request.object)
        return tuple(
            Rival("domain", domain, str(key))
            for domain in domains
            for key in self._elder(BY_DOMAIN, domain, request.key, own)
        )

    def holders(self, index: str, value: str) -> list[Key]:
        """The objects that claim something, whoever has it."""
        return [key for store in self._stores for key in store.by_index(index, value)]

    def better_claim(self, request: Request, name: str) -> Key | None:
        """Another object to which the records of a name belong, as far as the cluster can tell.

        It asks for the name and has written its records; this one does not ask for it, or asked later.
        """
        own = _seniority(request.object)
        asks = name in _domains(request.object)
        for store in self._stores:
            for key in store.by_index(BY_DOMAIN, name):
                obj = store.get(key) if key != request.key else None
                if obj is not None and name in _written(obj) and (not asks or _seniority(obj) < own):
                    return key
        return None

    def all_keys(self) -> list[Key]:
        """All objects."""
        return [key for store in self._stores if store.synced for key in store.keys()]  # noqa: SIM118 - a store is no dict

    def sharing(self, raw: bytes) -> Iterable[Key]:
        """The objects that claim anything of what this one claims."""
        obj = _tree(raw)
        yield from self.holders(BY_NAME, self.tenant_name(obj))
        for domain in _domains(obj):
            yield from self.holders(BY_DOMAIN, domain)

    def _elder(self, index: str, value: str, key: Key, own: tuple[str, str]) -> list[Key]:
        found = (
            (other, obj)
            for store in self._stores
            for other in store.by_index(index, value)
            if other != key and (obj := store.get(other)) is not None
        )
        return [other for other, obj in found if _seniority(obj) < own and self._may_claim(obj)]

    def _may_claim(self, obj: JsonObject) -> bool:
        """Hostnames that an object will never get are not kept from those who may have them, nor is its name."""
        return self._guards.allow_hostnames(str(dig(obj, "metadata", "namespace") or ""), _domains(obj))


def _tree(raw: bytes) -> JsonObject:
    tree: JsonObject = msgspec.json.decode(raw)
    return tree


def _domains(obj: JsonObject) -> list[str]:
    named = (item.get("domain") for item in dig_list(obj, "spec", "domains") if isinstance(item, dict))
    return sorted({normalise_name(name) for name in named if isinstance(name, str)})


def _written(obj: JsonObject) -> set[str]:
    """The names whose records an object has written."""
    entries = (one for one in dig_list(obj, "status", "inventory") if isinstance(one, dict))
    return {normalise_name(str(one.get("name"))) for one in entries if one.get("state") != "Planned"}


def _certificates(obj: JsonObject) -> list[str]:
    arn = dig(obj, "status", "certificateArn")
    return [arn] if isinstance(arn, str) and arn else []


def _seniority(obj: JsonObject) -> tuple[str, str]:
    """Older objects first; of two of the same second, the one with the smaller uid, so that all agree."""
    return str(dig(obj, "metadata", "creationTimestamp") or ""), str(dig(obj, "metadata", "uid") or "")
