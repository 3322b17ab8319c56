"""What there is at Cloudflare and in the cluster, without what differs from run to run.

Ids are replaced by what they stand for. An id that stands for nothing stays as it is, and so shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject, dig_list
from kubesim.cloudflare.state import Account, Zone

_TIMES = frozenset(
    {"created_at", "updated_at", "created_on", "modified_on", "uid", "comment_modified_on", "version"}
)
_JSON = ("cloudflare_ids", "inventory", "applied", "credential")


def labelled(accounts: Iterable[Account], things: Mapping[str, str]) -> Mapping[str, str]:
    """By id, what it stands for."""
    labels = {key: f"<{name}>" for key, name in things.items() if "/" not in key}
    for account in accounts:
        for one in account.applications.values():
            labels[one["aud"]] = f"<audience of {one['domain']}>"
            names = [account.policies[policy["id"]]["name"] for policy in one["policies"]]
            labels |= {
                policy["id"]: labels.get(policy["id"], f"<policy {name} of {one['domain']}>")
                for policy, name in zip(one["policies"], names, strict=True)
            }
        for one in account.service_tokens.values():
            labels[one["client_id"]] = f"<client of {one['name']}>"
    return labels


def state_of(sites: Mapping[str, tuple[Account, Zone]], labels: Mapping[str, str]) -> JsonObject:
    """Everything at Cloudflare that the operator may have made for a route: neither tags nor the rule for the rest."""
    return {name: relabelled(_site(*site), labels) for name, site in sites.items()}


def _site(account: Account, zone: Zone) -> JsonObject:
    tokens = [{"name": one["name"], "duration": one["duration"]} for one in account.service_tokens.values()]
    found: JsonObject = _without_times(
        {
            "applications": _sorted(_application(account, one) for one in account.applications.values()),
            "policies": _sorted(one for one in account.policies.values() if one.get("reusable")),
            "tokens": _sorted(tokens),
            "rules": {
                tunnel: _sorted(rule for rule in dig_list(one["config"], "ingress") if "hostname" in rule)
                for tunnel, one in account.configurations.items()
            },
            "records": _sorted(zone.records.values()),
        }
    )
    return found


def _application(account: Account, application: JsonObject) -> JsonObject:
    policies = [{**one, **account.policies[one["id"]]} for one in application["policies"]]
    return {**application, "policies": policies}


def comparable(obj: JsonObject, labels: Mapping[str, str]) -> JsonObject:
    """An object of the cluster."""
    data = obj.get("data")
    if isinstance(data, dict):
        is_state = "httproute_name" in data
        shown = {name: _decoded(name, value) if is_state else True for name, value in data.items()}
        obj = {**obj, "data": shown}
    found: JsonObject = relabelled(obj, labels)
    return found


def _decoded(name: str, value: str) -> Any:
    found = msgspec.json.decode(value) if name in _JSON else value
    return _sorted(found) if isinstance(found, list) else found


def relabelled(tree: Any, labels: Mapping[str, str]) -> Any:
    """A tree in which known ids are replaced, also within texts."""
    text = msgspec.json.encode(tree).decode()
    for id_, label in labels.items():
        text = text.replace(id_, label)
    return msgspec.json.decode(text)


def _sorted(items: Iterable[Any]) -> list[Any]:
    return sorted(items, key=lambda one: str(_sort_key(one)))


def _sort_key(item: JsonObject) -> list[object]:
    return [item.get(name) for name in ("kind", "domain", "hostname", "path", "name", "type", "content")]


def _without_times(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _without_times(value) for name, value in tree.items() if name not in _TIMES}
    return [_without_times(one) for one in tree] if isinstance(tree, list) else tree
