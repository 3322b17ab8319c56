"""Imported routes: each inverse undoes what it is the inverse of, and no content of an account makes an import fail."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekeeper.api.zerotrust_settings import AccessRule
from edgekeeper.cloud.cloudflare.access import application_of
from edgekeeper.cloud.cloudflare.models import DnsRecord, IdentityProvider
from edgekeeper.controllers.zerotrust.import_access import rule_of
from edgekeeper.controllers.zerotrust.import_account import FoundAccount
from edgekeeper.controllers.zerotrust.import_origins import backend_of, propose_origin
from edgekeeper.controllers.zerotrust.import_routes import RouteWorld, import_routes
from edgekeeper.controllers.zerotrust.origin import backend_origin
from edgekeeper.controllers.zerotrust.policy_documents import access_rule
from edgekeeper.controllers.zerotrust.snapshot import ResolvedAccess
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.importing import Findings, ImportRequest
from tests.unit.controllers.zerotrust.route_cases import TUNNEL, tenant

SERVICE = "http://web.shop.svc.cluster.local:80"
PROVIDERS = {
    kind: IdentityProvider(f"id-{kind}", f"My {kind}", kind)
    for kind in ("azureAD", "okta", "google-apps", "github", "saml", "oidc")
}
ACCOUNT = FoundAccount(
    TUNNEL, groups={"group-1": "Staff"}, providers={one.id: one for one in PROVIDERS.values()}
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 99) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
PATHS = st.text(st.characters(codec="ascii", exclude_characters="\x7f", min_codepoint=32), max_size=12)


# Origins


@settings(max_examples=60)
@given(st.sampled_from(["Exact", "PathPrefix"]), PATHS)
def test_path_of_a_rule_is_the_match_that_it_came_from(kind: str, path: str) -> None:
    route = {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "rules": [
                {
                    "matches": [{"path": {"type": kind, "value": f"/{path}"}}],
                    "backendRefs": [{"name": "web", "port": 80}],
                }
            ]
        },
    }
    made = backend_origin(route)
    rules = [
        {"hostname": "web.example.com", "service": rule.service, **({"path": rule.path} if rule.path else {})}
        for rule in made.rules
    ] or [{"hostname": "web.example.com", "service": made.service}]
    findings = Findings()
    origin = propose_origin(tuple(rules), "web.example.com", "shop", (), findings)
    assert origin is not None, findings.refusals
    again = {**route, "spec": {"rules": origin.rules}}
    assert backend_origin(again) == made


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ("http://web.shop.svc:80", ("web", "shop", 80, False)),
        (SERVICE, ("web", "shop", 80, True)),
        ("http://web.shop.svc", ("web", "shop", 80, False)),
        ("https://web.shop.svc.cluster.local:8443", ("web", "shop", 8443, False)),
        ("http://web.shop:80", None),
        ("http://web.shop.svc:80/path", None),
        ("http://user@web.shop.svc:80", None),
        ("http://web.shop.svc.evil.example:80", None),
        ("tcp://web.shop.svc:22", None),
        ("http_status:404", None),
        (None, None),
    ],
)
def test_service_of_the_cluster_is_recognised_by_its_address(service: Any, expected: Any) -> None:
    found = backend_of(service)
    assert (
        None if found is None else (found.name, found.namespace, found.port, found.is_derived)
    ) == expected


# Access


@pytest.mark.parametrize(
    "rule",
    [
        {"email": "a@example.com"},
        {"emailDomain": "example.com"},
        {"group": "Staff"},
        {"ipRange": "192.0.2.0/24"},
        {"country": "DE"},
        {"everyone": True},
        *(
            {"identityProviderGroup": {"provider": one.name, "group": "org/team"}}
            for one in PROVIDERS.values()
        ),
    ],
    ids=str,
)
def test_rule_of_a_policy_is_the_rule_that_it_came_from(rule: Any) -> None:
    resolved = ResolvedAccess(
        groups={"Staff": "group-1"}, providers={one.name: one for one in PROVIDERS.values()}
    )
    written = access_rule(msgspec.convert(rule, AccessRule), resolved)
    assert rule_of(written, ACCOUNT) == rule


@pytest.mark.parametrize(
    "rule",
    [{}, {"email": {}}, {"common_name": {"common_name": "x"}}, {"okta": {"name": "x"}}, {"a": {}, "b": {}}],
)
def test_rule_that_templates_do_not_have_is_none(rule: Any) -> None:
    assert rule_of(rule, ACCOUNT) is None


# Anything


@settings(max_examples=60)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"service": st.sampled_from([SERVICE, "http://web.shop.svc:80", "http_status:404", "x"])},
            optional={"path": PATHS | st.sampled_from(["^/a$", "^(?:/b)$"]), "originRequest": JSON},
        ),
        min_size=1,
        max_size=3,
    ),
    st.dictionaries(
        st.sampled_from(
            ["name", "tags", "session_duration", "destinations", "allowed_idps", "logo_url", "new"]
        ),
        JSON,
        max_size=4,
    ),
    st.lists(
        st.fixed_dictionaries(
            {"id": st.sampled_from(["p1", "p2"]), "decision": st.sampled_from(["allow", "deny"])},
            optional={
                "include": st.lists(st.dictionaries(st.text(max_size=5), JSON, max_size=2), max_size=2)
            },
        ),
        max_size=2,
    ),
)
def test_any_account_is_imported_or_refused(rules: Any, fields: Any, policies: Any) -> None:
    hostname = "web.example.com"
    document = {"id": "a1", "type": "self_hosted", "domain": hostname, **fields, "policies": policies}
    try:
        application = application_of(document)
    except Exception:  # noqa: BLE001 # what cannot be read does not reach the import
        return
    found = FoundAccount(
        TUNNEL,
        rules={hostname: tuple({"hostname": hostname, **rule} for rule in rules)},
        applications=(application,),
        records={hostname: (DnsRecord("r1", hostname, "CNAME", f"{TUNNEL}.cfargotunnel.com", proxied=True),)},
    )
    world = RouteWorld("blue", Key("edge", "main"), tenant())
    (result,) = import_routes(found, world, ImportRequest())
    assert result.manifests or result.refusals or result.owner
