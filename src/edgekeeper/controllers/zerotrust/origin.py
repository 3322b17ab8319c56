"""Where the tunnel sends requests to: one origin for all paths, or the Services of the route's own rules. Pure.

The origin `backend` stands for the Services in the route's backendRefs. A tunnel knows hostnames and paths and nothing
else. A route whose rules need more (headers, methods, query parameters, filters, weights) stalls, because it would be
served differently from what it says: its origin must be a gateway, which honours all of it.

    Exact              /a       ^/a$
    RegularExpression  /a[0-9]  ^(?:/a[0-9])$
    PathPrefix         /a       ^/a(/.*)?$             the longer before the shorter
    PathPrefix         /        the rest; without such a rule the rest is answered with 404

Public paths, which need no login below a protected hostname, come before everything else. Their expressions match no dot
segments, backslashes and semicolons, with which a request could leave the path at its origin.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from edgekeeper.api.zerotrust_task import PathRule, TunnelRouteOperation
from edgekeeper.cloud.cloudflare.hostnames import is_wildcard
from edgekeeper.cloud.cloudflare.tunnel_rules import TunnelRule, check_rule
from edgekeeper.controllers.zerotrust.setting_checks import printable
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.kinds import Key

BACKEND: Final = "backend"
NOTHING: Final = "http_status:404"
HOSTNAME: Final = "{{ hostname }}"
"""Stands for the hostname of a rule, in the header and the server name of a task."""
UNSUPPORTED: Final = "UnsupportedRoute"
NOT_GRANTED: Final = "ReferenceNotGranted"

_PLACEHOLDER = re.compile(r"\{\{\s*hostname\s*\}\}")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://(?P<host>[A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(?::[0-9]{1,5})?")
_SPECIAL = re.compile(r"http_status:[1-5][0-9][0-9]|hello_world")
_HOST_HEADER = re.compile(r"[A-Za-z0-9._-]+(?::[0-9]{1,5})?")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LONGEST_PATH = 1_024
_GATEWAY = "set the origin to the address of a gateway, which can"
_UNSUPPORTED_MATCHES = ("headers", "queryParams", "method")
_RANKS = {"Exact": 0, "RegularExpression": 1, "PathPrefix": 2}
_SEGMENT = r"(?:[^/.\\;][^/\\;]*|\.[^/.\\;][^/\\;]*|\.\.[^/\\;]+)"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where requests go to."""

    service: str
    """For all paths that no rule is about."""
    rules: tuple[PathRule, ...] = ()
    """In the order in which they are tried; the last one is for all paths. None where all paths go the same way."""


@dataclass(frozen=True, slots=True)
class _Match:
    kind: str
    """Exact, RegularExpression or PathPrefix."""
    path: str
    service: str

    @property
    def expression(self) -> str:
        if self.kind == "Exact":
            return f"^{re.escape(self.path)}$"
        if self.kind == "RegularExpression":
            return f"^(?:{self.path})$"
        return f"^{re.escape(self.path)}(/.*)?$" if self.path else ""


# Origins


def fixed_origin(service: str, public_paths: Sequence[str] = ()) -> Origin:
    """One origin for all paths."""
    if not public_paths:
        return Origin(service)
    public = [_public_rule(path, service) for path in sorted(public_paths)]
    return Origin(service, (*public, PathRule("", service)))


def backend_origin(
    route: JsonObject, granted: Collection[Key] = (), public_paths: Sequence[str] = ()
) -> Origin:
    """The Services of the route's rules. `granted` are those in other namespaces that the route may refer to."""
    matches = _ordered(_matches(route, granted))
    rest = next((match.service for match in matches if not match.path), NOTHING)
    locked = [PathRule(match.expression, match.service) for match in matches if match.path]
    public = [rule for path in sorted(public_paths) for rule in _public_rules(path, matches)]
    if not locked and not public:
        return Origin(rest)
    return Origin(rest, (*public, *locked, PathRule("", rest)))


def backend_services(route: JsonObject) -> tuple[Key, ...]:
    """The Services that the rules of a route refer to. Those in other namespaces need a ReferenceGrant."""
    refs = (ref for rule in dig_list(route, "spec", "rules") for ref in dig_list(rule, "backendRefs"))
    keys = (_backend_key(route, ref) for ref in refs if dig(ref, "weight") != 0)
    return tuple(dict.fromkeys(key for key in keys if key.name))


def check_origin(service: str) -> None:
    """Raise ValueError where this is no origin that a user may name."""
    if _SPECIAL.fullmatch(service):
        return
    match = _URL.fullmatch(printable(service))
    if not match:
        raise ValueError(
            "must be backend, or an address such as http://web.shop.svc:80: scheme, host and port, without a path, "
            "not even a slash, and without a user"
        )
    if _is_forbidden(match["host"]):
        raise ValueError("must not be a link-local, multicast or unspecified address")


def check_rules(origin: Origin, hostnames: Iterable[str]) -> None:
    """Raise Stall where cloudflared would not take the rules."""
    rules = origin.rules or (PathRule("", origin.service),)
    for hostname in hostnames:
        for rule in rules:
            check_rule(TunnelRule(hostname, rule.service or origin.service, rule.path))


def is_tls(service: str) -> bool:
    """Whether the tunnel speaks TLS to this origin."""
    return service.startswith(("https://", "wss://"))


def _is_forbidden(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_link_local or address.is_multicast or address.is_unspecified


# Headers and server names


def check_placeholders(text: str, hostnames: Iterable[str]) -> None:
    """Raise ValueError where this is no host for one of the hostnames."""
    for hostname in hostnames:
        if is_wildcard(hostname) and _PLACEHOLDER.search(text):
            raise ValueError(
                f"cannot stand for a wildcard: {hostname} has no one name that could be filled in"
            )
        if not _HOST_HEADER.fullmatch(for_hostname(text, hostname)):
            raise ValueError("must be a host, in which {{ hostname }} stands for the hostname")


def for_hostname(text: str, hostname: str) -> str:
    """The text with the hostname in it. Empty for a wildcard, which has no one name, if the text needs one."""
    if is_wildcard(hostname) and _PLACEHOLDER.search(text):
        return ""
    return _PLACEHOLDER.sub(hostname, text)


def origin_request(operation: TunnelRouteOperation, service: str, hostname: str) -> JsonObject:
    """How cloudflared speaks to an origin for a hostname, as the API spells it; without the part about Access."""
    if not _URL.fullmatch(service):
        return {}
    header = for_hostname(operation.http_host_header, hostname)
    request: JsonObject = {"httpHostHeader": header} if header else {}
    tls = operation.origin_tls
    if tls is None or not is_tls(service):
        return request
    fields = {
        "noTLSVerify": tls.no_tls_verify,
        "originServerName": for_hostname(tls.origin_server_name or "", hostname) or None,
        "caPool": tls.ca_pool or None,
        "tlsTimeout": tls.tls_timeout,
        "http2Origin": tls.http2_origin,
        "matchSNItoHost": tls.match_sni_to_host,
    }
    return {**request, **{name: value for name, value in fields.items() if value is not None}}


# Rules of the route


def _matches(route: JsonObject, granted: Collection[Key]) -> Iterator[_Match]:
    rules = dig_list(route, "spec", "rules")
    if not rules:
        raise Stall(
            UNSUPPORTED, f"the origin is {BACKEND}, but the route has no rules: add some, or set an origin"
        )
    for number, rule in enumerate(rules):
        where = f"spec.rules[{number}]"
        service = _service(route, rule, where, granted)
        for match in dig_list(rule, "matches") or [{}]:
            yield _match(match, service, where)


def _match(match: Any, service: str, where: str) -> _Match:
    for name in _UNSUPPORTED_MATCHES:
        if dig(match, name):
            raise Stall(UNSUPPORTED, f"{where} matches {name}, which a tunnel cannot: {_GATEWAY}")
    kind, path = dig(match, "path", "type"), dig(match, "path", "value")
    kind, path = "PathPrefix" if kind is None else kind, "/" if path is None else path
    if not isinstance(kind, str) or kind not in _RANKS or not _is_path(path):
        raise Stall(UNSUPPORTED, f"{where} has a path match that is not understood: {_GATEWAY}")
    if kind != "RegularExpression" and not path.startswith("/"):
        raise Stall(UNSUPPORTED, f"{where} has a path that does not begin with a slash")
    return _Match(kind, path.rstrip("/") if kind == "PathPrefix" else path, service)


def _is_path(path: Any) -> bool:
    return isinstance(path, str) and path.isprintable() and len(path) <= _LONGEST_PATH


def _service(route: JsonObject, rule: Any, where: str, granted: Collection[Key]) -> str:
    if dig_list(rule, "filters"):
        raise Stall(UNSUPPORTED, f"{where} has filters, which a tunnel has not: {_GATEWAY}")
    refs = [ref for ref in dig_list(rule, "backendRefs") if dig(ref, "weight") != 0]
    if len(refs) != 1:
        raise Stall(
            UNSUPPORTED, f"{where} has {len(refs)} backends, and a tunnel needs exactly one: {_GATEWAY}"
        )
    ref = refs[0]
    if dig_list(ref, "filters"):
        raise Stall(UNSUPPORTED, f"{where} has a backend with filters, which a tunnel has not: {_GATEWAY}")
    if (dig(ref, "group") or "", dig(ref, "kind") or "Service") != ("", "Service"):
        raise Stall(UNSUPPORTED, f"{where} has a backend that is no Service: {_GATEWAY}")
    key, port = _backend_key(route, ref), dig(ref, "port")
    if not _LABEL.fullmatch(key.name) or not _LABEL.fullmatch(key.namespace) or not _is_port(port):
        raise Stall(UNSUPPORTED, f"{where} has a backend without a valid name or port: correct it")
    if key.namespace != dig(route, "metadata", "namespace") and key not in granted:
        raise Stall(
            NOT_GRANTED,
            f"{where} refers to Service {key.name} of namespace {key.namespace}, which has no ReferenceGrant for that",
        )
    return f"http://{key.name}.{key.namespace}.svc.cluster.local:{port}"


def _is_port(port: Any) -> bool:
    return isinstance(port, int) and not isinstance(port, bool) and 1 <= port <= 65535


def _backend_key(route: JsonObject, ref: Any) -> Key:
    namespace = dig(ref, "namespace") or dig(route, "metadata", "namespace") or ""
    return Key(str(namespace), str(dig(ref, "name") or ""))


def _ordered(matches: Iterable[_Match]) -> list[_Match]:
    """The matches in the order in which they are tried. Of two for the same paths the first counts."""
    distinct: dict[tuple[str, str], _Match] = {}
    for match in matches:
        distinct.setdefault((match.kind, match.path), match)
    return sorted(distinct.values(), key=lambda match: (_RANKS[match.kind], -len(match.path)))


# Public paths


def _public_rule(path: str, service: str) -> PathRule:
    return PathRule(f"^{re.escape(path.rstrip('/'))}(?:/{_SEGMENT}?)*$", service, public=True)


def _public_rules(path: str, matches: Iterable[_Match]) -> Iterator[PathRule]:
    """The rules of a public path, to the Services that have it."""
    public = path.rstrip("/")
    for match in matches:
        if match.kind == "RegularExpression":
            raise Stall(
                UNSUPPORTED,
                f"public paths and the regular expression {match.path[:100]!r} of the route cannot be combined: {_GATEWAY}",
            )
        if match.path == public or match.path.startswith(f"{public}/"):
            yield (
                PathRule(match.expression, match.service, public=True)
                if match.kind == "Exact"
                else _public_rule(match.path, match.service)
            )
        if match.kind == "PathPrefix" and f"{public}/".startswith(f"{match.path}/"):
            if match.path != public:
                yield _public_rule(public, match.service)
            return
