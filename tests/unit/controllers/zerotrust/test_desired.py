"""The task of a route as a whole, its hash, and the hostnames that it claims."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.api.zerotrust_task import ExistingIds, InventoryItem, TaskSpec
from edgekeeper.controllers.zerotrust.annotations import OPERATOR_WRITTEN
from edgekeeper.controllers.zerotrust.desired import (
    RouteContext,
    RouteNames,
    RouteOptions,
    build_task,
    fingerprint,
    hostnames_of,
)
from edgekeeper.core.errors import Stall
from tests.unit.controllers.zerotrust.route_cases import (
    ACCOUNT,
    OTHER_TUNNEL,
    PROTECTED,
    PUBLIC,
    TENANT_KEY,
    TUNNEL,
    ZONE,
    prefixed,
    refusal,
    route,
    settings,
    task,
    template,
    tenant,
)

# The examples that the described operator explains itself with: annotations exactly, and what follows from them


def _task(name: str, hostname: str, **operations: Any) -> dict[str, Any]:
    tunnel = {"enabled": True, "originService": "http://traefik.traefik.svc:80", "httpRedirect": True}
    return {
        "httprouteRef": {"name": name, "namespace": "shop", "uid": "uid-1"},
        "tenantRef": {"name": "main", "namespace": "edge"},
        "credentialSecretRef": {"name": "api-token", "namespace": "edge"},
        "accountId": ACCOUNT,
        "tunnelId": TUNNEL,
        "hostname": hostname,
        "hostnames": [hostname],
        "operations": {
            "tunnelRoute": tunnel,
            "cnameDns": {"enabled": True},
            "accessApp": {"enabled": False},
            "serviceToken": {},
            **operations,
        },
    }


def _app(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "enabled": True,
        "name": name,
        "policyName": f"{name}-allow-policy",
        "sessionDuration": "24h",
        "autoRedirectToIdentity": False,
        "enableBindingCookie": False,
        "httpOnlyCookieAttribute": True,
        "sameSiteCookieAttribute": "lax",
        "skipInterstitial": False,
        "appLauncherVisible": True,
        "serviceAuth401Redirect": False,
        **fields,
    }


EXAMPLES = [
    pytest.param(
        "simple-app",
        {"enabled": "true", "hostname": "simple.example.com"},
        _task("simple-app", "simple.example.com"),
        id="1 hostname route",
    ),
    pytest.param(
        "admin-panel",
        {
            "enabled": "true",
            "hostname": "admin.example.com",
            "accessApp": "true",
            "allowEmails": "admin@example.com,manager@example.com",
            "sessionDuration": "8h",
        },
        _task(
            "admin-panel",
            "admin.example.com",
            accessApp=_app(
                "admin-panel", allowEmails=["admin@example.com", "manager@example.com"], sessionDuration="8h"
            ),
        ),
        id="2 Access for e-mail addresses",
    ),
    pytest.param(
        "api-service",
        {
            "enabled": "true",
            "hostname": "api.example.com",
            "accessApp": "true",
            "allowGroups": "Engineering",
            "serviceToken": "true",
        },
        _task(
            "api-service",
            "api.example.com",
            accessApp=_app("api-service", allowGroups=["Engineering"]),
            serviceToken={
                "enabled": True,
                "name": "api-service-service-token",
                "duration": "8760h",
                "secretNamespace": "shop",
                "secretName": "api-service-cfzt-service-token",
                "rotationGrace": "24h",
            },
        ),
        id="3 service token",
    ),
    pytest.param(
        "app",
        {
            "enabled": "true",
            "hostname": "app.example.com",
            "accessApp": "true",
            "allowEmails": "user1@example.com,user2@example.com",
            "accessAppId": "existing-app-id",
            "accessPolicyIds": "existing-policy-id",
        },
        _task(
            "app",
            "app.example.com",
            accessApp=_app("app", allowEmails=["user1@example.com", "user2@example.com"]),
        ),
        id="4 update",
    ),
]


@pytest.mark.parametrize(("name", "annotations", "expected"), EXAMPLES)
def test_task_of_an_example_is_as_described(
    name: str, annotations: dict[str, str], expected: dict[str, Any]
) -> None:
    assert msgspec.to_builtins(task(annotations, name=name)) == expected


@pytest.mark.parametrize(("name", "annotations", "expected"), EXAMPLES)
def test_task_survives_the_api_server(
    name: str, annotations: dict[str, str], expected: dict[str, Any]
) -> None:
    spec = task(annotations, name=name)
    assert msgspec.convert(msgspec.to_builtins(spec), TaskSpec) == spec


# Tenant, tunnel, hostnames, names


def test_task_takes_account_tunnel_zone_and_credential_of_the_tenant() -> None:
    spec = task(PUBLIC, tenant=tenant(zoneId=ZONE, credentialRef={"name": "cf", "key": "api"}))
    assert (spec.account_id, spec.tunnel_id, spec.zone_id) == (ACCOUNT, TUNNEL, ZONE)
    reference = spec.credential_secret_ref
    assert reference is not None
    assert (reference.namespace, reference.name, reference.key) == ("edge", "cf", "api")


def test_task_takes_the_tunnel_of_the_annotation() -> None:
    assert task({**PUBLIC, "tunnelId": OTHER_TUNNEL.upper()}).tunnel_id == OTHER_TUNNEL


def test_task_has_the_hostnames_of_the_annotation_or_of_the_spec() -> None:
    several = task({**PUBLIC, "hostname": "b.example.com, A.example.com"})
    assert (several.hostname, several.hostnames) == ("b.example.com", ["b.example.com", "a.example.com"])
    declared = {"hostnames": ["X.example.com", "*.y.example.com", "x.example.com."]}
    assert task({"enabled": "true"}, spec=declared).hostnames == ["x.example.com", "*.y.example.com"]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({}, "NoHostname"),
        ({"hostnames": []}, "NoHostname"),
        ({"hostnames": "app.example.com"}, "NoHostname"),
        ({"hostnames": ["app.example.com", "not a host"]}, "InvalidSpec"),
        ({"hostnames": [7]}, "InvalidSpec"),
        ({"hostnames": ["x" * 100_000]}, "InvalidSpec"),
        ({"hostnames": ["ü" * 100_000]}, "InvalidSpec"),
        ({"hostnames": ["a.example.com\r\nx"]}, "InvalidSpec"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_task_needs_valid_hostnames(spec: dict[str, Any], reason: str) -> None:
    stall = refusal({"enabled": "true"}, spec=spec)
    assert stall.reason == reason
    assert stall.message.isprintable()
    assert len(stall.message) < 1000
    if reason == "InvalidSpec":
        assert "spec.hostnames[" in stall.message


def test_task_takes_names_that_were_chosen() -> None:
    names = RouteNames(
        "app-x", "policy-x", "token-x", "cfzt-svctoken-web", "CF_ACCESS_CLIENT_ID", "CF_ACCESS_CLIENT_SECRET"
    )
    operations = task({**PROTECTED, "serviceToken": "true"}, names=names).operations
    assert (operations.access_app.name, operations.access_app.policy_name) == ("app-x", "policy-x")
    token = operations.service_token
    assert (token.name, token.secret_name) == ("token-x", "cfzt-svctoken-web")
    assert (token.client_id_key, token.client_secret_key) == (
        "CF_ACCESS_CLIENT_ID",
        "CF_ACCESS_CLIENT_SECRET",
    )


def test_names_of_long_routes_are_cut_and_stay_different() -> None:
    one, other = RouteNames.of("a" * 252 + "b"), RouteNames.of("a" * 252 + "c")
    for names in (one, other):
        assert all(
            len(name) <= 253 for name in (names.application, names.policy, names.service_token, names.secret)
        )
        assert names.secret.endswith("-cfzt-service-token")
    assert one.secret != other.secret
    assert one.service_token != other.service_token


def test_task_adopts_if_the_route_says_so() -> None:
    assert not _adopting("false").adopt
    assert _adopting("True").adopt
    with pytest.raises(Stall, match=r"annotation edgekeeper\.io/adopt: 'yes' is not one of"):
        _adopting("yes")


def _adopting(value: str) -> TaskSpec:
    tree = route(PUBLIC)
    tree["metadata"]["annotations"]["edgekeeper.io/adopt"] = value
    return build_task(RouteContext(tree, tenant(), TENANT_KEY, settings(PUBLIC)))


# Hash


def test_fingerprint_does_not_cover_what_operators_write() -> None:
    spec = task(PUBLIC)
    plain = fingerprint(prefixed(PUBLIC), spec)
    written = dict.fromkeys(OPERATOR_WRITTEN, "x")
    assert fingerprint({**prefixed(PUBLIC), **written, "edgekeeper.io/ready": "True"}, spec) == plain
    grown = msgspec.structs.replace(
        spec, inventory=[InventoryItem("DnsRecord", "1")], existing_ids=ExistingIds(app_id="a")
    )
    assert fingerprint(prefixed(PUBLIC), grown) == plain


def test_fingerprint_does_not_depend_on_order() -> None:
    annotations = prefixed(PROTECTED)
    turned = dict(reversed(annotations.items()))
    assert fingerprint(turned, task(PROTECTED)) == fingerprint(annotations, task(PROTECTED))


CHANGES: list[Any] = [
    pytest.param({"annotations": {**PROTECTED, "allowEmails": "b@example.com"}}, id="annotation"),
    pytest.param(
        {"named": template(accessApplication={"logoUrl": "https://example.com/x.png"})}, id="template"
    ),
    pytest.param({"base": template(accessApplication={"sessionDuration": "1h"})}, id="base template"),
    pytest.param({"tenant": tenant(tunnelId=OTHER_TUNNEL)}, id="tunnel"),
    pytest.param({"tenant": tenant(accountId="f" * 32)}, id="account"),
    pytest.param({"tenant": tenant(credentialRef={"name": "other"})}, id="credential"),
    pytest.param({"options": RouteOptions(default_origin="http://other:80")}, id="default origin"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_fingerprint_changes_with_all_that_is_merged(change: dict[str, Any]) -> None:
    annotations = change.pop("annotations", PROTECTED)
    changed = fingerprint(prefixed(annotations), task(annotations, **change))
    assert changed != fingerprint(prefixed(PROTECTED), task(PROTECTED))


def test_fingerprint_changes_with_the_address_of_the_load_balancer() -> None:
    named = template(dnsOnly={"enabled": True, "ingressServiceRef": {"name": "lb"}})
    hashes = {
        fingerprint(prefixed(PUBLIC), task(PUBLIC, named, load_balancer=(address,)))
        for address in ("10.0.0.1", "10.0.0.2")
    }
    assert len(hashes) == 2


def test_fingerprint_changes_with_backends() -> None:
    annotations = {**PUBLIC, "originService": "backend"}
    specs = [{"rules": [{"backendRefs": [{"name": "web", "port": port}]}]} for port in (80, 81)]
    assert len({fingerprint(prefixed(annotations), task(annotations, spec=spec)) for spec in specs}) == 2


# Claims


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (PUBLIC, ["app.example.com"]),
        ({"enabled": "true"}, ["spec.example.com"]),
        (
            {**PUBLIC, "hostname": "A.example.com, x y,*.b.example.com,a.example.com"},
            ["a.example.com", "*.b.example.com"],
        ),
        ({**PUBLIC, "enabled": "false"}, []),
        ({"hostname": "app.example.com"}, []),
        ({}, []),
        ({**PUBLIC, "enabled": "ture"}, ["app.example.com"]),
        ({"enabeld": "true", "hostname": "app.example.com"}, ["app.example.com"]),
    ],
)
def test_hostnames_of_a_route_are_those_it_asks_for(annotations: dict[str, str], expected: list[str]) -> None:
    assert hostnames_of(route(annotations)) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(annotations=JSON, hostnames=JSON, value=JSON)
def test_hostnames_of_any_object_are_hostnames(annotations: Any, hostnames: Any, value: Any) -> None:
    assert all("." in name for name in hostnames_of({"metadata": {"annotations": annotations}}))
    enabled = {f"{PREFIX}enabled": "true", f"{PREFIX}hostname": value}
    for tree in (
        {"metadata": {"annotations": enabled}, "spec": {"hostnames": hostnames}},
        {"metadata": annotations},
        {},
    ):
        assert all(name.isascii() and "." in name for name in hostnames_of(tree))
