"""The transport of production: HTTPS by aiohttp.

Watches have a session of their own. They last for hours, and in a shared pool the writes would wait for them, or they
for the writes.

What arrives from the network is not trusted to end: answers have a limit of size and requests a deadline, redirects are
not followed (an API server sends none, and a token must not travel), cookies are not kept. aiohttp repeats a GET, PUT
or DELETE by itself when a kept connection turns out to be dead; that would be a call without a number, so it is
prevented here, and the client decides.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote

import aiohttp
from yarl import URL

from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.core.redaction import redact_text
from edgekeeper.kube.cluster import ClusterConfig
from edgekeeper.kube.proxy import proxy_for
from edgekeeper.kube.tls import TlsContexts
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, TransportError

_MIB = 1024 * 1024
_PLAIN_IN_PATHS = "/!$&'()*+,;=:@"
"""What RFC 3986 lets stand for itself in a path, beside letters, digits and the like."""


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Limits of the transport."""

    connections: int = 64
    """How many requests, watches aside, may be under way at once; others wait."""
    largest_answer: int = 256 * _MIB
    """Bytes, unpacked. A page of 500 objects is a few megabytes; one of the largest possible objects stays below this."""
    connect: timedelta = timedelta(seconds=10)
    """For a connection to be there."""
    keep_alive: timedelta = timedelta(seconds=60)
    """For an idle connection to be kept: shorter than API servers and load balancers keep theirs."""


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
        self._base = URL(cluster.server)
        self._prefix = self._base.path.rstrip("/")
        self._credentials = cluster.credentials
        self._options = options
        self._tls = TlsContexts(cluster.trust, clock or SystemClock())
        self._server_name = cluster.trust.server_name or None
        self._encoding = "gzip" if cluster.compression else "identity"
        proxy = cluster.proxy or proxy_for(cluster.server, os.environ if environ is None else environ)
        self._proxy = URL(proxy) if proxy else None
        self._requests = self._session(options.connections)
        self._watches = self._session(0)

    @property
    def host(self) -> str:
        """The host that metrics name."""
        return self._base.authority

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
            _hang_up(response)

    async def close(self) -> None:
        await self._requests.close()
        await self._watches.close()

    async def _send_authorized(self, request: ApiRequest) -> ApiResponse:
        response = await self._open_authorized(self._requests, request)
        async with response:
            body = await self._read(response)
        return ApiResponse(response.status, _headers(response), body)

    async def _open_authorized(
        self, session: aiohttp.ClientSession, request: ApiRequest
    ) -> aiohttp.ClientResponse:
        """Open a request; where our credentials are refused and better ones are to be had, once more.

        That is safe for writes too: a server that does not know who asks has done nothing.
        """
        identity = await self._credentials.headers()
        response = await self._open(session, request, identity)
        if response.status == 401 and await self._credentials.on_unauthorized(identity):
            response.close()
            response = await self._open(session, request, await self._credentials.headers())
        return response

    async def _open(
        self, session: aiohttp.ClientSession, request: ApiRequest, identity: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        url = self._url(request)
        secure = url.scheme == "https"
        context = self._tls.context(await self._credentials.certificate()) if secure else None
        try:
            return await session.request(
                request.method,
                url,
                data=request.body or None,
                headers={**request.headers, "accept-encoding": self._encoding, **identity},
                allow_redirects=False,
                proxy=self._proxy,
                ssl=context if context is not None else True,
                server_hostname=self._server_name if secure else None,
            )
        except (aiohttp.ClientError, OSError) as error:
            raise _failure(error) from error

    def _url(self, request: ApiRequest) -> URL:
        url = self._base.with_path(quote(self._prefix + request.path, safe=_PLAIN_IN_PATHS), encoded=True)
        return url.with_query(request.query) if request.query else url

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
            middlewares=(_once,),
            read_bufsize=_MIB,
        )


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a request again, by an error that it does not know."""
    try:
        return await handler(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _failure(error) from error


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """Leave a stream without the farewell of TLS, which a peer that has fallen silent would not answer either."""
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
    """Whoever answers cannot prove to be the server we mean. The request was not sent."""

    is_final = True


def _failure(error: Exception) -> TransportError:
    """What went wrong, in the words of the library, which names hosts and never headers."""
    kind = (
        UntrustedServerError if isinstance(error, aiohttp.ClientConnectorCertificateError) else TransportError
    )
    return kind(redact_text(str(error)) or type(error).__name__)


def _headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in response.headers.items():
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    return headers
