"""Merging is pure: rules end up where they get their requests, and what is not ours is as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.cloud.cloudflare.hostnames import covers, is_wildcard
from edgekeeper.cloud.cloudflare.tunnel_document import (
    CATCH_ALL,
    HostnameChange,
    check_change,
    merge,
    rules_by_hostname,
)
from edgekeeper.cloud.cloudflare.tunnel_rules import TunnelRule, check_rule
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject


def _rule(hostname: str, service: str = "http://theirs:80", **more: Any) -> JsonObject:
    return {"hostname": hostname, "service": service, **more}


def _change(hostname: str, *paths: str, ours: bool = True) -> HostnameChange:
    rules = tuple(TunnelRule(hostname, "http://ours:80", path) for path in paths or ("",))
    return HostnameChange(hostname, rules, ours=ours)


def _hostnames(config: JsonObject | None) -> list[str]:
    assert config is not None
    return [rule.get("hostname", "") for rule in config["ingress"]]


def test_merge_of_a_tunnel_that_was_never_configured_ends_with_not_found() -> None:
    merged = merge(None, [_change("a.example.com")])
    assert merged.config == {"ingress": [_rule("a.example.com", "http://ours:80"), CATCH_ALL]}


def test_merge_puts_exact_hostnames_before_wildcards_before_everything_else() -> None:
    names = ["*.example.com", "b.example.com", "*.dev.example.com", "a.example.com"]
    merged = merge(None, [_change(name) for name in names])
    assert _hostnames(merged.config) == [
        "a.example.com",
        "b.example.com",
        "*.dev.example.com",
        "*.example.com",
        "",
    ]


@pytest.mark.parametrize(
    ("present", "added", "expected"),
    [
        pytest.param(
            ["*.example.com"],
            "a.example.com",
            ["a.example.com", "*.example.com", ""],
            id="exact-before-wildcard",
        ),
        pytest.param(
            ["b.example.com", "*.example.com"],
            "*.dev.example.com",
            ["b.example.com", "*.dev.example.com", "*.example.com", ""],
            id="narrow-before-wide",
        ),
        pytest.param(
            ["*.dev.example.com"],
            "*.example.com",
            ["*.dev.example.com", "*.example.com", ""],
            id="wide-after-narrow",
        ),
        pytest.param(
            ["*.other.com", "x.dev.example.com"],
            "*.dev.example.com",
            ["*.other.com", "x.dev.example.com", "*.dev.example.com", ""],
            id="wildcard-behind-an-exact-hostname-it-covers",
        ),
        pytest.param(
            ["*.example.com", "shadowed.example.com"],
            "a.example.com",
            ["a.example.com", "*.example.com", "shadowed.example.com", ""],
            id="others-keep-their-order-even-if-it-is-odd",
        ),
    ],
)
def test_merge_places_a_rule_where_it_gets_its_requests(
    present: list[str], added: str, expected: list[str]
) -> None:
    config = {"ingress": [*map(_rule, present), CATCH_ALL]}
    assert _hostnames(merge(config, [_change(added)]).config) == expected


def test_merge_keeps_the_order_of_paths_and_puts_the_rule_for_all_last() -> None:
    merged = merge(None, [_change("a.example.com", "", "^/api$", "^/api(/.*)?$", "^/")])
    assert merged.config is not None
    paths = [rule.get("path", "") for rule in merged.config["ingress"][:-1]]
    assert paths == ["^/api$", "^/api(/.*)?$", "^/", ""]


def test_merge_moves_a_rule_of_ours_that_a_wildcard_has_come_before() -> None:
    ours = TunnelRule("a.example.com", "http://ours:80").document()
    config = {"ingress": [_rule("*.example.com"), ours, CATCH_ALL]}
    assert _hostnames(merge(config, [_change("a.example.com")]).config)[0] == "a.example.com"


def test_merge_returns_the_very_same_configuration_where_nothing_is_to_be_done() -> None:
    """Even one that we would spell differently: nobody asked us to tidy up."""
    ours = {"hostname": "a.example.com", "service": "http://ours:80", "path": None}
    config = {"ingress": [ours, {"service": "http_status:404", "originRequest": None}], "originRequest": None}
    assert merge(config, [_change("a.example.com")]).config is config


def test_merge_sends_no_null_when_it_writes() -> None:
    config = {
        "ingress": [
            {"hostname": "b.example.com", "service": "http://b", "path": None},
            {"service": "http_status:404"},
        ],
        "originRequest": None,
    }
    merged = merge(config, [_change("a.example.com")]).config
    assert merged is not None
    assert "originRequest" not in merged
    assert all(None not in rule.values() for rule in merged["ingress"])


def test_merge_keeps_a_rule_for_everything_else_that_others_chose() -> None:
    config = {"ingress": [{"service": "http://fallback:80"}]}
    merged = merge(config, [_change("a.example.com")]).config
    assert merged is not None
    assert merged["ingress"][-1] == {"service": "http://fallback:80"}


def test_merge_does_not_take_over_a_hostname_unless_told_that_it_is_ours() -> None:
    config = {"ingress": [_rule("a.example.com"), CATCH_ALL]}
    kept = merge(config, [_change("a.example.com", ours=False)])
    assert kept.config is config
    assert kept.refused["a.example.com"].reason == "HostnameConflict"
    taken = merge(config, [_change("a.example.com", ours=True)])
    assert not taken.refused
    assert rules_by_hostname(taken.config)["a.example.com"][0]["service"] == "http://ours:80"


def test_merge_does_not_withdraw_a_hostname_of_others() -> None:
    config = {"ingress": [_rule("a.example.com"), CATCH_ALL]}
    assert "a.example.com" in merge(config, [HostnameChange("a.example.com")]).refused


_NAMES = st.sampled_from(
    [
        *("a.example.com", "b.example.com", "x.dev.example.com", "y.dev.example.com", "a.other.net"),
        *("*.example.com", "*.dev.example.com", "*.other.net"),
    ]
)
_FOREIGN = st.lists(_NAMES, max_size=6, unique=True)
_OURS = st.lists(_NAMES, max_size=6, unique=True)


def _serves(config: JsonObject, hostname: str) -> JsonObject:
    """The rule that cloudflared would take."""
    probe = hostname.replace("*", "probe")
    found: JsonObject = next(rule for rule in config["ingress"] if covers(rule.get("hostname", ""), probe))
    return found


@given(_FOREIGN, _OURS)
def test_merge_laws(foreign: list[str], ours: list[str]) -> None:
    theirs = [name for name in foreign if name not in ours]
    config = {"ingress": [*map(_rule, theirs), dict(CATCH_ALL)], "warp-routing": {"enabled": True}}
    before = {name: _serves(config, name) for name in theirs}
    changes = [_change(name) for name in ours]
    merged = merge(config, changes).config
    assert merged is not None
    assert merged["warp-routing"] == {"enabled": True}
    assert [name for name in _hostnames(merged) if name in theirs] == theirs, "others keep their order"
    assert merged["ingress"][-1] == CATCH_ALL
    for name in ours:
        if not is_wildcard(name):
            assert _serves(merged, name)["service"] == "http://ours:80", "an exact hostname gets its requests"
    for name, rule in before.items():
        narrower = any(covers(mine, name.replace("*", "probe")) for mine in ours)
        assert narrower or _serves(merged, name) == rule, "requests of others go where they went"
        if not is_wildcard(name) and rule["hostname"] == name:
            assert _serves(merged, name) == rule, "an exact hostname of others is never taken away from them"
    assert merge(merged, changes).config is merged, "once merged, there is nothing left to do"


@given(_OURS, _OURS)
def test_merge_in_one_go_or_one_by_one_serves_the_same(first: list[str], second: list[str]) -> None:
    second = [name for name in second if name not in first]
    together = merge(None, [_change(name) for name in [*first, *second]]).config
    config: JsonObject | None = None
    for name in [*first, *second]:
        config = merge(config, [_change(name)]).config
    for name in [*first, *second]:
        assert together is not None
        assert config is not None
        assert _serves(together, name) == _serves(config, name)


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(TunnelRule("a.example.com", "origin:80"), id="no-scheme"),
        pytest.param(TunnelRule("a.example.com", "http://"), id="no-host"),
        pytest.param(TunnelRule("a.example.com", "http://origin/"), id="a-mere-slash"),
        pytest.param(TunnelRule("a.example.com", "http://origin?x=1"), id="query"),
        pytest.param(TunnelRule("a.example.com", "http://user:word@origin"), id="credentials"),
        pytest.param(TunnelRule("a.example.com", "http://origin:99999"), id="port-beyond-all"),
        pytest.param(TunnelRule("a.example.com", " http://origin"), id="blank"),
        pytest.param(TunnelRule("a.example.com", "http_status:42"), id="no-status"),
        pytest.param(TunnelRule("A.example.com", "http://origin"), id="upper-case"),
        pytest.param(TunnelRule("a.example.com:80", "http://origin"), id="port-in-hostname"),
        pytest.param(TunnelRule("a.*.example.com", "http://origin"), id="wildcard-inside"),
        pytest.param(TunnelRule("*", "http://origin"), id="bare-wildcard"),
        pytest.param(TunnelRule("a.example.com", "http://origin", path="("), id="broken-path"),
        pytest.param(
            TunnelRule("a.example.com", "http://origin", path="(?=x)"), id="path-that-go-does-not-know"
        ),
        pytest.param(
            TunnelRule("a.example.com", "http://origin", origin_request={"tlsTimeout": "10s"}), id="unit"
        ),
        pytest.param(
            TunnelRule("a.example.com", "http://origin", origin_request={"tlsTimeout": 1.5}), id="half"
        ),
    ],
)
def test_rule_that_cloudflared_would_refuse_is_refused(rule: TunnelRule) -> None:
    with pytest.raises(Stall) as caught:
        check_rule(rule)
    assert caught.value.reason == "InvalidSpec"


@pytest.mark.parametrize("hostname", ["b.example.com", "A.example.com", "*"])
def test_change_is_about_one_hostname_spelled_properly(hostname: str) -> None:
    with pytest.raises(Stall):
        check_change(HostnameChange(hostname, (TunnelRule("a.example.com", "http://origin"),)))


@pytest.mark.parametrize(
    "service",
    [
        *("http://origin", "https://origin:8443", "tcp://db:5432", "ssh://host:22", "http://[::1]:80"),
        *("http_status:404", "hello_world", "unix:/run/app.sock", "bastion"),
    ],
)
def test_rule_that_cloudflared_takes_is_taken(service: str) -> None:
    check_rule(
        TunnelRule("*.example.com", service, "^/api(/.*)?$", {"connectTimeout": 30, "http2Origin": True})
    )
