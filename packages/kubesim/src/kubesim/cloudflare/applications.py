"""Access applications: what guards a hostname.

Writing one replaces it: a field that is left out has its default again. Only `policies` is different. Left out, they
stay; null or an empty list detaches them all, and policies that belonged to the application alone are gone with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgekeeper.core.json import JsonObject, dig_list
from kubesim.cloudflare.access import PAGES, check_room, enabled, invalid, not_found
from kubesim.cloudflare.filters import matches
from kubesim.cloudflare.policies import fields_of, stored
from kubesim.cloudflare.routing import Call
from kubesim.cloudflare.state import Account
from kubesim.cloudflare.wire import Refusal, Result, paged

_DEFAULTS: JsonObject = {
    "allowed_idps": [],
    "app_launcher_visible": True,
    "auto_redirect_to_identity": False,
    "enable_binding_cookie": False,
    "http_only_cookie_attribute": True,
    "options_preflight_bypass": False,
    "service_auth_401_redirect": False,
    "session_duration": "24h",
    "skip_interstitial": False,
    "tags": [],
}
_LONGEST_PATTERN = 512
_OPTIONAL = (
    "allow_authenticate_via_warp",
    "allow_iframe",
    "cors_headers",
    "custom_deny_message",
    "custom_deny_url",
    "custom_non_identity_deny_url",
    "custom_pages",
    "logo_url",
    "path_cookie_attribute",
    "read_service_tokens_from_header",
    "same_site_cookie_attribute",
)


def list_applications(call: Call) -> Result:
    account = enabled(call)
    asked_for = [item for item in account.applications.values() if _is_asked_for(item, call.query)]
    return paged([_shown(account, application) for application in asked_for], call.query, PAGES)


def get_application(call: Call) -> Result:
    account = enabled(call)
    return Result(_shown(account, _application(account, call)))


def create_application(call: Call) -> Result:
    account = enabled(call)
    make = call.world.make
    check_room(len(account.applications), account.quotas.applications, "applications")
    fields = _fields(account, call.payload, "")
    id_, now = make.uuid(), make.time()
    references = _references(account, call, id_) or []
    account.applications[id_] = {
        "id": id_,
        "aud": make.digits(64),
        **fields,
        "policies": references,
        "created_at": now,
        "updated_at": now,
    }
    return Result(_shown(account, account.applications[id_]))


def put_application(call: Call) -> Result:
    account = enabled(call)
    present = _application(account, call)
    fields = _fields(account, call.payload, present["id"])
    references = _references(account, call, present["id"])
    kept = {name: present[name] for name in ("id", "aud", "created_at", "policies")}
    changed = {**kept, **fields, "updated_at": call.world.make.time()}
    if references is not None:
        changed["policies"] = references
        _forget_policies(account, present, {reference["id"] for reference in references})
    account.applications[present["id"]] = changed
    return Result(_shown(account, changed))


def delete_application(call: Call) -> Result:
    account = enabled(call)
    application = _application(account, call)
    _forget_policies(account, application, set())
    del account.applications[application["id"]]
    return Result({"id": application["id"]})


def list_application_policies(call: Call) -> Result:
    account = enabled(call)
    return paged(_shown(account, _application(account, call))["policies"], call.query, PAGES)


def get_application_policy(call: Call) -> Result:
    """One policy of the application, a reusable one too."""
    account = enabled(call)
    for policy in _shown(account, _application(account, call))["policies"]:
        if policy["id"] == call.ids["policy"]:
            return Result(policy)
    raise not_found("policy")


def create_application_policy(call: Call) -> Result:
    account = enabled(call)
    application = _application(account, call)
    fields = fields_of(account, call.payload)
    precedence = call.payload.get("precedence", len(application["policies"]) + 1)
    references = [*application["policies"], {"id": "", "precedence": precedence}]
    _check_precedences(references)
    policy = stored(account, call, fields, reusable=False)
    references[-1] = {"id": policy["id"], "precedence": precedence}
    account.applications[application["id"]] = {**application, "policies": references}
    return Result({**policy, "precedence": precedence})


def put_application_policy(call: Call) -> Result:
    account = enabled(call)
    reference = _own_policy(account, call)
    fields = fields_of(account, call.payload)
    policy = stored(account, call, fields, reusable=False, id_=reference["id"])
    return Result({**policy, "precedence": reference["precedence"]})


def delete_application_policy(call: Call) -> Result:
    account = enabled(call)
    application = _application(account, call)
    reference = _own_policy(account, call)
    left = [other for other in application["policies"] if other["id"] != reference["id"]]
    account.applications[application["id"]] = {**application, "policies": left}
    del account.policies[reference["id"]]
    return Result({"id": reference["id"]})


def _is_asked_for(application: JsonObject, query: Mapping[str, str]) -> bool:
    operator = "exact" if query.get("exact") == "true" else "contains"
    conditions = {f"{name}.{operator}": query[name] for name in ("name", "domain") if name in query}
    if "aud" in query:
        conditions["aud"] = query["aud"]
    return matches(application, conditions, ("name", "domain", "aud"))


def _application(account: Account, call: Call) -> JsonObject:
    found = account.applications.get(call.ids["application"])
    if found is None:
        raise Refusal(404, 11021, "access.api.error.unknown_application")
    return found


def _own_policy(account: Account, call: Call) -> JsonObject:
    application = _application(account, call)
    for reference in application["policies"]:
        if reference["id"] == call.ids["policy"] and not account.policies[reference["id"]]["reusable"]:
            return dict(reference)
    raise Refusal(404, 12135, "access.api.error.not_found: policy not found")


def _fields(account: Account, payload: JsonObject, id_: str) -> JsonObject:
    domain = payload.get("domain")
    if payload.get("type") != "self_hosted":
        raise invalid("type must be self_hosted in this simulation")
    if not isinstance(domain, str) or not domain:
        raise invalid("domain is required")
    _check_destinations(payload)
    destinations = dig_list(payload, "destinations") or [{"type": "public", "uri": domain}]
    if len(destinations) > account.quotas.domains_per_application:
        raise invalid(f"at most {account.quotas.domains_per_application} domains are allowed")
    uris = [item["uri"] for item in destinations if isinstance(item, dict) and item.get("type") == "public"]
    _check_domains(account, [domain, *uris], id_)
    fields = {**_DEFAULTS, **{name: payload[name] for name in (*_DEFAULTS, *_OPTIONAL) if name in payload}}
    _check_settings(account, fields)
    return {
        "type": "self_hosted",
        "name": payload.get("name", domain),
        "domain": domain,
        "self_hosted_domains": uris,
        "destinations": destinations,
        **fields,
    }


def _check_destinations(payload: JsonObject) -> None:
    for destination in dig_list(payload, "destinations"):
        for override in dig_list(destination, "overrides"):
            pattern = override.get("path_pattern") if isinstance(override, dict) else None
            if not isinstance(pattern, str) or not pattern or len(pattern) > _LONGEST_PATTERN:
                raise invalid("destination overrides need a path_pattern of at most 512 characters")
            if override.get("behavior") != "public":
                raise invalid("the behavior of a destination override must be public")


def _check_domains(account: Account, uris: list[str], id_: str) -> None:
    for other in account.applications.values():
        if other["id"] != id_ and not {other["domain"], *other["self_hosted_domains"]}.isdisjoint(uris):
            raise Refusal(409, 11010, "access.api.error.application_already_exists")


def _check_settings(account: Account, fields: JsonObject) -> None:
    unknown = [tag for tag in fields["tags"] if tag not in account.tags]
    if unknown:
        raise invalid(f"tags do not exist: {', '.join(unknown)}")
    foreign = [idp for idp in fields["allowed_idps"] if idp not in account.identity_providers]
    if foreign:
        raise invalid(f"allowed_idps: identity providers do not exist: {', '.join(map(str, foreign))}")
    if fields["auto_redirect_to_identity"] and len(fields["allowed_idps"]) != 1:
        raise invalid(
            "auto_redirect_to_identity can only be set when there is exactly one allowed identity provider"
        )
    if fields.get("allow_authenticate_via_warp"):
        raise invalid(
            "allow_authenticate_via_warp cannot be set if the Warp Auth Session Duration is not set for the account"
        )
    if fields["options_preflight_bypass"] and fields.get("cors_headers"):
        raise invalid("options_preflight_bypass cannot be set together with cors_headers")


def _references(account: Account, call: Call, id_: str) -> list[JsonObject] | None:
    """The policies that the request attaches, those within it created; None where it says nothing of them."""
    if "policies" not in call.payload:
        return None
    items: list[Any] = dig_list(call.payload, "policies")
    named = [isinstance(item, str) or (isinstance(item, dict) and "id" in item) for item in items]
    if any(named) and not all(named):
        raise invalid("reusable policies and inline policies are mutually exclusive")
    positions = [_precedence(item, index) for index, item in enumerate(items, 1)]
    _check_precedences([{"precedence": position} for position in positions])
    if all(named):
        ids = [item if isinstance(item, str) else item["id"] for item in items]
        for policy in ids:
            _check_attachable(account, policy, id_)
    else:
        described = [fields_of(account, item) for item in items]
        ids = [stored(account, call, fields, reusable=False)["id"] for fields in described]
    return [{"id": policy, "precedence": position} for policy, position in zip(ids, positions, strict=True)]


def _precedence(item: Any, index: int) -> Any:
    return item.get("precedence", index) if isinstance(item, dict) else index


def _check_precedences(references: list[JsonObject]) -> None:
    positions = [reference["precedence"] for reference in references]
    if any(
        isinstance(position, bool) or not isinstance(position, int) or position < 1 for position in positions
    ):
        raise invalid("policy precedences must be at least 1")
    if len(set(positions)) < len(positions):
        raise invalid("policy precedences must be unique")


def _check_attachable(account: Account, policy_id: str, application_id: str) -> None:
    policy = account.policies.get(policy_id)
    own = account.applications.get(application_id, {}).get("policies", [])
    if policy is None or not (policy["reusable"] or any(reference["id"] == policy_id for reference in own)):
        raise invalid(f"policy {policy_id} does not exist or cannot be attached")


def _forget_policies(account: Account, application: JsonObject, kept: set[str]) -> None:
    """Policies of this application alone do not outlive being detached from it."""
    for reference in application["policies"]:
        if reference["id"] not in kept and not account.policies[reference["id"]]["reusable"]:
            del account.policies[reference["id"]]


def _shown(account: Account, application: JsonObject) -> JsonObject:
    """The application with its policies written out, as the API shows even reusable ones."""
    in_order = sorted(application["policies"], key=lambda reference: int(reference["precedence"]))
    policies = [{**account.policies[item["id"]], "precedence": item["precedence"]} for item in in_order]
    return {**application, "policies": policies}
