"""Templates and routes as users of the described operators have them are accepted, and mean what they meant."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.api.zerotrust_task import DnsTarget
from edgekeeper.controllers.zerotrust.origin import origin_request
from tests.unit.controllers.zerotrust.route_cases import PUBLIC, defaults, task, template

TRAEFIK = "https://traefik.traefik.svc.cluster.local:443"
TLS = {"noTLSVerify": True, "tlsTimeout": 10, "http2Origin": False, "matchSNIToHost": False}
OFF = {"accessApplication": {"enabled": False}, "serviceToken": {"enabled": False}}
BASE: dict[str, Any] = {"originService": {"url": TRAEFIK, "httpRedirect": True, "originTLS": TLS}, **OFF}
COOKIES = {"httpOnlyCookieAttribute": True, "sameSiteCookieAttribute": "lax"}

PROTECTED: dict[str, dict[str, Any]] = {
    "existing policy by name": {
        "accessApplication": {
            "enabled": True,
            "sessionDuration": "24h",
            "existingPolicyNames": ["ADAUTH"],
            "autoRedirectToIdentity": True,
            "appLauncherVisible": True,
            "skipInterstitial": False,
            **COOKIES,
        }
    },
    "existing policy by id": {
        "tenantRef": "prod-tenant",
        "accessApplication": {
            "enabled": True,
            "sessionDuration": "4h",
            "existingPolicyIds": ["73badfbd-c825-4bf3-a543-e2882627969d"],
            "sameSiteCookieAttribute": "strict",
        },
        "serviceToken": {"enabled": False},
    },
    "machines only": {
        "originService": {"httpRedirect": False, "originTLS": {"tlsTimeout": 15}},
        "accessApplication": {
            "enabled": True,
            "existingPolicyNames": ["ServiceCred"],
            "serviceAuth401Redirect": True,
            "appLauncherVisible": False,
            "skipInterstitial": True,
            "sameSiteCookieAttribute": "none",
        },
    },
    "a token and nobody else": {
        "accessApplication": {"enabled": True, "sessionDuration": "1h", "serviceAuth401Redirect": True},
        "serviceToken": {"enabled": True, "duration": "8760h"},
    },
    "e-mail addresses": {
        "accessApplication": {"enabled": True, "allowEmails": ["user@example.com", "admin@example.com"]},
        "serviceToken": {"enabled": False},
    },
}


@pytest.mark.parametrize("name", PROTECTED)
def test_sample_that_protects_is_accepted(name: str) -> None:
    operations = task(
        {**PUBLIC, "template": "sample"}, template(**PROTECTED[name]), template(**BASE)
    ).operations
    assert operations.access_app.enabled
    assert operations.tunnel_route.origin_service == TRAEFIK
    assert operations.service_token.enabled == (name == "a token and nobody else")


@pytest.mark.parametrize(
    "spec", [{}, OFF, {"accessApplication": {"enabled": False}}, BASE], ids=["empty", "off", "public", "base"]
)
def test_sample_that_does_not_protect_is_accepted(spec: dict[str, Any]) -> None:
    assert task(PUBLIC, template(**spec), template(**BASE)).operations.access_app.enabled is False


def test_sample_origin_has_its_tls_settings() -> None:
    operation = task(PUBLIC, template(**PROTECTED["machines only"]), template(**BASE)).operations.tunnel_route
    assert operation.http_redirect is False
    assert origin_request(operation, operation.origin_service, "app.example.com") == {
        "httpHostHeader": "app.example.com",
        "noTLSVerify": True,
        "originServerName": "app.example.com",
        "tlsTimeout": 15,
        "http2Origin": False,
        "matchSNItoHost": False,
    }


def test_sample_placeholder_is_replaced() -> None:
    base = template(originService={"url": TRAEFIK, "originTLS": {"originServerName": "{{ hostname }}"}})
    operation = task(PUBLIC, None, base).operations.tunnel_route
    assert origin_request(operation, TRAEFIK, "app.example.com")["originServerName"] == "app.example.com"


@pytest.mark.parametrize(
    ("annotations", "fields"),
    [
        ({"dnsIp": "192.168.1.50"}, {"enabled": True, "proxied": False, "ttl": 120}),
        ({}, {"enabled": True, "staticIp": "192.168.1.50", "proxied": False, "ttl": 120}),
        ({}, {"enabled": True, "ingressServiceRef": {"name": "traefik", "namespace": "traefik"}, "ttl": 120}),
    ],
)
def test_sample_of_dns_only_is_accepted(annotations: dict[str, str], fields: dict[str, Any]) -> None:
    named = template(tenantRef="prod-tenant", dnsOnly=fields)
    operations = task(
        {**PUBLIC, **annotations}, named, template(**BASE), load_balancer=("192.168.1.50",)
    ).operations
    assert operations.dns_record.targets == [DnsTarget("A", "192.168.1.50")]
    assert (operations.dns_record.ttl, operations.dns_record.proxied) == (120, False)
    assert not operations.tunnel_route.enabled


def test_sample_defaults_of_a_tenant_are_accepted() -> None:
    """With the values that the described definitions store where nothing was written."""
    default = defaults(
        sessionDuration="24h",
        originService="",
        httpRedirect=True,
        originTLS={"noTLSVerify": False, "tlsTimeout": 10, "http2Origin": False, "matchSNIToHost": False},
    )
    assert (
        task(PUBLIC, default=default).operations.tunnel_route.origin_service
        == "http://traefik.traefik.svc:80"
    )


ROUTES = {
    "https with a self-signed certificate": {"originService": TRAEFIK, "no-tls-verify": "true"},
    "server name and timeout": {
        "originService": "https://backend.backend-namespace.svc:8443",
        "origin-server-name": "backend.internal.corp",
        "tls-timeout": "30",
        "match-sni-to-host": "true",
    },
    "HTTP/2": {
        "originService": TRAEFIK,
        "http2-origin": "true",
        "http-redirect": "false",
        "no-tls-verify": "true",
    },
    "CA pool and groups": {
        "originService": "https://prod-backend.production.svc:8443",
        "ca-pool": "/etc/cloudflared/certs/ca.pem",
        "tls-timeout": "15",
        "accessApp": "true",
        "allowGroups": "Production-Access",
    },
    "all features": {
        "originService": "http://app-service.app-namespace.svc:8080",
        "accessApp": "true",
        "allowGroups": "Admins,Power-Users",
        "allowEmails": "ceo@example.com",
        "sessionDuration": "4h",
        "serviceToken": "true",
    },
    "no template": {
        "origin.url": TRAEFIK,
        "origin.noTLSVerify": "true",
        "access.enabled": "true",
        "access.existingPolicyNames": "My ADAUTH Policy",
        "access.sessionDuration": "24h",
        "access.autoRedirectToIdentity": "true",
        "access.appLauncherVisible": "true",
        "access.httpOnlyCookieAttribute": "true",
        "access.sameSiteCookieAttribute": "lax",
    },
    "already reconciled": {
        "hostnameRouteId": "c1744f8b-faa1-48a4-9e5c-02ac921467fa",
        "cnameRecordId": "0123",
        "lastReconcile": "2026-02-18T10:00:00Z",
    },
}


@pytest.mark.parametrize("name", ROUTES)
def test_sample_route_is_accepted(name: str) -> None:
    annotations = {**PUBLIC, "tenant": "prod-tenant", **ROUTES[name]}
    operations = task(annotations).operations
    wanted = ROUTES[name].get("accessApp") or ROUTES[name].get("access.enabled")
    assert operations.access_app.enabled is (wanted == "true")
    assert operations.tunnel_route.enabled
