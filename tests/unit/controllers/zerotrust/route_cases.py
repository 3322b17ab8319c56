"""Routes, templates and tenants for tables of cases: complete ones, in which a case names what is different."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from edgekeeper.api.zerotrust import PREFIX, TemplateSpec, TenantDefaults, ZeroTrustTenant
from edgekeeper.api.zerotrust_task import TaskSpec
from edgekeeper.controllers.zerotrust.annotation_keys import SETTINGS
from edgekeeper.controllers.zerotrust.annotations import parse_annotations
from edgekeeper.controllers.zerotrust.desired import RouteContext, build_task
from edgekeeper.controllers.zerotrust.settings import Settings, merge
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key

ACCOUNT = "0123456789abcdef0123456789abcdef"
TUNNEL = "c1744f8b-faa1-48a4-9e5c-02ac921467fa"
OTHER_TUNNEL = "d2855f9c-faa1-48a4-9e5c-02ac921467fb"
ZONE = "fedcba9876543210fedcba9876543210"
TENANT_KEY = Key("edge", "main")
PUBLIC = {"enabled": "true", "hostname": "app.example.com"}
PROTECTED = {**PUBLIC, "accessApp": "true", "allowEmails": "a@example.com"}
DNS_ONLY = {**PUBLIC, "dnsOnly": "true", "dnsIp": "10.0.0.7"}

VALUES: Mapping[str, str] = {
    "enabled": "true",
    "hostname": "app.example.com",
    "tenant": "edge/main",
    "template": "web",
    "tunnelId": OTHER_TUNNEL,
    "origin.url": "https://web.shop.svc:443",
    "origin.httpHostHeader": "web.internal",
    "origin.httpRedirect": "false",
    "origin.noTLSVerify": "true",
    "origin.originServerName": "web.internal",
    "origin.caPool": "/etc/ca.pem",
    "origin.tlsTimeout": "30",
    "origin.http2Origin": "true",
    "origin.matchSNIToHost": "true",
    "access.enabled": "true",
    "access.sessionDuration": "8h",
    "access.existingPolicyNames": "Staff",
    "access.existingPolicyIds": "73badfbd-c825-4bf3-a543-e2882627969d",
    "access.allowEmails": "a@example.com,b@example.com",
    "access.allowGroups": "Engineering,Power Users",
    "access.everyone": "true",
    "access.allowedIdps": "Okta",
    "access.autoRedirectToIdentity": "true",
    "access.enableBindingCookie": "true",
    "access.httpOnlyCookieAttribute": "false",
    "access.sameSiteCookieAttribute": "strict",
    "access.logoUrl": "https://cdn.example.com/logo.png",
    "access.skipInterstitial": "true",
    "access.appLauncherVisible": "false",
    "access.serviceAuth401Redirect": "true",
    "access.customDenyMessage": "Ask the platform team.",
    "access.customDenyUrl": "https://example.com/denied",
    "access.customNonIdentityDenyUrl": "https://example.com/denied?by=machine",
    "access.publicPaths": "/healthz,/hooks/github",
    "access.applicationDomain": "*.example.com",
    "access.applicationName": "Login of the shop",
    "access.policyName": "Allow staff",
    "access.validateAtTunnel": "false",
    "serviceToken.enabled": "true",
    "serviceToken.duration": "forever",
    "serviceToken.rotationInterval": "720h",
    "serviceToken.rotationGrace": "48h",
    "serviceToken.rotate": "2026-03-01",
    "dnsOnly.enabled": "true",
    "dnsOnly.proxied": "true",
    "dnsOnly.ttl": "300",
    "dnsOnly.staticIp": "10.0.0.7,fd00::7",
    "dnsOnly.ingressServiceRef": "traefik/traefik",
    "dns": "external",
}
"""A valid value for every setting, by path; another one than the built-in."""

assert set(VALUES) == {setting.path for setting in SETTINGS}, "a setting has no valid value here"


def prefixed(annotations: Mapping[str, str]) -> dict[str, str]:
    return {f"{PREFIX}{name}": value for name, value in annotations.items()}


def tenant(**fields: Any) -> ZeroTrustTenant:
    spec = {"accountId": ACCOUNT, "tunnelId": TUNNEL, "credentialRef": {"name": "api-token"}, **fields}
    return msgspec.convert({"spec": spec}, ZeroTrustTenant)


def template(**fields: Any) -> TemplateSpec:
    """A template's spec as JSON would give it."""
    return msgspec.convert(fields, TemplateSpec)


def defaults(**fields: Any) -> TenantDefaults:
    return msgspec.convert(fields, TenantDefaults)


def route(annotations: Mapping[str, str], spec: Any = None, name: str = "web") -> JsonObject:
    metadata = {"namespace": "shop", "name": name, "uid": "uid-1", "annotations": prefixed(annotations)}
    return {"metadata": metadata, "spec": spec if spec is not None else {"hostnames": ["spec.example.com"]}}


def settings(
    annotations: Mapping[str, str],
    named: TemplateSpec | None = None,
    base: TemplateSpec | None = None,
    default: TenantDefaults | None = None,
) -> Settings:
    return merge(parse_annotations(prefixed(annotations)), named, base, default, base_name="base-main")


def task(
    annotations: Mapping[str, str],
    named: TemplateSpec | None = None,
    base: TemplateSpec | None = None,
    default: TenantDefaults | None = None,
    **context: Any,
) -> TaskSpec:
    """The task of a route with these annotations and templates."""
    spec = context.pop("spec", None)
    name = context.pop("name", "web")
    context.setdefault("tenant", tenant())
    merged = settings(annotations, named, base, default)
    return build_task(
        RouteContext(route=route(annotations, spec, name), tenant_key=TENANT_KEY, settings=merged, **context)
    )


def refusal(annotations: Mapping[str, str], *levels: Any, **context: Any) -> Stall:
    """The error of a route that gets no task."""
    with pytest.raises(Stall) as caught:
        task(annotations, *levels, **context)
    return caught.value
