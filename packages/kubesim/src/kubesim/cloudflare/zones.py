"""Zones: found, never made. A token sees only those that it is for."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from kubesim.cloudflare.filters import matches, ordered
from kubesim.cloudflare.routing import Call
from kubesim.cloudflare.state import Zone
from kubesim.cloudflare.wire import Paging, Refusal, Result, paged

_PAGES = Paging(default=20, most=50, least=5)


def list_zones(call: Call) -> Result:
    token = call.token
    if token is not None and not token.may("Zone", writing=False):
        actor = f"com.cloudflare.api.token.{token.id}"
        permission = "com.cloudflare.api.account.zone.list"
        raise Refusal(403, 0, f"Actor '{actor}' requires permission '{permission}' to list zones")
    account = call.query.get("account.id")
    seen = [
        shown
        for zone in call.world.zones.values()
        if account in (None, zone.account)
        and (token is None or token.zones is None or zone.id in token.zones)
        and (token is None or token.accounts is None or zone.account in token.accounts)
        and matches(shown := _shown(call, zone), call.query, ("name", "status", "type"))
    ]
    return paged(ordered(seen, call.query), call.query, _PAGES)


def get_zone(call: Call) -> Result:
    return Result(_shown(call, call.zone))


def _shown(call: Call, zone: Zone) -> JsonObject:
    account = call.world.account(zone.account)
    return {
        "id": zone.id,
        "name": zone.name,
        "status": zone.status,
        "paused": False,
        "type": "full",
        "development_mode": 0,
        "name_servers": ["ada.ns.cloudflare.com", "bob.ns.cloudflare.com"],
        "original_name_servers": None,
        "original_registrar": None,
        "original_dnshost": None,
        "created_on": zone.created,
        "modified_on": zone.created,
        "activated_on": zone.created if zone.status == "active" else None,
        "meta": {"step": 4, "custom_certificate_quota": 0, "page_rule_quota": 3, "phishing_detected": False},
        "owner": {"id": None, "type": "user", "email": None},
        "account": {"id": account.id, "name": account.name},
        "permissions": ["#dns_records:edit", "#dns_records:read", "#zone:read"],
        "plan": {
            "id": zone.plan.name.lower().replace(" ", "-"),
            "name": zone.plan.name,
            "price": 0,
            "currency": "USD",
            "frequency": "",
            "is_subscribed": True,
            "can_subscribe": False,
            "legacy_id": zone.plan.name.split()[0].lower(),
            "legacy_discount": False,
            "externally_managed": False,
        },
    }
