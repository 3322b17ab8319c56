"""URLs, taken apart as Go's `net/url` does it, because that is what `getHost()` has always meant in Kubernetes.

Two readings are needed. What counts as a URL is decided by the strict one (`check_request_uri`: an absolute URI or an
absolute path, as in the first line of an HTTP request); it knows no fragments, so the parts come from the lenient one.

Percent-escapes stand for bytes. Where decoded bytes are no UTF-8, the replacement character appears.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Final

from kubecel import types
from kubecel.errors import invalid_argument
from kubecel.library.kubernetes.network import parse_address
from kubecel.library.notation import excerpt, utf8
from kubecel.types import Type

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_USER_INFO: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2})?")
_HOST_TROUBLE: Final = re.compile(
    r"""%([0-9A-Fa-f]{2})?|[^A-Za-z0-9._~!$&'()*+,;=:\[\]<>"%\x80-\U0010ffff-]"""
)
"""Escapes, and everything in ASCII that a host cannot contain."""
_MAX_PARAMETERS: Final = 10_000

_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")


class Place(Enum):
    """A part of a URL; each has its own idea of which bytes need no escape."""

    PATH = "path"
    HOST = "host"
    ZONE = "zone"
    USER = "user"
    QUERY = "query"
    FRAGMENT = "fragment"


_HOST_BYTES: Final = _UNRESERVED | frozenset(b"!$&'()*+,;=:[]<>\"")
_PLAIN: Final = {
    Place.PATH: _UNRESERVED | frozenset(b"$&+,/:;=@"),
    Place.HOST: _HOST_BYTES,
    Place.ZONE: _HOST_BYTES,
    Place.USER: _UNRESERVED | frozenset(b"$&+,;="),
    Place.QUERY: _UNRESERVED,
    Place.FRAGMENT: _UNRESERVED | frozenset(b"$&+,/:;=?@!()*"),
}
"""The bytes that stand for themselves."""

_LEFT_ALONE: Final = frozenset(b"!$&'()*+,;=:@[]%")
"""Bytes that a path or fragment may hold as they are if its author wrote them so."""


class UrlError(ValueError):
    """Not a URL."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL; all of them empty where absent."""

    scheme: str = ""
    opaque: str = ""
    user: str | None = None
    """User name and password, escaped, as they stood before the `@`."""
    host: str = ""
    """With the port, if there is one."""
    escaped_path: str = ""
    query: str = ""
    has_query: bool = False
    fragment: str = ""
    rooted: bool = False
    """A scheme is followed by a path at once, without `//`."""
    cel_type: ClassVar[Type] = types.opaque("kubernetes.URL")

    def __str__(self) -> str:
        scheme = f"{self.scheme}:" if self.scheme else ""
        query = f"?{self.query}" if self.has_query else ""
        fragment = f"#{self.fragment}" if self.fragment else ""
        return f"{scheme}{self.opaque or self._hierarchy()}{query}{fragment}"

    def _hierarchy(self) -> str:
        user = f"{self.user}@" if self.user is not None else ""
        authority = f"{user}{escape(utf8(self.host), Place.HOST)}"
        wanted = authority or (self.scheme and self.escaped_path and not self.rooted)
        return f"{'//' if wanted else ''}{authority}{self.escaped_path}"

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        host = self._split_host()[0]
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def port(self) -> str:
        return self._split_host()[1]

    def _split_host(self) -> tuple[str, str]:
        host, colon, port = self.host.rpartition(":")
        return (host, port) if colon and _PORT.fullmatch(f":{port}") else (self.host, "")

    def parameters(self) -> dict[str, list[str]]:
        """The values by key. Pairs that cannot be decoded, or hold a semicolon, are left out."""
        found: dict[str, list[str]] = {}
        if self.query.count("&") >= _MAX_PARAMETERS:
            return found
        for pair in self.query.split("&"):
            if not pair or ";" in pair:
                continue
            key, _, value = pair.partition("=")
            try:
                decoded_key, decoded_value = unescape(key, Place.QUERY), unescape(value, Place.QUERY)
            except UrlError:
                continue
            found.setdefault(_text(decoded_key), []).append(_text(decoded_value))
        return found


def parse_url(text: str) -> Url:
    """Read a URL. Raise `EvaluationError` if the text is none."""
    try:
        check_request_uri(text)
        return _parse_reference(text)
    except UrlError as error:
        raise invalid_argument(f"URL parse error during conversion from string: {error}") from error


def check_request_uri(text: str) -> None:
    """Raise `UrlError` unless the text is an absolute URI or an absolute path."""
    try:
        _parse(text, strict=True)
    except UrlError as error:
        raise UrlError(f"parse {excerpt(text)}: {error}") from error


def is_url(text: str) -> bool:
    try:
        check_request_uri(text)
    except UrlError:
        return False
    return True


def escape(data: bytes, place: Place) -> str:
    """Percent-escapes for all bytes that cannot stand for themselves there."""
    plain = _PLAIN[place]
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in data)


def unescape(text: str, place: Place) -> bytes:
    """Decode percent-escapes. Raise `UrlError` for broken ones, and for what a host must not hold."""
    for match in (_HOST_TROUBLE if place in (Place.HOST, Place.ZONE) else _ESCAPE).finditer(text):
        if match[0][0] != "%":
            raise UrlError(f"invalid character {excerpt(match[0])} in host name")
        if match[1] is None:
            raise UrlError(f"invalid URL escape {excerpt(text[match.start() : match.start() + 3])}")
        if not _may_be_escaped(int(match[1], 16), place):
            raise UrlError(f"invalid URL escape {excerpt(match[0])}")
    data = utf8(text)
    return _decode(data.replace(b"+", b" ") if place is Place.QUERY else data)


def _may_be_escaped(byte: int, place: Place) -> bool:
    """Hosts escape what is not ASCII, zones what they could also write as it is; both may escape the percent sign."""
    if place is Place.HOST:
        return byte >= 0x80 or byte == 0x25
    return place is not Place.ZONE or byte in _HOST_BYTES or byte in b"% "


def _decode(data: bytes) -> bytes:
    first, *rest = data.split(b"%")
    return first + b"".join(bytes((int(piece[:2], 16),)) + piece[2:] for piece in rest)


def _parse_reference(text: str) -> Url:
    """Read everything including the fragment."""
    before, _, fragment = text.partition("#")
    try:
        url = _parse(before, strict=False)
        normalized = _normalized(fragment, Place.FRAGMENT)
    except UrlError as error:
        raise UrlError(f"parse {excerpt(before)}: {error}") from error
    return _replaced(url, fragment=normalized)


def _parse(text: str, *, strict: bool) -> Url:
    if _CONTROL.search(text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and strict:
        raise UrlError("empty url")
    if text == "*":
        return Url(escaped_path="*")
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme = match[1].lower() if match else ""
    rest, question, query = text[match.end() if match else 0 :].partition("?")
    parts = Url(scheme=scheme, query=query, has_query=bool(question))
    if not rest.startswith("/"):
        return _rootless(parts, rest, strict=strict)
    return _rooted(parts, rest, strict=strict)


def _rootless(parts: Url, rest: str, *, strict: bool) -> Url:
    if parts.scheme:
        return _replaced(parts, opaque=rest)
    if strict:
        raise UrlError("invalid URI for request")
    if ":" in rest.split("/", 1)[0]:
        raise UrlError("first path segment in URL cannot contain colon")
    return _replaced(parts, escaped_path=_normalized(rest, Place.PATH))


def _rooted(parts: Url, rest: str, *, strict: bool) -> Url:
    lenient = not strict and not rest.startswith("///")
    if not rest.startswith("//") or not (parts.scheme or lenient):
        return _replaced(parts, escaped_path=_normalized(rest, Place.PATH), rooted=bool(parts.scheme))
    authority, slash, path = rest[2:].partition("/")
    user_info, at, host = authority.rpartition("@")
    return _replaced(
        parts,
        host=_parse_host(parts.scheme, host),
        user=_parse_user(user_info) if at else None,
        escaped_path=_normalized(slash + path, Place.PATH),
    )


def _replaced(url: Url, **parts: str | bool | None) -> Url:
    fields = {name: getattr(url, name) for name in Url.__slots__}
    return Url(**(fields | parts))


def _normalized(escaped: str, place: Place) -> str:
    """The spelling of a path or fragment: the author's if it is sound, otherwise one with escapes where needed."""
    decoded = unescape(escaped, place)
    if all(byte in _PLAIN[place] or byte in _LEFT_ALONE for byte in utf8(escaped)):
        return escaped
    return escape(decoded, place)


def _parse_user(user_info: str) -> str:
    if not _USER_INFO.fullmatch(user_info):
        raise UrlError("net/url: invalid userinfo")
    parts = user_info.split(":", 1)
    return ":".join(escape(unescape(part, Place.USER), Place.USER) for part in parts)


def _parse_host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        return _parse_literal(host)
    colon = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if colon >= 0:
        _check_port(host[colon:])
    return _text(unescape(host, Place.HOST))


def _parse_literal(host: str) -> str:
    """An IPv6 address in brackets, perhaps with a zone, perhaps with a port."""
    end = host.rfind("]")
    if end < 0:
        raise UrlError("missing ']' in host")
    _check_port(host[end + 1 :])
    address, escaped_percent, zone = host[1:end].partition("%25")
    literal = _text(unescape(address, Place.HOST) + unescape(escaped_percent + zone, Place.ZONE))
    try:
        parsed = parse_address(literal)
    except ValueError as error:
        raise UrlError(f"invalid host: {error}") from error
    if parsed.family == 4:
        raise UrlError("invalid IP-literal")
    return f"[{literal}]{host[end + 1 :]}"


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise UrlError(f"invalid port {excerpt(port)} after host")


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
