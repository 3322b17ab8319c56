"""What cloudflared accepts as a configuration, which the API checks before it stores one.

First match wins, so a rule that matches everything has to be the last one and nothing else may stand behind it.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from edgekeeper.core.json import JsonObject, dig_list
from kubesim.cloudflare.wire import Refusal

_SPECIAL = re.compile(
    r"http_status:[1-9]\d\d|hello_world|hello-world|bastion|socks-proxy|unix:.+|unix\+tls:.+"
)
_SECONDS = ("connectTimeout", "tlsTimeout", "tcpKeepAlive", "keepAliveTimeout")


def check_configuration(config: JsonObject) -> None:
    """Raise Refusal where cloudflared would refuse the configuration."""
    rules = dig_list(config, "ingress")
    if not rules:
        raise _bad("no ingress rules were specified")
    for number, rule in enumerate(rules, 1):
        if not isinstance(rule, dict):
            raise _bad(f"rule #{number} is not an object")
        _check_hostname(rule.get("hostname", ""))
        _check_service(rule.get("service"))
        _check_path(rule.get("path", ""))
        _check_origin(rule.get("originRequest"))
        _check_position(rule, number, len(rules))
    _check_origin(config.get("originRequest"))


def _check_position(rule: JsonObject, number: int, last: int) -> None:
    matches_all = rule.get("hostname", "") in ("", "*") and not rule.get("path")
    if matches_all and number < last:
        raise _bad(
            f"Rule #{number} is matching the hostname '{rule.get('hostname', '')}', but this will match every "
            "hostname, meaning the rules which follow it will never be triggered."
        )
    if number == last and not matches_all:
        raise _bad(
            "The last ingress rule must match all URLs (i.e. it should not have a hostname or path filter)"
        )


def _check_hostname(hostname: Any) -> None:
    if not isinstance(hostname, str):
        raise _bad("hostname is not a string")
    if ":" in hostname:
        raise _bad("Hostname cannot contain a port")
    if "*" in hostname.removeprefix("*") or (hostname.startswith("*") and hostname[1:2] not in ("", ".")):
        raise _bad(
            'Hostname patterns can have at most one wildcard character ("*") and it can only be used for '
            'subdomains, e.g. "*.example.com"'
        )


def _check_service(service: Any) -> None:
    if not isinstance(service, str) or not service:
        raise _bad("service is missing")
    if _SPECIAL.fullmatch(service):
        return
    try:
        parts = urlsplit(service)
        has_host = bool(parts.scheme and parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError as error:
        raise _bad(f"{service} is not a valid URL") from error
    if not has_host:
        raise _bad(f"{service} is an invalid address, please make sure it has a scheme and a hostname")
    if parts.path:
        raise _bad(
            f"{service} is an invalid address, ingress rules don't support proxying to a different path on "
            "the origin service. The path will be the same as the eyeball request's path"
        )


def _check_path(path: Any) -> None:
    try:
        re.compile(path)
    except (re.error, TypeError) as error:
        raise _bad(f"path is not a valid regular expression: {error}") from error


def _check_origin(origin: Any) -> None:
    if origin is None:
        return
    if not isinstance(origin, dict):
        raise _bad("originRequest is not an object")
    for name in _SECONDS:
        seconds = origin.get(name, 0)
        if isinstance(seconds, bool) or not isinstance(seconds, int):
            raise _bad(f"originRequest.{name} must be a whole number of seconds")


def _bad(why: str) -> Refusal:
    return Refusal(400, 1056, f"Bad Configuration: Validation failed: {why}\n")
