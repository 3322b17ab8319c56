"""The settings of a route: annotations over the named template over the base template over the tenant's defaults. Pure.

    annotation ─► named template ─► base template ─► tenant defaults ─► built-in

Each field comes from the first level that sets it. A list replaces the list of a lower level, also if it is empty. An empty
text in a template or in the tenant's defaults sets nothing. Where requests go in DNS-only mode is one choice: the first
level with a static address or a Service decides.

Whether there is an Access application has no built-in value: `access.enabled` is None if nobody said anything. So nothing
but an explicit false, wherever it is written, removes a protection. A level that has settings of Access or of DNS-only mode
while only a lower one says that it is off, or none says anything, is noted (`Settings.undecided`): most likely `enabled` was
forgotten or misspelt there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar

import msgspec

from edgekeeper.api.shared import CamelStruct
from edgekeeper.api.zerotrust import DnsOnlySettings, OriginSettings, TemplateSpec, TenantDefaults
from edgekeeper.api.zerotrust_settings import AccessSettings, ServiceTokenSettings
from edgekeeper.controllers.zerotrust.annotations import RouteAnnotations
from edgekeeper.core.annotations import INVALID_ANNOTATION
from edgekeeper.core.errors import Stall

INVALID_SETTINGS: Final = "InvalidSettings"
BUILT_IN: Final = "built-in"
TENANT_DEFAULTS: Final = "tenant defaults"
DEFAULT_TEMPLATE: Final = "default"
"""The template that is used where the route names none, if it exists."""

BUILT_INS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "origin.httpRedirect": True,
        "origin.noTLSVerify": False,
        "origin.tlsTimeout": 10,
        "origin.http2Origin": False,
        "origin.matchSNIToHost": False,
        "access.sessionDuration": "24h",
        "access.autoRedirectToIdentity": False,
        "access.enableBindingCookie": False,
        "access.httpOnlyCookieAttribute": True,
        "access.sameSiteCookieAttribute": "lax",
        "access.skipInterstitial": False,
        "access.appLauncherVisible": True,
        "access.serviceAuth401Redirect": False,
        "serviceToken.enabled": False,
        "serviceToken.duration": "8760h",
        "serviceToken.rotationGrace": "24h",
        "dnsOnly.enabled": False,
        "dnsOnly.proxied": False,
        "dnsOnly.ttl": 120,
        "dns": "managed",
    }
)

_TARGETS = frozenset({"dnsOnly.staticIp", "dnsOnly.ingressServiceRef"})
_TLS = "origin.originTLS"
_NOT_TLS = ("url", "httpHostHeader", "httpRedirect")
_TEMPLATE_SECTIONS: Mapping[str, str] = {"originService": "origin", "accessApplication": "access"}
_DEFAULTS_PATHS: Mapping[str, str] = {
    "sessionDuration": "access.sessionDuration",
    "originService": "origin.url",
    "httpHostHeader": "origin.httpHostHeader",
    "httpRedirect": "origin.httpRedirect",
}

_ANNOTATION = "annotation "
_DECIDED = ("access", "dnsOnly")

S = TypeVar("S", bound=CamelStruct)


@dataclass(frozen=True, slots=True)
class Settings:
    """What is wanted for a route, with every setting resolved as far as the cluster knows."""

    origin: OriginSettings
    """The address is None if nobody set one."""
    access: AccessSettings
    service_token: ServiceTokenSettings
    dns_only: DnsOnlySettings
    dns: Literal["managed", "external"]
    sources: Mapping[str, str]
    """By dotted path, where each value comes from, in words. Paths without a value are absent."""
    hostnames: tuple[str, ...] = ()
    """Of the annotation. None means those of the route's spec."""
    tunnel_id: str = ""
    """Empty for the tenant's."""
    rotate: str = ""
    """Identifies a request to replace the service token's secret."""
    undecided: Mapping[str, str] = field(default_factory=dict)
    """By section (`access`, `dnsOnly`): a setting of it that was made on a higher level than the one that says `enabled`
    false, or while no level says `enabled` at all. Whoever made it most likely meant that it has an effect."""

    def source(self, path: str) -> str:
        """Where the value of a setting comes from, in words."""
        return self.sources.get(path, BUILT_IN)

    def invalid(self, path: str, why: str) -> Stall:
        """The error for a value that is not valid."""
        source = self.source(path)
        reason = INVALID_ANNOTATION if source.startswith(_ANNOTATION) else INVALID_SETTINGS
        return Stall(reason, f"{path} ({source}) {why}")

    def conflict(self, path: str, why: str) -> Stall:
        """The error for a value that makes no sense together with others."""
        return Stall(INVALID_SETTINGS, f"{path} ({self.source(path)}) {why}")


def merge(
    annotations: RouteAnnotations,
    template: TemplateSpec | None,
    base: TemplateSpec | None,
    defaults: TenantDefaults | None,
    *,
    base_name: str = "",
) -> Settings:
    """Merge all levels. `base_name` is the base template's name, for messages."""
    levels = (
        annotations.settings,
        _of_template(template),
        _of_template(base),
        _of_defaults(defaults),
        BUILT_INS,
    )
    names = (
        _ANNOTATION,
        f"template {annotations.template or DEFAULT_TEMPLATE}",
        f"base template {base_name}".rstrip(),
        TENANT_DEFAULTS,
        BUILT_IN,
    )
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for level, name in zip(levels, names, strict=True):
        for path in _new_paths(level, merged):
            merged[path] = level[path]
            sources[path] = f"{name}{annotations.spellings[path]}" if name == _ANNOTATION else name
    undecided = {section: path for section in _DECIDED if (path := _undecided(levels[:3], section))}
    return _settings(annotations, merged, sources, undecided)


def _new_paths(level: Mapping[str, Any], merged: Mapping[str, Any]) -> list[str]:
    """The paths that a level decides: nobody above it has."""
    has_target = not _TARGETS.isdisjoint(merged)
    return [path for path in level if path not in merged and not (has_target and path in _TARGETS)]


def _undecided(levels: Iterable[Mapping[str, Any]], section: str) -> str:
    """A setting of the section that is on a higher level than a false, or on any if no level decides; else empty."""
    first = ""
    for level in levels:
        enabled = level.get(f"{section}.enabled")
        if enabled is not None:
            return "" if enabled else first
        made = (path for path in level if path.partition(".")[0] == section)
        first = first or next(made, "")
    return first


def _settings(
    annotations: RouteAnnotations,
    merged: Mapping[str, Any],
    sources: Mapping[str, str],
    undecided: Mapping[str, str],
) -> Settings:
    return Settings(
        hostnames=annotations.hostnames,
        tunnel_id=annotations.tunnel_id,
        rotate=annotations.rotate,
        origin=_origin(_section(merged, "origin")),
        access=_access(_section(merged, "access")),
        service_token=_convert(_section(merged, "serviceToken"), ServiceTokenSettings),
        dns_only=_convert(_section(merged, "dnsOnly"), DnsOnlySettings),
        dns=merged["dns"],
        sources=sources,
        undecided=undecided,
    )


def _origin(fields: dict[str, Any]) -> OriginSettings:
    own: dict[str, Any] = {name: fields.pop(name) for name in _NOT_TLS if name in fields}
    return _convert({**own, "originTLS": fields}, OriginSettings)


def _access(fields: dict[str, Any]) -> AccessSettings:
    """The annotation `everyone` adds that rule, or takes it away."""
    everyone = fields.pop("everyone", None)
    if everyone is not None:
        others = [rule for rule in fields.get("include", ()) if "everyone" not in rule]
        fields["include"] = [*others, {"everyone": True}] if everyone else others
    return _convert(fields, AccessSettings)


def _section(merged: Mapping[str, Any], name: str) -> dict[str, Any]:
    prefix = f"{name}."
    return {path.removeprefix(prefix): value for path, value in merged.items() if path.startswith(prefix)}


def _convert(fields: Mapping[str, Any], kind: type[S]) -> S:
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise Stall(INVALID_SETTINGS, f"the settings of the route are not valid: {error}") from error


# Levels


def _of_template(spec: TemplateSpec | None) -> dict[str, Any]:
    if spec is None:
        return {}
    level: dict[str, Any] = {}
    for section, value in msgspec.to_builtins(spec).items():
        name = _TEMPLATE_SECTIONS.get(section, section)
        level[name] = value  # of a section: that it is there, even if it is empty
        fields = value.items() if isinstance(value, dict) else ()
        level.update({f"{name}.{key}": item for key, item in fields})
    return dict(_flat(level))


def _of_defaults(defaults: TenantDefaults | None) -> dict[str, Any]:
    fields = msgspec.to_builtins(defaults) if defaults is not None else {}
    level = {path: fields[name] for name, path in _DEFAULTS_PATHS.items() if name in fields}
    return dict(_flat({**level, _TLS: fields.get("originTLS", {})}))


def _flat(level: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """The level with the TLS settings among the others of the origin, and without empty texts."""
    for path, value in level.items():
        if path == _TLS:
            yield from _flat({f"origin.{name}": item for name, item in value.items()})
        elif value != "":
            yield path, value
