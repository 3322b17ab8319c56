"""What routes, tasks and tenants depend on, and what they have at Cloudflare, for people. Accepts any content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from edgekeeper.api.zerotrust_task import RouteRef
from edgekeeper.controllers.zerotrust.legacy_state import ANNOTATIONS
from edgekeeper.controllers.zerotrust.route_index import (
    TASK,
    TEMPLATE,
    TENANT,
    annotation,
    key_of,
    task_hostnames,
    task_route_key,
)
from edgekeeper.controllers.zerotrust.state import DRIFT, route_labels, route_of
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import CONFIG_MAP, HTTP_ROUTE, SECRET, Key
from edgekeeper.lifecycle.relations import Details, Reader, Relation

_TOKEN: Final = "the API token"  # noqa: S105 - words
_CREATE_SECRET: Final = (
    "create the Secret with an API token of Cloudflare under the key that spec.credentialRef names"  # noqa: S105
)
_CREATE_TENANT: Final = "create the tenant, or name another one in the annotation cfzt.cloudflare.com/tenant"
_SHOWN_RESULTS: Final = ("access_app_id", "cname_record_id", "dns_record_id", "service_token_id")
_SHOWN_IDS: Final = ("AccessApplication", "DnsRecord", "ServiceToken")


# Routes


def route_details(route: JsonObject) -> Details:
    named = annotation(route, "hostname")
    hostnames = [named] if named else dig_list(route, "spec", "hostnames")
    ids = (dig(route, "metadata", "annotations", ANNOTATIONS[name]) for name in _SHOWN_RESULTS)
    reason = str(dig(route, "metadata", "annotations", "edgekeeper.io/reason") or "")
    return Details(
        _texts(hostnames),
        _texts(ids),
        "what is at Cloudflare" if reason == "DriftDetected" else "",
        tuple((name, value) for name in ("tenant", "template") if (value := annotation(route, name))),
    )


async def route_relations(route: JsonObject, reader: Reader) -> list[Relation]:
    """The task and the state of a route, and its tenant and template."""
    key = key_of(route)
    labels = _selector(key)
    tasks = [one for one in await reader.select(TASK, labels=labels) if task_route_key(one) == key]
    states = [
        one
        for one in await reader.select(CONFIG_MAP, labels=labels)
        if route_of(one) == (key.namespace, key.name)
    ]
    tenant = await _tenant_key(route, _namespaces(states, tasks), reader)
    found = [Relation(TASK, key_of(one), "its task", is_required=False) for one in tasks]
    if tenant is not None:
        found.append(Relation(TENANT, tenant, "its tenant", remedy=_CREATE_TENANT))
        found += await _template(route, tenant, reader)
    return [*found, *(Relation(CONFIG_MAP, key_of(one), "its state", is_required=False) for one in states)]


async def _tenant_key(route: JsonObject, others: Iterable[str], reader: Reader) -> Key | None:
    """The tenant that a route names, or the only one of its namespace; None if there is no telling."""
    own, named = key_of(route).namespace, annotation(route, "tenant")
    namespace, slash, name = named.partition("/")
    if slash:
        return Key(namespace, name)
    if named:
        for place in dict.fromkeys((own, *others)):
            if await reader.get(TENANT, Key(place, named)) is not None:
                return Key(place, named)
        return Key(own, named)
    tenants = await reader.select(TENANT, own)
    return key_of(tenants[0]) if len(tenants) == 1 else None


async def _template(route: JsonObject, tenant: Key, reader: Reader) -> list[Relation]:
    named = annotation(route, "template")
    if not named:
        return []
    places = [Key(tenant.namespace, named), Key(key_of(route).namespace, named)]
    existing = [key for key in places if await reader.get(TEMPLATE, key) is not None]
    return [Relation(TEMPLATE, (existing or places)[0], "its template")]


def _selector(key: Key) -> str:
    labels = route_labels("", RouteRef(name=key.name, namespace=key.namespace))
    return ",".join(f"{name}={value}" for name, value in labels.items())


def _namespaces(*objects: Iterable[JsonObject]) -> list[str]:
    return [key_of(one).namespace for some in objects for one in some]


# Tasks and tenants


def task_details(task: JsonObject) -> Details:
    items = dig_list(task, "status", "inventory")
    ids = (dig(item, "id") for item in items if dig(item, "kind") in _SHOWN_IDS)
    drift = dig(task, "metadata", "annotations", DRIFT)
    return Details(tuple(task_hostnames(task)), _texts(ids), drift if isinstance(drift, str) else "")


def task_relations(task: JsonObject) -> list[Relation]:
    """The tenant and the token of a task, and the route that it is for."""
    found: list[Relation] = []
    name, namespace = (dig(task, "spec", "tenantRef", field) for field in ("name", "namespace"))
    if isinstance(name, str) and name:
        own = key_of(task).namespace
        found.append(Relation(TENANT, Key(str(namespace or own), name), "its tenant", remedy=_CREATE_TENANT))
    found += _secret(dig(task, "spec", "credentialSecretRef"), key_of(task).namespace)
    route = task_route_key(task)
    if route is not None:
        found.append(Relation(HTTP_ROUTE, route, "its route", is_required=False))
    return found


def tenant_details(tenant: JsonObject) -> Details:
    ids = (dig(tenant, "spec", "accountId"), dig(tenant, "spec", "tunnelId"))
    named = (("account", ids[0]), ("tunnel", ids[1]))
    return Details(
        ids=_texts(ids), references=tuple((name, value) for name, value in named if isinstance(value, str))
    )


def tenant_relations(tenant: JsonObject) -> list[Relation]:
    """The token of a tenant."""
    return _secret(dig(tenant, "spec", "credentialRef"), key_of(tenant).namespace)


def _secret(reference: Any, namespace: str) -> list[Relation]:
    name, place, part = (dig(reference, field) for field in ("name", "namespace", "key"))
    if not isinstance(name, str) or not name:
        return []
    parts = (part,) if isinstance(part, str) and part else ("token",)
    return [Relation(SECRET, Key(str(place or namespace), name), _TOKEN, parts=parts, remedy=_CREATE_SECRET)]


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str) and value)
