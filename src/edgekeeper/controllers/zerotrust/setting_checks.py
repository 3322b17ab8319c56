"""Checks of single values that users write, wherever they write them. All raise ValueError with what is allowed.

Everything here ends in a URL, a header, a DNS record, a policy or a log line. So nothing with a control character in it
gets through, and the length of everything is limited.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from edgekeeper.cloud.cloudflare.hostnames import normalise
from edgekeeper.core.errors import Stall

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

LONGEST_TEXT: Final = 2_048
LONGEST_LIST: Final = 1_000
"""Cloudflare takes a thousand rules for an application."""

_DURATION = re.compile(r"([0-9]{1,9})([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_EMAIL = re.compile(r"[^@\s,\"'<>()\[\]\\]{1,64}@([^@\s]{1,253})")
_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()+=:@/-]+")
_DOT_SEGMENT = re.compile(r"(?:^|/)\.{1,2}(?:/|$)|//")


def printable(text: str) -> str:
    """The text, which has no control character and is not too long."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"is longer than {LONGEST_TEXT} characters")
    if not text.isprintable():
        raise ValueError("has a line break or another character that cannot be printed")
    return text


def seconds_of(duration: str) -> int:
    """The seconds of a duration, of which there is at least one."""
    match = _DURATION.fullmatch(duration)
    seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
    if seconds < 1:
        raise ValueError("must be a duration such as 30m or 24h")
    return seconds


def address_of(text: str) -> Address:
    """The IP address."""
    try:
        address = ipaddress.ip_address(printable(text))
    except ValueError as error:
        raise ValueError(f"must be IP addresses separated by commas: {text[:100]!r} is none") from error
    if isinstance(address, ipaddress.IPv6Address) and (address.scope_id or address.ipv4_mapped):
        raise ValueError(f"must be plain IP addresses: {text[:100]!r} has a zone or an IPv4 address in it")
    return address


def check_https_url(text: str) -> None:
    """An address that browsers are sent to."""
    try:
        parts = urlsplit(printable(text))
        complete = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        complete = False
    if not complete or " " in text or "\\" in text:
        raise ValueError("must be a URL that begins with https://")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must be a URL without a user or password in it")
    check_hostname(parts.hostname or "")


def check_hostname(text: str) -> str:
    """The hostname as Cloudflare writes it."""
    try:
        return normalise(printable(text))
    except Stall as error:
        raise ValueError("must be a hostname such as app.example.com") from error


def check_email(text: str) -> None:
    match = _EMAIL.fullmatch(printable(text))
    if not match or len(text) > 254:
        raise ValueError(f"must be e-mail addresses: {text[:100]!r} is none")
    check_email_domain(match[1])


def check_email_domain(text: str) -> None:
    if check_hostname(text).startswith("*"):
        raise ValueError(f"must be a domain without a wildcard: {text[:100]!r} has one")


def check_ip_range(text: str) -> None:
    try:
        ipaddress.ip_network(printable(text), strict=False)
    except ValueError as error:
        raise ValueError(f"must be an address or a range such as 192.0.2.0/24: {text[:100]!r}") from error


def check_public_path(text: str) -> None:
    """A path below which everybody gets in. It is plain: no pattern, and nothing that origins resolve in their own way."""
    if text.strip("/") == "" and text:
        raise ValueError("would make the whole hostname public: write access.enabled false for that")
    if not _PATH.fullmatch(text) or _DOT_SEGMENT.search(text) or len(text) > 512:
        raise ValueError(
            f"must be plain paths such as /healthz, without patterns, queries and dot segments: {text[:100]!r}"
        )
