"""The origin of a route from the rules of a tunnel: the inverse of `origin` and `tunnel_rule_documents`. Pure.

    service     http://web.shop.svc:80                           backendRefs and the annotation originService
                http://web.shop.svc.cluster.local:80             backendRefs and the origin `backend`, in the same namespace
    path        ^/a$, ^/a(/.*)?$, ^(?:/a[0-9])$                  matches of the route, with the origin `backend`

What comes out is a proposal: `import_check` proves that it results in exactly the rules that are there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from edgekeeper.cloud.cloudflare.tunnel_writer import Rules
from edgekeeper.controllers.zerotrust.origin import BACKEND, HOSTNAME, NOTHING, fixed_origin, is_tls
from edgekeeper.controllers.zerotrust.settings import BUILT_INS
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.lifecycle.importing import Findings

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_SERVICE: Final = re.compile(
    rf"(?P<scheme>https?)://(?P<name>{_LABEL})\.(?P<namespace>{_LABEL})\.svc(?P<suffix>\.cluster\.local)?(?::(?P<port>\d+))?"
)
_PORTS: Final = {"http": 80, "https": 443}
_FORM: Final = "http://NAME.NAMESPACE.svc:PORT"
_TLS: Final = {
    "noTLSVerify": "origin.noTLSVerify",
    "originServerName": "origin.originServerName",
    "caPool": "origin.caPool",
    "tlsTimeout": "origin.tlsTimeout",
    "http2Origin": "origin.http2Origin",
    "matchSNItoHost": "origin.matchSNIToHost",
}
"""Settings of TLS as the API spells them, and their paths."""


@dataclass(frozen=True)
class Backend:
    """A Service that a rule leads to."""

    name: str
    namespace: str
    port: int
    is_derived: bool
    """Is the address the one that is made of backendRefs?"""

    def reference(self, namespace: str) -> JsonObject:
        """The reference of a route in a namespace."""
        elsewhere = {"namespace": self.namespace} if self.namespace != namespace else {}
        return {"name": self.name, **elsewhere, "port": self.port}


@dataclass(frozen=True)
class ProposedOrigin:
    """Rules of a route, and settings about its origin, by path."""

    rules: list[JsonObject] = field(default_factory=list)
    settings: Mapping[str, Any] = field(default_factory=dict)


def backend_of(service: Any) -> Backend | None:
    """The Service behind an address; None if it is none."""
    match = _SERVICE.fullmatch(service) if isinstance(service, str) else None
    if match is None:
        return None
    port = int(match["port"] or _PORTS[match["scheme"]])
    is_derived = match["scheme"] == "http" and bool(match["suffix"]) and bool(match["port"])
    return Backend(match["name"], match["namespace"], port, is_derived)


def first_namespace(rules: Rules) -> str:
    """The namespace of the first Service that rules lead to; empty if they lead to none."""
    found = (backend_of(dig(rule, "service")) for rule in rules)
    return next((backend.namespace for backend in found if backend is not None), "")


def propose_origin(
    rules: Rules, hostname: str, namespace: str, public_paths: Sequence[str], findings: Findings
) -> ProposedOrigin | None:
    """The origin of a route in a namespace, from the rules of its first hostname; None if it cannot be expressed."""
    backends: list[Backend | None] = []
    for rule in rules:
        service = dig(rule, "service")
        backend = backend_of(service)
        if backend is None and service != NOTHING:
            findings.refuse("service", f"{service!r} is not a Service of the cluster, such as {_FORM}")
            return None
        backends.append(backend)
    settings = _origin_settings(rules[-1], hostname)
    only = _only_service(rules, public_paths)
    if only is not None:
        return _fixed(only, backends, namespace, settings, findings)
    return _by_paths(rules, backends, namespace, settings, findings)


def _only_service(rules: Rules, public_paths: Sequence[str]) -> str | None:
    """The service of all rules, if they are those of one origin with these public paths."""
    service = str(dig(rules[-1], "service"))
    expected = [(rule.path, rule.service) for rule in fixed_origin(service, public_paths).rules]
    present = [(str(dig(rule, "path") or ""), str(dig(rule, "service"))) for rule in rules]
    return service if sorted(present) == sorted(expected or [("", service)]) else None


def _fixed(
    service: str,
    backends: Sequence[Backend | None],
    namespace: str,
    settings: Mapping[str, Any],
    findings: Findings,
) -> ProposedOrigin | None:
    backend = backends[-1]
    if backend is None:
        findings.refuse("service", f"{service!r} is not a Service of the cluster, such as {_FORM}")
        return None
    url = BACKEND if backend.is_derived and backend.namespace == namespace else service
    rules = [{"backendRefs": [backend.reference(namespace)]}]
    return ProposedOrigin(rules, {"origin.url": url, **settings})


def _by_paths(
    rules: Rules,
    backends: Sequence[Backend | None],
    namespace: str,
    settings: Mapping[str, Any],
    findings: Findings,
) -> ProposedOrigin | None:
    """Rules with paths, which only the origin `backend` can have."""
    made: list[JsonObject] = []
    for rule, backend in zip(rules, backends, strict=True):
        path = str(dig(rule, "path") or "")
        if backend is None and not path:
            continue  # the rest is answered with 404, as without a rule for it
        match = _match(path)
        if match is None:
            findings.refuse("path", f"{path!r} is not an expression that a match of a route results in")
        elif backend is None:
            findings.refuse("service", f"{NOTHING!r} for the path {path!r} is not a Service")
        elif not backend.is_derived or backend.namespace != namespace:
            findings.refuse(
                "service",
                f"{dig(rule, 'service')!r} has a path, and only http://NAME.{namespace}.svc.cluster.local:PORT can: "
                "the route must be in the namespace of its Services",
            )
        else:
            matches = {"matches": [{"path": match}]} if path else {}
            made.append({**matches, "backendRefs": [backend.reference(namespace)]})
    return None if findings.refusals else ProposedOrigin(made, {"origin.url": BACKEND, **settings})


def _match(expression: str) -> JsonObject | None:
    """The match that results in an expression; None if there is none."""
    if not expression:
        return {"type": "PathPrefix", "value": "/"}
    inner = expression.removeprefix("^").removesuffix("$")
    if f"^{inner}$" != expression:
        return None
    if inner.startswith("(?:") and inner.endswith(")"):
        return {"type": "RegularExpression", "value": inner[3:-1]}
    is_prefix = inner.endswith("(/.*)?")
    path = re.sub(r"\\(.)", r"\1", inner.removesuffix("(/.*)?"))
    if not path.startswith("/") or re.escape(path) != inner.removesuffix("(/.*)?"):
        return None
    return {"type": "PathPrefix" if is_prefix else "Exact", "value": path}


def _origin_settings(rule: JsonObject, hostname: str) -> dict[str, Any]:
    """The settings that differ from the built-in ones."""
    request = dig_object(rule, "originRequest")
    tls = is_tls(str(dig(rule, "service")))
    settings: dict[str, Any] = {}
    header = request.get("httpHostHeader")
    if header and not (tls and header == hostname):
        settings["origin.httpHostHeader"] = _named(header, hostname)
    for name, path in _TLS.items():
        value = request.get(name)
        is_usual = value in (None, "", BUILT_INS.get(path)) or (
            name == "originServerName" and value == hostname
        )
        if tls and not is_usual:
            settings[path] = _named(value, hostname) if name == "originServerName" else value
    return settings


def _named(text: Any, hostname: str) -> Any:
    """A text that is the hostname, so that it fits for all hostnames of the route."""
    return HOSTNAME if text == hostname else text
