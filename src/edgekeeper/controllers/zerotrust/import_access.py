"""The settings of Access from an application: the inverse of `application_document` and `policy_documents`. Pure.

Settings are those that differ from the built-in ones, by their paths. Who may log in becomes annotations if these suffice
(addresses, groups, everyone, reusable policies), else the rules of a template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from edgekeeper.cloud.cloudflare.models import Application, AttachedPolicy
from edgekeeper.controllers.zerotrust.application_document import KNOWN_FIELDS
from edgekeeper.controllers.zerotrust.import_account import FoundAccount
from edgekeeper.controllers.zerotrust.settings import BUILT_INS
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.lifecycle.importing import Findings

_SETTINGS: Final = {
    "session_duration": "access.sessionDuration",
    "auto_redirect_to_identity": "access.autoRedirectToIdentity",
    "enable_binding_cookie": "access.enableBindingCookie",
    "http_only_cookie_attribute": "access.httpOnlyCookieAttribute",
    "same_site_cookie_attribute": "access.sameSiteCookieAttribute",
    "skip_interstitial": "access.skipInterstitial",
    "app_launcher_visible": "access.appLauncherVisible",
    "service_auth_401_redirect": "access.serviceAuth401Redirect",
    "logo_url": "access.logoUrl",
    "custom_deny_message": "access.customDenyMessage",
    "custom_deny_url": "access.customDenyUrl",
    "custom_non_identity_deny_url": "access.customNonIdentityDenyUrl",
}
"""Fields of an application, and the paths of the settings that they come from."""
_POLICY_FIELDS: Final = frozenset(
    {
        *("id", "uid", "name", "decision", "precedence", "reusable", "include", "require", "exclude"),
        *("created_at", "updated_at", "app_count"),
    }
)
"""Fields of a policy that are expressed, or that only Cloudflare writes."""
_REUSABLE: Final = "make it a reusable policy of the account, which a route can refer to"
_RULES: Final = ("include", "require", "exclude")


@dataclass(frozen=True)
class ProposedAccess:
    """Settings of Access, by path, and rules for a template."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, list[JsonObject]] = field(default_factory=dict)
    """Rules by `include`, `require` and `exclude`; none if annotations suffice."""


def propose_access(
    application: Application, route: str, found: FoundAccount, findings: Findings
) -> ProposedAccess:
    """The settings of an application of the route's own. What they cannot express is refused."""
    document = application.document
    if application.type != "self_hosted":
        findings.refuse("application.type", f"{application.type!r} is not supported: only self_hosted is")
    for name, value in sorted(document.items()):
        if name not in KNOWN_FIELDS and value:
            findings.refuse(f"application.{name}", "a route has no such setting, and an update would lose it")
    settings: dict[str, Any] = {"access.enabled": True}
    if application.name != route:
        settings["access.applicationName"] = application.name
    for name, path in _SETTINGS.items():
        value = document.get(name)
        if value not in (None, "", BUILT_INS.get(path)):
            settings[path] = value
    if providers := dig_list(document, "allowed_idps"):
        names = {id_: one.name for id_, one in found.providers.items()}
        settings["access.allowedIdps"] = _named(providers, names)
    if paths := public_paths(application, findings):
        settings["access.publicPaths"] = paths
    who, rules = _who(application, route, found, findings)
    return ProposedAccess({**settings, **who}, rules)


def public_paths(application: Application, findings: Findings | None = None) -> list[str]:
    """The paths of an application that need no login, the same for all its hostnames; none if they cannot be expressed."""
    findings = findings if findings is not None else Findings()
    refused = len(findings.refusals)
    by_uri: dict[str, list[str]] = {}
    for destination in dig_list(application.document, "destinations"):
        fields = {name for name, value in dig_object(destination).items() if value}
        uri = dig(destination, "uri")
        if dig(destination, "type") != "public" or fields - {"type", "uri", "overrides"}:
            findings.refuse("application.destinations", f"{destination!r} is not a public hostname")
            continue
        patterns = [str(dig(one, "path_pattern")) for one in dig_list(destination, "overrides")]
        bare = sorted({pattern.removesuffix("/*") for pattern in patterns})
        if sorted(patterns) != sorted(text for path in bare for text in (path, f"{path}/*")):
            findings.refuse(
                "application.destinations",
                f"the overrides of {uri} are not those of public paths: {patterns}",
            )
        by_uri[str(uri)] = bare
    distinct = {tuple(paths) for paths in by_uri.values()}
    if len(distinct) > 1:
        findings.refuse("application.destinations", "its hostnames have different public paths")
    return list(next(iter(distinct), ())) if len(findings.refusals) == refused else []


# Who may log in


def _who(
    application: Application, route: str, found: FoundAccount, findings: Findings
) -> tuple[dict[str, Any], dict[str, list[JsonObject]]]:
    policies = application.policies
    reusable = [policy for policy in policies if policy.reusable]
    if not policies:
        findings.refuse("application.policies", "it has none, so that nobody can log in: add one")
    elif reusable and len(reusable) < len(policies):
        findings.refuse("application.policies", f"reusable policies and others are mixed: {_REUSABLE}")
    elif reusable:
        return _existing(reusable, found, findings), {}
    elif len(policies) > 1:
        names = ", ".join(policy.name for policy in policies)
        findings.refuse(
            "application.policies", f"a route has one policy of its own, and there are {names}: {_REUSABLE}"
        )
    else:
        return _own(application, policies[0], route, found, findings)
    return {}, {}


def _existing(policies: Sequence[AttachedPolicy], found: FoundAccount, findings: Findings) -> dict[str, Any]:
    for policy in policies:
        for rule in policy.include:
            token = dig(rule, "service_token", "token_id")
            if token:
                name = found.tokens.get(token, token)
                findings.notes.append(
                    f"the policy {policy.name} lets the service token {name} in, which stays as it is: "
                    "its secret cannot be read, so that no Secret is written for it"
                )
    names = {id_: one.name for id_, one in found.policies.items()}
    wanted = _named([policy.id for policy in policies], names)
    by_name = all(text in names.values() for text in wanted)
    return {
        f"access.existingPolicy{'Names' if by_name else 'Ids'}": wanted
        if by_name
        else [one.id for one in policies]
    }


def _own(
    application: Application, policy: AttachedPolicy, route: str, found: FoundAccount, findings: Findings
) -> tuple[dict[str, Any], dict[str, list[JsonObject]]]:
    path = f"application.policies[{policy.name}]"
    _refuse_policy(application, policy, path, found, findings)
    made: dict[str, list[JsonObject]] = {}
    for field_name in _RULES:
        for rule in getattr(policy, field_name):
            written = rule_of(rule, found)
            if written is None:
                findings.refuse(f"{path}.{field_name}", f"the rule {rule!r} cannot be expressed: {_REUSABLE}")
            else:
                made.setdefault(field_name, []).append(written)
    settings: dict[str, Any] = {}
    if policy.name != f"{route}-allow-policy":
        settings["access.policyName"] = policy.name
    simple = {"email", "group", "everyone"}
    include = made.get("include", [])
    if made.keys() <= {"include"} and all(rule.keys() <= simple for rule in include):
        return {**settings, **_as_annotations(include)}, {}
    return settings, made


def _refuse_policy(
    application: Application, policy: AttachedPolicy, path: str, found: FoundAccount, findings: Findings
) -> None:
    tokens = [
        str(dig(rule, "service_token", "token_id")) for rule in policy.include if "service_token" in rule
    ]
    if tokens:
        names = ", ".join(found.tokens.get(token, token) for token in tokens)
        findings.refuse(
            f"{path}.include",
            f"it lets the service token {names} in, whose secret cannot be read, so that it cannot be taken over: {_REUSABLE}",
        )
    elif policy.decision != "allow":
        findings.refuse(
            f"{path}.decision", f"a route has no policy that decides {policy.decision!r}: {_REUSABLE}"
        )
    shown = [one for one in dig_list(application.document, "policies") if dig(one, "id") == policy.id]
    for name, value in sorted(item for one in shown for item in dig_object(one).items()):
        if name not in _POLICY_FIELDS and value:
            findings.refuse(f"{path}.{name}", f"a policy of a route has no such setting: {_REUSABLE}")


def _as_annotations(include: Sequence[JsonObject]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name, path in (("email", "access.allowEmails"), ("group", "access.allowGroups")):
        if values := [rule[name] for rule in include if name in rule]:
            settings[path] = values
    if any("everyone" in rule for rule in include):
        settings["access.everyone"] = True
    return settings


def rule_of(rule: JsonObject, found: FoundAccount) -> JsonObject | None:
    """A rule as templates have it; None if they have none like it."""
    bare = {name: value for name, value in rule.items() if value is not None}
    if len(bare) != 1:
        return None
    ((kind, value),) = bare.items()
    match kind:
        case "email":
            return _plain("email", value, "email")
        case "email_domain":
            return _plain("emailDomain", value, "domain")
        case "ip":
            return _plain("ipRange", value, "ip")
        case "geo":
            return _plain("country", value, "country_code")
        case "everyone":
            return {"everyone": True}
        case "group":
            return {"group": _named([dig(value, "id")], found.groups)[0]}
        case _:
            return _provider_group(kind, dig_object(value), found)


def _plain(name: str, value: Any, key: str) -> JsonObject | None:
    text = dig(value, key)
    return {name: text} if isinstance(text, str) and text else None


def _provider_group(kind: str, value: JsonObject, found: FoundAccount) -> JsonObject | None:
    """The group of an identity provider. That the rule means exactly this is checked by making it again."""
    provider = found.providers.get(str(value.get("identity_provider_id")))
    if provider is None:
        return None
    group = {
        "azureAD": value.get("id"),
        "okta": value.get("name"),
        "gsuite": value.get("email"),
        "github-organization": "/".join(filter(None, (value.get("name"), value.get("team")))),
        "saml": value.get("attribute_value"),
        "oidc": value.get("claim_value"),
    }.get(kind)
    if not group:
        return None
    names = {id_: one.name for id_, one in found.providers.items()}
    return {"identityProviderGroup": {"provider": _named([provider.id], names)[0], "group": group}}


def _named(ids: Sequence[Any], names: Mapping[str, str]) -> list[str]:
    """Names in place of ids, unless one of them is not known, ambiguous, or cannot be in a list."""
    counts = Counter(names.values())
    found = [names.get(str(id_), "") for id_ in ids]
    usable = all(name and counts[name] == 1 and "," not in name and name == name.strip() for name in found)
    return found if usable else [str(id_) for id_ in ids]
