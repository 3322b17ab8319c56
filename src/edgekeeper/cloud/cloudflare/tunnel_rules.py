"""A rule of a tunnel, with the validation of cloudflared, so that invalid rules are refused without a call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import re2  # type: ignore[import-untyped]  # google-re2 ships no type information

from edgekeeper.cloud.cloudflare.hostnames import normalise
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject

_SPECIAL = re.compile(r"http_status:[1-9]\d\d|hello_world|bastion|socks-proxy|unix:[^\s]+|unix\+tls:[^\s]+")
_SECONDS = ("connectTimeout", "tlsTimeout", "tcpKeepAlive", "keepAliveTimeout")


@dataclass(frozen=True, slots=True)
class TunnelRule:
    """The service for requests to a hostname and path."""

    hostname: str
    service: str
    path: str = ""
    """A Go regular expression; empty for all paths."""
    origin_request: Mapping[str, Any] = field(default_factory=dict)

    def document(self) -> JsonObject:
        """The rule as JSON, without empty fields and nulls."""
        rule: JsonObject = {"hostname": self.hostname, "service": self.service}
        if self.path:
            rule["path"] = self.path
        if self.origin_request:
            rule["originRequest"] = dict(self.origin_request)
        return rule


def check_rule(rule: TunnelRule) -> None:
    """Raise Stall if cloudflared would refuse the rule."""
    if normalise(rule.hostname) != rule.hostname:
        raise _invalid(rule, "its hostname is not normalised")
    _check_service(rule)
    try:
        re2.compile(rule.path)
    except re2.error as error:
        raise _invalid(rule, f"its path is not a regular expression: {error}") from error
    for name in _SECONDS:
        seconds = rule.origin_request.get(name, 0)
        if isinstance(seconds, bool) or not isinstance(seconds, int):
            raise _invalid(rule, f"{name} is not a whole number of seconds")


def _check_service(rule: TunnelRule) -> None:
    if _SPECIAL.fullmatch(rule.service):
        return
    try:
        parts = urlsplit(rule.service)
        complete = bool(parts.scheme and parts.hostname) and parts.port != 0
    except ValueError as error:
        raise _invalid(rule, f"its service is not a URL: {error}") from error
    if not complete or rule.service != rule.service.strip():
        raise _invalid(rule, "its service is not a URL with a scheme and a host")
    if parts.path or parts.query or parts.fragment:
        raise _invalid(rule, "its service must not have a path, not even a slash")
    if parts.username is not None:
        raise _invalid(rule, "its service must not contain credentials")


def _invalid(rule: TunnelRule, why: str) -> Stall:
    return Stall("InvalidSpec", f"the tunnel rule for {rule.hostname[:300]!r} is invalid: {why}")
