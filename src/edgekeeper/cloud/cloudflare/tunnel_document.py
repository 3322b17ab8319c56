"""Merges changes into the configuration of a tunnel, which other clients write as well.

The configuration is one document, and the first matching rule applies. So the order is:

    exact hostnames ─► wildcards, the longer first ─► the rule for everything else

Everything else is kept: rules of other hostnames in their relative order, `warp-routing`, the global `originRequest` and
unknown fields. Our rules are inserted before rules that would match their requests. Rules of others for the same hostname
are not changed, unless the change allows to adopt them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgekeeper.cloud.cloudflare.errors import INVALID_SPEC
from edgekeeper.cloud.cloudflare.hostnames import covers, is_wildcard, normalise
from edgekeeper.cloud.cloudflare.tunnel_rules import TunnelRule, check_rule
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig, dig_list

CATCH_ALL: JsonObject = {"service": "http_status:404"}
"""The catch-all rule that is added if there is none, for requests of wildcard DNS records."""


@dataclass(frozen=True, slots=True)
class HostnameChange:
    """The desired rules of a hostname."""

    hostname: str
    rules: tuple[TunnelRule, ...] = ()
    """In the order in which they are tried. Empty to remove the hostname."""
    ours: bool = False
    """Whether existing rules are ours, or may be adopted."""


def check_change(change: HostnameChange) -> None:
    """Raise Stall if cloudflared would refuse the rules, or they are for another hostname."""
    if normalise(change.hostname) != change.hostname:
        raise Stall(INVALID_SPEC, f"{change.hostname!r} is not a normalised hostname")
    for rule in change.rules:
        check_rule(rule)
        if rule.hostname != change.hostname:
            raise Stall(INVALID_SPEC, f"a rule for {rule.hostname} is not a rule for {change.hostname}")


@dataclass(frozen=True, slots=True)
class Merged:
    """A configuration with merged changes."""

    config: JsonObject | None
    """The original document itself if nothing had to be changed."""
    refused: Mapping[str, Stall]
    """Changes that would modify rules of others, by hostname."""


def merge(config: JsonObject | None, changes: Sequence[HostnameChange]) -> Merged:
    """The configuration with these changes, one per hostname."""
    present = [_without_nulls(rule) for rule in dig_list(config, "ingress") if isinstance(rule, dict)]
    refused: dict[str, Stall] = {}
    changed: dict[str, HostnameChange] = {}
    shadows = _Shadows(present)
    for change in changes:
        existing = shadows.rules_of(change.hostname)
        wanted = [rule.document() for rule in _in_order(change.rules)]
        if existing == wanted and not shadows.is_shadowed(change.hostname):
            continue
        if existing and not change.ours and existing != wanted:
            refused[change.hostname] = _foreign(change.hostname, existing)
            continue
        changed[change.hostname] = change
    if not changed:
        return Merged(config, refused)
    return Merged({**_without_nulls(config or {}), "ingress": _placed(present, changed)}, refused)


def rules_by_hostname(config: JsonObject | None) -> dict[str, tuple[JsonObject, ...]]:
    """The rules of each hostname, in their order."""
    grouped: dict[str, tuple[JsonObject, ...]] = {}
    for rule in dig_list(config, "ingress"):
        hostname = dig(rule, "hostname")
        if isinstance(hostname, str) and hostname:
            grouped[hostname] = (*grouped.get(hostname, ()), _without_nulls(rule))
    return grouped


class _Shadows:
    """The existing rules, and which of them are shadowed by an earlier wildcard."""

    def __init__(self, rules: Iterable[JsonObject]) -> None:
        self._rules: dict[str, list[JsonObject]] = {}
        self._shadowed: set[str] = set()
        wide: list[str] = []
        for rule in rules:
            hostname = rule.get("hostname", "")
            self._rules.setdefault(hostname, []).append(rule)
            if any(covers(pattern, hostname) for pattern in wide if pattern != hostname):
                self._shadowed.add(hostname)
            if is_wildcard(hostname) and not rule.get("path"):
                wide.append(hostname)

    def rules_of(self, hostname: str) -> list[JsonObject]:
        return self._rules.get(hostname, [])

    def is_shadowed(self, hostname: str) -> bool:
        return hostname in self._shadowed


def _placed(present: list[JsonObject], changed: Mapping[str, HostnameChange]) -> list[JsonObject]:
    """The rules in their new order."""
    kept = [rule for rule in present if rule.get("hostname", "") not in changed]
    ordered = sorted(changed.values(), key=lambda change: change.hostname)
    exact = [rule for change in ordered if not is_wildcard(change.hostname) for rule in _documents(change)]
    front = next((index for index, rule in enumerate(kept) if not _is_exact(rule)), len(kept))
    rules = [*kept[:front], *exact, *kept[front:]]
    for change in sorted(ordered, key=lambda change: -change.hostname.count(".")):
        if is_wildcard(change.hostname):
            place = _place_of_wildcard(rules, change.hostname)
            rules[place:place] = _documents(change)
    if not rules or not _matches_everything(rules[-1]):
        rules.append(dict(CATCH_ALL))
    return rules


def _place_of_wildcard(rules: list[JsonObject], hostname: str) -> int:
    """The position before the first rule that would match its requests, and after all exact hostnames that are not
    shadowed."""
    for index, rule in enumerate(rules):
        if not _is_exact(rule) and covers(rule.get("hostname", ""), hostname):
            return index
    return len(rules)


def _is_exact(rule: JsonObject) -> bool:
    hostname = rule.get("hostname", "")
    return bool(hostname) and not is_wildcard(hostname)


def _matches_everything(rule: JsonObject) -> bool:
    return rule.get("hostname", "") in ("", "*") and not rule.get("path")


def _documents(change: HostnameChange) -> list[JsonObject]:
    return [rule.document() for rule in _in_order(change.rules)]


def _in_order(rules: Iterable[TunnelRule]) -> list[TunnelRule]:
    """In the given order, but rules for all paths last, because the first match applies."""
    return sorted(rules, key=lambda rule: not rule.path)


def _without_nulls(value: Any) -> Any:
    """A copy without nulls, because Cloudflare treats null as a value."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _foreign(hostname: str, existing: list[JsonObject]) -> Stall:
    services = ", ".join(str(rule.get("service")) for rule in existing)
    return Stall("HostnameConflict", f"the tunnel has a rule for {hostname} that is not ours, to {services}")
