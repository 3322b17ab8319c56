"""Hostnames as Cloudflare compares them: lower case, ASCII, without the dot at the end; and the zone that holds one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from edgekeeper.cloud.cloudflare.models import Zone
from edgekeeper.core.errors import Stall

_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_HOSTNAME = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})+")
_LONGEST = 253


def normalise(hostname: str) -> str:
    """The one spelling of a hostname, `*.` before it allowed. Raise Stall where it is none."""
    ascii_name = hostname.strip().rstrip(".").lower()
    if not ascii_name.isascii():
        ascii_name = _punycode(ascii_name)
    if len(ascii_name) > _LONGEST or not _HOSTNAME.fullmatch(ascii_name):
        raise Stall("InvalidSpec", f"{hostname[:300]!r} is not a hostname")
    return ascii_name


def is_wildcard(hostname: str) -> bool:
    return hostname.startswith("*")


def covers(pattern: str, hostname: str) -> bool:
    """Whether cloudflared takes a request for `hostname` to be meant by `pattern`: `*.` stands for several labels."""
    if pattern in ("", "*"):
        return True
    if is_wildcard(pattern):
        return hostname.removeprefix("*").endswith(pattern[1:])
    return pattern == hostname


def zone_of(hostname: str, zones: Iterable[Zone]) -> Zone | None:
    """The zone that a hostname belongs to: of all whose name it ends with, the longest."""
    name = hostname.removeprefix("*.")
    holding = [zone for zone in zones if name == zone.name or name.endswith(f".{zone.name}")]
    return max(holding, key=lambda zone: len(zone.name), default=None)


def _punycode(hostname: str) -> str:
    try:
        return hostname.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise Stall("InvalidSpec", f"{hostname[:300]!r} is not a hostname: {error}") from error
