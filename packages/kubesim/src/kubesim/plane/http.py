"""The wire: HTTP on loopback, with TLS, in front of the handler.

A thin layer over aiohttp's bare server: no router, no middleware, since the handler routes by itself. Streams are
written as they come; a client that goes away ends its stream and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from urllib.parse import parse_qsl, unquote
from uuid import uuid4

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict, CIMultiDictProxy

from kubesim.plane.errors import StatusError, bad_request, too_large
from kubesim.plane.handler import MAX_BODY, refusal
from kubesim.plane.request import Request, Response

Handle = Callable[[Request], Awaitable[Response]]

_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_AUDIT_PREFIX = str(uuid4())[:24]
_AUDIT_NUMBERS = count(1)
_IN_WARNINGS = str.maketrans({**dict.fromkeys(_CONTROLS, " "), "\\": "\\\\", '"': '\\"'})
_MOST_WARNED = 4096
_LONGEST_WARNING = 256
_MOST_DISCARDED = 16 * MAX_BODY
_SHUTDOWN_SECONDS = 0.2
"""How long open watches may take to end when the server stops; nothing else lasts longer than a moment."""


class _OurOwn(logging.Filter):
    """Leaves out what clients did wrong: they were told, and a traceback would help nobody."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, HttpProcessingError | web.RequestPayloadError)


log = logging.getLogger(__name__)
log.addFilter(_OurOwn())


class HttpServer:
    """Serves one handler on one address."""

    def __init__(self, handle: Handle, tls: ssl.SSLContext | None) -> None:
        self._handle = handle
        self._tls = tls
        self._server = web.Server(
            self._serve,
            logger=log,
            access_log=None,
            lingering_time=0.0,
            keepalive_timeout=3630.0,
            # A client that leaves cancels its request: an idle watch would not notice otherwise.
            handler_cancellation=True,
        )
        self._runner = web.ServerRunner(self._server, shutdown_timeout=_SHUTDOWN_SECONDS)

    async def start(self, host: str, port: int) -> int:
        """Listen; return the port, which the system chooses where it was given as zero."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, ssl_context=self._tls, backlog=1024)
        await site.start()
        bound: int = self._runner.addresses[0][1]
        return bound

    async def stop(self) -> None:
        """Close everything at once: a TLS close waits for the client, and the event loop may not live that long."""
        transports = [connection.transport for connection in self._server.connections]
        await self._runner.cleanup()
        for transport in transports:
            if transport is not None:
                transport.abort()
        await asyncio.sleep(0)  # sockets are closed in the next turn of the loop

    async def _serve(self, incoming: web.BaseRequest) -> web.StreamResponse:
        try:
            request = await _read(incoming)
        except StatusError as error:
            refused = _complete(refusal(error))
            if not incoming.content.is_eof():
                # What is left of the body would be taken for the next request.
                refused.force_close()
            return refused
        response = await self._handle(request)
        if response.stream is None:
            return _complete(response)
        return await _write_stream(incoming, response)


async def _read(incoming: web.BaseRequest) -> Request:
    path, _, query_string = incoming.raw_path.partition("?")
    query: dict[str, list[str]] = {}
    if query_string:
        for key, value in parse_qsl(query_string, keep_blank_values=True):
            query.setdefault(key, []).append(value)
    return Request(
        method=incoming.method,
        path=unquote(path) if "%" in path else path,
        query=query,
        headers=_joined(incoming.headers),
        body=await _read_body(incoming) if incoming.body_exists else b"",
        peer_certificate=_peer_certificate(incoming),
    )


def _joined(received: CIMultiDictProxy[str]) -> dict[str, str]:
    """Headers by lower-case name. Those that came several times, as groups to impersonate do, are kept line by line."""
    headers: dict[str, str] = {}
    for name, value in received.items():
        lower = name.lower()
        headers[lower] = f"{headers[lower]}\n{value}" if lower in headers else value
    return headers


async def _read_body(incoming: web.BaseRequest) -> bytes:
    """Read a body up to the limit.

    What is too long is read to its end all the same, though not kept: a client that is still writing would not see
    our answer. Only a body beyond all measure is cut off.
    """
    if (incoming.content_length or 0) > _MOST_DISCARDED:
        raise too_large(MAX_BODY)
    parts: list[bytes] = []
    size = 0
    try:
        while part := await incoming.content.readany():
            size += len(part)
            if size <= MAX_BODY:
                parts.append(part)
            elif size > _MOST_DISCARDED:
                break
    except web.RequestPayloadError as error:  # chunks or a content encoding that do not decode
        raise bad_request(f"the body of the request cannot be read: {error}") from error
    if size > MAX_BODY:
        raise too_large(MAX_BODY)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _peer_certificate(incoming: web.BaseRequest) -> bytes | None:
    transport = incoming.transport
    connection = transport.get_extra_info("ssl_object") if transport is not None else None
    return connection.getpeercert(binary_form=True) if connection is not None else None


def _complete(response: Response) -> web.StreamResponse:
    return web.Response(status=response.status, body=response.body, headers=_headers(response))


def _audit_id() -> str:
    """A unique id for each answer. Drawing a fresh UUID each time would cost as much as decoding a small body."""
    return f"{_AUDIT_PREFIX}{next(_AUDIT_NUMBERS):012x}"


def _headers(response: Response) -> CIMultiDict[str]:
    headers = CIMultiDict(
        {
            "Content-Type": response.content_type,
            "Audit-Id": _audit_id(),
            "Cache-Control": "no-cache, private",
            **response.headers,
        }
    )
    for text in _shortened(response.warnings):
        headers.add("Warning", f'299 - "{text.translate(_IN_WARNINGS)}"')
    return headers


def _shortened(warnings: list[str]) -> list[str]:
    """Warnings as they are, or the beginnings of the first ones where all together are too much for a client."""
    if sum(map(len, warnings)) <= _MOST_WARNED:
        return warnings
    return [text[:_LONGEST_WARNING] for text in warnings[: _MOST_WARNED // _LONGEST_WARNING]]


async def _write_stream(incoming: web.BaseRequest, response: Response) -> web.StreamResponse:
    outgoing = web.StreamResponse(status=response.status, headers=_headers(response))
    outgoing.enable_chunked_encoding()
    stream = response.stream
    assert stream is not None  # noqa: S101 - the caller has checked
    # A client may leave at any time: that ends its stream, and is nothing to speak of.
    with suppress(ConnectionError):
        await outgoing.prepare(incoming)
        async for chunk in stream:
            await outgoing.write(chunk)
        await outgoing.write_eof()
    return outgoing
