"""From which level each setting of a route comes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from edgekeeper.api.zerotrust import DnsOnlySettings, OriginSettings
from edgekeeper.api.zerotrust_settings import AccessRule, AccessSettings, ServiceTokenSettings
from edgekeeper.controllers.zerotrust.annotation_keys import SETTINGS
from edgekeeper.controllers.zerotrust.settings import BUILT_INS, Settings
from tests.unit.controllers.zerotrust.route_cases import PUBLIC, VALUES, defaults, settings, template

NOT_IN_TEMPLATES = {
    "enabled",
    "hostname",
    "tenant",
    "template",
    "tunnelId",
    "access.everyone",
    "serviceToken.rotate",
}
MERGED = [setting.path for setting in SETTINGS if setting.path not in NOT_IN_TEMPLATES]
_SECTIONS = {"origin": "originService", "access": "accessApplication"}
_TLS = {"noTLSVerify", "originServerName", "caPool", "tlsTimeout", "http2Origin", "matchSNIToHost"}


def _value(merged: Settings, path: str) -> Any:
    """The value of a setting, by its path."""
    section, _, name = path.partition(".")
    if path == "dns":
        return merged.dns
    if section == "origin" and name in _TLS:
        return msgspec.to_builtins(merged.origin.origin_tls).get(name)
    struct = {
        "origin": merged.origin,
        "access": merged.access,
        "serviceToken": merged.service_token,
        "dnsOnly": merged.dns_only,
    }[section]
    return msgspec.to_builtins(struct).get(name)


def _template(path: str, value: Any) -> Any:
    """A template that sets one thing."""
    section, _, name = path.partition(".")
    if path == "dns":
        return template(dns=value)
    if section == "origin" and name in _TLS:
        return template(originService={"originTLS": {name: value}})
    return template(**{_SECTIONS.get(section, section): {name: value}})


def _annotated(path: str) -> Any:
    return _value(settings({path: VALUES[path]}), path)


def test_settings_cover_every_field_of_templates() -> None:
    fields = {f"origin.{name}" for name in OriginSettings.__struct_encode_fields__} - {"origin.originTLS"}
    fields |= {f"origin.{name}" for name in _TLS}
    fields |= {f"access.{name}" for name in AccessSettings.__struct_encode_fields__}
    fields |= {f"serviceToken.{name}" for name in ServiceTokenSettings.__struct_encode_fields__}
    fields |= {f"dnsOnly.{name}" for name in DnsOnlySettings.__struct_encode_fields__}
    rules = {"access.include", "access.require", "access.exclude"}  # no text can say them
    assert fields - rules | {"dns"} == set(MERGED)


@pytest.mark.parametrize("path", MERGED)
def test_settings_come_from_the_highest_level_that_has_them(path: str) -> None:
    value, other = _annotated(path), _other(path)
    assert value not in (None, other)
    levels = [
        (settings({path: VALUES[path]}, _template(path, other)), "annotation", value),
        (settings(PUBLIC, _template(path, value), _template(path, other)), "template default", value),
        (settings(PUBLIC, None, _template(path, value)), "base template base-main", value),
        (settings(PUBLIC), "built-in", BUILT_INS.get(path)),
    ]
    for merged, source, expected in levels:
        assert _value(merged, path) == expected, source
        if expected is not None:
            assert merged.source(path).startswith(source)


def _other(path: str) -> Any:
    """A value other than the one of the annotation."""
    value = _annotated(path)
    if isinstance(value, bool):
        return not value
    if isinstance(value, list):
        return ["other"]
    others = {
        "dns": "managed",
        "dnsOnly.ingressServiceRef": {"name": "other"},
        "access.sameSiteCookieAttribute": "none",
    }
    if path in others:
        return others[path]
    return value + 1 if isinstance(value, int) else "17h"


@pytest.mark.parametrize(
    ("default", "path", "value"),
    [
        ({"sessionDuration": "2h"}, "access.sessionDuration", "2h"),
        ({"originService": "http://a.b.svc:80"}, "origin.url", "http://a.b.svc:80"),
        ({"httpHostHeader": "a.b"}, "origin.httpHostHeader", "a.b"),
        ({"httpRedirect": False}, "origin.httpRedirect", False),
        ({"originTLS": {"noTLSVerify": True}}, "origin.noTLSVerify", True),
        ({"originTLS": {"tlsTimeout": 20}}, "origin.tlsTimeout", 20),
        ({"originTLS": {"matchSNIToHost": True}}, "origin.matchSNIToHost", True),
    ],
)
def test_settings_of_the_tenant_are_below_templates(default: dict[str, Any], path: str, value: Any) -> None:
    merged = settings(PUBLIC, default=defaults(**default))
    assert _value(merged, path) == value
    assert merged.source(path) == "tenant defaults"
    over = settings(PUBLIC, None, _template(path, _other(path)), defaults(**default))
    assert _value(over, path) == _other(path)


def test_settings_of_one_section_merge_field_by_field() -> None:
    merged = settings(
        {**PUBLIC, "template": "web", "sessionDuration": "1h"},
        template(
            accessApplication={"allowGroups": ["Staff"]}, originService={"originTLS": {"tlsTimeout": 15}}
        ),
        template(
            accessApplication={"enabled": True, "sessionDuration": "9h", "allowGroups": ["All"]},
            originService={"url": "https://a.b.svc:443", "originTLS": {"noTLSVerify": True, "tlsTimeout": 5}},
        ),
        defaults(originTLS={"http2Origin": True}),
    )
    assert (merged.access.enabled, merged.access.session_duration) == (True, "1h")
    assert merged.access.allow_groups == ["Staff"]
    tls = merged.origin.origin_tls
    assert tls is not None
    assert (tls.no_tls_verify, tls.tls_timeout, tls.http2_origin, tls.match_sni_to_host) == (
        True,
        15,
        True,
        False,
    )
    assert {
        path: merged.sources[path]
        for path in ("access.enabled", "access.sessionDuration", "access.allowGroups")
    } == {
        "access.enabled": "base template base-main",
        "access.sessionDuration": "annotation sessionDuration",
        "access.allowGroups": "template web",
    }


def test_settings_leave_protection_undecided_if_nobody_says_anything() -> None:
    assert settings(PUBLIC).access.enabled is None
    assert settings(PUBLIC, template(), template()).access.enabled is None
    assert "access.enabled" not in settings(PUBLIC).sources


def test_settings_ignore_empty_texts_of_templates() -> None:
    merged = settings(
        PUBLIC,
        template(originService={"url": "", "originTLS": {"originServerName": "", "caPool": ""}}),
        template(originService={"url": "http://a.b.svc:80"}),
        defaults(originService="", httpHostHeader=""),
    )
    assert merged.origin.url == "http://a.b.svc:80"
    assert merged.origin.http_host_header is None
    assert merged.origin.origin_tls is not None
    assert merged.origin.origin_tls.origin_server_name is None


def test_settings_replace_a_list_by_an_empty_one() -> None:
    base = template(accessApplication={"existingPolicyNames": ["Staff"]})
    assert settings({**PUBLIC, "existingPolicyNames": ""}, None, base).access.existing_policy_names == []
    assert (
        settings(
            PUBLIC, template(accessApplication={"existingPolicyNames": []}), base
        ).access.existing_policy_names
        == []
    )


def test_settings_take_the_dns_target_from_one_level() -> None:
    named = template(dnsOnly={"ingressServiceRef": {"name": "traefik"}})
    base = template(dnsOnly={"enabled": True, "staticIp": "10.0.0.1", "ttl": 300})
    merged = settings(PUBLIC, named, base).dns_only
    assert (merged.static_ip, merged.ttl, merged.enabled) == (None, 300, True)
    assert merged.ingress_service_ref is not None
    annotated = settings({**PUBLIC, "dnsIp": "10.0.0.2"}, named, base).dns_only
    assert (annotated.static_ip, annotated.ingress_service_ref) == ("10.0.0.2", None)


EVERYONE = AccessRule(everyone=True)
DOMAIN = AccessRule(email_domain="example.com")


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [(None, [DOMAIN, EVERYONE]), ("true", [DOMAIN, EVERYONE]), ("false", [DOMAIN])],
)
def test_settings_add_or_remove_everyone_by_annotation(
    annotation: str | None, expected: list[AccessRule]
) -> None:
    named = template(accessApplication={"include": [{"everyone": True}, {"emailDomain": "example.com"}]})
    extra = {"access.everyone": annotation} if annotation else {}
    include = settings({**PUBLIC, **extra}, named).access.include
    assert sorted(include or [], key=str) == sorted(expected, key=str)


def test_settings_include_everyone_by_annotation_alone() -> None:
    assert settings({**PUBLIC, "allow-everyone": "yes"}).access.include == [EVERYONE]
    assert settings({**PUBLIC, "allow-everyone": "no"}).access.include == []


@pytest.mark.parametrize(
    ("annotations", "named", "base", "undecided"),
    [
        ({}, None, None, {}),
        ({}, {"sessionDuration": "1h"}, None, {"access": "access"}),
        ({}, {}, None, {"access": "access"}),
        ({"sessionDuration": "1h"}, None, None, {"access": "access.sessionDuration"}),
        ({"sessionDuration": "1h"}, {"enabled": False}, None, {"access": "access.sessionDuration"}),
        ({"sessionDuration": "1h"}, {"enabled": True}, None, {}),
        ({"sessionDuration": "1h", "accessApp": "false"}, {"enabled": True}, None, {}),
        ({}, {"sessionDuration": "1h"}, {"enabled": False}, {"access": "access"}),
        ({}, {"sessionDuration": "1h"}, {"enabled": True}, {}),
        ({}, {"sessionDuration": "1h", "enabled": False}, None, {}),
        ({}, {"enabled": False}, {"allowEmails": ["a@example.com"]}, {}),
        ({}, None, {"allowEmails": ["a@example.com"]}, {"access": "access"}),
    ],
)
def test_settings_note_levels_that_forgot_to_say_enabled(
    annotations: dict[str, str], named: Any, base: Any, undecided: dict[str, str]
) -> None:
    one, other = (None if fields is None else template(accessApplication=fields) for fields in (named, base))
    assert settings({**PUBLIC, **annotations}, one, other).undecided == undecided


def test_settings_error_names_path_and_source() -> None:
    annotated = settings({**PUBLIC, "logo-url": "x"}).invalid("access.logoUrl", "must be a URL")
    assert (annotated.reason, annotated.message) == (
        "InvalidAnnotation",
        "access.logoUrl (annotation logo-url) must be a URL",
    )
    templated = settings(PUBLIC, template(accessApplication={"logoUrl": "x"})).invalid(
        "access.logoUrl", "is no URL"
    )
    assert (templated.reason, templated.message) == (
        "InvalidSettings",
        "access.logoUrl (template default) is no URL",
    )
