"""What all parts of Access share: whether it is switched on, and how it says no."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

from edgekeeper.core.countries import COUNTRIES
from edgekeeper.core.json import JsonObject, dig_list
from kubesim.cloudflare.routing import Call
from kubesim.cloudflare.state import Account
from kubesim.cloudflare.wire import Paging, Refusal, Result

PAGES = Paging(default=25, most=1000)
DECISIONS = ("allow", "deny", "non_identity", "bypass")


def invalid(why: str) -> Refusal:
    """The one code for everything that is wrong with a request to Access."""
    return Refusal(400, 12130, f"access.api.error.invalid_request: {why}")


def not_found(what: str) -> Refusal:
    return Refusal(404, 12135, f"access.api.error.not_found: {what} not found")


def enabled(call: Call) -> Account:
    """The account, if Zero Trust was ever switched on there."""
    if not call.account.access_enabled:
        raise Refusal(
            400,
            9999,
            "access.api.error.not_enabled: Access is not enabled. Visit the Access dashboard at "
            "https://dash.cloudflare.com/ and click the 'Enable Access' button.",
        )
    return call.account


def check_room(present: int, most: int, what: str) -> None:
    if present >= most:
        raise invalid(f"maximum number of {what} has been reached")


def required_name(payload: JsonObject) -> str:
    name = payload.get("name")
    if not isinstance(name, str) or not name:
        raise invalid("name is required")
    return name


def rules(account: Account, payload: JsonObject, field: str) -> list[JsonObject]:
    """The rules of a policy or group under `include`, `exclude` or `require`."""
    found = dig_list(payload, field)
    for rule in found:
        if not isinstance(rule, dict) or len(rule) != 1:
            raise invalid(f"{field} rules must have exactly one kind")
        _check_rule(account, rule)
    return found


def _check_rule(account: Account, rule: JsonObject) -> None:
    (kind, value), *_ = rule.items()
    if not isinstance(value, dict):
        raise invalid(f"{kind} rule is not an object")
    group: Any = value.get("id")
    if kind == "group" and group not in account.groups:
        raise Refusal(400, 11020, f"access.api.error.failed_to_load_group: {group}")
    if kind == "service_token" and value.get("token_id") not in account.service_tokens:
        raise invalid(f"service token {value.get('token_id')} does not exist")
    provider: Any = value.get("identity_provider_id")
    if provider is not None and provider not in account.identity_providers:
        raise invalid(f"identity provider {provider} does not exist")
    if kind == "geo" and value.get("country_code") not in COUNTRIES:
        raise invalid(f"{value.get('country_code')} is no country code")
    if kind == "ip" and not _is_network(value.get("ip")):
        raise invalid(f"{value.get('ip')} is no IP range")


def _is_network(text: Any) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return isinstance(text, str)


def get_organization(call: Call) -> Result:
    account = enabled(call)
    return Result(
        {
            "auth_domain": f"{account.team}.cloudflareaccess.com",
            "name": account.name,
            "is_ui_read_only": False,
            "session_duration": "24h",
            "login_design": {},
            "auto_redirect_to_identity": False,
        }
    )
