"""What users write on routes, and what they may write."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.controllers.zerotrust.annotation_keys import BY_SPELLING, SETTINGS, Setting
from edgekeeper.controllers.zerotrust.annotations import (
    OPERATOR_WRITTEN,
    is_enabled,
    parse_annotations,
    user_annotations,
)
from edgekeeper.controllers.zerotrust.settings import BUILT_INS
from edgekeeper.core.errors import Stall
from tests.unit.controllers.zerotrust.route_cases import OTHER_TUNNEL, VALUES, prefixed


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.path)
def test_annotations_say_the_same_in_every_spelling(setting: Setting) -> None:
    value = VALUES[setting.path]
    parsed = [parse_annotations(prefixed({spelling: value})) for spelling in setting.spellings]
    contents = [
        (one.enabled, one.hostnames, one.tenant, one.template, one.tunnel_id, one.rotate, one.settings)
        for one in parsed
    ]
    assert all(content == contents[0] for content in contents)
    assert contents[0] != (False, (), "", "", "", "", {}), f"{setting.path} has no effect"


@pytest.mark.parametrize(
    ("spelling", "path"),
    [
        # of the first generation, as its examples have them
        ("originService", "origin.url"),
        ("accessApp", "access.enabled"),
        ("allowGroups", "access.allowGroups"),
        ("allowEmails", "access.allowEmails"),
        ("sessionDuration", "access.sessionDuration"),
        ("serviceToken", "serviceToken.enabled"),
        ("no-tls-verify", "origin.noTLSVerify"),
        ("origin-server-name", "origin.originServerName"),
        ("tls-timeout", "origin.tlsTimeout"),
        ("match-sni-to-host", "origin.matchSNIToHost"),
        ("http2-origin", "origin.http2Origin"),
        ("http-redirect", "origin.httpRedirect"),
        ("ca-pool", "origin.caPool"),
        # of the later ones
        ("origin.url", "origin.url"),
        ("origin.noTLSVerify", "origin.noTLSVerify"),
        ("access.enabled", "access.enabled"),
        ("access.existingPolicyNames", "access.existingPolicyNames"),
        ("access.serviceAuth401Redirect", "access.serviceAuth401Redirect"),
        ("serviceToken.enabled", "serviceToken.enabled"),
        ("serviceToken.duration", "serviceToken.duration"),
        ("dnsIp", "dnsOnly.staticIp"),
        ("tunnelId", "tunnelId"),
    ],
)
def test_annotations_of_all_generations_are_known(spelling: str, path: str) -> None:
    assert BY_SPELLING[spelling].path == path


@pytest.mark.parametrize(
    "setting", [one for one in SETTINGS if len(one.spellings) > 1], ids=lambda setting: setting.path
)
def test_annotations_in_two_spellings_stall_if_they_differ(setting: Setting) -> None:
    one, other = setting.spellings[:2]
    value = VALUES[setting.path]
    same = parse_annotations(prefixed({one: value, other: value}))
    assert same.settings == parse_annotations(prefixed({one: value})).settings
    different = {"true": "false", "false": "true"}.get(value) or _DIFFERENT[setting.path]
    with pytest.raises(Stall, match="the same setting with different values") as caught:
        parse_annotations(prefixed({one: value, other: different}))
    assert caught.value.reason == "InvalidAnnotation"
    assert one in caught.value.message
    assert other in caught.value.message


_DIFFERENT = {
    "tunnelId": OTHER_TUNNEL.replace("d", "e"),
    "origin.url": "http://web.shop.svc:80",
    "origin.httpHostHeader": "other.internal",
    "origin.originServerName": "other.internal",
    "origin.caPool": "/etc/other.pem",
    "origin.tlsTimeout": "31",
    "access.sessionDuration": "9h",
    "access.existingPolicyNames": "",
    "access.existingPolicyIds": "",
    "access.allowEmails": "a@example.com",
    "access.allowGroups": "Engineering",
    "access.allowedIdps": "",
    "access.sameSiteCookieAttribute": "none",
    "access.logoUrl": "https://cdn.example.com/other.png",
    "access.customDenyMessage": "No.",
    "access.customDenyUrl": "https://example.com/other",
    "access.customNonIdentityDenyUrl": "https://example.com/other",
    "access.publicPaths": "/healthz",
    "access.applicationDomain": "*.example.org",
    "access.applicationName": "Login",
    "access.policyName": "Allow",
    "serviceToken.duration": "24h",
    "serviceToken.rotationInterval": "24h",
    "serviceToken.rotationGrace": "24h",
    "serviceToken.rotate": "2",
    "dnsOnly.ttl": "301",
    "dnsOnly.staticIp": "10.0.0.8",
    "dnsOnly.ingressServiceRef": "traefik",
}


PAGE = Path(__file__).parents[4] / "docs/kinds/httproute.md"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.path)
def test_annotation_is_documented_in_every_spelling_with_its_default(setting: Setting) -> None:
    rows = [
        line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{setting.spellings[0]}` |")
    ]
    assert len(rows) == 1
    for spelling in setting.spellings:
        assert f"`{spelling}`" in rows[0]
    default = BUILT_INS.get(setting.path)
    if default is not None:
        assert f"| `{str(default).lower()}` |" in rows[0]


@pytest.mark.parametrize("text", ["true", "True", "TRUE", "1", "yes", "Yes", " true "])
def test_enabled_is_true_for(text: str) -> None:
    assert is_enabled(prefixed({"enabled": text}))


@pytest.mark.parametrize("text", ["false", "False", "0", "no", "NO"])
def test_enabled_is_false_for(text: str) -> None:
    assert not is_enabled(prefixed({"enabled": text}))


def test_route_without_annotations_is_not_enabled() -> None:
    assert not is_enabled({"example.com/enabled": "true", "edgekeeper.io/ready": "True"})


@pytest.mark.parametrize(
    "annotations",
    [
        {"enabled": "ture"},
        {"enabled": ""},
        {"enabled": "on"},
        {"enabeld": "true"},
        {"Enabled": "true"},
        {"enable": "false"},
        {"hostname": "app.example.com", "active": "true"},
    ],
    ids=str,
)
def test_enabled_that_is_misspelt_is_neither_true_nor_false(annotations: dict[str, str]) -> None:
    with pytest.raises(Stall) as caught:
        is_enabled(prefixed(annotations))
    assert caught.value.reason == "InvalidAnnotation"


def test_enabled_does_not_depend_on_other_annotations() -> None:
    """A route with other mistakes can be withdrawn."""
    assert not is_enabled(prefixed({"enabled": "false", "acessApp": "true", "sessionDuration": "forever"}))


@pytest.mark.parametrize("key", sorted(OPERATOR_WRITTEN))
def test_annotations_that_operators_wrote_are_ignored(key: str) -> None:
    annotations = {f"{PREFIX}enabled": "true", key: "whatever it is, \n"}
    assert parse_annotations(annotations) == parse_annotations({f"{PREFIX}enabled": "true"})
    assert user_annotations(annotations) == {f"{PREFIX}enabled": "true"}


def test_annotations_of_others_are_ignored() -> None:
    others = {"kubernetes.io/x": "y", "kopf.cfzt.cloudflare.com/last-handled-configuration": "{}"}
    assert parse_annotations(others) == parse_annotations({})
    assert user_annotations(others) == {}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("accessApp", "ja", "must be true or false"),
        ("hostname", "not a host", "must be one or more hostnames"),
        ("hostname", "http://app.example.com", "must be one or more hostnames"),
        ("hostname", " ", "is empty"),
        ("hostname", ", ,", "has nothing between its commas"),
        ("tenant", "a/b/c", "must be a name, or a namespace and a name"),
        ("tenant", "Main", "must be a name"),
        ("template", "edge/web", "must be the name of an object"),
        ("tunnelId", "main", "must be the id of a tunnel"),
        ("tlsTimeout", "10s", "must be a whole number from 1 to 300"),
        ("tlsTimeout", "0", "must be a whole number from 1 to 300"),
        ("tlsTimeout", "٣", "must be a whole number from 1 to 300"),
        ("sessionDuration", "1d", "must be a duration such as"),
        ("sessionDuration", "0h", "must be a duration such as"),
        ("sessionDuration", "forever", "must be a duration such as"),
        ("serviceTokenDuration", "always", "must be a duration such as"),
        ("sameSiteCookieAttribute", "loose", "must be one of none, lax, strict"),
        ("dns", "off", "must be one of managed, external"),
        ("dnsIp", "10.0.0", "must be IP addresses"),
        ("dnsIp", "10.0.0.1,app.example.com", "must be IP addresses"),
        ("dnsIp", "fe80::1%eth0", "must be plain IP addresses"),
        ("dnsIp", "::ffff:10.0.0.1", "must be plain IP addresses"),
        ("dnsOnlyTtl", "86401", "must be a whole number from 1 to 86400"),
        ("dnsOnlyIngressServiceRef", "a/b/c", "must be a name"),
        ("customDenyMessage", "a\r\nSet-Cookie: x", "has a line break"),
        ("customDenyMessage", "\x1b[31mred", "has a line break or another character"),
        ("allowEmails", "a@example.com\n,b@example.com\x00", "cannot be printed"),
        ("originService", "x" * 3000, "is longer than 2048 characters"),
        ("allowGroups", ",".join(map(str, range(1001))), "has more than 1000 items"),
    ],
)
def test_annotation_value_that_does_not_parse_stalls(name: str, text: str, words: str) -> None:
    with pytest.raises(Stall) as caught:
        parse_annotations(prefixed({name: text}))
    assert caught.value.reason == "InvalidAnnotation"
    assert f"{PREFIX}{name}" in caught.value.message
    assert words in caught.value.message
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 500


def test_annotation_problems_are_all_reported_up_to_a_limit() -> None:
    with pytest.raises(Stall) as caught:
        parse_annotations(prefixed({f"unheard-of-{number}": "x" for number in range(9)}))
    assert caught.value.message.count("unknown annotation") == 5
    assert caught.value.message.endswith("and 4 more")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a", ["a"]),
        (" a , b ", ["a", "b"]),
        ("a,,b,", ["a", "b"]),
        ("b,a,b", ["b", "a"]),
        ("Power Users,Ärzte", ["Power Users", "Ärzte"]),
    ],
)
def test_annotation_lists_are_separated_by_commas(text: str, expected: list[str]) -> None:
    assert parse_annotations(prefixed({"allowGroups": text})).settings["access.allowGroups"] == expected


def test_annotation_hostnames_are_written_as_cloudflare_writes_them() -> None:
    parsed = parse_annotations(
        prefixed({"hostname": "App.Example.com., *.x.example.com, bücher.example.com"})
    )
    assert parsed.hostnames == ("app.example.com", "*.x.example.com", "xn--bcher-kva.example.com")


def test_annotations_remember_how_they_were_spelt() -> None:
    parsed = parse_annotations(prefixed({"no-tls-verify": "true"}))
    assert parsed.spellings == {"origin.noTLSVerify": "no-tls-verify"}


@given(
    st.dictionaries(
        st.sampled_from(sorted(BY_SPELLING)) | st.text(max_size=20), st.text(max_size=60), max_size=6
    )
)
def test_annotations_of_any_content_parse_or_stall(annotations: dict[str, str]) -> None:
    for read in (parse_annotations, is_enabled):
        try:
            read(prefixed(annotations))
        except Stall as error:
            assert error.reason == "InvalidAnnotation"  # noqa: PT017 - the only error that may be raised
            assert error.message.isprintable()  # noqa: PT017
