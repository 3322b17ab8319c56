"""Normalises hostnames (lower case, punycode, without the final dot), and finds the zone of a hostname."""

from __future__ import annotations

import re
from collections.abc import Iterable

from edgekeeper.cloud.cloudflare.models import Zone
from edgekeeper.core.errors import Stall

_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_HOSTNAME = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})+")
_LONGEST = 253


def normalise(hostname: str) -> str:
    """The normalised hostname, which may be a wildcard. Raise Stall if it is invalid."""
    ascii_name = hostname.strip().rstrip(".").lower()
    # Before the conversion, which takes time in proportion to the square of the length, and makes no name shorter.
    if len(ascii_name) <= _LONGEST and not ascii_name.isascii():
        ascii_name = _punycode(ascii_name)
    if len(ascii_name) > _LONGEST or not _HOSTNAME.fullmatch(ascii_name):
        raise Stall("InvalidSpec", f"{hostname[:300]!r} is not a hostname")
    return ascii_name


def is_wildcard(hostname: str) -> bool:
    return hostname.startswith("*")


def covers(pattern: str, hostname: str) -> bool:
    """Whether `pattern` matches `hostname` in cloudflared, where `*.` matches one or more labels."""
    if pattern in ("", "*"):
        return True
    if is_wildcard(pattern):
        return hostname.removeprefix("*").endswith(pattern[1:])
    return pattern == hostname


def zone_of(hostname: str, zones: Iterable[Zone]) -> Zone | None:
    """The zone of a hostname: the one with the longest matching name."""
    name = hostname.removeprefix("*.")
    holding = [zone for zone in zones if name == zone.name or name.endswith(f".{zone.name}")]
    return max(holding, key=lambda zone: len(zone.name), default=None)


def _punycode(hostname: str) -> str:
    try:
        return hostname.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise Stall("InvalidSpec", f"{hostname[:300]!r} is not a hostname: {error}") from error
