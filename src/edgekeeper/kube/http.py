"""The HTTP transport to a real API server, on aiohttp's client.

Watches have a session of their own: they last for hours, and must not take connections from the pool of requests.

Guarantees
    - An answer has a maximum size, counted after decompression, and a request has a deadline.
    - Redirects are not followed (an API server sends none, and the token must not leave), cookies are not stored.
    - A request is sent once. aiohttp repeats idempotent requests by itself when a kept connection turns out to be
      closed; that is disabled here, because retries are the client's decision and every attempt has a number.
    - What a server sends unasked on a kept connection is never taken for the answer to the next request.
    - The connection of a request that is given up is closed at once.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote, urlencode

import aiohttp
from aiohttp.connector import Connection
from yarl import URL

from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.core.redaction import redact_text
from edgekeeper.kube.cluster import ClusterConfig
from edgekeeper.kube.proxy import proxy_for
from edgekeeper.kube.tls import TlsContexts
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, TransportError

_MIB = 1024 * 1024
_PLAIN_IN_PATHS = "/!$&'()*+,;=:@"
"""Characters that RFC 3986 allows unescaped in a path, besides the unreserved ones."""
_is_plain_path = re.compile(r"[A-Za-z0-9._~/-]*").fullmatch
_AUTO_HEADERS = ("Accept", "Content-Type", "User-Agent")
"""Headers that aiohttp would add by itself: the client sets those that are needed."""


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Limits of the transport."""

    connections: int = 64
    """The maximum number of concurrent requests, not counting watches; further requests wait."""
    largest_answer: int = 256 * _MIB
    """The maximum size in bytes, decompressed. A page of 500 objects of ordinary size is a few megabytes."""
    connect: timedelta = timedelta(seconds=10)
    """The time limit for establishing a connection."""
    keep_alive: timedelta = timedelta(seconds=60)
    """How long an idle connection is kept: less than API servers and load balancers keep theirs."""


DEFAULT_OPTIONS = HttpOptions()


class HttpTransport:
    """Sends requests to one API server. Made and used within a running event loop."""

    def __init__(
        self,
        cluster: ClusterConfig,
        options: HttpOptions = DEFAULT_OPTIONS,
        *,
        clock: Clock | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        server = URL(cluster.server)
        self._base = f"{server.scheme}://{server.raw_authority}{server.raw_path.rstrip('/')}"
        self._is_secure = server.scheme == "https"
        self.host = server.raw_authority
        """The host that metrics name."""
        self._credentials = cluster.credentials
        self._options = options
        self._tls = TlsContexts(cluster.trust, clock or SystemClock())
        self._server_name = cluster.trust.server_name or None
        self._encoding = "gzip" if cluster.compression else "identity"
        proxy = cluster.proxy or proxy_for(cluster.server, os.environ if environ is None else environ)
        self._proxy = URL(proxy) if proxy else None
        self._requests = self._session(options.connections)
        self._watches = self._session(0)

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        try:
            async with asyncio.timeout(deadline.total_seconds()):
                return await self._send_authorized(request)
        except TimeoutError as error:
            raise TransportError(f"no answer within {deadline.total_seconds():.3g} s") from error

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        response = await self._open_authorized(self._watches, request)
        try:
            async with aclosing(_chunks(response)) as chunks:
                yield ApiStream(response.status, _headers(response), chunks)
        finally:
            _abort(response)

    async def close(self) -> None:
        await self._requests.close()
        await self._watches.close()

    async def _send_authorized(self, request: ApiRequest) -> ApiResponse:
        response = await self._open_authorized(self._requests, request)
        try:
            body = await self._read(response)
        except BaseException:
            _abort(response)
            raise
        response.release()
        return ApiResponse(response.status, _headers(response), body)

    async def _open_authorized(
        self, session: aiohttp.ClientSession, request: ApiRequest
    ) -> aiohttp.ClientResponse:
        """Open a request, and once more after a 401 if the credentials could be refreshed.

        The repetition is safe for writes too: a request that is answered with 401 has had no effect.
        """
        identity = await self._credentials.headers()
        response = await self._open(session, request, identity)
        if response.status == 401 and await self._credentials.on_unauthorized(identity):
            _abort(response)
            response = await self._open(session, request, await self._credentials.headers())
        return response

    async def _open(
        self, session: aiohttp.ClientSession, request: ApiRequest, identity: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        if session.closed:
            raise TransportError("the transport is closed")
        context = self._tls.context(await self._credentials.certificate()) if self._needs_tls else True
        try:
            return await session.request(
                request.method,
                self._url(request),
                data=request.body or None,
                headers={**request.headers, "accept-encoding": self._encoding, **identity},
                allow_redirects=False,
                proxy=self._proxy,
                ssl=context,
                server_hostname=self._server_name if self._is_secure else None,
            )
        except _NotRepeatedError as error:
            raise _failure(error.error, self._proxy) from _cause(error.error)
        except (aiohttp.ClientError, OSError) as error:
            raise _failure(error, self._proxy) from _cause(error)
        except ValueError as error:  # its message may hold the header, which may be a token
            raise UnsendableError("a header contains a line break: nothing was sent") from error.__cause__

    @property
    def _needs_tls(self) -> bool:
        return self._is_secure or (self._proxy is not None and self._proxy.scheme == "https")

    def _url(self, request: ApiRequest) -> URL:
        """The URL, encoded here once: yarl would parse and quote every part again."""
        path = request.path if _is_plain_path(request.path) else quote(request.path, safe=_PLAIN_IN_PATHS)
        query = f"?{urlencode(request.query, quote_via=quote)}" if request.query else ""
        return URL(f"{self._base}{path}{query}", encoded=True)

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            while part := await response.content.readany():
                size += len(part)
                if size > self._options.largest_answer:
                    raise TransportError(f"the answer is larger than {self._options.largest_answer} bytes")
                parts.append(part)
        except (aiohttp.ClientError, OSError) as error:
            raise _failure(error) from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _session(self, limit: int) -> aiohttp.ClientSession:
        options = self._options
        connector = aiohttp.TCPConnector(
            limit=limit, keepalive_timeout=options.keep_alive.total_seconds(), ttl_dns_cache=30
        )
        return aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=options.connect.total_seconds()),
            cookie_jar=aiohttp.DummyCookieJar(),
            request_class=_Request,
            middlewares=(_send_once,),
            skip_auto_headers=_AUTO_HEADERS,
            read_bufsize=_MIB,
        )


class _Request(aiohttp.ClientRequest):
    """A request that refuses a kept connection with unread data, which would be taken for the response."""

    transport: asyncio.Transport | None = None
    """What it is sent on."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        if conn.protocol is not None and conn.protocol.should_close:
            raise aiohttp.ServerDisconnectedError("the server sent a response without a request")
        self.transport = conn.transport
        return await super().send(conn)


async def _send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Prevent aiohttp's own retry by raising an error that it does not retry, and drop the connection of what is given up."""
    try:
        return await handler(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _NotRepeatedError(error) from error
    except asyncio.CancelledError:
        if isinstance(request, _Request) and request.transport is not None:
            request.transport.abort()
        raise


class _NotRepeatedError(Exception):
    """Carries a connection error past aiohttp's own retry."""

    def __init__(self, error: aiohttp.ClientError) -> None:
        super().__init__(str(error))
        self.error = error


def _abort(response: aiohttp.ClientResponse) -> None:
    """Close a connection without waiting for the TLS close of a peer that may not answer."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


async def _chunks(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except (aiohttp.ClientError, OSError) as error:
        raise _failure(error) from error


class UntrustedServerError(TransportError):
    """The server's certificate is not trusted. The request was not sent."""

    is_final = True


class UnsendableError(TransportError):
    """The request cannot be expressed in HTTP. It was not sent."""

    is_final = True


def _failure(error: Exception, proxy: URL | None = None) -> TransportError:
    """The error with aiohttp's message, which names hosts and never headers, and with the proxy if there is one."""
    kind = (
        UntrustedServerError if isinstance(error, aiohttp.ClientConnectorCertificateError) else TransportError
    )
    message = redact_text(str(error)) or type(error).__name__
    return kind(f"{message} (by the proxy {proxy.host}:{proxy.port})" if proxy is not None else message)


def _cause(error: Exception) -> Exception:
    """The cause of aiohttp's error: its error for certificates lacks the attributes of SSLCertVerificationError."""
    return error.certificate_error if isinstance(error, aiohttp.ClientConnectorCertificateError) else error


def _headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in response.headers.items():
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    return headers
