"""The operations of a task: what there shall be of tunnel, DNS, Access and service token. Pure."""

from __future__ import annotations

import msgspec

from edgekeeper.api.zerotrust_settings import OriginTls
from edgekeeper.api.zerotrust_task import (
    AccessAppOperation,
    CnameOperation,
    DnsRecordOperation,
    Operations,
    ServiceTokenOperation,
    TunnelRouteOperation,
)
from edgekeeper.controllers.zerotrust.access_rules import access_operation, is_protected
from edgekeeper.controllers.zerotrust.context import RouteContext, RouteNames
from edgekeeper.controllers.zerotrust.dns_only import dns_operation
from edgekeeper.controllers.zerotrust.origin import (
    BACKEND,
    HOSTNAME,
    Origin,
    backend_origin,
    check_origin,
    check_placeholders,
    check_rules,
    fixed_origin,
    is_tls,
)
from edgekeeper.controllers.zerotrust.setting_checks import printable, seconds_of
from edgekeeper.controllers.zerotrust.settings import INVALID_SETTINGS, Settings
from edgekeeper.core.errors import Stall


def operations_of(context: RouteContext, hostnames: list[str]) -> Operations:
    """The operations for these hostnames. Raise Stall where the settings do not make sense."""
    settings = context.settings
    protected = is_protected(settings, was_protected=context.protected)
    if settings.service_token.enabled and not protected:
        raise settings.conflict(
            "serviceToken.enabled",
            "needs an Access application that takes the token: write access.enabled true",
        )
    if path := settings.undecided.get("dnsOnly"):
        raise settings.conflict(
            path,
            "is about DNS-only mode, but nothing there says whether that is on: write dnsOnly.enabled true or false in "
            "the same place",
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
        raise settings.conflict(
            "access.enabled",
            f"is true, but DNS-only mode ({settings.source('dnsOnly.enabled')}) leads past Access: switch one of them off",
        )
    if settings.dns == "external":
        raise settings.conflict("dns", "is external, but DNS-only mode is a DNS record: remove one of them")
    return dns_operation(settings, context.load_balancer, allow_public=context.options.dns_only_public)


def _tunnel_route(
    context: RouteContext, hostnames: list[str], access: AccessAppOperation
) -> TunnelRouteOperation:
    settings = context.settings
    # Where cloudflared checks nothing, public paths need no rules of their own.
    is_checked = access.enabled and access.validate_at_tunnel is not False
    origin = _origin(context, access.public_paths or [] if is_checked else [])
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
        if not settings.origin.url:
            raise Stall(INVALID_SETTINGS, f"the operator's flag --default-origin {error}") from error
        raise settings.invalid("origin.url", str(error)) from error
    return fixed_origin(service, public_paths)


def _origin_tls(settings: Settings, hostnames: list[str]) -> OriginTls:
    tls = settings.origin.origin_tls or OriginTls()
    name = _host(settings, "originServerName", tls.origin_server_name, hostnames)
    if tls.ca_pool:
        try:
            _check_path(printable(tls.ca_pool))
        except ValueError as error:
            raise settings.invalid("origin.caPool", str(error)) from error
    return msgspec.structs.replace(tls, origin_server_name=name or HOSTNAME)


def _check_path(text: str) -> None:
    if "://" in text:
        raise ValueError(f"must be the path of a file, as cloudflared sees it, not a URL: {text[:100]}")


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
        raise settings.conflict(
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
