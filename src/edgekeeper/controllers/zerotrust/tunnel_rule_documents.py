"""The rules that are to be written into the tunnel for a task. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from edgekeeper.api.zerotrust_task import PathRule, TunnelRouteOperation
from edgekeeper.cloud.cloudflare.tunnel_rules import TunnelRule
from edgekeeper.core.json import JsonObject, dig, dig_list

HOSTNAME: Final = "{{ hostname }}"


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


def are_written(rules: Iterable[TunnelRule], present: Iterable[JsonObject]) -> bool:
    """Does the tunnel have exactly these rules? Empty settings of an origin, as the dashboard writes them, are none."""
    return documents(rules) == tuple(map(_without_empty, present))


def _without_empty(rule: JsonObject) -> JsonObject:
    return {name: value for name, value in rule.items() if name != "originRequest" or value}
