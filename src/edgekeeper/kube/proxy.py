"""The proxy for a server, by the usual environment variables.

HTTPS_PROXY or HTTP_PROXY, by the scheme of the server; the lower-case name takes precedence. NO_PROXY lists servers that
are reached directly: `*`, hosts and their subdomains, addresses, networks, each with or without a port.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network

from yarl import URL


def proxy_for(server: str, environ: Mapping[str, str]) -> str:
    """The URL of the proxy for a server; empty if there is none."""
    url = URL(server)
    host = url.host or ""
    if _is_loopback(host) or _is_exempt(host, url.port, _variable("no_proxy", environ)):
        return ""
    proxy = _variable(f"{url.scheme}_proxy", environ)
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def _variable(name: str, environ: Mapping[str, str]) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_exempt(host: str, port: int | None, rules: str) -> bool:
    return any(_matches(host, port, rule.strip().lower()) for rule in rules.split(",") if rule.strip())


def _matches(host: str, port: int | None, rule: str) -> bool:
    if rule == "*":
        return True
    if _is_in_network(host, rule):
        return True
    name, colon, rule_port = rule.rpartition(":")
    if colon and rule_port.isdigit() and (":" not in name or name.startswith("[")):
        return int(rule_port) == port and _matches(host, port, name.strip("[]"))
    suffix = rule.removeprefix("*").removeprefix(".")
    # A rule with a leading dot is for what is below a domain; one without is for the domain as well.
    return host.endswith(f".{suffix}") or host == rule


def _is_in_network(host: str, rule: str) -> bool:
    try:
        return ip_address(host) in ip_network(rule.strip("[]"), strict=False)
    except ValueError:
        return False
