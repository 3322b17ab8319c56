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
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from edgekeeper.api.zerotrust import OriginTls, ZeroTrustTenant
from edgekeeper.api.zerotrust_task import (
    AccessAppOperation,
    CnameOperation,
    CredentialSecretRef,
    DnsRecordOperation,
    Operations,
    RouteRef,
    ServiceTokenOperation,
    TaskSpec,
    TenantRef,
    TunnelRouteOperation,
)
from edgekeeper.cloud.cloudflare.hostnames import normalise
from edgekeeper.controllers.zerotrust.access_rules import access_operation, is_protected
from edgekeeper.controllers.zerotrust.annotation_keys import BY_SPELLING
from edgekeeper.controllers.zerotrust.annotations import ENABLED, is_enabled, user_annotations
from edgekeeper.controllers.zerotrust.dns_only import dns_operation, load_balancer_of
from edgekeeper.controllers.zerotrust.origin import (
    BACKEND,
    HOSTNAME,
    Origin,
    backend_origin,
    backend_services,
    check_origin,
    check_placeholders,
    check_rules,
    fixed_origin,
    is_tls,
)
from edgekeeper.controllers.zerotrust.setting_checks import printable, seconds_of
from edgekeeper.controllers.zerotrust.settings import Settings
from edgekeeper.core.annotations import Wishes
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.core.names import fingerprint as short_hash
from edgekeeper.kube.kinds import Key

DEFAULT_ORIGIN: Final = "http://traefik.traefik.svc:80"
NO_HOSTNAME: Final = "NoHostname"
_LONGEST_NAME = 253
_HASHED_KEYS_LEFT_OUT = ("inventory", "existingIds", "deleteIds")


@dataclass(frozen=True, slots=True)
class RouteOptions:
    """What the operator's flags say about all routes."""

    default_origin: str = DEFAULT_ORIGIN
    """The origin of routes for which nobody sets one; may be `backend`."""
    dns_only_public: bool = False
    """Whether DNS-only records may lead to public addresses."""


@dataclass(frozen=True, slots=True)
class RouteNames:
    """The names of what a route gets. Others than `of` only where those are taken, or were given before."""

    application: str
    policy: str
    service_token: str
    secret: str
    client_id_key: str = "client_id"
    client_secret_key: str = "client_secret"  # noqa: S105 - the name of a key

    @classmethod
    def of(cls, route: str) -> RouteNames:
        """The names of a route of this name, cut where they would be too long."""
        return cls(
            route,
            _bounded(route, "allow-policy"),
            _bounded(route, "service-token"),
            _bounded(route, "cfzt-service-token"),
        )


@dataclass(frozen=True, slots=True)
class RouteContext:
    """All that a task is built from."""

    route: JsonObject
    tenant: ZeroTrustTenant
    tenant_key: Key
    settings: Settings
    backends: frozenset[Key] = frozenset()
    """Services of other namespaces that the route may refer to, by ReferenceGrants."""
    load_balancer: tuple[str, ...] = ()
    """The addresses and hostnames in the status of the Service that `referenced_services` names for DNS-only mode."""
    options: RouteOptions = RouteOptions()
    protected: bool = False
    """Whether there is an Access application because of the route."""
    names: RouteNames | None = None
    """None for the usual ones."""

    @property
    def namespace(self) -> str:
        return str(dig(self.route, "metadata", "namespace") or "")

    @property
    def name(self) -> str:
        return str(dig(self.route, "metadata", "name") or "")


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
        operations=_operations(context, hostnames),
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
    """The hash of what the user wrote and of what follows from it. What the operator itself writes is no part of it."""
    wanted = {
        key: value for key, value in msgspec.to_builtins(spec).items() if key not in _HASHED_KEYS_LEFT_OUT
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
            f"the route has no hostname: set the annotation {ENABLED.replace('enabled', 'hostname')} or "
            "spec.hostnames",
        )
    return list(dict.fromkeys(normalise(printable_text(text)) for text in texts))


def printable_text(text: Any) -> str:
    return text if isinstance(text, str) else repr(text)


def _valid_hostnames(route: JsonObject, annotations: Mapping[str, str]) -> Iterator[str]:
    text = next(
        (value for key, value in user_annotations(annotations).items() if _names_hostnames(key)), None
    )
    for item in dig_list(route, "spec", "hostnames") if text is None else text.split(","):
        try:
            yield normalise(printable_text(item))
        except Stall:
            continue


def _names_hostnames(key: str) -> bool:
    setting = BY_SPELLING.get(key.rpartition("/")[2])
    return setting is not None and setting.path == "hostname"


# Operations


def _operations(context: RouteContext, hostnames: list[str]) -> Operations:
    settings = context.settings
    protected = is_protected(settings, was_protected=context.protected)
    if settings.service_token.enabled and not protected:
        raise settings.invalid(
            "serviceToken.enabled",
            "needs an Access application that takes the token: write access.enabled true",
        )
    if settings.dns_only.enabled:
        return Operations(
            access_app=AccessAppOperation(enabled=False), dns_record=_dns_only(context, protected)
        )
    names = context.names or RouteNames.of(context.name)
    access = AccessAppOperation(enabled=False)
    if protected:
        access = access_operation(settings, hostnames, names.application, names.policy)
    return Operations(
        tunnel_route=_tunnel_route(context, hostnames, access),
        cname_dns=CnameOperation(enabled=settings.dns == "managed"),
        access_app=access,
        service_token=_service_token(context, names),
    )


def _dns_only(context: RouteContext, protected: bool) -> DnsRecordOperation:
    settings = context.settings
    if protected:
        raise settings.invalid(
            "access.enabled",
            f"is true, but DNS-only mode ({settings.source('dnsOnly.enabled')}) leads past Access: switch one of them off",
        )
    if settings.dns == "external":
        raise settings.invalid("dns", "is external, but DNS-only mode is a DNS record: remove one of them")
    return dns_operation(settings, context.load_balancer, allow_public=context.options.dns_only_public)


def _tunnel_route(
    context: RouteContext, hostnames: list[str], access: AccessAppOperation
) -> TunnelRouteOperation:
    settings = context.settings
    origin = _origin(context, access.public_paths or [] if access.enabled else [])
    check_rules(origin, hostnames)
    services = (origin.service, *(rule.service for rule in origin.rules))
    secure = any(map(is_tls, services))
    return TunnelRouteOperation(
        enabled=True,
        origin_service=origin.service,
        http_host_header=_host(settings, "httpHostHeader", settings.origin.http_host_header, hostnames)
        or (HOSTNAME if secure else ""),
        http_redirect=settings.origin.http_redirect,
        origin_tls=_origin_tls(settings, hostnames) if secure else None,
        rules=list(origin.rules),
    )


def _origin(context: RouteContext, public_paths: list[str]) -> Origin:
    settings = context.settings
    service = settings.origin.url or context.options.default_origin
    if service == BACKEND:
        return backend_origin(context.route, context.backends, public_paths)
    try:
        check_origin(service)
    except ValueError as error:
        raise settings.invalid("origin.url", str(error)) from error
    return fixed_origin(service, public_paths)


def _origin_tls(settings: Settings, hostnames: list[str]) -> OriginTls:
    tls = settings.origin.origin_tls or OriginTls()
    name = _host(settings, "originServerName", tls.origin_server_name, hostnames)
    if tls.ca_pool:
        try:
            printable(tls.ca_pool)
        except ValueError as error:
            raise settings.invalid("origin.caPool", str(error)) from error
    return msgspec.structs.replace(tls, origin_server_name=name or HOSTNAME)


def _host(settings: Settings, name: str, text: str | None, hostnames: list[str]) -> str:
    if not text:
        return ""
    try:
        check_placeholders(printable(text), hostnames)
    except ValueError as error:
        raise settings.invalid(f"origin.{name}", str(error)) from error
    return text


def _service_token(context: RouteContext, names: RouteNames) -> ServiceTokenOperation:
    settings = context.settings
    token = settings.service_token
    if not token.enabled:
        return ServiceTokenOperation()
    interval, grace = token.rotation_interval or "", token.rotation_grace or ""
    for name, duration in (
        ("duration", token.duration),
        ("rotationInterval", interval),
        ("rotationGrace", grace),
    ):
        _check_duration(settings, f"serviceToken.{name}", duration)
    if interval and grace and seconds_of(interval) <= seconds_of(grace):
        raise settings.invalid(
            "serviceToken.rotationInterval", f"must be longer than serviceToken.rotationGrace, {grace}"
        )
    return ServiceTokenOperation(
        enabled=True,
        name=names.service_token,
        duration=token.duration or "",
        secret_namespace=context.namespace,
        secret_name=names.secret,
        client_id_key=names.client_id_key,
        client_secret_key=names.client_secret_key,
        rotation=settings.rotate,
        rotation_interval=interval,
        rotation_grace=grace,
    )


def _check_duration(settings: Settings, path: str, duration: str | None) -> None:
    if not duration or (duration == "forever" and path == "serviceToken.duration"):
        return
    try:
        seconds_of(duration)
    except ValueError as error:
        raise settings.invalid(path, str(error)) from error


def _bounded(route: str, suffix: str) -> str:
    name = f"{route}-{suffix}"
    if len(name) <= _LONGEST_NAME:
        return name
    end = f"-{short_hash(route)}-{suffix}"
    return f"{route[: _LONGEST_NAME - len(end)]}{end}"
