"""Where the tunnel sends requests to."""

from __future__ import annotations

from typing import Any

import pytest
import re2  # type: ignore[import-untyped]  # google-re2 ships no type information

from edgekeeper.api.zerotrust_settings import OriginTls
from edgekeeper.api.zerotrust_task import PathRule, TunnelRouteOperation
from edgekeeper.controllers.zerotrust.desired import RouteOptions, referenced_services
from edgekeeper.controllers.zerotrust.origin import (
    NOTHING,
    Origin,
    backend_origin,
    backend_services,
    check_origin,
    fixed_origin,
    origin_request,
)
from edgekeeper.core.errors import Stall
from edgekeeper.kube.kinds import Key
from tests.unit.controllers.zerotrust.route_cases import (
    PROTECTED,
    PUBLIC,
    defaults,
    refusal,
    route,
    settings,
    task,
    template,
)

WEB = "http://web.shop.svc.cluster.local:80"
API = "http://api.shop.svc.cluster.local:8080"


def _rule(service: str = "web", port: int = 80, *matches: tuple[str, str], **fields: Any) -> dict[str, Any]:
    paths = [{"path": {"type": kind, "value": value}} for kind, value in matches]
    ref = {"name": service, "port": port, **fields.pop("ref", {})}
    return {"backendRefs": [ref], **({"matches": paths} if paths else {}), **fields}


def _spec(*rules: Any) -> dict[str, Any]:
    return {"hostnames": ["app.example.com"], "rules": list(rules)}


def _origin(*rules: Any, public: tuple[str, ...] = (), granted: tuple[Key, ...] = ()) -> Origin:
    return backend_origin(route(PUBLIC, _spec(*rules)), granted, public)


def _served(origin: Origin, path: str) -> tuple[str, bool]:
    """The service that a request gets, and whether it needs no login: the first rule that matches wins."""
    rules = origin.rules or (PathRule("", origin.service),)
    rule = next(rule for rule in rules if re2.search(rule.path, path))
    return rule.service, rule.public


# Which origin


@pytest.mark.parametrize(
    ("annotations", "named", "default", "flag", "expected"),
    [
        ({"originService": "http://a.b:1"}, "http://c.d:2", "http://e.f:3", "http://g.h:4", "http://a.b:1"),
        ({}, "http://c.d:2", "http://e.f:3", "http://g.h:4", "http://c.d:2"),
        ({}, None, "http://e.f:3", "http://g.h:4", "http://e.f:3"),
        ({}, None, None, "http://g.h:4", "http://g.h:4"),
        ({}, None, None, None, "http://traefik.traefik.svc:80"),
        ({"originService": "backend"}, "http://c.d:2", None, None, WEB),
        ({}, "backend", None, None, WEB),
        ({}, None, None, "backend", WEB),
    ],
)
def test_origin_comes_from_the_highest_level(
    annotations: dict[str, str], named: str | None, default: str | None, flag: str | None, expected: str
) -> None:
    spec = task(
        {**PUBLIC, **annotations},
        template(originService={"url": named}) if named else None,
        None,
        defaults(originService=default) if default else None,
        options=RouteOptions(default_origin=flag) if flag else RouteOptions(),
        spec=_spec(_rule()),
    )
    operation = spec.operations.tunnel_route
    assert (operation.enabled, operation.origin_service, operation.rules) == (True, expected, [])


@pytest.mark.parametrize(
    "service",
    [
        "http://traefik.traefik.svc:80",
        "https://traefik.traefik.svc.cluster.local:443",
        "http://10.0.0.1:8080",
        "http://[fd00::1]:80",
        "http://localhost:8080",
        "tcp://db.shop.svc:5432",
        "ssh://bastion.shop.svc:22",
        "http_status:503",
        "hello_world",
    ],
)
def test_origin_may_be(service: str) -> None:
    check_origin(service)
    assert task({**PUBLIC, "originService": service}).operations.tunnel_route.origin_service == service


BAD_ORIGINS = [
    "",
    "web.shop.svc:80",
    "http://",
    "http://web.shop.svc:80/",
    "http://web.shop.svc/path",
    "http://web.shop.svc?x=y",
    "http://web.shop.svc#x",
    "http://user@web.shop.svc",
    "http://user:password@web.shop.svc",
    "http://web shop.svc",
    "http://web.shop.svc\r\nHost: evil",
    "http://web.shop.svc\\@evil",
    "http://web.shop.svc:99999",
    "http://wéb.shop.svc",
    "HTTP://web.shop.svc",
    "http://169.254.169.254",
    "http://[fe80::1]",
    "http://[::ffff:169.254.169.254]",
    "http://0.0.0.0:80",
    "http://224.0.0.1",
    "bastion",
    "socks-proxy",
    "unix:/var/run/docker.sock",
    "unix+tls:/x",
    "file:///etc/passwd",
    "http_status:999",
    "Backend",
    "x" * 3000,
]


@pytest.mark.parametrize("service", BAD_ORIGINS, ids=lambda text: text[:40])
def test_origin_that_is_none_stalls_and_is_named(service: str) -> None:
    stall = refusal({**PUBLIC, "originService": service})
    assert stall.reason in {"InvalidAnnotation", "InvalidSpec"}
    assert stall.message.isprintable()
    if service:
        named = template(originService={"url": service})
        stall = refusal(PUBLIC, named)
        assert stall.reason in {"InvalidSettings", "InvalidSpec"}
        assert len(stall.message) < 500


def test_origin_flag_that_is_none_is_named() -> None:
    stall = refusal(PUBLIC, options=RouteOptions(default_origin="traefik"))
    assert "--default-origin" in stall.message


# Backends


def test_backend_of_one_rule_serves_all_paths() -> None:
    assert _origin(_rule()) == Origin(WEB)
    assert _origin(_rule("web", 80, ("PathPrefix", "/"))) == Origin(WEB)


@pytest.mark.parametrize(
    ("kind", "value", "expression", "matching", "other"),
    [
        ("Exact", "/a.b", r"^/a\.b$", ["/a.b"], ["/a.b/", "/axb", "/a.bc", "/x/a.b"]),
        ("PathPrefix", "/a", "^/a(/.*)?$", ["/a", "/a/", "/a/b"], ["/ab", "/x/a", "/"]),
        ("PathPrefix", "/a/", "^/a(/.*)?$", ["/a", "/a/", "/a/b"], ["/ab"]),
        ("PathPrefix", "/a+(b)", r"^/a\+\(b\)(/.*)?$", ["/a+(b)", "/a+(b)/c"], ["/aab"]),
        ("RegularExpression", "/v[0-9]+", "^(?:/v[0-9]+)$", ["/v1", "/v22"], ["/v", "/v1/x", "/x/v1"]),
        ("RegularExpression", "/a|/b", "^(?:/a|/b)$", ["/a", "/b"], ["/ab", "/bx"]),
    ],
)
def test_backend_path_becomes_an_expression(
    kind: str, value: str, expression: str, matching: list[str], other: list[str]
) -> None:
    origin = _origin(_rule("web", 80, (kind, value)))
    assert origin == Origin(NOTHING, (PathRule(expression, WEB), PathRule("", NOTHING)))
    assert {_served(origin, path)[0] for path in matching} == {WEB}
    assert {_served(origin, path)[0] for path in other} == {NOTHING}


def test_backend_paths_are_tried_in_the_order_of_the_gateway_api() -> None:
    origin = _origin(
        _rule("web", 80),
        _rule("api", 8080, ("PathPrefix", "/api"), ("Exact", "/login")),
        _rule("web", 80, ("PathPrefix", "/api/docs")),
        _rule("api", 8080, ("PathPrefix", "/login")),
        _rule("web", 80, ("PathPrefix", "/login")),
        _rule("old", 80, ("RegularExpression", "/v[0-9]+")),
    )
    old = "http://old.shop.svc.cluster.local:80"
    expected = {
        "/": WEB,
        "/api": API,
        "/api/x": API,
        "/api/docs/x": WEB,
        "/login": API,
        "/login/x": API,
        "/v1": old,
    }
    assert {path: _served(origin, path)[0] for path in expected} == expected
    assert origin.rules[-1] == PathRule("", WEB)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"matches": [{"headers": [{"name": "x", "value": "y"}]}]}, "spec.rules[0] matches headers"),
        ({"matches": [{"queryParams": [{"name": "x", "value": "y"}]}]}, "matches queryParams"),
        ({"matches": [{"method": "GET"}]}, "matches method"),
        ({"matches": [{"path": {"type": "Glob", "value": "/x"}}]}, "not understood"),
        ({"matches": [{"path": {"type": "Exact", "value": 7}}]}, "not understood"),
        ({"matches": [{"path": {"type": "Exact", "value": "/a\nb"}}]}, "not understood"),
        ({"matches": [{"path": {"type": "Exact", "value": "x"}}]}, "does not begin with a slash"),
        ({"filters": [{"type": "RequestRedirect"}]}, "has filters"),
        ({"ref": {"filters": [{"type": "URLRewrite"}]}}, "a backend with filters"),
        ({"ref": {"kind": "ServiceImport", "group": "multicluster.x-k8s.io"}}, "no Service"),
        ({"ref": {"port": None}}, "without a valid name or port"),
        ({"ref": {"port": True}}, "without a valid name or port"),
        ({"ref": {"port": 70000}}, "without a valid name or port"),
        ({"ref": {"name": ""}}, "without a valid name or port"),
        ({"ref": {"name": "x.evil.example"}}, "without a valid name or port"),
        ({"ref": {"name": "evil:80?"}}, "without a valid name or port"),
        ({"ref": {"name": "web", "namespace": "a/b"}}, "without a valid name or port"),
        ({"matches": [{"path": {"type": {}, "value": "/x"}}]}, "not understood"),
        ({"backendRefs": []}, "has 0 backends"),
        ({"backendRefs": "x"}, "has 0 backends"),
        ({"backendRefs": [{"name": "a", "port": 1}, {"name": "b", "port": 1}]}, "has 2 backends"),
    ],
)
def test_backend_rule_that_a_tunnel_cannot_serve_stalls(rule: dict[str, Any], words: str) -> None:
    stall = refusal({**PUBLIC, "originService": "backend"}, spec=_spec(_rule(**rule)))
    assert stall.reason == "UnsupportedRoute"
    assert words in stall.message


def test_backend_expression_that_cloudflared_cannot_read_stalls() -> None:
    stall = refusal(
        {**PUBLIC, "originService": "backend"}, spec=_spec(_rule("web", 80, ("RegularExpression", "(?=x)")))
    )
    assert stall.reason == "InvalidSpec"


@pytest.mark.parametrize("spec", [{}, {"rules": []}, {"rules": "x"}, {"rules": [None]}, {"rules": [[]]}])
def test_backend_of_a_route_without_rules_stalls(spec: dict[str, Any]) -> None:
    assert refusal({**PUBLIC, "originService": "backend"}, spec=spec).reason == "UnsupportedRoute"


def test_backend_without_weight_is_left_out() -> None:
    refs = [{"name": "old", "port": 80, "weight": 0}, {"name": "web", "port": 80, "weight": 1}]
    assert _origin({"backendRefs": refs}) == Origin(WEB)


def test_backend_in_another_namespace_needs_a_grant() -> None:
    spec = _spec(_rule("web", 80, ref={"namespace": "other"}))
    annotations = {**PUBLIC, "originService": "backend"}
    key = Key("other", "web")
    assert backend_services(route(annotations, spec)) == (key,)
    assert referenced_services(route(annotations, spec), settings(annotations), RouteOptions()) == (key,)
    assert refusal(annotations, spec=spec).reason == "ReferenceNotGranted"
    granted = task(annotations, spec=spec, backends=frozenset({key}))
    assert granted.operations.tunnel_route.origin_service == "http://web.other.svc.cluster.local:80"


def test_backends_are_no_references_where_the_origin_is_another() -> None:
    spec = _spec(_rule("web", 80, ref={"namespace": "other"}))
    assert referenced_services(route(PUBLIC, spec), settings(PUBLIC), RouteOptions()) == ()
    options = RouteOptions(default_origin="backend")
    assert referenced_services(route(PUBLIC, spec), settings(PUBLIC), options) == (Key("other", "web"),)


# Public paths


def test_public_paths_come_first_and_the_rest_needs_a_login() -> None:
    origin = fixed_origin("http://a.b:80", ["/healthz", "/hooks/"])
    assert [rule.public for rule in origin.rules] == [True, True, False]
    assert origin.rules[-1].path == ""


def test_public_paths_have_no_rules_where_the_tunnel_checks_nothing() -> None:
    public = {**PUBLIC, "accessApp": "true", "allowEmails": "a@example.com", "publicPaths": "/healthz"}
    checked, unchecked = task(public), task({**public, "validateAtTunnel": "false"})
    assert [rule.public for rule in checked.operations.tunnel_route.rules] == [True, False]
    assert unchecked.operations.tunnel_route.rules == []
    assert unchecked.operations.access_app.public_paths == ["/healthz"]


ESCAPES = [
    "/healthz/../admin",
    "/healthz/./../admin",
    "/healthz/..",
    "/healthz/..;/admin",
    "/healthz;/../admin",
    "/healthz/..\\admin",
    "/healthz\\..\\admin",
    "/healthzz",
    "/x/healthz",
    "/",
    "/HEALTHZ",
    "/healthz/x/../../admin",
    "/healthz//../admin",
    "/healthz/x\n/../admin",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_public_path_is_not_left_by(path: str) -> None:
    assert _served(fixed_origin("http://a.b:80", ["/healthz"]), path) == ("http://a.b:80", False)


@pytest.mark.parametrize(
    "path", ["/healthz", "/healthz/", "/healthz/live", "/healthz/.x/..y", "/healthz/a.b//c"]
)
def test_public_path_includes(path: str) -> None:
    assert _served(fixed_origin("http://a.b:80", ["/healthz"]), path) == ("http://a.b:80", True)


def test_public_paths_lead_to_the_service_that_has_them() -> None:
    origin = _origin(
        _rule("web", 80),
        _rule("api", 8080, ("PathPrefix", "/api"), ("Exact", "/hooks/ping")),
        public=("/api/health", "/hooks", "/healthz"),
    )
    expected = {
        "/healthz": (WEB, True),
        "/api": (API, False),
        "/api/health": (API, True),
        "/api/health/x": (API, True),
        "/hooks": (WEB, True),
        "/hooks/ping": (API, True),
        "/hooks/other": (WEB, True),
        "/": (WEB, False),
        "/other": (WEB, False),
    }
    assert {path: _served(origin, path) for path in expected} == expected


def test_public_path_that_no_rule_serves_stays_unserved() -> None:
    origin = _origin(_rule("api", 8080, ("PathPrefix", "/api")), public=("/healthz", "/api/health"))
    assert _served(origin, "/healthz") == (NOTHING, False)
    assert _served(origin, "/api/health") == (API, True)


def test_public_path_above_a_rule_makes_that_public_too() -> None:
    origin = _origin(_rule("web", 80), _rule("api", 8080, ("PathPrefix", "/a/b")), public=("/a",))
    assert _served(origin, "/a/b/c") == (API, True)
    assert _served(origin, "/a/c") == (WEB, True)
    assert _served(origin, "/b") == (WEB, False)


def test_public_paths_and_expressions_cannot_be_combined() -> None:
    with pytest.raises(Stall, match="cannot be combined"):
        _origin(_rule("web", 80, ("RegularExpression", "/h.*")), public=("/healthz",))


def test_public_paths_are_part_of_a_protected_route_only() -> None:
    protected = task({**PROTECTED, "publicPaths": "/healthz"}).operations.tunnel_route
    assert [rule.public for rule in protected.rules] == [True, False]
    off = {**PUBLIC, "accessApp": "false", "publicPaths": "/healthz"}
    assert task(off).operations.tunnel_route.rules == []


# How cloudflared speaks to origins


def test_origin_with_tls_gets_the_hostname_as_host_and_server_name() -> None:
    operation = task({**PUBLIC, "originService": "https://a.b.svc:443"}).operations.tunnel_route
    assert origin_request(operation, operation.origin_service, "app.example.com") == {
        "httpHostHeader": "app.example.com",
        "noTLSVerify": False,
        "originServerName": "app.example.com",
        "tlsTimeout": 10,
        "http2Origin": False,
        "matchSNItoHost": False,
    }


def test_origin_with_tls_has_all_settings() -> None:
    annotations = {
        **PUBLIC,
        "originService": "https://a.b.svc:443",
        "no-tls-verify": "true",
        "origin-server-name": "x.{{hostname}}",
        "http-host-header": "a.internal:8443",
        "ca-pool": "/etc/ca.pem",
        "tls-timeout": "30",
        "http2-origin": "true",
        "match-sni-to-host": "true",
    }
    operation = task(annotations).operations.tunnel_route
    assert origin_request(operation, operation.origin_service, "app.example.com") == {
        "httpHostHeader": "a.internal:8443",
        "noTLSVerify": True,
        "originServerName": "x.app.example.com",
        "caPool": "/etc/ca.pem",
        "tlsTimeout": 30,
        "http2Origin": True,
        "matchSNItoHost": True,
    }


def test_origin_without_tls_has_no_tls_settings() -> None:
    operation = task({**PUBLIC, "noTLSVerify": "true"}).operations.tunnel_route
    assert operation.origin_tls is None
    assert origin_request(operation, operation.origin_service, "app.example.com") == {}
    header = task({**PUBLIC, "httpHostHeader": "{{ hostname }}"}).operations.tunnel_route
    assert origin_request(header, header.origin_service, "b.example.com") == {
        "httpHostHeader": "b.example.com"
    }


def test_origin_of_a_wildcard_has_no_one_hostname_to_send() -> None:
    annotations = {**PUBLIC, "hostname": "*.example.com", "originService": "https://a.b.svc:443"}
    operation = task(annotations).operations.tunnel_route
    request = origin_request(operation, operation.origin_service, "*.example.com")
    assert request.keys().isdisjoint({"httpHostHeader", "originServerName"})
    stall = refusal({**annotations, "originServerName": "{{ hostname }}"})
    assert "cannot stand for a wildcard" in stall.message


def test_origin_request_of_a_status_is_empty() -> None:
    operation = TunnelRouteOperation(True, "https://a.b:1", "x", origin_tls=OriginTls(no_tls_verify=True))
    assert origin_request(operation, NOTHING, "app.example.com") == {}


@pytest.mark.parametrize("name", ["httpHostHeader", "originServerName"])
@pytest.mark.parametrize("text", ["a b", "a/b", "{{ host }}", "a@b", "a,b", "evil.example\t"])
def test_origin_host_that_is_none_stalls(name: str, text: str) -> None:
    where = {"httpHostHeader": text} if name == "httpHostHeader" else {"originTLS": {name: text}}
    stall = refusal(PUBLIC, template(originService={"url": "https://a.b:443", **where}))
    assert stall.reason == "InvalidSettings"
    assert f"origin.{name} (template default)" in stall.message
