"""The policies that are to be written for a task, and where live ones differ from them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from edgekeeper.api.zerotrust_settings import AccessRule
from edgekeeper.api.zerotrust_task import AccessAppOperation, TaskSpec
from edgekeeper.cloud.cloudflare.models import AttachedPolicy, IdentityProvider, Policy
from edgekeeper.controllers.zerotrust.snapshot import ResolvedAccess
from edgekeeper.core.delta import Difference, Rule, Rules, compare
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject

_POLICY_RULES: Final = Rules(
    {
        "include": Rule(unordered=True, absent=[]),
        "require": Rule(unordered=True, absent=[]),
        "exclude": Rule(unordered=True, absent=[]),
    }
)


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
