"""The Access application that is to be written for a task, and where a live one differs from it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from edgekeeper.api.zerotrust_task import TaskSpec
from edgekeeper.cloud.cloudflare.models import Application
from edgekeeper.controllers.zerotrust.snapshot import ResolvedAccess
from edgekeeper.core.delta import Difference, Rule, Rules, compare
from edgekeeper.core.json import JsonObject, dig_list

MOST_DOMAINS: Final = 5
"""Hostnames that one application may have."""
_DEFAULTS: Final[JsonObject] = {
    "session_duration": "24h",
    "allowed_idps": [],
    "auto_redirect_to_identity": False,
    "enable_binding_cookie": False,
    "http_only_cookie_attribute": True,
    "same_site_cookie_attribute": "lax",
    "skip_interstitial": False,
    "app_launcher_visible": True,
    "service_auth_401_redirect": False,
}
"""Built-in values of settings."""
_OPTIONAL: Final = (*("logo_url", "custom_deny_message", "custom_deny_url", "custom_non_identity_deny_url"),)
"""Settings that an application does not have where nobody sets them."""
_KEPT: Final = (
    *("allow_authenticate_via_warp", "allow_iframe", "cors_headers", "custom_pages", "mfa_config"),
    *("eager_redirect_cookie_setting", "options_preflight_bypass", "path_cookie_attribute"),
    *("read_service_tokens_from_header", "scim_config"),
)
"""Settings that are none of ours, and would be lost if they were not written back."""
KNOWN_FIELDS: Final = frozenset(
    {
        *("name", "domain", "destinations", "tags", "policies", *_DEFAULTS, *_OPTIONAL, *_KEPT),
        *("id", "uid", "aud", "type", "domain_type", "self_hosted_domains", "created_at", "updated_at"),
    }
)
"""All fields of an application that an update keeps, or that follow from others."""
_APPLICATION_RULES: Final = Rules(
    {
        **{name: Rule(absent=value) for name, value in _DEFAULTS.items()},
        **{name: Rule(absent="") for name in _OPTIONAL},
        "same_site_cookie_attribute": Rule(absent="lax"),
        "allowed_idps": Rule(unordered=True, absent=[]),
        "tags": Rule(unordered=True, absent=[]),
        "destinations": Rule(key="uri"),
        "destinations[*].overrides": Rule(key="path_pattern", absent=[]),
    }
)


def application_settings(
    spec: TaskSpec, access: ResolvedAccess, hostnames: Sequence[str], tags: Iterable[str]
) -> JsonObject:
    """The settings of the application that protects these hostnames, the first of which is its domain."""
    wanted = spec.operations.access_app
    settings: JsonObject = {
        "name": wanted.name or spec.httproute_ref.name,
        "domain": hostnames[0],
        "destinations": [_destination(hostname, wanted.public_paths or ()) for hostname in hostnames],
        "tags": sorted(set(tags)),
    }
    for name in (*_DEFAULTS, *_OPTIONAL):
        value = getattr(wanted, name, None)
        settings[name] = _DEFAULTS.get(name) if value in (None, "") else value
    settings["allowed_idps"] = sorted(access.allowed_idps)
    return {name: value for name, value in settings.items() if value is not None}


def _destination(hostname: str, public_paths: Iterable[str]) -> JsonObject:
    destination: JsonObject = {"type": "public", "uri": hostname}
    patterns = [pattern for path in public_paths for pattern in _patterns(path)]
    if patterns:
        destination["overrides"] = [
            {"path_pattern": pattern, "behavior": "public"} for pattern in dict.fromkeys(patterns)
        ]
    return destination


def _patterns(path: str) -> tuple[str, str]:
    """A path and everything below it."""
    bare = path.rstrip("/")
    return bare, f"{bare}/*"


def application_differences(wanted: JsonObject, live: Application) -> tuple[Difference, ...]:
    """Where an application is not as wanted, its policies apart."""
    optional = {name: wanted.get(name, "") for name in _OPTIONAL}
    shown = {name: live.document.get(name) for name in (*wanted, *_OPTIONAL)}
    shown["destinations"] = _shown_destinations(live)
    return compare({**wanted, **optional}, shown, _APPLICATION_RULES)


def _shown_destinations(live: Application) -> list[JsonObject]:
    """The destinations with what is written of them. Without any, the domain is the only one."""
    found = [item for item in dig_list(live.document, "destinations") if isinstance(item, dict)]
    kept = [{name: item[name] for name in ("type", "uri", "overrides") if item.get(name)} for item in found]
    return kept or [{"type": "public", "uri": live.domain}]


def written_back(wanted: JsonObject, live: Application) -> JsonObject:
    """The wanted settings, and those of the live application that are none of ours."""
    kept = {name: live.document[name] for name in _KEPT if live.document.get(name) is not None}
    return {**kept, **wanted}


def unchanged_settings(live: Application, tags: Sequence[str]) -> JsonObject:
    """All settings of a live application, with other tags."""
    names = ("name", "domain", "destinations", *_DEFAULTS, *_OPTIONAL, *_KEPT)
    present = {name: live.document[name] for name in names if live.document.get(name) is not None}
    return {**present, "tags": list(tags)}
