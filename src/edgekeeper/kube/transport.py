"""How requests reach an API server. HTTP in production; straight into the embedded server in tests.

A transport is two methods. Everything above it (errors, retries, limits, numbering) is the client's and so the same
for every transport.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request to the API server."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """Header names are lower case."""
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A complete answer."""

    status: int
    headers: Mapping[str, str]
    """Header names are lower case."""
    body: bytes


@dataclass(frozen=True, slots=True)
class ApiStream:
    """The head of a watch, and its body as it comes: chunks of bytes, cut anywhere."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]


class TransportError(Exception):
    """No answer: the connection failed, broke or took too long. Whether the request took effect is not known."""

    is_final = False
    """Whether another attempt would end the same way, as with a server that is not the one we trust."""


class Transport(Protocol):
    """Sends requests."""

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        """Return the whole answer, whatever its status. Raise TransportError when there is none in time."""

    def stream(self, request: ApiRequest) -> AbstractAsyncContextManager[ApiStream]:
        """Open a request whose answer never ends. Raise TransportError when it cannot be opened or breaks."""

    async def close(self) -> None: ...
