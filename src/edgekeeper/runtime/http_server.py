"""The HTTP server that probes, metrics and admission webhooks share.

A listener is aiohttp's low-level server with limits. Its port is open to untrusted clients, so:

 - a connection without a complete request within ten seconds is closed, before the first request and between them;
 - a request has a time limit, after which its handler is cancelled and the answer is 503;
 - bodies are read by `read_body` alone, which has a size limit, and never decompressed;
 - an exception of a handler is logged, and answered by 500 without details;
 - no response names the server software, not even one to malformed requests.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from edgekeeper.core.log import get_logger

log = get_logger(__name__)

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

REQUEST_LIMIT = timedelta(seconds=10)
PATIENCE = timedelta(seconds=10)
"""How long a connection may take to send a request."""
DRAIN = timedelta(seconds=2)
"""How long requests may take to end when the server stops."""
_TLS_SHUTDOWN_SECONDS = 1.0

_FORM = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%\w]+\]|[^:\[\]\s]*):(?P<port>\d{1,5})")

_PROBLEMS = {
    errno.EADDRINUSE: "address in use",
    errno.EADDRNOTAVAIL: "this machine has no such address",
    errno.EACCES: "permission denied",
}


class ListenError(OSError):
    """The address cannot be bound. The message contains the reason, and the option to change."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address to listen on: `:8081` is every address of this machine."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address | None:
        """Parse `HOST:PORT`. Return None for `0` and the empty string, which disable a server. Raise ValueError otherwise."""
        if text in {"", "0"}:
            return None
        match = _FORM.fullmatch(text)
        if match is None or int(match["port"]) > 65535:
            raise ValueError(f"{text!r} is not an address such as :8080 or 127.0.0.1:8080, nor 0 for none")
        return cls(match["host"].strip("[]"), int(match["port"]))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class _Server(web.Server):
    """aiohttp's low-level server, with a way to close all connections for good."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.open: dict[web.RequestHandler, asyncio.Transport] = {}
        self._all_closed = asyncio.Event()
        self._is_aborted = False

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        self.open[handler] = transport
        self._all_closed.clear()
        super().connection_made(handler, transport)
        if self._is_aborted:  # its TLS handshake has ended only now
            transport.abort()

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self.open.pop(handler, None)
        if not self.open:
            self._all_closed.set()

    async def wait_closed(self) -> None:
        if self.open:
            await self._all_closed.wait()

    async def abort(self) -> None:
        """Close the connections that are still open, and those that are going to be made, without a TLS close."""
        self._is_aborted = True
        for transport in self.open.values():
            transport.abort()
        await self.wait_closed()


class Listener:
    """Serves one handler at one address."""

    def __init__(
        self,
        handle: Handler,
        address: Address,
        flag: str,
        tls: ssl.SSLContext | None = None,
        limit: timedelta | None = REQUEST_LIMIT,
    ) -> None:
        """`flag` is the option that chose the address, for messages. Without a limit the handler has its own."""
        self._handle = handle
        self._address = address
        self._flag = flag
        self._tls = tls
        self._limit = limit
        self._idle_timers: dict[web.RequestHandler, asyncio.TimerHandle] = {}
        """The connections that have not sent a request yet, with the timers that close them."""
        self._web: _Server | None = None
        self._sockets: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port in use, which the system chose if that of the address is 0."""
        if self._sockets is None:
            return self._address.port
        port: int = self._sockets.sockets[0].getsockname()[1]
        return port

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._web.open) if self._web is not None else 0

    async def start(self) -> None:
        """Start listening. Raise ListenError if the address cannot be bound."""
        loop = asyncio.get_running_loop()
        self._web = _Server(
            self._serve,
            request_factory=partial(_Request, loop=loop),
            logger=_logger,
            access_log=None,
            handler_cancellation=True,
            auto_decompress=False,
            keepalive_timeout=PATIENCE.total_seconds() * 3,
            lingering_time=1.0,
        )
        try:
            self._sockets = await loop.create_server(
                self._connect,
                self._address.host or None,
                self._address.port,
                ssl=self._tls,
                ssl_handshake_timeout=PATIENCE.total_seconds() if self._tls else None,
                ssl_shutdown_timeout=_TLS_SHUTDOWN_SECONDS if self._tls else None,
            )
        except OSError as error:
            raise ListenError(
                f"cannot listen on {self._address}: {_problem(error)}; choose another with {self._flag}"
            ) from error

    async def stop(self) -> None:
        """Accept no further requests, wait up to `DRAIN` for those that are running, and close all connections."""
        if self._sockets is None or self._web is None:
            return
        self._sockets.close()
        await asyncio.sleep(0)  # let connections that were just accepted start their request
        self._web.pre_shutdown()
        await self._web.shutdown(DRAIN.total_seconds())
        # A TLS connection is closed by a handshake, to which a peer may not respond.
        with suppress(TimeoutError):
            async with asyncio.timeout(_TLS_SHUTDOWN_SECONDS / 2):
                await self._web.wait_closed()
        await self._web.abort()
        for timer in self._idle_timers.values():
            timer.cancel()
        self._idle_timers.clear()
        self._sockets = None

    def _connect(self) -> web.RequestHandler:
        assert self._web is not None  # noqa: S101 - `start` has made it
        connection = self._web()
        timer = asyncio.get_running_loop().call_later(PATIENCE.total_seconds(), self._close_idle, connection)
        self._idle_timers[connection] = timer
        return connection

    def _close_idle(self, connection: web.RequestHandler) -> None:
        """Close a connection whose first request is late. Between requests aiohttp's own timer does this."""
        del self._idle_timers[connection]
        connection.force_close()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if timer := self._idle_timers.pop(request.protocol, None):
            timer.cancel()
        try:
            async with asyncio.timeout(self._limit.total_seconds() if self._limit is not None else None):
                return await self._handle(request)
        except TimeoutError:
            return refusal(503, "this takes too long")
        except web.RequestPayloadError:
            return refusal(400, "the body cannot be read")
        except Exception:
            log.exception("Request failed", path=request.path)
            return refusal(500, "internal error")


class _Request(web.BaseRequest):
    """A request that removes the `Server` header of its response, also for malformed requests."""

    async def _prepare_hook(self, resp: web.StreamResponse) -> None:
        resp.headers.popall("Server", None)


class _WithoutClientErrors(logging.Filter):
    """Drops log records about errors of clients, which got a 4xx response."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, HttpProcessingError | web.RequestPayloadError)


_logger = logging.getLogger(__name__)
_logger.addFilter(_WithoutClientErrors())


def plain(text: str, status: int = 200) -> web.Response:
    """A plain text response that is not cached, and whose type is not sniffed."""
    return web.Response(
        status=status,
        text=text,
        headers={"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"},
    )


def refusal(status: int, why: str) -> web.Response:
    """An error response of one line. The connection is closed if part of the request may be unread."""
    response = plain(f"{why}\n", status)
    if status in {400, 408, 413, 415, 503}:
        response.force_close()
    return response


async def read_body(request: web.BaseRequest, largest: int) -> bytes | None:
    """The body, or None if it is too large."""
    if (request.content_length or 0) > largest:
        return None
    body = bytearray()
    async for part in request.content.iter_any():
        body += part
        if len(body) > largest:
            return None
    return bytes(body)


def _problem(error: OSError) -> str:
    if error.errno in _PROBLEMS:
        return _PROBLEMS[error.errno]
    # Errors of name resolution have codes of their own, which `os.strerror` does not know.
    return error.strerror or (os.strerror(error.errno) if error.errno else str(error))
