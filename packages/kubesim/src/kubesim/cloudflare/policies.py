"""Access policies: reusable ones of an account, and those that belong to one application.

Neither kind can be changed through the other's address.
"""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from kubesim.cloudflare.access import (
    DECISIONS,
    PAGES,
    check_room,
    enabled,
    invalid,
    required_name,
    rules,
)
from kubesim.cloudflare.routing import Call
from kubesim.cloudflare.state import Account
from kubesim.cloudflare.wire import Refusal, Result, paged

_OPTIONAL = (
    "session_duration",
    "approval_required",
    "approval_groups",
    "isolation_required",
    "purpose_justification_required",
    "purpose_justification_prompt",
    "mfa_config",
)


def fields_of(account: Account, payload: JsonObject) -> JsonObject:
    """The policy that a request describes, whatever kind it becomes."""
    if payload.get("decision") not in DECISIONS:
        raise invalid(f"decision must be one of {', '.join(DECISIONS)}")
    include = rules(account, payload, "include")
    if not include:
        raise invalid("include rules are required")
    return {
        "name": required_name(payload),
        "decision": payload["decision"],
        "include": include,
        "exclude": rules(account, payload, "exclude"),
        "require": rules(account, payload, "require"),
        **{name: payload[name] for name in _OPTIONAL if name in payload},
    }


def stored(account: Account, call: Call, fields: JsonObject, *, reusable: bool, id_: str = "") -> JsonObject:
    """Keep a policy, new or in place of the one with this id."""
    make = call.world.make
    present = account.policies.get(id_)
    now = make.time()
    policy = {
        "id": id_ or make.uuid(),
        **fields,
        "reusable": reusable,
        "created_at": present["created_at"] if present else now,
        "updated_at": now,
    }
    account.policies[policy["id"]] = policy
    return policy


def uses(account: Account, policy_id: str) -> int:
    """How many applications a policy guards."""
    return sum(
        any(reference["id"] == policy_id for reference in application["policies"])
        for application in account.applications.values()
    )


def list_policies(call: Call) -> Result:
    account = enabled(call)
    reusable = [_shown(account, policy) for policy in account.policies.values() if policy["reusable"]]
    return paged(reusable, call.query, PAGES)


def get_policy(call: Call) -> Result:
    account = enabled(call)
    return Result(_shown(account, _reusable(account, call)))


def create_policy(call: Call) -> Result:
    account = enabled(call)
    fields = fields_of(account, call.payload)
    reusable = sum(policy["reusable"] for policy in account.policies.values())
    check_room(reusable, account.quotas.policies, "policies")
    return Result(_shown(account, stored(account, call, fields, reusable=True)))


def put_policy(call: Call) -> Result:
    account = enabled(call)
    present = _reusable(account, call)
    fields = fields_of(account, call.payload)
    return Result(_shown(account, stored(account, call, fields, reusable=True, id_=present["id"])))


def delete_policy(call: Call) -> Result:
    account = enabled(call)
    policy = _reusable(account, call)
    if uses(account, policy["id"]):
        raise invalid("policy is in use by an application")
    del account.policies[policy["id"]]
    return Result({"id": policy["id"]})


def _reusable(account: Account, call: Call) -> JsonObject:
    found = account.policies.get(call.ids["policy"])
    if found is None or not found["reusable"]:
        raise Refusal(404, 12135, "access.api.error.not_found: policy not found")
    return found


def _shown(account: Account, policy: JsonObject) -> JsonObject:
    return {**policy, "app_count": uses(account, policy["id"])}
