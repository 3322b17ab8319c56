"""Requests straight into an embedded server: no socket, no TLS, no waiting for anything but the server itself.

The neighbour of `kube.http`, below the same client. What runs here in memory, and in virtual time, is what production
sends over the wire, and the server answers it with the code that answers kubectl.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, TransportError
from kubesim.plane.plane import Plane
from kubesim.plane.request import Request, Response

_IN_WARNINGS = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": " ", "\r": " "})


class InProcessTransport:
    """Carries requests to a plane in this process, as whoever `token` stands for."""

    def __init__(self, plane: Plane, token: str = "") -> None:
        self._plane = plane
        self._authorization = {"authorization": f"Bearer {token}"} if token else {}

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        try:
            async with asyncio.timeout(deadline.total_seconds()):
                response = await self._plane.handle(self._translated(request))
        except TimeoutError as error:
            raise TransportError(f"no answer within {deadline.total_seconds():g} s") from error
        if response.stream is not None:
            await _end(response.stream)
            raise TransportError("the answer is a stream, which has no end")
        return ApiResponse(response.status, _headers(response), response.body)

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        response = await self._plane.handle(self._translated(request))
        chunks = response.stream if response.stream is not None else _single(response.body)
        try:
            yield ApiStream(response.status, _headers(response), chunks)
        finally:
            # A watch that is left must not stay subscribed until the garbage collector finds it.
            await _end(chunks)

    async def close(self) -> None:
        """Nothing is open: the plane belongs to whoever started it."""

    def _translated(self, request: ApiRequest) -> Request:
        return Request(
            method=request.method,
            path=request.path,
            query={name: [value] for name, value in request.query.items()},
            headers={**request.headers, **self._authorization},
            body=request.body,
        )


def _headers(response: Response) -> dict[str, str]:
    """Headers as they would arrive over the wire."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    headers["content-type"] = response.content_type
    if response.warnings:
        texts = [text.translate(_IN_WARNINGS) for text in response.warnings]
        headers["warning"] = ", ".join(f'299 - "{text}"' for text in texts)
    return headers


async def _single(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _end(chunks: AsyncIterator[bytes]) -> None:
    close: Callable[[], Awaitable[None]] | None = getattr(chunks, "aclose", None)
    if close is not None:
        await close()
