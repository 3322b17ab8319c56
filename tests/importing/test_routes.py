"""`edgekeeper import routes`: what is carried over, what is skipped, and what is refused by field."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.cli.failure import CommandError
from edgekeeper.controllers.zerotrust.route_index import TEMPLATE
from edgekeeper.core.json import JsonObject
from edgekeeper.lifecycle.importing import ImportResult
from kubesim.virtual import virtual_time
from tests.importing.fleet import act, configure, emails, lock, name, protect, rule
from tests.importing.world import EDGE, SECRET_NAME, SHOP, World, of, world


def route_of(result: ImportResult) -> JsonObject:
    body = result.manifests[-1]
    assert body["kind"] == "HTTPRoute"
    assert body["metadata"]["annotations"]["edgekeeper.io/adopt"] == "true"
    return body


def settings_of(result: ImportResult) -> dict[str, str]:
    """The settings of a route, without those that all have."""
    found = route_of(result)["metadata"]["annotations"]
    named = {key.removeprefix(PREFIX): text for key, text in found.items() if key.startswith(PREFIX)}
    return {key: text for key, text in named.items() if key not in ("enabled", "tenant")}


def refusals(result: ImportResult) -> str:
    return "; ".join(map(str, result.refusals))


async def imported(here: World, *patterns: str, **values: Any) -> list[ImportResult]:
    return await here.imported("routes", *patterns, namespace=values.pop("namespace", ""), **values)


# What is carried over


@virtual_time
async def test_import_writes_the_tenant_that_is_missing_and_a_route_beside_its_service() -> None:
    async with world() as here:
        configure(here, rule("web.example.com"))
        name(here, "web.example.com")
        tenant, web = await imported(here)
        (body,) = tenant.manifests
        assert (body["kind"], body["metadata"]) == (
            "CloudflareZeroTrustTenant",
            {"name": "main", "namespace": EDGE, "annotations": {"edgekeeper.io/adopt": "true"}},
        )
        assert body["spec"] == {
            "accountId": here.cloudflare.account.id,
            "tunnelId": here.cloudflare.tunnel,
            "credentialRef": {"name": SECRET_NAME},
        }
        route = route_of(web)
        assert (route["metadata"]["namespace"], route["metadata"]["name"]) == (SHOP, "web-example-com")
        assert route["metadata"]["annotations"][f"{PREFIX}tenant"] == f"{EDGE}/main"
        assert route["spec"] == {
            "hostnames": ["web.example.com"],
            "rules": [{"backendRefs": [{"name": "web", "port": 8080}]}],
        }
        assert settings_of(web) == {"originService": f"http://web.{SHOP}.svc:8080"}
        await here.apply([tenant])
        assert [one.resource for one in await imported(here)] == ["hostname web.example.com"]


@virtual_time
async def test_import_names_the_service_of_another_namespace() -> None:
    async with world() as here:
        configure(here, rule("web.example.com", f"http://web.{SHOP}.svc.cluster.local:80"))
        *_, web = await imported(here, namespace=EDGE)
        assert route_of(web)["spec"]["rules"] == [
            {"backendRefs": [{"name": "web", "namespace": SHOP, "port": 80}]}
        ]
        assert settings_of(web) == {
            "originService": f"http://web.{SHOP}.svc.cluster.local:80",
            "dns": "external",
        }
        *_, beside = await imported(here)
        assert settings_of(beside) == {"originService": "backend", "dns": "external"}


@virtual_time
async def test_import_says_who_may_log_in_by_annotations_or_by_a_template() -> None:
    async with world() as here:
        simple = protect(
            here, "simple.example.com", policies=[emails("a@example.com", name="Allow")], name="Simple"
        )
        require = [{"geo": {"country_code": "DE"}}]
        protect(here, "strict.example.com", policies=[emails("a@example.com", require=require)])
        configure(here, rule("simple.example.com", access=lock(here, simple)), rule("strict.example.com"))
        _, one, other = await imported(here)
        assert settings_of(one) == {
            "originService": f"http://simple.{SHOP}.svc:8080",
            "accessApp": "true",
            "applicationName": "Simple",
            "policyName": "Allow",
            "allowEmails": "a@example.com",
            "dns": "external",
        }
        template, _ = other.manifests
        assert (template["kind"], template["metadata"]["name"]) == (TEMPLATE.kind, "strict-example-com")
        assert template["spec"]["accessApplication"] == {
            "enabled": True,
            "include": [{"email": "a@example.com"}],
            "require": [{"country": "DE"}],
        }
        found = settings_of(other)
        assert (found["template"], found["validateAtTunnel"]) == ("strict-example-com", "false")
        assert "allowEmails" not in found


@virtual_time
async def test_import_refers_to_reusable_policies_and_tells_about_their_service_tokens() -> None:
    async with world() as here:
        token = act(here, "POST", "access/service_tokens", {"name": "robot"})
        policy = {
            "name": "Robots",
            "decision": "non_identity",
            "include": [{"service_token": {"token_id": token["id"]}}],
        }
        made = act(here, "POST", "access/policies", policy)
        protect(here, "web.example.com", policies=[{"id": made["id"], "precedence": 1}])
        configure(here, rule("web.example.com"))
        *_, web = await imported(here)
        assert web.refusals == ()
        assert settings_of(web)["existingPolicyNames"] == "Robots"
        assert "the policy Robots lets the service token robot in, which stays as it is" in web.notes[0]


# Who has it already


@virtual_time
async def test_import_skips_hostnames_that_have_an_owner() -> None:
    async with world() as here:
        act(here, "POST", "access/tags", {"name": "edgekeeper-0123456789ab"})
        protect(here, "app.example.com", policies=[emails("a@example.com")], tags=["edgekeeper-0123456789ab"])
        name(here, "dns.example.com", comment="edgekeeper 0123456789ab 0123456789abcdef0123 shop/dns")
        hostnames = ("app.example.com", "dns.example.com", "free.example.com")
        configure(here, *map(rule, hostnames))
        tenant, *_ = results = await imported(here)
        assert "owned by another cluster, by the tag edgekeeper-0123456789ab" in of(results, "app.").owner
        assert "owned by another cluster, by the comment 'edgekeeper" in of(results, "dns.").owner
        await here.apply([tenant, of(results, "free.")])
        again = await imported(here)
        assert of(again, "free.").owner == f"declared by HTTPRoute {SHOP}/free-example-com"


# What cannot be expressed


@virtual_time
async def test_import_refuses_rules_that_no_route_results_in() -> None:
    async with world() as here:
        service = f"http://web.{SHOP}.svc.cluster.local:80"
        configure(
            here,
            rule("address.example.com", "http://10.0.0.7:80"),
            rule("teapot.example.com", "http_status:418"),
            rule("regex.example.com", service, "^/a.*b$|c"),
            rule("regex.example.com", service),
            rule("short.example.com", f"http://web.{SHOP}.svc:80", "^/a$"),
            rule("short.example.com", f"http://web.{SHOP}.svc:80"),
            rule("timeout.example.com", connectTimeout=5),
            rule("tls.example.com", f"https://web.{SHOP}.svc:443", noTLSVerify=True),
            rule("Upper.example.com"),
            {"service": "http://other", "path": "^/everywhere$"},
        )
        results = await imported(here)
        expected = {
            "address.": "service: 'http://10.0.0.7:80' is not a Service of the cluster",
            "teapot.": "service: 'http_status:418' is not a Service",
            "regex.": "path: '^/a.*b$|c' is not an expression that a match of a route results in",
            "short.": "only http://NAME.shop.svc.cluster.local:PORT can",
            "timeout.": "rules of timeout.example.com: applying the route would change them: ",
            "tls.": "httpHostHeader",
            "Upper.": "hostname: 'Upper.example.com' is not a hostname in lower case",
            "everywhere": "hostname: a route needs one",
        }
        told = {part: refusals(of(results, part)) for part in expected}
        assert {part: text for part, text in expected.items() if text not in told[part]} == {}
        assert "connectTimeout" in told["timeout."]


@virtual_time
async def test_import_refuses_applications_that_no_route_results_in() -> None:
    async with world() as here:
        token = act(here, "POST", "access/service_tokens", {"name": "robot"})
        reusable = act(here, "POST", "access/policies", emails("a@example.com", name="Reusable"))
        robot = {
            "name": "Robots",
            "decision": "non_identity",
            "include": [{"service_token": {"token_id": token["id"]}}],
        }
        plain = emails("a@example.com")
        protect(here, "robot.example.com", policies=[robot])
        protect(here, "bypass.example.com", policies=[{**plain, "decision": "bypass"}])
        protect(here, "several.example.com", policies=[plain, {**plain, "name": "Others", "precedence": 2}])
        protect(here, "session.example.com", policies=[{**plain, "session_duration": "1h"}])
        protect(here, "wide.example.com", "elsewhere.example.com", policies=[plain])
        protect(here, "nobody.example.com", policies=[])
        protect(here, "rare.example.com", policies=[emails("a@example.com", include=[{"certificate": {}}])])
        odd = protect(here, "odd.example.com", policies=[plain])
        account = here.cloudflare.account
        account.applications[odd["id"]]["use_clientless_isolation_app_launcher_url"] = True
        mixed = protect(here, "mixed.example.com", policies=[plain])
        both = [*account.applications[mixed["id"]]["policies"], {"id": reusable["id"], "precedence": 2}]
        account.applications[mixed["id"]]["policies"] = both
        overrides = [{"path_pattern": "/a*b", "behavior": "public"}]
        destination = {"type": "public", "uri": "paths.example.com", "overrides": overrides}
        protect(here, "paths.example.com", policies=[plain], destinations=[destination])
        expected = {
            "robot.": "it lets the service token robot in, whose secret cannot be read",
            "bypass.": "application.policies[Allow people].decision: a route has no policy that decides 'bypass'",
            "several.": "a route has one policy of its own, and there are Allow people, Others",
            "session.": "application.policies[Allow people].session_duration: ",
            "wide.": "application.destinations: it also protects elsewhere.example.com",
            "nobody.": "application.policies: it has none",
            "rare.": "the rule {'certificate': {}} cannot be expressed: make it a reusable policy",
            "odd.": "application.use_clientless_isolation_app_launcher_url: a route has no such setting",
            "mixed.": "application.policies: reusable policies and others are mixed",
            "paths.": "the overrides of paths.example.com are not those of public paths",
        }
        configure(here, *(rule(f"{part}example.com") for part in expected))
        results = await imported(here)
        told = {part: refusals(of(results, f"hostname {part}")) for part in expected}
        assert {part: text for part, text in expected.items() if text not in told[part]} == {}


@virtual_time
async def test_import_manages_dns_only_where_records_are_as_they_would_be_written() -> None:
    async with world() as here:
        configure(here, *(rule(f"{part}.example.com") for part in ("commented", "direct", "other", "none")))
        name(here, "commented.example.com", comment="made by ann")
        name(here, "direct.example.com", proxied=False)
        name(here, "other.example.com", type="A", content="192.0.2.7")
        results = await imported(here)
        assert "record.comment: 'made by ann' would be replaced" in refusals(of(results, "commented."))
        for part in ("direct.", "other."):
            result = of(results, part)
            assert (settings_of(result)["dns"], result.refusals) == ("external", ())
            assert "they stay unmanaged" in result.notes[0]
        assert (settings_of(of(results, "none."))["dns"], of(results, "none.").notes) == ("external", ())


@virtual_time
async def test_import_shares_the_application_of_a_wildcard_only_if_that_is_imported() -> None:
    async with world() as here:
        wild = protect(here, "*.apps.example.com", policies=[emails("a@example.com")])
        inner = rule("a.apps.example.com", access=lock(here, wild))
        wide = rule("*.apps.example.com", f"http://web.{SHOP}.svc:80", access=lock(here, wild))
        configure(here, inner, wide)
        shared = settings_of(of(await imported(here), "hostname a."))
        assert (shared["accessApp"], shared["applicationDomain"]) == ("true", "*.apps.example.com")
        selected = of(await imported(here, "a.apps.*"), "hostname a.")
        assert "applicationDomain" not in settings_of(selected), "the wildcard's manifest is not written"
        configure(here, rule("a.apps.example.com"))
        alone = of(await imported(here), "hostname a.")
        assert ("accessApp" in settings_of(alone), alone.refusals) == (False, ())
        assert "of *.apps.example.com protects it, and stays unmanaged" in alone.notes[0]


@virtual_time
async def test_import_checks_routes_with_the_templates_that_they_would_have() -> None:
    """A template of the cluster that says otherwise would change what exists: the import says so."""
    async with world() as here:
        configure(here, rule("web.example.com"), rule("open.example.com"))
        protect(here, "web.example.com", policies=[emails("a@example.com")])
        tenant, *_ = await imported(here)
        await here.apply([tenant])
        body = {
            "metadata": {"name": "base-main", "namespace": EDGE},
            "spec": {
                "accessApplication": {
                    "enabled": True,
                    "sessionDuration": "1h",
                    "allowEmails": ["b@example.com"],
                }
            },
        }
        await here.user.create(TEMPLATE, body)
        results = await imported(here)
        assert 'session_duration: "24h" → "1h"' in refusals(of(results, "web."))
        opened = of(results, "open.")
        assert (settings_of(opened)["accessApp"], opened.refusals) == ("false", ())


@virtual_time
async def test_import_tells_about_applications_that_protect_only_a_path() -> None:
    async with world() as here:
        protect(here, "web.example.com/admin", policies=[emails("a@example.com")], name="Admins")
        configure(here, rule("web.example.com"))
        *_, web = await imported(here)
        assert ("accessApp" in settings_of(web), web.refusals) == (False, ())
        assert web.notes == (
            "the Access application 'Admins' protects web.example.com/admin, and stays unmanaged",
        )


@virtual_time
async def test_import_refuses_what_templates_of_the_cluster_would_add() -> None:
    async with world() as here:
        configure(here, rule("web.example.com"), rule("open.example.com"))
        protect(here, "web.example.com", policies=[emails("a@example.com")])
        tenant, *_ = await imported(here)
        await here.apply([tenant])
        spec = {"serviceToken": {"enabled": True}}
        await here.user.create(TEMPLATE, {"metadata": {"name": "default", "namespace": EDGE}, "spec": spec})
        results = await imported(here)
        assert "serviceToken: a template would have a service token made" in refusals(of(results, "web."))
        assert "serviceToken.enabled (template default) needs an Access application" in refusals(
            of(results, "open.")
        )


# Which tunnel


@virtual_time
async def test_import_that_does_not_know_which_tunnel_to_read_says_what_to_choose() -> None:
    async with world() as here:
        none = {"account": "", "tunnel": ""}
        with pytest.raises(CommandError, match="choose a CloudflareZeroTrustTenant with --tenant"):
            await imported(here, **none)
        with pytest.raises(CommandError, match="there is no CloudflareZeroTrustTenant edge/nobody"):
            await imported(here, **none, tenant="nobody")
        with pytest.raises(CommandError, match="--account needs an id"):
            await imported(here, account="x")
        with pytest.raises(CommandError, match="there is no Secret edge/missing"):
            await imported(here, credential_secret=f"{EDGE}/missing")
        configure(here, rule("web.example.com"))
        tenant, _ = await imported(here)
        await here.apply([tenant])
        assert [one.resource for one in await imported(here, **none)] == ["hostname web.example.com"]
        assert [one.resource for one in await imported(here, **none, tenant="edge/main")] == [
            "hostname web.example.com"
        ]


@virtual_time
async def test_import_fails_if_applications_may_not_be_read() -> None:
    """Whoever cannot see what is protected must not take it for public."""
    async with world() as here:
        configure(here, rule("web.example.com"))
        allowed = {"Cloudflare Tunnel Write", "DNS Write", "Zone Read"}
        here.cloudflare.token.permissions = frozenset(allowed)
        with pytest.raises(CommandError, match="nothing can be imported from Cloudflare"):
            await imported(here)


@virtual_time
async def test_import_refuses_what_the_tenant_or_administrators_do_not_allow() -> None:
    async with world() as here:
        configure(here, rule("web.example.com"))
        name(here, "web.example.com")
        tenant, _ = await imported(here)
        tenant.manifests[0]["spec"] |= {"allowedNamespaces": ["other"], "zoneId": "0" * 32}
        await here.apply([tenant])
        (web,) = await imported(here)
        assert f"HTTPRoute: tenant {EDGE}/main does not allow routes of namespace {SHOP}" in refusals(web)
        assert f"HTTPRoute: tenant {EDGE}/main allows only zone {'0' * 32}: not web.example.com" in refusals(
            web
        )
        limits = {SHOP: ("other.example.com",), EDGE: ("other.example.com",)}
        (limited,) = await imported(here, common={"hostnames": limits})
        assert "'web.example.com' is not below the hostnames of namespace shop" in refusals(limited)


@virtual_time
async def test_import_of_a_cluster_with_an_invalid_template_names_it() -> None:
    async with world() as here:
        configure(here, rule("web.example.com"))
        body = {"metadata": {"name": "broken", "namespace": EDGE}, "spec": {"accesApplication": {}}}
        await here.user.create(TEMPLATE, body)
        with pytest.raises(CommandError, match="CloudflareZeroTrustTemplate edge/broken: "):
            await imported(here)
