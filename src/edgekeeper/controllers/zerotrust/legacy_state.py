"""Ids as the described operators record them, and what they say about what exists. Pure.

    v0.1     data `cloudflare_ids`: JSON, with the keys of the first releases (`access_app_id`) or those of the task's result
             (`accessAppId`); since v0.1.31 also `hostname`, `tunnel_id`, `zone_id` beside it
    v0.2     the same keys in snake case, each a value of data
    routes   annotations such as `cfzt.cloudflare.com/accessAppId`, by all of them

`access_policy_id` and `access_policy_ids` may be a text, a text separated by commas, or a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.api.zerotrust_task import InventoryItem, RouteRef, TaskResult

_RESULT_KEYS: Final = {
    "hostname_route_id": "hostnameRouteId",
    "cname_record_id": "cnameRecordId",
    "access_app_id": "accessAppId",
    "access_policy_ids": "accessPolicyIds",
    "service_token_id": "serviceTokenId",
    "service_token_secret_name": "serviceTokenSecretName",
    "dns_record_id": "dnsRecordId",
    "dns_record_ip": "dnsRecordIp",
}
"""What people see on the route: by key of the state, the name of the annotation."""
ANNOTATIONS: Final = {key: f"{PREFIX}{name}" for key, name in _RESULT_KEYS.items()}
LAST_RECONCILE: Final = f"{PREFIX}lastReconcile"
_UPPER: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")
_TUNNELS: Final = ".cfargotunnel.com"

Ids = Mapping[str, str]
"""By key in snake case."""


def ids_of(data: Mapping[str, str]) -> Ids:
    """All ids in the data of a state. Raise ValueError where they cannot be read."""
    recorded = msgspec.json.decode(data.get("cloudflare_ids") or "{}")
    if not isinstance(recorded, dict):
        raise ValueError("cloudflare_ids is no JSON object")  # noqa: TRY004 - of the data, not of an argument
    ids = {_snake(key): _as_text(value) for key, value in recorded.items()}
    plain = {
        key: value for key, value in data.items() if key not in ("cloudflare_ids", "inventory", "applied")
    }
    merged = {**ids, **{key: value for key, value in plain.items() if value}}
    merged.setdefault("access_policy_ids", merged.get("access_policy_id", ""))
    return {key: value for key, value in merged.items() if value}


def annotated_ids(annotations: Mapping[str, Any]) -> Ids:
    """The ids that an operator has written on a route."""
    found = {key: annotations.get(name) for key, name in ANNOTATIONS.items()}
    return {key: value for key, value in found.items() if isinstance(value, str) and value}


def result_of(ids: Ids) -> TaskResult:
    """The ids as the result of a task has them."""
    known: dict[str, Any] = {key: ids.get(key, "") for key in _RESULT_KEYS}
    return TaskResult(
        **known,
        resolved_zone_id=ids.get("zone_id", "") or ids.get("resolved_zone_id", ""),
        service_token_client_id=ids.get("service_token_client_id", ""),
    )


def written_ids(result: TaskResult, hostname: str, tunnel_id: str, zone_id: str) -> dict[str, str]:
    """`cloudflare_ids`, with the keys that the first releases had, and further ones of the result."""
    ids = {key: str(getattr(result, key)) for key in _RESULT_KEYS}
    ids |= {"service_token_client_id": result.service_token_client_id}
    ids |= {"tunnel_id": tunnel_id, "hostname": hostname, "zone_id": zone_id}
    return {key: value for key, value in sorted(ids.items()) if value}


def written_annotations(result: TaskResult) -> dict[str, str | None]:
    """The annotations that show the ids on the route; None for those that are to be absent."""
    return {name: str(getattr(result, key)) or None for key, name in ANNOTATIONS.items()}


def ids_of_inventory(inventory: Iterable[InventoryItem]) -> Ids:
    """The ids of what exists. Of several things of a kind the first counts."""
    ids: dict[str, str] = {}
    policies: list[str] = []
    for item in inventory:
        match item.kind:
            case "TunnelHostname":
                ids.setdefault("hostname_route_id", item.parent)
            case "DnsRecord":
                is_tunnel = item.type == "CNAME" and item.content.endswith(_TUNNELS)
                ids.setdefault("cname_record_id" if is_tunnel else "dns_record_id", item.id)
                ids.setdefault("zone_id", item.parent)
                if not is_tunnel:
                    ids.setdefault("dns_record_ip", item.content)
            case "AccessApplication":
                ids.setdefault("access_app_id", item.id)
            case "AccessPolicy":
                policies.append(item.id)
            case "ServiceToken":
                ids.setdefault("service_token_id", item.id)
            case "Secret":
                ids.setdefault("service_token_secret_name", item.name.rpartition("/")[2])
    ids |= {"access_policy_ids": ",".join(policies)}
    return {key: value for key, value in ids.items() if value}


@dataclass(frozen=True, slots=True)
class Left:
    """What an earlier operator has left behind for a route."""

    route: RouteRef
    ids: Ids
    is_v0_2: bool = False

    @property
    def hostname(self) -> str:
        return self.ids.get("hostname", "")

    @property
    def tunnel_id(self) -> str:
        return self.ids.get("tunnel_id", "") or self.ids.get("hostname_route_id", "")

    @property
    def zone_id(self) -> str:
        return self.ids.get("zone_id", "") or self.ids.get("resolved_zone_id", "")

    def inventory(self) -> Iterator[InventoryItem]:
        """What exists according to the ids."""
        yield from self._tunnel_hostname()
        yield from self._records()
        yield from self._application()
        yield from self._token()

    def _tunnel_hostname(self) -> Iterator[InventoryItem]:
        # A route without a tunnel has an address record, and its tunnel id is only that of its tenant.
        is_published = "hostname_route_id" in self.ids or "dns_record_id" not in self.ids
        if self.tunnel_id and self.hostname and is_published:
            yield InventoryItem(
                kind="TunnelHostname", name=self.hostname, parent=self.tunnel_id, unconfirmed=True
            )

    def _records(self) -> Iterator[InventoryItem]:
        if cname := self.ids.get("cname_record_id"):
            target = f"{self.tunnel_id}{_TUNNELS}" if self.tunnel_id else ""
            yield self._record(cname, "CNAME", target)
        if record := self.ids.get("dns_record_id"):
            yield self._record(record, "A", self.ids.get("dns_record_ip", ""))

    def _record(self, id_: str, type_: str, content: str) -> InventoryItem:
        return InventoryItem(
            kind="DnsRecord",
            id=id_,
            name=self.hostname,
            parent=self.zone_id,
            type=type_,
            content=content,
            unconfirmed=True,
        )

    def _application(self) -> Iterator[InventoryItem]:
        app = self.ids.get("access_app_id", "")
        if not app:
            return
        yield InventoryItem(kind="AccessApplication", id=app, name=self.hostname, unconfirmed=True)
        for policy in _parts(self.ids.get("access_policy_ids", "")):
            yield InventoryItem(kind="AccessPolicy", id=policy, parent=app, unconfirmed=True)

    def _token(self) -> Iterator[InventoryItem]:
        token = self.ids.get("service_token_id", "")
        if not token:
            return
        name = f"cfzt-{self.hostname}" if self.is_v0_2 else f"{self.route.name}-service-token"
        yield InventoryItem(kind="ServiceToken", id=token, name=name, unconfirmed=True)
        yield InventoryItem(
            kind="Secret", name=f"{self.route.namespace}/{self.secret_name}", unconfirmed=True
        )

    @property
    def secret_name(self) -> str:
        """Of the Secret with the token's credentials."""
        usual = (
            f"cfzt-svctoken-{self.route.name}" if self.is_v0_2 else f"{self.route.name}-cfzt-service-token"
        )
        return self.ids.get("service_token_secret_name", "") or usual


def _snake(key: str) -> str:
    return _UPPER.sub(lambda match: f"_{match.group(1).lower()}", str(key))


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return ",".join(str(part) for part in value) if isinstance(value, list) else ""


def _parts(text: str) -> Iterable[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
