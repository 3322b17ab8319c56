"""Two small kinds whose objects want hostnames and have records, and a register of both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.core.errors import Retry
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.store import Store
from edgekeeper.lifecycle.claims import HOSTNAME, Claim, Claims, ClaimSource, KindObject, Proof
from edgekeeper.lifecycle.record_claims import RecordSource

SHOP = Kind("example.com", "v1", "Shop", "shops")
ROUTE = Kind("gateway.example.com", "v1", "HTTPRoute", "httproutes")
SHOP_NAME = "shop name"

FIRST, SECOND, THIRD = (f"2026-01-01T00:00:0{second}Z" for second in range(3))


def build(
    kind: Kind, name: str, *hostnames: Any, since: str = FIRST, namespace: str = "a", **status: Any
) -> KindObject:
    """An object that asks for hostnames."""
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "creationTimestamp": since,
        "resourceVersion": "1",
    }
    tree = {"metadata": metadata, "spec": {"hostnames": list(hostnames)}, "status": status}
    return KindObject(kind, Key(namespace, name), tree)


def hostnames_of(obj: JsonObject) -> list[str]:
    named = [name for name in dig_list(obj, "spec", "hostnames") if isinstance(name, str)]
    return sorted({normalise_name(name) for name in named})


def may_claim(obj: JsonObject) -> bool:
    return dig(obj, "spec", "refused") is not True


@dataclass
class Register:
    """The claims of both kinds, over stores that the test fills, and a cloud in which objects have things."""

    claims: Claims = field(default_factory=Claims)
    in_cloud: dict[Claim, str] = field(default_factory=dict)
    """Who has what in the cloud, by uid."""
    lookups: list[tuple[Kind, Claim]] = field(default_factory=list)
    """The proofs that kinds were asked for."""
    is_cloud_down: bool = False
    stores: dict[Kind, Store] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind in (SHOP, ROUTE):
            scopes = {HOSTNAME: hostnames_of}
            if kind == SHOP:
                scopes = {SHOP_NAME: lambda obj: [obj["metadata"]["name"]], **scopes}
            self.claims.register(ClaimSource(kind, scopes, may_claim, self._proof_of(kind)))
            self.claims.records.register(RecordSource(kind))
            self.stores[kind] = Store(kind)
            self.claims.objects.follow(kind, [self.stores[kind]])

    def put(self, *objects: KindObject) -> None:
        for obj in objects:
            self.stores[obj.kind].put(obj.key, msgspec.json.encode(obj.tree))

    def sync(self, kinds: Iterable[Kind] = (SHOP, ROUTE)) -> None:
        for kind in kinds:
            self.stores[kind].mark_synced()

    def _proof_of(self, kind: Kind) -> Callable[[Claim], Awaitable[Proof]]:
        async def proof(claim: Claim) -> Proof:
            self.lookups.append((kind, claim))
            if self.is_cloud_down:
                raise Retry("no answer")
            return lambda obj: obj["metadata"]["uid"] == self.in_cloud.get(claim)

        return proof


def register_of(*objects: KindObject) -> Register:
    """A register that knows these objects."""
    register = Register()
    register.put(*objects)
    register.sync()
    return register
