"""The oracles for Zero Trust find what they are there for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.virtual import LoopClock, virtual_time
from tests.crash.route_scenarios import KEY, MAIL, SHOP, TOKEN, route
from tests.zerotrust_crash.estate import Estate
from tests.zerotrust_crash.truth import declared, lies, surplus

ALLOWED = {"a@example.com"}


def act(estate: Estate, method: str, path: str, body: Any) -> Any:
    account = estate.sites["main"].account.id
    return estate.cloud.act(method, path.replace("{account}", f"/accounts/{account}"), body)


def serve(estate: Estate, **origin_request: Any) -> None:
    """A rule of the tunnel, and a record that leads to it."""
    site = estate.sites["main"]
    rule = {"hostname": SHOP, "service": "http://app", "originRequest": origin_request}
    config = {"config": {"ingress": [rule, {"service": "http_status:404"}]}}
    act(estate, "PUT", f"{{account}}/cfd_tunnel/{site.tunnels[0]}/configurations", config)
    record = {
        "type": "CNAME",
        "name": SHOP,
        "content": f"{site.tunnels[0]}.cfargotunnel.com",
        "proxied": True,
        "ttl": 1,
    }
    estate.cloud.act("POST", f"/zones/{site.zone.id}/dns_records", record)


def protect(estate: Estate, *emails: str) -> JsonObject:
    policy = {
        "name": "allow",
        "decision": "allow",
        "precedence": 1,
        "include": [{"email": {"email": one}} for one in emails],
    }
    body = {"type": "self_hosted", "name": "shop", "domain": SHOP, "policies": [policy]}
    created: JsonObject = act(estate, "POST", "{account}/access/apps", body)
    return created


def unprotected(estate: Estate) -> None:
    serve(estate)


def open_to_others(estate: Estate) -> None:
    protect(estate, "a@example.com", "stranger@example.com")
    serve(estate)


def locked_for_another_application(estate: Estate) -> None:
    application = protect(estate, "a@example.com")
    serve(estate, access={"required": True, "teamName": "acme", "audTag": [application["aud"]]})
    body = {**application, "domain": "cart.example.com", "self_hosted_domains": ["cart.example.com"]}
    body["destinations"] = [{"type": "public", "uri": "cart.example.com"}]
    act(estate, "PUT", f"{{account}}/access/apps/{application['id']}", body)


@pytest.mark.parametrize("mistake", [unprotected, open_to_others, locked_for_another_application])
@virtual_time
async def test_estate_finds_hostnames_without_their_policy(mistake: Callable[[Estate], None]) -> None:
    estate = Estate(LoopClock())
    estate.declare(SHOP, set(ALLOWED))
    mistake(estate)
    estate.look("a call")
    assert any(SHOP in wrong and "S-29" in wrong for wrong in estate.wrongs)


@virtual_time
async def test_estate_accepts_protected_and_locked_hostnames() -> None:
    for audience in ("", "of an application that is gone"):
        estate = Estate(LoopClock())
        estate.declare(SHOP, set(ALLOWED))
        if not audience:
            protect(estate, *ALLOWED)
        locked = {"access": {"required": True, "teamName": "acme", "audTag": [audience]}} if audience else {}
        serve(estate, **locked)
        estate.look("a call")
        assert not estate.wrongs


@virtual_time
async def test_truth_finds_what_is_missing_and_what_is_too_much() -> None:
    estate = Estate(LoopClock())
    obj = route(KEY, **MAIL)
    assert "Ready without" in lies(obj, estate)
    protect(estate, *ALLOWED)
    serve(estate)
    assert not lies(obj, estate)
    assert "lets in" in lies(route(KEY, **{**MAIL, "allowEmails": "b@example.com"}), estate)
    wanted = declared(obj, estate)
    assert wanted is not None
    assert not list(surplus([wanted], estate))
    assert {one.partition(":")[0] for one in surplus([], estate)} == {"orphan"}


@virtual_time
async def test_truth_finds_a_second_service_token() -> None:
    estate = Estate(LoopClock())
    wanted = declared(route(KEY, **TOKEN), estate)
    assert wanted is not None
    for _ in range(2):
        body = {"name": wanted.token, "duration": "8760h"}
        act(estate, "POST", "{account}/access/service_tokens", body)
    assert any("duplicate: 2 times token" in one for one in surplus([wanted], estate))
