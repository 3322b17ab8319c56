"""The state ConfigMap of a route: what was applied for it, and what exists because of it. Pure.

    state = read_state(config_map)          of any generation of the described operators, or ours
    body = write_state(state)               labels, annotations and data of ours

There is one in the operator's namespace for each route that was ever published. It is found by `httproute_namespace` and
`httproute_name` in its data, never by its name. What it lists is removed when the route is disabled or deleted, also where
the route itself is gone. Ours has all keys of the described operators, so that whoever reads those finds them, and some more
(`inventory`, `applied`, `account_id`, `credential`, …).

Caveats
    - The described operators recorded ids, and partly names, but neither accounts nor credentials: those of the tenant are
      used. What they recorded counts only where the live object has this id and name (`InventoryItem.unconfirmed`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeVar

import msgspec

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.api.zerotrust_task import (
    CredentialSecretRef,
    InventoryItem,
    RouteRef,
    TaskResult,
    TaskSpec,
    TenantRef,
)
from edgekeeper.controllers.zerotrust import legacy_state
from edgekeeper.controllers.zerotrust.names import label_value
from edgekeeper.core.clock import parse_timestamp, timestamp
from edgekeeper.core.delta import ChangedField
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig, dig_object

UNREADABLE: Final = "StateUnreadable"
DRIFT: Final = "edgekeeper.io/drift"
"""The annotation in which the worker notes that Cloudflare differs from what was applied."""
DRIFT_FIELDS: Final = "edgekeeper.io/drift-fields"
"""The annotation with the fields that differ, redacted, as JSON."""
ROUTE_UID: Final = f"{PREFIX}httproute-uid"
ROUTE_NAME_LABEL: Final = f"{PREFIX}httproute-name"
ROUTE_NAMESPACE_LABEL: Final = f"{PREFIX}httproute-namespace"
TENANT_LABEL: Final = f"{PREFIX}tenant"
STATE_LABELS: Final = ROUTE_NAME_LABEL
"""The selector of state ConfigMaps: all generations have this label."""

T = TypeVar("T")

_decode_fields = msgspec.json.Decoder(tuple[ChangedField, ...]).decode


class Origin(StrEnum):
    """Who wrote a state."""

    OURS = ""
    V0_1 = "v0.1"
    """The described operator, and the single pod before it."""
    V0_2 = "v0.2"
    """The operator built on kopf."""


@dataclass(frozen=True, slots=True)
class RouteState:
    """What was applied for a route, and what exists because of it."""

    route: RouteRef
    hash: str = ""
    """Of what was applied. Of another operator it never equals ours."""
    tenant: TenantRef | None = None
    account_id: str = ""
    credential: CredentialSecretRef | None = None
    hostname: str = ""
    tunnel_id: str = ""
    zone_id: str = ""
    inventory: tuple[InventoryItem, ...] = ()
    applied: TaskSpec | None = None
    """The spec of the task, without what was there at that time."""
    ids: TaskResult = field(default_factory=TaskResult)
    """The ids as the described operators name them."""
    last_sync_time: datetime | None = None
    token_expires_at: datetime | None = None
    drift: str = ""
    drift_fields: tuple[ChangedField, ...] = ()
    task: str = ""
    """The task whose result this is, as `uid/generation`."""
    written_by: Origin = Origin.OURS
    taken_over_from: Origin = Origin.OURS
    """The operator that published the route first, where that was not we."""

    @property
    def is_protected(self) -> bool:
        """Whether there is an Access application."""
        return any(item.kind == "AccessApplication" for item in self.inventory)

    @property
    def is_of_v0_2(self) -> bool:
        return Origin.V0_2 in (self.written_by, self.taken_over_from)

    @property
    def hostnames(self) -> frozenset[str]:
        """The hostnames that are published, as far as is known."""
        return hostnames_in(self.inventory)


def hostnames_in(inventory: tuple[InventoryItem, ...] | list[InventoryItem]) -> frozenset[str]:
    """The hostnames for which there is something at Cloudflare."""
    kinds = ("TunnelHostname", "DnsRecord", "AccessApplication")
    return frozenset(item.name for item in inventory if item.kind in kinds and item.name)


def state_labels(tenant: str, route: RouteRef) -> dict[str, str]:
    """The labels of a state."""
    labels = {
        "app.kubernetes.io/name": "cloudflare-zero-trust-operator",
        "app.kubernetes.io/component": "state-tracker",
        "app.kubernetes.io/managed-by": "edgekeeper",
    }
    return labels | route_labels(tenant, route)


def route_labels(tenant: str, route: RouteRef) -> dict[str, str]:
    """The labels by which people find what belongs to a route: of its state and its task."""
    labels = {
        ROUTE_NAMESPACE_LABEL: label_value(route.namespace),
        ROUTE_NAME_LABEL: label_value(route.name),
    }
    return labels | ({TENANT_LABEL: label_value(tenant)} if tenant else {})


def route_of(config_map: JsonObject) -> tuple[str, str] | None:
    """The namespace and name of a state's route; None for a ConfigMap that is no state. Expects anything."""
    data = dig_object(config_map, "data")
    namespace, name = data.get("httproute_namespace"), data.get("httproute_name")
    if isinstance(namespace, str) and isinstance(name, str) and namespace and name:
        return namespace, name
    return None


# Reading


def read_state(config_map: JsonObject) -> RouteState:
    """The state in a ConfigMap. Raise Stall where a value of it cannot be read: what exists would be unknown."""
    found = route_of(config_map)
    if found is None:
        raise Stall(UNREADABLE, f"{_name(config_map)} names no HTTPRoute: delete it, or restore its data")
    data = {key: value for key, value in dig_object(config_map, "data").items() if isinstance(value, str)}
    annotations = dig_object(config_map, "metadata", "annotations")
    route = RouteRef(name=found[1], namespace=found[0], uid=str(annotations.get(ROUTE_UID) or ""))
    try:
        state = _own(data, route) if "inventory" in data else _left_behind(data, route)
    except (msgspec.DecodeError, ValueError) as error:
        raise Stall(
            UNREADABLE, f"{_name(config_map)} cannot be read ({error}): restore its data from a backup"
        ) from error
    drift = str(annotations.get(DRIFT) or "")
    return replace(state, drift=drift, drift_fields=_drift_fields(annotations) if drift else ())


def _drift_fields(annotations: JsonObject) -> tuple[ChangedField, ...]:
    """For display only, so that what cannot be read is left out."""
    with suppress(msgspec.DecodeError):
        return _decode_fields(str(annotations.get(DRIFT_FIELDS) or "[]"))
    return ()


def _own(data: Mapping[str, str], route: RouteRef) -> RouteState:
    tenant = data.get("tenant_name", "")
    applied = _decode(data.get("applied"), TaskSpec | None)
    inventory = _decode(data["inventory"], list[InventoryItem] | None)
    return RouteState(
        route,
        data.get("annotation_hash", ""),
        TenantRef(name=tenant, namespace=data.get("tenant_namespace", "")) if tenant else None,
        data.get("account_id", ""),
        _decode(data.get("credential"), CredentialSecretRef | None),
        data.get("hostname", ""),
        data.get("tunnel_id", ""),
        data.get("zone_id", ""),
        tuple(inventory or ()),
        applied,
        legacy_state.result_of(legacy_state.ids_of(data)),
        _moment(data, "last_sync_time"),
        _moment(data, "token_expires_at"),
        task=data.get("task", ""),
        taken_over_from=Origin(data.get("taken_over_from", "")),
    )


def _left_behind(data: Mapping[str, str], route: RouteRef) -> RouteState:
    ids = legacy_state.ids_of(data)
    is_flat = "cloudflare_ids" not in data
    origin = Origin.V0_2 if is_flat else Origin.V0_1
    tenant = data.get("tenant_name", "")
    left = legacy_state.Left(route, ids, is_v0_2=is_flat)
    return RouteState(
        route,
        data.get("annotation_hash", ""),
        TenantRef(name=tenant) if tenant else None,
        hostname=left.hostname,
        tunnel_id=left.tunnel_id,
        zone_id=left.zone_id,
        inventory=tuple(left.inventory()),
        ids=legacy_state.result_of(ids),
        written_by=origin,
        taken_over_from=origin,
    )


def _decode(text: str | None, type_: Any) -> Any:
    return None if not text else msgspec.json.decode(text, type=type_)


def _moment(data: Mapping[str, str], key: str) -> datetime | None:
    return parse_timestamp(data[key]) if data.get(key) else None


def _name(config_map: JsonObject) -> str:
    return f"ConfigMap {dig(config_map, 'metadata', 'name')}"


# Writing


def write_state(state: RouteState) -> JsonObject:
    """Labels, annotations and data. Annotations that are None are to be removed."""
    tenant = state.tenant.name if state.tenant else ""
    uid = {ROUTE_UID: state.route.uid} if state.route.uid else {}
    metadata = {
        "labels": state_labels(tenant, state.route),
        "annotations": {**uid, **drift_annotations(state.drift, state.drift_fields)},
    }
    return {"metadata": metadata, "data": dict(_data(state, tenant))}


def drift_annotations(note: str, fields: Sequence[ChangedField]) -> dict[str, str | None]:
    """What a state says about drift. Annotations that are None are to be removed."""
    return {DRIFT: note or None, DRIFT_FIELDS: _text(list(fields)) if note and fields else None}


def _data(state: RouteState, tenant: str) -> Iterator[tuple[str, str]]:
    yield "annotation_hash", state.hash
    yield (
        "cloudflare_ids",
        _text(legacy_state.written_ids(state.ids, state.hostname, state.tunnel_id, state.zone_id)),
    )
    yield "httproute_namespace", state.route.namespace
    yield "httproute_name", state.route.name
    yield "inventory", _text(list(state.inventory))
    optional = {
        "last_sync_time": _spelled(state.last_sync_time),
        "hostname": state.hostname,
        "tunnel_id": state.tunnel_id,
        "zone_id": state.zone_id,
        "tenant_name": tenant,
        "tenant_namespace": state.tenant.namespace if state.tenant else "",
        "account_id": state.account_id,
        "credential": _text(state.credential) if state.credential else "",
        "applied": _text(state.applied) if state.applied else "",
        "token_expires_at": _spelled(state.token_expires_at),
        "task": state.task,
        "taken_over_from": state.taken_over_from.value,
    }
    yield from ((key, value) for key, value in optional.items() if value)


def _text(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _spelled(moment: datetime | None) -> str:
    return timestamp(moment) if moment else ""
