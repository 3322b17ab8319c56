"""The interface of transports to an API server: HTTP in production, direct calls of the embedded server in tests.

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
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    """Header names are lower case."""
    body: bytes


@dataclass(frozen=True, slots=True)
class ApiStream:
    """The status and headers of a watch, and its body in chunks of arbitrary size."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]


class TransportError(Exception):
    """There is no response: the connection failed, broke or timed out. The request may have taken effect."""

    is_final = False
    """Whether a retry would fail the same way, as with a server whose certificate is not trusted."""


class Transport(Protocol):
    """Sends requests."""

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        """Return the complete response, whatever its status. Raise TransportError if there is none in time."""

    def stream(self, request: ApiRequest) -> AbstractAsyncContextManager[ApiStream]:
        """Open a request with a streamed response. Raise TransportError if it cannot be opened or breaks."""

    async def close(self) -> None: ...
