"""Who claims which tenant name and which domain within the cluster, and in whose inventory a record is.

Tenants have unique names per account and domains belong to one tenant, so two objects that want the same would take it
from each other for ever. One of them waits instead: whose tenant provably serves a domain keeps it (the observer finds
that out), and where nobody's does, the oldest object has it. An object whose hostnames are refused claims nothing, so
that nobody can keep others' names by asking early.

A record is in one inventory only. Where two objects have it in theirs, after a crash or because somebody has written a
status, `recorder` says to which of them it belongs; both come to the same conclusion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from edgekeeper.api.cloudfront import InventoryRecord
from edgekeeper.cloud.aws.records import normalise_name
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.controllers.cloudfront.desired import Place, bare_zone, place_of
from edgekeeper.controllers.cloudfront.guards import EVERYTHING, Guards
from edgekeeper.controllers.cloudfront.snapshot import Rival
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.store import IndexValues, Store
from edgekeeper.runtime.contract import Request

BY_NAME, BY_DOMAIN, BY_CERTIFICATE, BY_RECORD = "tenant name", "domain", "certificate", "record"
BY_ZONE = "zone"


@dataclass(frozen=True, slots=True)
class Contest:
    """Several objects claim the same name or domain."""

    claim: Literal["name", "domain"]
    value: str
    claimants: tuple[tuple[Key, JsonObject], ...]
    """All objects that claim it, the oldest first."""


class Claims:
    """The claims of all objects that we see."""

    def __init__(
        self, stores: Sequence[Store], template: str, cluster: str, guards: Guards = EVERYTHING
    ) -> None:
        """`template` makes a tenant's name of `{name}`, `{namespace}` and `{cluster}`."""
        self._guards = guards
        self._template = template
        self._cluster = cluster
        self._indexes: dict[str, IndexValues] = {
            BY_NAME: lambda obj: [self.tenant_name(obj)],
            BY_DOMAIN: _domains,
            BY_CERTIFICATE: _certificates,
            BY_RECORD: lambda obj: sorted({place[1] for place in _recorded(obj)}),
            BY_ZONE: _zones,
        }
        self.follow(stores)

    def follow(self, stores: Sequence[Store]) -> None:
        """Know the objects of these stores from now on, and no others."""
        self._stores = stores
        for store in stores:
            for name, values in self._indexes.items():
                store.add_index(name, values)

    def tenant_name(self, obj: JsonObject) -> str:
        """What the object's tenant is called."""
        metadata = obj["metadata"]
        return self._template.format(
            name=metadata["name"], namespace=metadata.get("namespace", ""), cluster=self._cluster
        )

    def contests(self, request: Request) -> Iterator[Contest]:
        """What other objects claim as well as this one."""
        claims: list[tuple[Literal["name", "domain"], str, str]] = [
            ("name", BY_NAME, self.tenant_name(request.object)),
            *(("domain", BY_DOMAIN, domain) for domain in _domains(request.object)),
        ]
        for claim, index, value in claims:
            others = list(self._claimants(index, value, request.key))
            if others:
                everybody = [(request.key, request.object), *others]
                yield Contest(claim, value, tuple(sorted(everybody, key=lambda one: _seniority(one[1]))))

    def claimants(self, request: Request, domains: Iterable[str]) -> tuple[Rival, ...]:
        """Older objects that claim any of these domains."""
        own = _seniority(request.object)
        return tuple(
            Rival("domain", domain, str(key))
            for domain in domains
            for key, obj in self._claimants(BY_DOMAIN, domain, request.key)
            if _seniority(obj) < own
        )

    def holders(self, index: str, value: str) -> list[Key]:
        """The objects that claim something, whoever has it."""
        return [key for store in self._stores for key in store.by_index(index, value)]

    def uses_zone(self, zone_id: str, role: Role) -> bool:
        """Does an object name the zone together with the role, in its spec or its inventory? If in doubt, it does."""
        used = _zone_value(zone_id, role.arn)
        return any(not store.synced or store.by_index(BY_ZONE, used) for store in self._stores)

    def recorder(self, request: Request, entry: InventoryRecord) -> Key | None:
        """Another object to which the record of an inventory entry belongs, as far as the cluster can tell.

        It has the record in its inventory as well, and the better right: a record that it has written where this
        object only meant to, or otherwise a domain that this object does not ask for, or asked for later.
        """
        own, asks = _seniority(request.object), entry.name in _domains(request.object)
        for key, obj, state in self._recorders(request.key, place_of(entry)):
            is_better = entry.name in _domains(obj) and (not asks or _seniority(obj) < own)
            if state == entry.state:
                if is_better:
                    return key
            elif state == "Written":
                return key
        return None

    def recorded(self, request: Request, places: Iterable[Place]) -> dict[Place, str]:
        """Which of these places are in the inventory of another object, and of which."""
        return {place: str(key) for place in places for key, _, _ in self._recorders(request.key, place)}

    def all_keys(self) -> list[Key]:
        """All objects."""
        return [key for store in self._stores if store.synced for key in store.keys()]  # noqa: SIM118 - a store is no dict

    def sharing(self, raw: bytes) -> Iterable[Key]:
        """The objects that claim anything of what this one claims, or has in its inventory."""
        obj = _tree(raw)
        yield from self.holders(BY_NAME, self.tenant_name(obj))
        for name in {*_domains(obj), *(place[1] for place in _recorded(obj))}:
            yield from self.holders(BY_DOMAIN, name)
            yield from self.holders(BY_RECORD, name)

    def _claimants(self, index: str, value: str, key: Key) -> Iterator[tuple[Key, JsonObject]]:
        for other, obj in self._others(index, value, key):
            if self._may_claim(obj):
                yield other, obj

    def _recorders(self, key: Key, place: Place) -> Iterator[tuple[Key, JsonObject, str]]:
        for other, obj in self._others(BY_RECORD, place[1], key):
            if state := _recorded(obj).get(place):
                yield other, obj, state

    def _others(self, index: str, value: str, key: Key) -> Iterator[tuple[Key, JsonObject]]:
        for store in self._stores:
            for other in store.by_index(index, value):
                obj = store.get(other) if other != key else None
                if obj is not None:
                    yield other, obj

    def _may_claim(self, obj: JsonObject) -> bool:
        """Hostnames that an object will never get are not kept from those who may have them, nor is its name."""
        return self._guards.allow_hostnames(str(dig(obj, "metadata", "namespace") or ""), _domains(obj))


def _tree(raw: bytes) -> JsonObject:
    tree: JsonObject = msgspec.json.decode(raw)
    return tree


def _domains(obj: JsonObject) -> list[str]:
    named = (item.get("domain") for item in dig_list(obj, "spec", "domains") if isinstance(item, dict))
    return sorted({normalise_name(name) for name in named if isinstance(name, str)})


def _recorded(obj: JsonObject) -> dict[Place, str]:
    """The places of an object's inventory, and whether a record was written there or is only planned."""
    found: dict[Place, str] = {}
    for entry in _inventory(obj):
        place = (
            bare_zone(str(entry.get("zone"))),
            normalise_name(str(entry.get("name"))),
            str(entry.get("type")),
        )
        state = "Planned" if entry.get("state") == "Planned" else "Written"
        found[place] = "Written" if "Written" in (state, found.get(place)) else state
    return found


def _inventory(obj: JsonObject) -> list[JsonObject]:
    return [entry for entry in dig_list(obj, "status", "inventory") if isinstance(entry, dict)]


def _certificates(obj: JsonObject) -> list[str]:
    arn = dig(obj, "status", "certificateArn")
    return [arn] if isinstance(arn, str) and arn else []


def _zones(obj: JsonObject) -> list[str]:
    """The zones in which an object has records or wants some, each with the role that reaches it."""
    named = [(entry.get("zone"), entry.get("role")) for entry in _inventory(obj)]
    if isinstance(dns := dig(obj, "spec", "dns"), dict):
        named.append((dns.get("hostedZoneId"), dns.get("assumeRoleArn")))
    return sorted({_zone_value(str(zone), str(role or "")) for zone, role in named})


def _zone_value(zone_id: str, role_arn: str) -> str:
    return f"{bare_zone(zone_id)} {role_arn}"


def _seniority(obj: JsonObject) -> tuple[str, str]:
    """Older objects first; of two of the same second, the one with the smaller uid, so that all agree."""
    return str(dig(obj, "metadata", "creationTimestamp") or ""), str(dig(obj, "metadata", "uid") or "")
