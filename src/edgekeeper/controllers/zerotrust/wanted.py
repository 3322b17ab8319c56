"""The documents that are to be written for a task: application, policies, tunnel rules, records. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from edgekeeper.api.zerotrust import AccessRule
from edgekeeper.api.zerotrust_task import AccessAppOperation, PathRule, TaskSpec, TunnelRouteOperation
from edgekeeper.cloud.cloudflare.models import Application, AttachedPolicy, IdentityProvider, Policy
from edgekeeper.cloud.cloudflare.record_plan import RecordChange, WantedRecord
from edgekeeper.cloud.cloudflare.tunnel_rules import TunnelRule
from edgekeeper.controllers.zerotrust.owner import is_marked, route_mark
from edgekeeper.controllers.zerotrust.snapshot import ResolvedAccess
from edgekeeper.core.delta import Difference, Rule, Rules, compare
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig, dig_list

TAG_PREFIX: Final = "edgekeeper-"
MARK_PREFIX: Final = "edgekeeper "
MOST_DOMAINS: Final = 5
"""Hostnames that one application may have."""
HOSTNAME: Final = "{{ hostname }}"

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
_POLICY_RULES: Final = Rules(
    {
        "include": Rule(unordered=True, absent=[]),
        "require": Rule(unordered=True, absent=[]),
        "exclude": Rule(unordered=True, absent=[]),
    }
)


# The application


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


# Policies


def own_policies(spec: TaskSpec, access: ResolvedAccess, token_id: str | None) -> list[JsonObject]:
    """The policies that belong to the application alone, in their order. `token_id` is None without a service token."""
    policies: list[JsonObject] = []
    if token_id is not None:
        policies.append(token_policy(spec, token_id))
    wanted = spec.operations.access_app
    include = _allowed(wanted, access)
    if include:
        name = wanted.policy_name or f"{spec.httproute_ref.name}-allow-policy"
        policy: JsonObject = {"name": name, "decision": "allow", "include": include}
        for field in ("require", "exclude"):
            rules = [access_rule(rule, access) for rule in getattr(wanted, field) or ()]
            if rules:
                policy[field] = rules
        policies.append(policy)
    elif wanted.require or wanted.exclude:
        raise Stall(
            "NoPolicy", "require and exclude restrict who may log in, but nobody may: add include rules"
        )
    if not policies:
        raise Stall("NoPolicy", f"nobody could log in to {spec.hostname}: name groups, addresses or policies")
    return [{**policy, "precedence": position} for position, policy in enumerate(policies, 1)]


def token_policy(spec: TaskSpec, token_id: str) -> JsonObject:
    """The policy that lets a service token in."""
    return {
        "name": token_policy_name(spec),
        "decision": "non_identity",
        "include": [{"service_token": {"token_id": token_id}}],
    }


def token_policy_name(spec: TaskSpec) -> str:
    token = spec.operations.service_token
    return f"{token.name or f'{spec.httproute_ref.name}-service-token'}-policy"


def _allowed(wanted: AccessAppOperation, access: ResolvedAccess) -> list[JsonObject]:
    groups = [{"group": {"id": access.groups[name]}} for name in wanted.allow_groups or ()]
    emails = [{"email": {"email": address}} for address in wanted.allow_emails or ()]
    return [*groups, *emails, *(access_rule(rule, access) for rule in wanted.include or ())]


def access_rule(rule: AccessRule, access: ResolvedAccess) -> JsonObject:
    """A rule as the API takes it."""
    if rule.email:
        return {"email": {"email": rule.email}}
    if rule.email_domain:
        return {"email_domain": {"domain": rule.email_domain}}
    if rule.group:
        return {"group": {"id": access.groups[rule.group]}}
    if rule.ip_range:
        return {"ip": {"ip": rule.ip_range}}
    if rule.country:
        return {"geo": {"country_code": rule.country}}
    if rule.everyone:
        return {"everyone": {}}
    if rule.identity_provider_group:
        asked = rule.identity_provider_group
        return provider_rule(access.providers[asked.provider], asked.group)
    raise Stall("InvalidSpec", "a rule says nothing about who is meant")


def provider_rule(provider: IdentityProvider, group: str) -> JsonObject:
    """The rule about a group of an identity provider: each type of provider has a form of its own."""
    by = {"identity_provider_id": provider.id}
    match provider.type:
        case "azureAD":
            return {"azureAD": {"id": group, **by}}
        case "okta":
            return {"okta": {"name": group, **by}}
        case "google-apps":
            return {"gsuite": {"email": group, **by}}
        case "github":
            organization, _, team = group.partition("/")
            return {"github-organization": {"name": organization, **({"team": team} if team else {}), **by}}
        case "saml":
            return {"saml": {"attribute_name": "groups", "attribute_value": group, **by}}
        case "oidc":
            return {"oidc": {"claim_name": "groups", "claim_value": group, **by}}
        case _:
            raise Stall(
                "InvalidSpec",
                f"the identity provider {provider.name} is of type {provider.type}, which knows no groups: use another one",
            )


def policy_differences(wanted: JsonObject, live: AttachedPolicy | Policy) -> tuple[Difference, ...]:
    """Where a policy is not as wanted, its precedence apart."""
    fields = ("name", "decision", "include", "require", "exclude")
    shown = {"name": live.name, "decision": live.decision}
    rules = {field: [_bare(rule) for rule in getattr(live, field)] for field in fields[2:]}
    return compare({name: wanted.get(name) for name in fields}, {**shown, **rules}, _POLICY_RULES)


def _bare(value: Any) -> Any:
    """Without what is null: the API shows fields of rules that nobody set."""
    if isinstance(value, dict):
        return {name: _bare(item) for name, item in value.items() if item is not None}
    return value


def matched(
    wanted: Sequence[JsonObject], live: Sequence[AttachedPolicy]
) -> tuple[list[tuple[JsonObject, AttachedPolicy | None]], list[AttachedPolicy]]:
    """Each wanted policy with the live one that it is, by name or else by what it decides; and what is left over."""
    left = list(live)
    found: list[AttachedPolicy | None] = []
    for policy in wanted:
        match = next((one for one in left if one.name == policy["name"]), None)
        found.append(match)
        if match is not None:
            left.remove(match)
    for index, policy in enumerate(wanted):
        if found[index] is None:
            match = next((one for one in left if one.decision == policy["decision"]), None)
            found[index] = match
            if match is not None:
                left.remove(match)
    return list(zip(wanted, found, strict=True)), left


# Tunnel rules


def tunnel_rules(
    operation: TunnelRouteOperation, hostname: str, lock: JsonObject | None
) -> tuple[TunnelRule, ...]:
    """The rules of a hostname. `lock` makes cloudflared refuse requests that did not pass the application."""
    return tuple(
        TunnelRule(
            hostname,
            path.service or operation.origin_service,
            path.path,
            _origin_request(operation, path, hostname, lock),
        )
        for path in operation.rules or [PathRule()]
    )


def _origin_request(
    operation: TunnelRouteOperation, path: PathRule, hostname: str, lock: JsonObject | None
) -> JsonObject:
    service = path.service or operation.origin_service
    is_tls = service.startswith(("https:", "wss:"))
    tls = operation.origin_tls if is_tls else None
    header = operation.http_host_header or (hostname if is_tls else "")
    settings: dict[str, Any] = {"httpHostHeader": header.replace(HOSTNAME, hostname)}
    if tls is not None:
        settings |= {
            "noTLSVerify": tls.no_tls_verify,
            "originServerName": (tls.origin_server_name or "").replace(HOSTNAME, hostname),
            "caPool": tls.ca_pool,
            "tlsTimeout": tls.tls_timeout,
            "http2Origin": tls.http2_origin,
            "matchSNItoHost": tls.match_sni_to_host,
        }
    if lock is not None and not path.public:
        settings["access"] = dict(lock)
    return {name: value for name, value in settings.items() if value not in (None, "")}


def lock_of(team: str, audience: str, present: Iterable[JsonObject]) -> JsonObject | None:
    """The lock for an application. Where the team may not be read any more, a lock that is there already stays."""
    name = team or next(
        (
            str(dig(rule, "originRequest", "access", "teamName"))
            for rule in present
            if audience in dig_list(rule, "originRequest", "access", "audTag")
        ),
        "",
    )
    return {"required": True, "teamName": name, "audTag": [audience]} if name else None


def documents(rules: Iterable[TunnelRule]) -> tuple[JsonObject, ...]:
    """Rules as the API shows them, in the order in which they are written."""
    ordered = sorted(rules, key=lambda rule: (-len(rule.path), rule.path))
    return tuple(rule.document() for rule in ordered)


# Records


def wanted_records(spec: TaskSpec) -> tuple[WantedRecord, ...]:
    """The records of each hostname."""
    operations = spec.operations
    if operations.cname_dns.enabled:
        return (WantedRecord("CNAME", f"{spec.tunnel_id}.cfargotunnel.com", proxied=True),)
    record = operations.dns_record
    if not record.enabled:
        return ()
    targets = record.targets
    if not targets and record.ip_address:
        kind = "AAAA" if ":" in record.ip_address else "A"
        return (WantedRecord(kind, record.ip_address, record.proxied, record.ttl),)
    return tuple(WantedRecord(one.type, one.content, record.proxied, record.ttl) for one in targets)


def record_change(
    cluster: str,
    spec: TaskSpec,
    hostname: str,
    wanted: tuple[WantedRecord, ...],
    known: Mapping[str, tuple[str, str]],
) -> RecordChange:
    """What the records of a hostname should be. `known` has type and content of records in the inventory, by id."""
    route = spec.httproute_ref
    comment = route_mark(cluster, route.namespace, route.name)
    written = {(kind, content) for kind, content in known.values() if kind and content}
    return RecordChange(
        hostname,
        mark_of(cluster, spec),
        wanted,
        comment,
        written=frozenset(written) if written and not wanted else None,
        adopt=spec.adopt,
        known=frozenset(known),
        others=MARK_PREFIX,
        release=spec.action == "delete" and spec.orphan,
    )


def mark_of(cluster: str, spec: TaskSpec) -> str:
    """The part of the mark that counts, without what is for people."""
    route = spec.httproute_ref
    return " ".join(route_mark(cluster, route.namespace, route.name).split(" ")[:3])


def bears_mark(comment: str | None, cluster: str, spec: TaskSpec) -> bool:
    route = spec.httproute_ref
    return is_marked(comment or "", cluster, route.namespace, route.name)
