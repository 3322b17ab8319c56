"""How routes, states, tasks and tenants are found by what they say about each other. Index functions expect anything.

routes     by their tenant and template as annotated, by namespace if annotated at all, by name
states     by route, by the hostnames that they list, by the service token that was applied, by the name of the tenant
tasks      the same
tenants    by namespace
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from edgekeeper.api.zerotrust import FINALIZER, GROUP, PREFIX, VERSION, ZERO_TRUST_TEMPLATE, ZERO_TRUST_TENANT
from edgekeeper.api.zerotrust_task import CLOUDFLARE_TASK
from edgekeeper.controllers.zerotrust.state import read_state, route_of
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.kinds import Key, Kind

TENANT: Final = Kind(GROUP, VERSION, ZERO_TRUST_TENANT.kind, ZERO_TRUST_TENANT.plural)
TEMPLATE: Final = Kind(GROUP, VERSION, ZERO_TRUST_TEMPLATE.kind, ZERO_TRUST_TEMPLATE.plural)
TASK: Final = Kind(GROUP, VERSION, CLOUDFLARE_TASK.kind, CLOUDFLARE_TASK.plural)

BY_TENANT: Final = "zero trust tenant"
BY_TEMPLATE: Final = "zero trust template"
BY_NAMESPACE: Final = "zero trust namespace"
BY_NAME: Final = "zero trust name"
BY_ROUTE: Final = "zero trust route"
BY_HOSTNAME: Final = "zero trust hostname"
BY_TOKEN: Final = "zero trust token"  # noqa: S105 - the name of an index

DEFAULT_TEMPLATE: Final = "default"
BASE: Final = "base-"
_ENABLED: Final = f"{PREFIX}enabled"


def annotation(obj: JsonObject, name: str) -> str:
    """A `cfzt.cloudflare.com/` annotation of an object; empty where there is none."""
    value = dig(obj, "metadata", "annotations", f"{PREFIX}{name}")
    return value.strip() if isinstance(value, str) else ""


def is_annotated(route: JsonObject) -> bool:
    """Whether a route says anything about being published, or is kept by our finalizer."""
    annotations = dig_object(route, "metadata", "annotations")
    return _ENABLED in annotations or FINALIZER in dig_list(route, "metadata", "finalizers")


def key_of(obj: JsonObject) -> Key:
    return Key(*(str(dig(obj, "metadata", field) or "") for field in ("namespace", "name")))


# Routes


def route_tenants(route: JsonObject) -> Iterable[str]:
    """As annotated: `name` or `namespace/name`; `@namespace` for a route that uses the only tenant of its namespace."""
    if not is_annotated(route):
        return ()
    return [annotation(route, "tenant") or f"@{key_of(route).namespace}"]


def route_templates(route: JsonObject) -> Iterable[str]:
    """The name of the template. With the namespaces that it can be in, where the tenant's is annotated."""
    if not is_annotated(route):
        return ()
    name = annotation(route, "template") or DEFAULT_TEMPLATE
    namespace, slash, _ = annotation(route, "tenant").partition("/")
    return [f"{namespace}/{name}", f"{key_of(route).namespace}/{name}"] if slash else [name]


def route_namespace(route: JsonObject) -> Iterable[str]:
    return [key_of(route).namespace] if is_annotated(route) else ()


def route_name(route: JsonObject) -> Iterable[str]:
    return [key_of(route).name] if is_annotated(route) else ()


ROUTE_INDEXES: Final = {
    BY_TENANT: route_tenants,
    BY_TEMPLATE: route_templates,
    BY_NAMESPACE: route_namespace,
    BY_NAME: route_name,
}


# States


def state_route(config_map: JsonObject) -> Iterable[str]:
    found = route_of(config_map)
    return [str(Key(*found))] if found else ()


def state_hostnames(config_map: JsonObject) -> Iterable[str]:
    try:
        return sorted(read_state(config_map).hostnames)
    except Stall:
        return ()


def state_token(config_map: JsonObject) -> Iterable[str]:
    data = dig_object(config_map, "data")
    applied = data.get("applied")
    try:
        spec = msgspec.json.decode(applied) if isinstance(applied, str) else None
    except msgspec.DecodeError:
        return ()
    return list(_token(spec))


def state_tenant(config_map: JsonObject) -> Iterable[str]:
    """The name of the tenant. Earlier operators recorded no namespace."""
    name = dig(config_map, "data", "tenant_name")
    return [name] if isinstance(name, str) and name else ()


STATE_INDEXES: Final = {
    BY_ROUTE: state_route,
    BY_HOSTNAME: state_hostnames,
    BY_TOKEN: state_token,
    BY_TENANT: state_tenant,
}


# Tasks


def task_route_key(task: JsonObject) -> Key | None:
    """The route that a task is for."""
    namespace, name = (dig(task, "spec", "httprouteRef", field) for field in ("namespace", "name"))
    return Key(namespace, name) if isinstance(namespace, str) and isinstance(name, str) else None


def task_route(task: JsonObject) -> Iterable[str]:
    key = task_route_key(task)
    return [str(key)] if key else ()


def task_hostnames(task: JsonObject) -> Iterable[str]:
    """The hostnames that a task publishes, and those that it knows to be published."""
    named = [] if dig(task, "spec", "action") == "delete" else dig_list(task, "spec", "hostnames")
    listed = [
        dig(item, "name")
        for part in ("spec", "status")
        for item in dig_list(task, part, "inventory")
        if dig(item, "kind") in ("TunnelHostname", "DnsRecord", "AccessApplication")
    ]
    return sorted({name for name in (*named, *listed) if isinstance(name, str) and name})


def task_token(task: JsonObject) -> Iterable[str]:
    return list(_token(dig(task, "spec")))


def task_tenant(task: JsonObject) -> Iterable[str]:
    name = dig(task, "spec", "tenantRef", "name")
    return [name] if isinstance(name, str) and name else ()


TASK_INDEXES: Final = {
    BY_ROUTE: task_route,
    BY_HOSTNAME: task_hostnames,
    BY_TOKEN: task_token,
    BY_TENANT: task_tenant,
}


def token_value(account: str, name: str) -> str:
    """What a service token is indexed under."""
    return f"{account}/{name}"


def _token(spec: Any) -> Iterator[str]:
    name, account = dig(spec, "operations", "serviceToken", "name"), dig(spec, "accountId")
    if isinstance(name, str) and name and isinstance(account, str):
        yield token_value(account, name)


# Tenants


def tenant_namespace(tenant: JsonObject) -> Iterable[str]:
    return [key_of(tenant).namespace]


def tenant_name(tenant: JsonObject) -> Iterable[str]:
    return [key_of(tenant).name]


TENANT_INDEXES: Final = {BY_NAMESPACE: tenant_namespace, BY_NAME: tenant_name}
