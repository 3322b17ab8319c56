"""Tunnels as Cloudflare keeps them: a whole document per write, checked as cloudflared would check it."""

from __future__ import annotations

from typing import Any

import pytest

from packages.kubesim.tests.cloudflare.place import Place, place, refused

LAST: dict[str, Any] = {"service": "http_status:404"}
RULE: dict[str, Any] = {"hostname": "a.example.com", "service": "http://origin:80"}


def _put(here: Place, *rules: Any, **more: Any) -> Any:
    config = {"ingress": list(rules), **more}
    return here.tunnels("PUT", {"config": config}, f"/{here.tunnel}/configurations")


def _get(here: Place) -> Any:
    return here.tunnels("GET", rest=f"/{here.tunnel}/configurations")


def test_configuration_of_a_fresh_tunnel_is_null_and_of_version_zero() -> None:
    fresh = _get(place())
    assert (fresh["version"], fresh["config"], fresh["source"]) == (0, None, "cloudflare")


def test_configuration_is_replaced_as_a_whole_and_counted() -> None:
    here = place()
    first = _put(here, RULE, LAST, originRequest={"connectTimeout": 5}, **{"warp-routing": {"enabled": True}})
    assert first["version"] == 1
    second = _put(here, LAST)
    assert second["version"] == 2
    assert second["config"] == {"ingress": [LAST], "warp-routing": {"enabled": False}}
    assert _get(here)["config"] == second["config"]


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param([], id="empty"),
        pytest.param([RULE], id="nothing-for-everything-else"),
        pytest.param([LAST, RULE, LAST], id="something-behind-everything"),
        pytest.param([{"hostname": "*", "service": "http://a"}, LAST], id="star-is-everything"),
        pytest.param([RULE, {"path": "/x", "service": "http://a"}], id="last-one-with-a-path"),
        pytest.param([{**RULE, "hostname": "a.*.com"}, LAST], id="star-inside"),
        pytest.param([{**RULE, "hostname": "*a.com"}, LAST], id="star-without-dot"),
        pytest.param([{**RULE, "hostname": "a.com:80"}, LAST], id="port"),
        pytest.param([{**RULE, "hostname": 5}, LAST], id="hostname-type"),
        pytest.param([{**RULE, "service": "http://origin/"}, LAST], id="slash"),
        pytest.param([{**RULE, "service": "origin"}, LAST], id="no-scheme"),
        pytest.param([{**RULE, "service": "http://a:0x"}, LAST], id="bad-port"),
        pytest.param([{"hostname": "a.example.com"}, LAST], id="no-service"),
        pytest.param([{**RULE, "path": "("}, LAST], id="path"),
        pytest.param([{**RULE, "originRequest": {"tlsTimeout": "10s"}}, LAST], id="seconds-with-unit"),
        pytest.param([{**RULE, "originRequest": {"connectTimeout": 1.5}}, LAST], id="half-a-second"),
        pytest.param([{**RULE, "originRequest": 5}, LAST], id="origin-type"),
        pytest.param(["rule", LAST], id="rule-type"),
    ],
)
def test_configuration_that_cloudflared_would_refuse_is_refused(rules: list[Any]) -> None:
    here = place()
    with refused(1056):
        _put(here, *rules)
    assert _get(here)["version"] == 0


def test_configuration_needs_a_config() -> None:
    here = place()
    with refused(1056):
        here.tunnels("PUT", {"ingress": [LAST]}, f"/{here.tunnel}/configurations")


@pytest.mark.parametrize(
    "service",
    ["http://a", "https://a:8443", "tcp://a:22", "http_status:503", "hello_world", "unix:/x", "socks-proxy"],
)
def test_services_that_cloudflared_knows_are_taken(service: str) -> None:
    assert _put(place(), {**RULE, "service": service}, LAST)["version"] == 1


def test_deleted_tunnel_is_still_shown_but_has_no_configuration() -> None:
    here = place()
    here.tunnels("DELETE", rest=f"/{here.tunnel}")
    assert here.tunnels("GET", rest=f"/{here.tunnel}")["deleted_at"] is not None
    with refused(1055):
        _get(here)
    with refused(1002):
        here.tunnels("DELETE", rest=f"/{here.tunnel}")


def test_tunnel_that_never_was_is_not_found() -> None:
    with refused(1002):
        place().tunnels("GET", rest="/none")


def test_connected_tunnel_is_not_deleted() -> None:
    here = place()
    here.account.tunnels[here.tunnel]["connections"] = [{"id": "1"}]
    with refused(1022):
        here.tunnels("DELETE", rest=f"/{here.tunnel}")


def test_names_of_tunnels_are_taken_until_they_are_deleted() -> None:
    here = place()
    with refused(1013):
        here.tunnels("POST", {"name": "main"})
    here.tunnels("DELETE", rest=f"/{here.tunnel}")
    here.tunnels("POST", {"name": "main"})
    with refused(1010):
        here.tunnels("POST", {})


def test_secret_of_a_tunnel_is_shown_when_it_is_made_and_never_again() -> None:
    here = place()
    made = here.tunnels("POST", {"name": "other"})
    assert made["credentials_file"]["TunnelSecret"]
    assert made["token"]
    shown = here.tunnels("GET", rest=f"/{made['id']}")
    assert not {"token", "credentials_file"} & shown.keys()


async def test_listing_of_tunnels_does_not_tell_how_many_pages_there_are() -> None:
    here = place()
    here.tunnels("DELETE", rest=f"/{here.tunnel}")
    here.tunnels("POST", {"name": "alive"})
    path = f"/accounts/{here.account.id}/cfd_tunnel"
    _, _, alive = await here.ask("GET", f"{path}?is_deleted=false")
    assert [tunnel["name"] for tunnel in alive["result"]] == ["alive"]
    _, _, everything = await here.ask("GET", path)
    assert everything["result_info"] == {"page": 1, "per_page": 1000, "count": 2, "total_count": 2}


def test_account_holds_so_many_tunnels() -> None:
    here = place()
    here.account.quotas.tunnels = 1
    with refused(1014):
        here.tunnels("POST", {"name": "other"})
