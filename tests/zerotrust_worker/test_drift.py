"""Drift: every change of what was applied is noted on the state, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from edgekeeper.api.zerotrust_task import CredentialSecretRef, RouteRef, TaskSpec, TenantRef
from edgekeeper.controllers.zerotrust.state import DRIFT, DRIFT_FIELDS, RouteState, write_state
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import CONFIG_MAP, Key
from kubesim.virtual import run_virtual, virtual_time
from tests.zerotrust_worker.world import NAMESPACE_NAME, World, add_state, task, working

ACCESS: JsonObject = {
    "enabled": True,
    "allowEmails": ["a@example.com"],
    "sessionDuration": "8h",
    "logoUrl": "https://l/x",
}
STATE = "cfzt-shop-web"


async def published(world: World, *hostnames: str, **fields: Any) -> None:
    """A route as the kube-worker leaves it: published, its state written, its task collected."""
    obj = task("web", *hostnames, **fields)
    await world.apply(obj)
    await world.completed("web")
    spec = msgspec.convert(world.task("web")["spec"], TaskSpec)
    state = RouteState(
        RouteRef("web", "shop", "uid-web"),
        "hash",
        TenantRef("acme", NAMESPACE_NAME),
        world.account.id,
        CredentialSecretRef("cloudflare", NAMESPACE_NAME),
        spec.hostname,
        spec.tunnel_id,
        inventory=tuple(world.inventory("web")),
        applied=spec,
    )
    await world.collect("web")
    await add_state(world, write_state(state), STATE)


async def noted(world: World) -> JsonObject:
    found = await world.stage.user.get(CONFIG_MAP, Key(NAMESPACE_NAME, STATE))
    shown: JsonObject = found["metadata"].get("annotations") or {}
    return {key: value for key, value in shown.items() if key in (DRIFT, DRIFT_FIELDS)}


def _application(world: World) -> JsonObject:
    (found,) = world.account.applications.values()
    return found


def _change_application(**fields: Any) -> Callable[[World], None]:
    def change(world: World) -> None:
        found = _application(world)
        world.account.applications[found["id"]] = {**found, **fields}

    return change


def _change_policy(**fields: Any) -> Callable[[World], None]:
    def change(world: World) -> None:
        for id_, policy in list(world.account.policies.items()):
            if policy["decision"] == "allow":
                world.account.policies[id_] = {**policy, **fields}

    return change


def _change_rule(**fields: Any) -> Callable[[World], None]:
    def change(world: World) -> None:
        path = f"/accounts/{world.account.id}/cfd_tunnel/{world.estate.tunnel}/configurations"
        (rule,) = world.rules("web.example.com")
        changed = {key: value for key, value in {**rule, **fields}.items() if value is not None}
        world.cloud.act("PUT", path, {"config": {"ingress": [changed, {"service": "http_status:404"}]}})

    return change


def _change_record(**fields: Any) -> Callable[[World], None]:
    def change(world: World) -> None:
        (record,) = world.records()
        world.estate.zone.records[record["id"]] = {**record, **fields}

    return change


def _change_token(**fields: Any) -> Callable[[World], None]:
    def change(world: World) -> None:
        (token,) = world.tokens()
        world.account.service_tokens[token["id"]] = {**token, **fields}

    return change


def _delete_application(world: World) -> None:
    world.act("DELETE", f"apps/{_application(world)['id']}")


def _delete_rule(world: World) -> None:
    path = f"/accounts/{world.account.id}/cfd_tunnel/{world.estate.tunnel}/configurations"
    world.cloud.act("PUT", path, {"config": {"ingress": [{"service": "http_status:404"}]}})


def _add_policy(world: World) -> None:
    body = {"name": "door", "decision": "bypass", "include": [{"everyone": {}}], "precedence": 9}
    world.act("POST", f"apps/{_application(world)['id']}/policies", body)


CHANGES: dict[str, tuple[Callable[[World], None], str]] = {
    "application name": (_change_application(name="x"), "change Access application of web.example.com: name"),
    "session": (_change_application(session_duration="1h"), "session_duration"),
    "logo": (_change_application(logo_url="https://l/y"), "logo_url"),
    "idps": (_change_application(allowed_idps=["x"]), "allowed_idps"),
    "binding cookie": (_change_application(enable_binding_cookie=True), "enable_binding_cookie"),
    "http only": (_change_application(http_only_cookie_attribute=False), "http_only_cookie_attribute"),
    "same site": (_change_application(same_site_cookie_attribute="none"), "same_site_cookie_attribute"),
    "interstitial": (_change_application(skip_interstitial=True), "skip_interstitial"),
    "launcher": (_change_application(app_launcher_visible=False), "app_launcher_visible"),
    "401": (_change_application(service_auth_401_redirect=True), "service_auth_401_redirect"),
    "deny message": (_change_application(custom_deny_message="no"), "custom_deny_message"),
    "deny url": (_change_application(custom_deny_url="https://l"), "custom_deny_url"),
    "destinations": (
        _change_application(destinations=[{"type": "public", "uri": "x.example.com"}]),
        "destinations",
    ),
    "public path": (
        _change_application(
            destinations=[
                {
                    "type": "public",
                    "uri": "web.example.com",
                    "overrides": [{"path_pattern": "/*", "behavior": "public"}],
                }
            ]
        ),
        "destinations",
    ),
    "tags": (_change_application(tags=[]), "tags"),
    "policy include": (_change_policy(include=[{"everyone": {}}]), "change policy web-allow-policy"),
    "policy decision": (_change_policy(decision="bypass"), "change policy web-allow-policy"),
    "policy name": (_change_policy(name="x"), "change policy web-allow-policy"),
    "policy require": (_change_policy(require=[{"geo": {"country_code": "DE"}}]), "change policy"),
    "policy exclude": (_change_policy(exclude=[{"everyone": {}}]), "change policy"),
    "policy added": (_add_policy, "remove policy door"),
    "application deleted": (_delete_application, "create Access application"),
    "rule service": (_change_rule(service="http://evil"), "write tunnel rules of web.example.com"),
    "rule lock": (_change_rule(originRequest=None), "write tunnel rules of web.example.com"),
    "rule deleted": (_delete_rule, "write tunnel rules of web.example.com"),
    "record content": (_change_record(content="evil.example.net"), "write DNS records of web.example.com"),
    "record proxied": (_change_record(proxied=False), "write DNS records of web.example.com"),
    "record comment": (_change_record(comment=None), "write DNS records of web.example.com"),
    "record deleted": (lambda world: world.estate.zone.records.clear(), "write DNS records"),
    "token name": (_change_token(name="x"), "update service token"),
    "token duration": (_change_token(duration="24h"), "update service token"),
    "token disabled": (_change_token(enabled=False), "update service token"),
    "token deleted": (lambda world: world.account.service_tokens.clear(), "create service token"),
}


FIELDS: dict[str, JsonObject] = {
    "session": {"path": "session_duration", "before": '"1h"', "after": '"8h"'},
    "binding cookie": {"path": "enable_binding_cookie", "before": "true", "after": "false"},
    "policy added": {"path": "policies.door", "before": '"bypass"'},
    "application deleted": {"path": "application", "after": '"web.example.com"'},
    "rule service": {
        "path": "tunnel[web.example.com][0].service",
        "before": '"http://evil"',
        "after": '"http://web.shop.svc:80"',
    },
    "same site": {"path": "same_site_cookie_attribute", "before": '"none"', "after": '"lax"'},
    "record proxied": {"path": "dns[CNAME web.example.com].proxied", "before": "false", "after": "true"},
    "token duration": {"path": "serviceAuth.duration", "before": '"24h"', "after": '"8760h"'},
    "token disabled": {"path": "serviceAuth.enabled", "before": "false", "after": "true"},
}
"""How some of them are recorded field by field."""


@pytest.mark.parametrize("change", CHANGES)
def test_drift_of_every_field_is_noted_and_mended(change: str) -> None:
    spoil, words = CHANGES[change]

    async def scenario() -> None:
        async with working() as world:
            await published(world, access=ACCESS, token={})
            await world.elapse(minutes=6)
            assert await noted(world) == {}
            spoil(world)
            await world.elapse(minutes=11)
            found = await noted(world)
            assert words in found.get(DRIFT, ""), found
            fields = msgspec.json.decode(found[DRIFT_FIELDS])
            assert all(one["path"] and one.get("before") != one.get("after") for one in fields), fields
            assert FIELDS.get(change, fields[0]) in fields, fields
            writes = len(world.cloud.journal.writes())
            state = await world.stage.user.get(CONFIG_MAP, Key(NAMESPACE_NAME, STATE))
            inventory = msgspec.json.decode(state["data"]["inventory"])
            await world.apply(task("web", access=ACCESS, token={}, inventory=inventory))
            await world.completed("web")
            assert len(world.cloud.journal.writes()) > writes
            inventory = msgspec.json.encode(world.inventory("web")).decode()
            patch = {"data": {"inventory": inventory}}
            await world.stage.user.merge_patch(CONFIG_MAP, Key(NAMESPACE_NAME, STATE), patch)
            await world.collect("web")
            await world.elapse(minutes=11)
            assert await noted(world) == {}

    run_virtual(scenario)


@virtual_time
async def test_steady_fleet_costs_few_calls_and_no_writes() -> None:
    async with working() as world:
        await published(world, access=ACCESS, token={})
        await world.elapse(minutes=10)
        before = world.calls()
        version = (await world.stage.user.get(CONFIG_MAP, Key(NAMESPACE_NAME, STATE)))["metadata"][
            "resourceVersion"
        ]
        writes = len(world.cloud.journal.writes())
        await world.elapse(minutes=30)
        assert len(world.cloud.journal.writes()) == writes
        assert world.calls() - before <= 6 * 10
        after = (await world.stage.user.get(CONFIG_MAP, Key(NAMESPACE_NAME, STATE)))["metadata"][
            "resourceVersion"
        ]
        assert after == version


@virtual_time
async def test_token_that_expires_soon_is_no_drift() -> None:
    async with working() as world:
        await published(world, access=ACCESS, token={"duration": "100h"})
        await world.elapse(hours=80)
        assert await noted(world) == {}


@virtual_time
async def test_route_with_a_task_is_left_alone() -> None:
    async with working() as world:
        await published(world, access=ACCESS)
        world.account.quotas.applications = 0
        await world.apply(task("web", "other.example.com", access={"enabled": True, "allowGroups": ["none"]}))
        await world.failed("web", "GroupNotFound")
        world.estate.zone.records.clear()
        await world.elapse(minutes=20)
        assert await noted(world) == {}
