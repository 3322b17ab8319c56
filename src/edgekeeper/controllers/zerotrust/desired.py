"""What is wanted at Cloudflare for a route: the spec of its task, its hash, its hostnames. Pure.

    spec = build_task(RouteContext(route, tenant, tenant_key, settings, …))
    hash = fingerprint(annotations, spec)

Guarantees
    - A spec without an Access application means that somebody wrote an explicit false, or that nobody said anything about
      Access and the route was never protected. Everything else raises Stall.
    - Nothing in a spec was not checked: hostnames, origins, URLs, addresses and expressions.
    - The same input has the same spec and the same hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.api.zerotrust_task import CredentialSecretRef, RouteRef, TaskSpec, TenantRef
from edgekeeper.cloud.cloudflare.hostnames import normalise
from edgekeeper.controllers.zerotrust.annotations import is_enabled, user_annotations
from edgekeeper.controllers.zerotrust.context import DEFAULT_ORIGIN, RouteContext, RouteNames, RouteOptions
from edgekeeper.controllers.zerotrust.dns_only import load_balancer_of
from edgekeeper.controllers.zerotrust.operations import operations_of
from edgekeeper.controllers.zerotrust.origin import BACKEND, backend_services
from edgekeeper.controllers.zerotrust.settings import Settings
from edgekeeper.core.annotations import Wishes
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.kube.kinds import Key

__all__ = [
    "DEFAULT_ORIGIN",
    "RouteContext",
    "RouteNames",
    "RouteOptions",
    "build_task",
    "fingerprint",
    "hostnames_of",
    "referenced_services",
]

NO_HOSTNAME: Final = "NoHostname"
_LONGEST_HOSTNAME = 1_000
_HASHED_KEYS_LEFT_OUT = ("inventory", "existingIds", "deleteIds")


def build_task(context: RouteContext) -> TaskSpec:
    """The spec of the task that makes things as the route wants them, without an inventory. Raise Stall where it cannot."""
    wishes = Wishes.of(context.route)
    wishes.confirm()
    tenant = context.tenant.spec
    hostnames = _hostnames(context)
    credential = tenant.credential_ref
    return TaskSpec(
        httproute_ref=RouteRef(
            context.name, context.namespace, str(dig(context.route, "metadata", "uid") or "")
        ),
        tenant_ref=TenantRef(context.tenant_key.name, context.tenant_key.namespace),
        hostname=hostnames[0],
        hostnames=hostnames,
        operations=operations_of(context, hostnames),
        credential_secret_ref=CredentialSecretRef(
            credential.name, context.tenant_key.namespace, credential.key
        ),
        account_id=tenant.account_id,
        tunnel_id=context.settings.tunnel_id or tenant.tunnel_id,
        zone_id=tenant.zone_id or "",
        adopt=wishes.adopt,
    )


def referenced_services(route: JsonObject, settings: Settings, options: RouteOptions) -> tuple[Key, ...]:
    """The Services that the settings of a route lead to. Those in other namespaces need a ReferenceGrant."""
    service = load_balancer_of(settings, str(dig(route, "metadata", "namespace") or ""))
    if service is not None:
        return (service,)
    if settings.dns_only.enabled or (settings.origin.url or options.default_origin) != BACKEND:
        return ()
    return backend_services(route)


def fingerprint(annotations: Mapping[str, str], spec: TaskSpec) -> str:
    """The hash of what the user wrote and of what follows from it.

    What the operator itself writes is no part of it, nor is the route's uid, which states and tasks record separately.
    """
    anonymous = msgspec.structs.replace(
        spec, httproute_ref=msgspec.structs.replace(spec.httproute_ref, uid="")
    )
    wanted = {
        key: value
        for key, value in msgspec.to_builtins(anonymous).items()
        if key not in _HASHED_KEYS_LEFT_OUT
    }
    document = {"annotations": user_annotations(annotations), "spec": wanted}
    return hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()


def hostnames_of(route: JsonObject) -> list[str]:
    """The hostnames that a route asks for, as Cloudflare writes them. Whatever is none is left out.

    None for a route that is clearly not enabled. One of which that is not known keeps its hostnames.
    """
    annotations = {
        key: value
        for key, value in dig_object(route, "metadata", "annotations").items()
        if isinstance(value, str)
    }
    try:
        if not is_enabled(annotations):
            return []
    except Stall:
        pass  # neither published nor withdrawn
    return list(dict.fromkeys(_valid_hostnames(route, annotations)))


# Hostnames


def _hostnames(context: RouteContext) -> list[str]:
    if context.settings.hostnames:
        return list(context.settings.hostnames)
    texts = dig_list(context.route, "spec", "hostnames")
    if not texts:
        raise Stall(
            NO_HOSTNAME,
            f"the route has no hostname: set the annotation {PREFIX}hostname or spec.hostnames",
        )
    return list(dict.fromkeys(_hostname(text, number) for number, text in enumerate(texts)))


def _hostname(text: Any, number: int) -> str:
    try:
        return normalise(_text(text))
    except Stall as error:
        raise Stall(error.reason, f"spec.hostnames[{number}]: {error.message}") from error


def _text(value: Any) -> str:
    """What should be a hostname, as a text that is not longer than is needed to see that it is none."""
    return str(value)[:_LONGEST_HOSTNAME]


def _valid_hostnames(route: JsonObject, annotations: Mapping[str, str]) -> Iterator[str]:
    text = annotations.get(f"{PREFIX}hostname")
    for item in dig_list(route, "spec", "hostnames") if text is None else text.split(","):
        try:
            yield normalise(_text(item))
        except Stall:
            continue
