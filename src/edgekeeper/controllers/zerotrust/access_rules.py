"""The Access application that the settings of a route ask for, checked. Pure.

Everything that is not clear stalls: who may enter is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from edgekeeper.api.zerotrust_settings import AccessRule, AccessSettings
from edgekeeper.api.zerotrust_task import AccessAppOperation
from edgekeeper.controllers.zerotrust.setting_checks import (
    LONGEST_LIST,
    check_email,
    check_email_domain,
    check_hostname,
    check_https_url,
    check_ip_range,
    check_public_path,
    printable,
    seconds_of,
)
from edgekeeper.controllers.zerotrust.settings import INVALID_SETTINGS, Settings
from edgekeeper.core.countries import COUNTRIES
from edgekeeper.core.errors import Stall

NO_POLICY: Final = "NoPolicy"
PROTECTION_REMOVED: Final = "ProtectionRemoved"
MOST_DOMAINS: Final = 5
"""Hostnames that one application can have."""

_WHO = ("allowEmails", "allowGroups", "include", "require", "exclude")
_POLICIES = ("existingPolicyNames", "existingPolicyIds")
_NAMES = ("applicationName", "policyName")
_URLS = ("logoUrl", "customDenyUrl", "customNonIdentityDenyUrl")


def is_protected(settings: Settings, *, was_protected: bool) -> bool:
    """Whether there shall be an Access application. Raise Stall where nobody said so clearly."""
    wanted = settings.access.enabled
    if wanted:
        return True
    if wanted is None and was_protected:
        raise Stall(
            PROTECTION_REMOVED,
            "the route is protected by Access, and nothing says any more whether it shall be: write access.enabled true "
            'to keep the protection, or "false" to remove it',
        )
    if path := settings.undecided.get("access"):
        raise settings.conflict(
            path,
            "is about an Access application, but nothing there says whether there is one: write access.enabled true or "
            "false in the same place",
        )
    return False


def access_operation(
    settings: Settings, hostnames: Sequence[str], name: str, policy_name: str
) -> AccessAppOperation:
    """The application, with these names unless the settings have others.

    Raise Stall where the settings do not make sense, or let nobody in.
    """
    _check_values(settings)
    if settings.access.application_domain:
        _check_shared(settings, hostnames)
    else:
        _check_own(settings, hostnames)
    fields = {field: getattr(settings.access, field) for field in AccessSettings.__struct_fields__}
    domain = settings.access.application_domain
    fields["application_domain"] = check_hostname(domain) if domain else None
    fields["policy_name"] = settings.access.policy_name or policy_name
    name = fields.pop("application_name") or name
    return AccessAppOperation(**{**fields, "enabled": True}, name=name)


# An application of the route's own


def _check_own(settings: Settings, hostnames: Sequence[str]) -> None:
    access = settings.access
    if len(hostnames) > MOST_DOMAINS:
        raise Stall(
            "TooManyHostnames",
            f"the route has {len(hostnames)} hostnames, and an Access application can protect {MOST_DOMAINS}: split the "
            "route, or use access.applicationDomain",
        )
    policies = [field for field in _POLICIES if _value(access, field)]
    rules = [field for field in _WHO if _value(access, field)]
    if policies and rules:
        raise settings.conflict(
            f"access.{rules[0]}",
            f"cannot be combined with access.{policies[0]} ({settings.source(f'access.{policies[0]}')}): an application "
            "has either existing policies or one of its own: remove one of them, or set it to an empty list",
        )
    _check_somebody(settings, bool(policies), rules)
    if access.auto_redirect_to_identity and len(access.allowed_idps or ["the only one"]) != 1:
        raise settings.conflict(
            "access.autoRedirectToIdentity", "needs exactly one identity provider in access.allowedIdps"
        )


def _check_somebody(settings: Settings, has_policies: bool, rules: Sequence[str]) -> None:
    includes = [field for field in rules if field not in ("require", "exclude")]
    if has_policies or includes:
        return
    if rules:
        raise settings.conflict(
            f"access.{rules[0]}",
            "restricts who may log in, but nobody may: add allowEmails, allowGroups or include",
        )
    if not settings.service_token.enabled:
        raise Stall(
            NO_POLICY,
            "nobody could log in: set access.allowEmails, access.allowGroups, access.existingPolicyNames or a template's "
            "accessApplication.include, switch on a service token, or write access.everyone true if everybody may",
        )


# An application of another route


def _check_shared(settings: Settings, hostnames: Sequence[str]) -> None:
    domain = _checked(
        settings, "access.applicationDomain", check_hostname, settings.access.application_domain
    )
    if not domain.startswith("*."):
        raise settings.invalid("access.applicationDomain", "must be a wildcard such as *.apps.example.com")
    for hostname in hostnames:
        if hostname == domain:
            raise settings.invalid(
                "access.applicationDomain",
                "is the route's own hostname: leave it out to get an application of its own",
            )
        if hostname.partition(".")[2] != domain.removeprefix("*."):
            raise settings.invalid(
                "access.applicationDomain", f"does not protect {hostname}: a wildcard stands for one label"
            )
    own = [
        field
        for field in (*_WHO, *_POLICIES, "allowedIdps", "publicPaths", *_NAMES)
        if _value(settings.access, field)
    ]
    if own:
        raise settings.conflict(
            f"access.{own[0]}",
            "has no effect, since the application of access.applicationDomain protects the route: set it on the route "
            "of that hostname",
        )
    if settings.service_token.enabled:
        raise settings.conflict(
            "serviceToken.enabled",
            "needs an application of the route's own, without access.applicationDomain",
        )


# Values


def _check_values(settings: Settings) -> None:
    access = settings.access
    for name in _URLS:
        if url := _value(access, name):
            _checked(settings, f"access.{name}", check_https_url, url)
    _checked(settings, "access.sessionDuration", seconds_of, access.session_duration or "24h")
    for name in ("customDenyMessage", *_NAMES):
        _checked(settings, f"access.{name}", printable, _value(access, name) or "")
    for name, check in (("allowEmails", check_email), ("publicPaths", check_public_path)):
        _check_all(settings, name, check)
    for name in ("allowGroups", *_POLICIES, "allowedIdps"):
        _check_all(settings, name, _check_name)
    for name in ("include", "require", "exclude"):
        _check_all(settings, name, _check_rule)
    if sum(len(_value(access, name) or ()) for name in _WHO) > LONGEST_LIST:
        raise Stall(
            INVALID_SETTINGS, f"the Access application has more than {LONGEST_LIST} rules: use a group"
        )


def _check_all(settings: Settings, name: str, check: Callable[[Any], object]) -> None:
    for item in _value(settings.access, name) or ():
        _checked(settings, f"access.{name}", check, item)


def _checked(settings: Settings, path: str, check: Callable[[Any], Any], value: Any) -> Any:
    try:
        return check(value)
    except ValueError as error:
        raise settings.invalid(path, str(error)) from error


def _check_name(text: str) -> None:
    if not printable(text).strip():
        raise ValueError("has an empty name")


def _check_rule(rule: AccessRule) -> None:
    """Exactly one field, with a value that Cloudflare takes. The server checks that too, for objects that it stores now."""
    given = [field for field in AccessRule.__struct_fields__ if getattr(rule, field) is not None]
    if len(given) != 1 or rule.everyone is False:
        raise ValueError("must have rules with exactly one field each, and everyone may only be true")
    group = rule.identity_provider_group
    if group is not None:
        _check_name(group.provider)
        _check_name(group.group)
    checks: Iterable[tuple[Callable[[str], object], str | None]] = (
        (check_email, rule.email),
        (check_email_domain, rule.email_domain),
        (_check_name, rule.group),
        (check_ip_range, rule.ip_range),
        (_check_country, rule.country),
    )
    for check, value in checks:
        if value is not None:
            check(value)


def _check_country(code: str) -> None:
    if code not in COUNTRIES:
        raise ValueError(f"must be two capital letters of ISO 3166-1: {code[:20]!r} is no country")


def _value(access: AccessSettings, name: str) -> Any:
    """A setting by the name that users write."""
    return getattr(access, _FIELDS[name])


_FIELDS = dict(zip(AccessSettings.__struct_encode_fields__, AccessSettings.__struct_fields__, strict=True))
