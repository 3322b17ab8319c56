"""Requests and answers as the simulated cloud sees them, free of any HTTP library.

The HTTP front end and the in-process session of aiobotocore both build `Request` values and carry out what an `Answer`
says, so a test without a socket exercises the very code that boto3 and the AWS CLI talk to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. The path is still percent-encoded: identifiers may contain slashes."""

    method: str
    path: str
    query: Mapping[str, list[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """By lower-case name."""
    body: bytes = b""

    @classmethod
    def of(cls, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Request:
        """From a whole URL, or from what follows the host."""
        parts = urlsplit(url)
        query = parse_qs(parts.query, keep_blank_values=True) if parts.query else {}
        lower = {name.lower(): value for name, value in headers.items()}
        return cls(method, parts.path or "/", query, lower, body)


class Delivery(Enum):
    """What becomes of an answer on its way to the caller."""

    COMPLETE = "complete"
    LOST = "lost"
    """The connection closes before a byte arrives."""
    TRUNCATED = "truncated"
    """The connection closes in the middle of the body, which is as long as the headers promise."""
    SILENT = "silent"
    """Nothing ever comes, and the connection stays open."""
    REFUSED = "refused"
    """Nobody listens at all."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer, and how much of it arrives."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    delivery: Delivery = Delivery.COMPLETE

    def delivered(self, delivery: Delivery) -> Answer:
        return replace(self, delivery=delivery)
