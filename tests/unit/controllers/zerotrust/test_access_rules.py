"""Who may enter, and what is refused because it is not clear."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.api.zerotrust_settings import AccessRule
from edgekeeper.api.zerotrust_task import AccessAppOperation
from tests.unit.controllers.zerotrust.route_cases import (
    DNS_ONLY,
    PROTECTED,
    PUBLIC,
    refusal,
    task,
    template,
)

ON = {**PUBLIC, "accessApp": "true"}


def _access(annotations: dict[str, str], *levels: Any, **context: Any) -> AccessAppOperation:
    return task(annotations, *levels, **context).operations.access_app


def _rules(**fields: Any) -> Any:
    return template(accessApplication=fields)


# Whether there is an application


def test_route_without_a_word_about_access_is_public() -> None:
    assert _access(PUBLIC) == AccessAppOperation(enabled=False)


@pytest.mark.parametrize("annotations", [PUBLIC, DNS_ONLY], ids=["tunnel", "DNS only"])
def test_protected_route_without_a_word_about_access_stalls(annotations: dict[str, str]) -> None:
    stall = refusal(annotations, protected=True)
    assert stall.reason == "ProtectionRemoved"
    assert '"false"' in stall.message


@pytest.mark.parametrize(
    ("annotations", "named", "base"),
    [
        ({"accessApp": "false"}, None, None),
        ({"access.enabled": "no"}, {"enabled": True, "allowEmails": ["a@example.com"]}, None),
        ({}, {"enabled": False}, {"enabled": True, "allowEmails": ["a@example.com"]}),
        ({}, None, {"enabled": False}),
        ({"accessApp": "false", "allowEmails": "a@example.com"}, None, None),
    ],
)
def test_protection_is_removed_by_an_explicit_false(
    annotations: dict[str, str], named: Any, base: Any
) -> None:
    templates = [None if fields is None else _rules(**fields) for fields in (named, base)]
    assert _access({**PUBLIC, **annotations}, *templates, protected=True) == AccessAppOperation(enabled=False)


@pytest.mark.parametrize(
    ("annotations", "named", "base"),
    [
        ({"allowEmails": "a@example.com"}, None, None),
        ({"access.sessionDuration": "8h"}, None, None),
        ({"allowGroups": ""}, None, None),
        ({"access.everyone": "true"}, None, None),
        ({"publicPaths": "/healthz"}, None, None),
        ({}, {"allowEmails": ["a@example.com"]}, None),
        ({}, {}, None),
        ({}, None, {"include": [{"everyone": True}]}),
        ({"allowEmails": "a@example.com"}, {"enabled": False}, None),
        ({}, {"allowEmails": ["a@example.com"]}, {"enabled": False}),
    ],
)
def test_settings_of_access_without_enabled_stall(annotations: dict[str, str], named: Any, base: Any) -> None:
    templates = [None if fields is None else _rules(**fields) for fields in (named, base)]
    for protected in (False, True):
        stall = refusal({**PUBLIC, **annotations}, *templates, protected=protected)
        assert stall.reason in {"InvalidSettings", "ProtectionRemoved"}
        assert "access.enabled" in stall.message


# Who may enter


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"allowEmails": []},
        {
            "allowEmails": [],
            "allowGroups": [],
            "existingPolicyNames": [],
            "existingPolicyIds": [],
            "include": [],
        },
    ],
)
def test_access_for_nobody_stalls(fields: dict[str, Any]) -> None:
    stall = refusal(PUBLIC, _rules(enabled=True, **fields))
    assert stall.reason == "NoPolicy"
    assert "access.everyone" in stall.message


@pytest.mark.parametrize(
    "fields",
    [
        {"allowEmails": ["a@example.com"]},
        {"allowGroups": ["Staff"]},
        {"existingPolicyNames": ["Staff"]},
        {"existingPolicyIds": ["73badfbd-c825-4bf3-a543-e2882627969d"]},
        {"include": [{"email": "a@example.com"}]},
        {"include": [{"emailDomain": "example.com"}]},
        {"include": [{"group": "Staff"}]},
        {"include": [{"identityProviderGroup": {"provider": "Okta", "group": "staff"}}]},
        {"include": [{"ipRange": "192.0.2.0/24"}]},
        {"include": [{"ipRange": "2001:db8::1"}]},
        {"include": [{"country": "DE"}]},
        {"include": [{"everyone": True}]},
        {
            "allowEmails": ["a@example.com"],
            "require": [{"country": "DE"}],
            "exclude": [{"email": "b@example.com"}],
        },
    ],
    ids=str,
)
def test_access_for_somebody_is_as_the_template_says(fields: dict[str, Any]) -> None:
    operation = _access(PUBLIC, _rules(enabled=True, **fields))
    assert operation.enabled
    assert (operation.name, operation.policy_name) == ("web", "web-allow-policy")
    for name in ("include", "require", "exclude"):
        assert len(getattr(operation, name) or ()) == len(fields.get(name, ()))


def test_everyone_is_written_out() -> None:
    assert _access({**ON, "access.everyone": "true"}).include == [AccessRule(everyone=True)]
    assert refusal({**ON, "access.everyone": "false"}).reason == "NoPolicy"


def test_service_token_alone_is_somebody() -> None:
    operations = task({**ON, "serviceToken": "true"}).operations
    assert operations.access_app.enabled
    assert operations.service_token.enabled


@pytest.mark.parametrize("policies", ["existingPolicyNames", "existingPolicyIds"])
@pytest.mark.parametrize("rules", ["allowEmails", "allowGroups", "include", "require", "exclude"])
def test_existing_policies_exclude_rules_of_the_routes_own(policies: str, rules: str) -> None:
    items: Any = [{"country": "DE"}] if rules in ("include", "require", "exclude") else ["a@example.com"]
    named = _rules(enabled=True, **{policies: ["Staff"]})
    stall = refusal(PUBLIC, named, _rules(**{rules: items}))
    assert stall.reason == "InvalidSettings"
    assert f"access.{rules} (base template base-main)" in stall.message
    assert f"access.{policies} (template default)" in stall.message
    assert _access(
        PUBLIC, _rules(enabled=True, **{policies: ["Staff"], rules: []}), _rules(**{rules: items})
    ).enabled


@pytest.mark.parametrize("field", ["require", "exclude"])
def test_restriction_of_nobody_stalls(field: str) -> None:
    for extra in ({}, {"serviceToken": "true"}):
        stall = refusal({**PUBLIC, **extra}, _rules(enabled=True, **{field: [{"country": "DE"}]}))
        assert stall.reason == "InvalidSettings"
        assert "nobody may" in stall.message


# Values


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("allowEmails", ["nobody"], "must be e-mail addresses"),
        ("allowEmails", ["a@b"], "must be a hostname"),
        ("allowEmails", ["a@*.example.com"], "without a wildcard"),
        ("allowEmails", ["a b@example.com"], "must be e-mail addresses"),
        ("allowEmails", ["a@example.com\nb@example.com"], "cannot be printed"),
        ("allowGroups", [" "], "has an empty name"),
        ("allowGroups", ["a\x1b[0m"], "cannot be printed"),
        ("existingPolicyNames", ["x" * 3000], "is longer than"),
        ("include", [{"email": "nobody"}], "must be e-mail addresses"),
        ("include", [{"emailDomain": "@example.com"}], "must be a hostname"),
        ("include", [{"ipRange": "192.0.2.0/33"}], "must be an address or a range"),
        ("include", [{"country": "XX"}], "is no country"),
        ("include", [{"email": "a@example.com", "country": "DE"}], "exactly one field"),
        ("include", [{}], "exactly one field"),
        ("include", [{"everyone": False}], "everyone may only be true"),
        ("include", [{"identityProviderGroup": {"provider": " ", "group": "x"}}], "has an empty name"),
        ("include", [{"group": "\n"}], "cannot be printed"),
        ("logoUrl", "http://example.com/logo.png", "https://"),
        ("logoUrl", "javascript:alert(1)", "https://"),
        ("logoUrl", "https://", "https://"),
        ("logoUrl", "https://user:pass@example.com/", "without a user"),
        ("logoUrl", "https://exa mple.com/", "https://"),
        ("logoUrl", "https://example.com/\r\nx", "https://"),
        ("logoUrl", "https://example.com:0/", "https://"),
        ("logoUrl", "https://localhost/", "must be a hostname"),
        ("customDenyUrl", "//example.com", "https://"),
        ("customNonIdentityDenyUrl", "https:\\\\example.com", "https://"),
        ("customDenyMessage", "a\nb", "cannot be printed"),
        ("sessionDuration", "0h", "must be a duration"),
        ("publicPaths", ["healthz"], "must be plain paths"),
        ("publicPaths", ["/"], "would make the whole hostname public"),
        ("publicPaths", ["//"], "would make the whole hostname public"),
        ("publicPaths", ["/*"], "must be plain paths"),
        ("publicPaths", ["/a/../b"], "must be plain paths"),
        ("publicPaths", ["/a//b"], "must be plain paths"),
        ("publicPaths", ["/a?b"], "must be plain paths"),
        ("publicPaths", ["/a%2fb"], "must be plain paths"),
        ("publicPaths", ["/a;b"], "must be plain paths"),
        ("publicPaths", [""], "must be plain paths"),
        ("applicationDomain", "example.com", "must be a wildcard"),
        ("applicationDomain", "not a host", "must be a hostname"),
    ],
)
def test_access_value_that_is_not_valid_stalls_and_is_named(field: str, value: Any, words: str) -> None:
    allowed = (
        {"allowGroups": ["Staff"]}
        if field not in ("allowGroups", "existingPolicyNames", "applicationDomain")
        else {}
    )
    stall = refusal(PUBLIC, _rules(enabled=True, **{**allowed, field: value}))
    assert stall.reason == "InvalidSettings"
    assert f"access.{field} (template default)" in stall.message
    assert words in stall.message
    assert stall.message.isprintable()
    assert len(stall.message) < 500


@pytest.mark.parametrize(
    ("name", "value"), [("logoUrl", "http://x"), ("allowEmails", "nobody"), ("publicPaths", "healthz")]
)
def test_access_value_of_an_annotation_is_an_invalid_annotation(name: str, value: str) -> None:
    stall = refusal({**PROTECTED, name: value})
    assert stall.reason == "InvalidAnnotation"
    assert f"(annotation {name})" in stall.message


def test_access_with_too_many_rules_stalls() -> None:
    emails = [f"user{number}@example.com" for number in range(1000)]
    assert _access(PUBLIC, _rules(enabled=True, allowEmails=emails)).allow_emails == emails
    stall = refusal(PUBLIC, _rules(enabled=True, allowEmails=emails, allowGroups=["Staff"]))
    assert "more than 1000 rules" in stall.message


@pytest.mark.parametrize(("idps", "valid"), [("", True), ("Okta", True), ("Okta,Google", False)])
def test_redirect_to_the_identity_provider_needs_one(idps: str, valid: bool) -> None:
    annotations = {**PROTECTED, "autoRedirectToIdentity": "true", "allowedIdps": idps}
    if valid:
        assert _access(annotations).auto_redirect_to_identity
    else:
        assert "needs exactly one identity provider" in refusal(annotations).message


# Hostnames


def test_access_protects_five_hostnames_and_no_more() -> None:
    names = [f"app{number}.example.com" for number in range(6)]
    assert _access({**PROTECTED, "hostname": ",".join(names[:5])}).enabled
    assert refusal({**PROTECTED, "hostname": ",".join(names)}).reason == "TooManyHostnames"
    assert task({**PUBLIC, "hostname": ",".join(names)}).hostnames == names


SHARED = {**ON, "applicationDomain": "*.Apps.example.com"}


def test_application_of_a_wildcard_protects_routes_below_it() -> None:
    names = [f"app{number}.apps.example.com" for number in range(6)]
    operation = _access({**SHARED, "hostname": ",".join(names)})
    assert (operation.enabled, operation.application_domain) == (True, "*.apps.example.com")


@pytest.mark.parametrize(
    ("hostname", "words"),
    [
        ("app.example.com", "does not protect app.example.com"),
        ("a.b.apps.example.com", "a wildcard stands for one label"),
        ("apps.example.com", "does not protect apps.example.com"),
        ("app.apps.example.com,app.example.com", "does not protect app.example.com"),
        ("appsxexample.com", "does not protect"),
        ("*.apps.example.com", "is the route's own hostname"),
    ],
)
def test_application_of_a_wildcard_must_cover_all_hostnames(hostname: str, words: str) -> None:
    stall = refusal({**SHARED, "hostname": hostname})
    assert stall.reason == "InvalidAnnotation"
    assert words in stall.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("allowEmails", "a@example.com"),
        ("allowGroups", "Staff"),
        ("existingPolicyNames", "Staff"),
        ("access.everyone", "true"),
        ("publicPaths", "/healthz"),
        ("allowedIdps", "Okta"),
        ("serviceToken", "true"),
        ("applicationName", "Login"),
        ("policyName", "Staff"),
    ],
)
def test_application_of_another_route_takes_no_rules_of_this_one(name: str, value: str) -> None:
    stall = refusal({**SHARED, "hostname": "a.apps.example.com", name: value})
    assert stall.reason == "InvalidSettings"
    assert "applicationDomain" in stall.message


# Names


def test_application_and_its_policy_are_named_after_the_route_or_as_the_settings_say() -> None:
    usual = _access(PROTECTED)
    assert (usual.name, usual.policy_name) == ("web", "web-allow-policy")
    named = _access({**PROTECTED, "applicationName": "Login of the shop", "policyName": "Staff"})
    assert (named.name, named.policy_name, named.application_name) == ("Login of the shop", "Staff", None)


# Service tokens


def test_service_token_needs_an_application() -> None:
    for extra in ({}, {"accessApp": "false"}):
        stall = refusal({**PUBLIC, **extra, "serviceToken": "true"})
        assert stall.reason == "InvalidSettings"
        assert "serviceToken.enabled (annotation serviceToken) needs an Access application" in stall.message


def test_service_token_has_names_and_durations() -> None:
    annotations = {
        **PROTECTED,
        "serviceToken": "true",
        "serviceToken.duration": "720h",
        "serviceToken.rotationInterval": "240h",
        "serviceToken.rotationGrace": "48h",
        "serviceToken.rotate": "please-1",
    }
    token = task(annotations).operations.service_token
    assert (token.name, token.duration) == ("web-service-token", "720h")
    assert (token.secret_namespace, token.secret_name) == ("shop", "web-cfzt-service-token")
    assert (token.client_id_key, token.client_secret_key) == ("client_id", "client_secret")
    assert (token.rotation, token.rotation_interval, token.rotation_grace) == ("please-1", "240h", "48h")


def test_service_token_cannot_be_rotated_faster_than_its_grace() -> None:
    annotations = {**PROTECTED, "serviceToken": "true", "serviceToken.rotationInterval": "24h"}
    assert "must be longer than" in refusal(annotations).message
    assert task({**annotations, "serviceToken.rotationGrace": "1h"}).operations.service_token.enabled


@pytest.mark.parametrize("field", ["duration", "rotationInterval", "rotationGrace"])
def test_service_token_of_no_duration_stalls(field: str) -> None:
    named = template(serviceToken={"enabled": True, field: "0h"})
    assert f"serviceToken.{field} (template default) must be a duration" in refusal(PROTECTED, named).message
