"""Requests and responses as the handler sees them, free of any HTTP library.

The HTTP front end and the in-memory transport both build `Request` values and hand them to one handler, so a test
without a socket exercises the very code that kubectl talks to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from edgekeeper.core.json import JsonObject

JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class User:
    """Who asks: what authentication found out, and what RBAC and webhooks are told."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def info(self) -> JsonObject:
        """The `UserInfo` shape of TokenReview and AdmissionReview."""
        info: JsonObject = {"username": self.name, "groups": list(self.groups)}
        if self.uid:
            info["uid"] = self.uid
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


@dataclass(slots=True)
class Request:
    """One API call. Header names are lower case; a query key given twice keeps every value."""

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    peer_certificate: bytes | None = None
    """The client's TLS certificate (DER), where it presented one that our CA signed."""

    @classmethod
    def of(cls, method: str, target: str, body: bytes | JsonObject = b"", **headers: str) -> Request:
        """Build a request from `/path?query`; `content_type="…"` style keywords become headers."""
        path, _, query_string = target.partition("?")
        query: dict[str, list[str]] = {}
        for key, value in parse_qsl(query_string, keep_blank_values=True):
            query.setdefault(key, []).append(value)
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        named = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        return cls(method, path, query, named, raw)

    def parameter(self, name: str, default: str = "") -> str:
        values = self.query.get(name)
        return values[0] if values else default

    def header(self, name: str) -> str:
        return self.headers.get(name, "")


@dataclass(slots=True)
class Response:
    """A complete answer, or the head of a stream when `stream` is set."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    """What clients should tell their users: one `Warning` header (RFC 7234, code 299) each."""
    stream: AsyncIterator[bytes] | None = None

    def json(self) -> Any:
        return msgspec.json.decode(self.body)
