"""What Cloudflare demands of one DNS record, and which records may stand beside each other.

The codes are those that the API is known to answer. Since late in 2024 the root cause comes directly; before, it was
wrapped in 1004 (`wire.refused` still can).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.cloudflare.state import Plan, Zone
from kubesim.cloudflare.wire import Refusal

TYPES = frozenset({"A", "AAAA", "CAA", "CNAME", "HTTPS", "MX", "NS", "SRV", "SVCB", "TXT"})
PROXIABLE = frozenset({"A", "AAAA", "CNAME"})
_ADDRESSES = frozenset({"A", "AAAA"})
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*")

DEFAULTS: JsonObject = {"ttl": 1, "proxied": False, "comment": None, "tags": [], "settings": {}}
"""What PUT falls back to where a field is left out."""
FIELDS = ("name", "type", "content", *DEFAULTS)


def checked(zone: Zone, fields: JsonObject) -> JsonObject:
    """The record that these fields describe, as it is stored. Raise Refusal where they describe none."""
    kind = fields.get("type")
    if kind not in TYPES:
        raise Refusal(400, 9003, f"Invalid DNS record type {kind!r}.")
    record = {**DEFAULTS, **{name: fields[name] for name in FIELDS if name in fields}}
    record["name"] = full_name(record.get("name"), zone.name)
    record["content"] = _content(kind, record.get("content"))
    _check_proxied(kind, record)
    _check_ttl(record)
    _check_comment(record, zone.plan)
    _check_tags(record, zone.plan)
    return record


def full_name(name: Any, zone: str) -> str:
    """The name as the API shows it: lower case, whole. Short names are taken to be below the zone."""
    if not isinstance(name, str) or not name or len(name) > 255:
        raise Refusal(400, 9000, "DNS name is invalid.")
    lower = name.lower().rstrip(".")
    if lower == "@":
        return zone
    whole = lower if lower == zone or lower.endswith(f".{zone}") else f"{lower}.{zone}"
    if len(whole) > 253 or not _NAME.fullmatch(whole):
        raise Refusal(400, 9000, "DNS name is invalid.")
    return whole


def check_beside(record: JsonObject, neighbours: Iterable[JsonObject]) -> None:
    """Raise Refusal where a record of the same name forbids this one."""
    same_name = list(neighbours)
    kinds = {other["type"] for other in same_name}
    for other in same_name:
        if all(other[name] == record[name] for name in ("type", "content")):
            if all(other[name] == record[name] for name in FIELDS):
                raise Refusal(400, 81058, "An identical record already exists.")
            raise Refusal(400, 81057, "The record already exists.")
    if record["type"] == "CNAME" and kinds & PROXIABLE:
        raise Refusal(400, 81053, "An A, AAAA, or CNAME record with that host already exists.")
    if record["type"] in _ADDRESSES and "CNAME" in kinds:
        raise Refusal(400, 81054, "A CNAME record with that host already exists.")
    if record["type"] in PROXIABLE and "NS" in kinds:
        raise Refusal(400, 81056, "NS records with that host already exist.")


def _content(kind: str, content: Any) -> str:
    if not isinstance(content, str) or not content:
        raise Refusal(400, 9009, f"Content for {kind} record is missing.")
    if kind in _ADDRESSES:
        return _address(kind, content)
    if kind in ("CNAME", "NS"):
        target = content.lower().rstrip(".")
        if not _NAME.fullmatch(target) or _is_address(target):
            raise Refusal(400, 9007, f"Content for {kind} record is invalid.")
        return target
    return content


def _address(kind: str, content: str) -> str:
    version, code, name = (4, 9005, "IPv4") if kind == "A" else (6, 9006, "IPv6")
    try:
        address = ipaddress.ip_address(content)
    except ValueError:
        address = None
    if address is None or address.version != version:
        raise Refusal(400, code, f"Content for {kind} record must be a valid {name} address.")
    return str(address)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _check_proxied(kind: str, record: JsonObject) -> None:
    if record["proxied"] not in (True, False):
        raise Refusal(400, 9004, "proxied must be a boolean.")
    if record["proxied"] and kind not in PROXIABLE:
        raise Refusal(400, 9004, "This record type cannot be proxied.")
    if record["proxied"]:
        record["ttl"] = 1


def _check_ttl(record: JsonObject) -> None:
    ttl = record["ttl"]
    if isinstance(ttl, bool) or not isinstance(ttl, int) or not (ttl == 1 or 60 <= ttl <= 86400):
        raise Refusal(400, 9021, "Invalid TTL. Must be between 60 and 86400 seconds, or 1 for Automatic.")


def _check_comment(record: JsonObject, plan: Plan) -> None:
    comment = record["comment"]
    if comment is None:
        return
    if not isinstance(comment, str) or "\n" in comment or "\r" in comment:
        raise Refusal(400, 9082, "DNS record comment is invalid.")
    if len(comment) > plan.comment:
        raise Refusal(400, 9083, f"DNS record comment is longer than {plan.comment} characters.")


def _check_tags(record: JsonObject, plan: Plan) -> None:
    tags = record["tags"]
    if not isinstance(tags, list):
        raise Refusal(400, 9301, "DNS record tags must be a list.")
    if len(tags) > plan.tags:
        raise Refusal(400, 9300, f"DNS record has {len(tags)} tags, exceeding the quota of {plan.tags}.")
