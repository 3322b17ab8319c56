"""The transport of production: HTTP/1.1 over TLS, by our own hands.

    wire          bytes of a request, an answer out of bytes
    connection    a question at a time
    dialing       the way to the server, through proxies and TLS
    pool          few connections for many requests
    http          who we are, where things are, how long to wait: this module

A library for every purpose takes much of its time for purposes that are not ours: redirects (an API server sends
none, and a token must not travel), cookies, and the silent repetition of requests, which would be a call without a
number. None of that exists here. What arrives from the network is not trusted to end: answers have a limit of size and
requests a deadline.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote, urlencode

from yarl import URL

from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.kube.cluster import ClusterConfig
from edgekeeper.kube.connection import Connection
from edgekeeper.kube.deadlines import Deadlines
from edgekeeper.kube.dialing import Route, UntrustedServerError, proxy_authorization
from edgekeeper.kube.pool import Pool
from edgekeeper.kube.proxy import proxy_for
from edgekeeper.kube.tls import TlsContexts
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, TransportError
from edgekeeper.kube.wire import AnswerReader, encode_request

__all__ = ["DEFAULT_OPTIONS", "HttpOptions", "HttpTransport", "UntrustedServerError"]

_MIB = 1024 * 1024
_PLAIN_IN_PATHS = "/!$&'()*+,;=:@"
"""What RFC 3986 lets stand for itself in a path, beside letters, digits and the like."""
_is_plain_path = re.compile(r"[A-Za-z0-9._~/-]*").fullmatch


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
        server = URL(cluster.server)
        proxy = cluster.proxy or proxy_for(cluster.server, os.environ if environ is None else environ)
        self._route = Route(server, cluster.trust.server_name, URL(proxy) if proxy else None, options.connect)
        self._credentials = cluster.credentials
        self._options = options
        self._deadlines = Deadlines()
        self._tls = TlsContexts(cluster.trust, clock or SystemClock())
        self._pool = Pool(self._route, options.connections, options.keep_alive)
        self.host = _authority(server)
        """The host that metrics name."""
        self._prefix = server.path.rstrip("/")
        self._origin = f"http://{self.host}" if self._route.is_relayed else ""
        self._headers = {"host": self.host}
        self._own_headers = {"accept-encoding": "gzip" if cluster.compression else "identity"}
        if self._route.is_relayed and self._route.proxy is not None:
            self._own_headers |= proxy_authorization(self._route.proxy)

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        try:
            with self._deadlines.within(deadline.total_seconds()):
                return await self._send_authorized(request)
        except TimeoutError as error:
            raise TransportError(f"no answer within {deadline.total_seconds():.3g} s") from error

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        connection, answer = await self._open_authorized(request)
        try:
            async with aclosing(connection.chunks()) as chunks:
                yield ApiStream(answer.status, answer.headers, chunks)
        finally:
            connection.abort()

    async def close(self) -> None:
        await self._pool.close()

    # Where our credentials are refused and better ones are to be had, a request is sent once more. That is safe for
    # writes too: a server that does not know who asks has done nothing.

    async def _send_authorized(self, request: ApiRequest) -> ApiResponse:
        identity = await self._credentials.headers()
        response = await self._send(request, identity)
        if response.status == 401 and await self._credentials.on_unauthorized(identity):
            response = await self._send(request, await self._credentials.headers())
        return response

    async def _open_authorized(self, request: ApiRequest) -> tuple[Connection, AnswerReader]:
        identity = await self._credentials.headers()
        connection, answer = await self._open(request, identity)
        try:
            is_better = answer.status == 401 and await self._credentials.on_unauthorized(identity)
        except BaseException:
            connection.abort()
            raise
        if is_better:
            connection.abort()
            connection, answer = await self._open(request, await self._credentials.headers())
        return connection, answer

    async def _send(self, request: ApiRequest, identity: Mapping[str, str]) -> ApiResponse:
        message = self._message(request, identity)
        answer = AnswerReader(self._options.largest_answer, request.method)
        await self._pool.exchange(message, answer, await self._context())
        return ApiResponse(answer.status, answer.headers, answer.take())

    async def _open(
        self, request: ApiRequest, identity: Mapping[str, str]
    ) -> tuple[Connection, AnswerReader]:
        message = self._message(request, identity)
        answer = AnswerReader(self._options.largest_answer, request.method)
        connection = await self._pool.dial(await self._context())
        await connection.open(message, answer)
        return connection, answer

    async def _context(self) -> ssl.SSLContext | None:
        if not self._route.needs_tls:
            return None
        return self._tls.context(await self._credentials.certificate())

    def _message(self, request: ApiRequest, identity: Mapping[str, str]) -> bytes:
        headers = {**self._headers, **request.headers, **self._own_headers, **identity}
        return encode_request(request.method, self._target(request), headers, request.body)

    def _target(self, request: ApiRequest) -> str:
        path = self._prefix + request.path
        if not _is_plain_path(path):
            path = quote(path, safe=_PLAIN_IN_PATHS)
        query = f"?{urlencode(request.query, quote_via=quote)}" if request.query else ""
        return f"{self._origin}{path}{query}"


def _authority(server: URL) -> str:
    """Host and port as the address has them, without the port where it goes without saying."""
    return (
        f"{server.host_subcomponent}:{server.port}"
        if server.explicit_port
        else server.host_subcomponent or ""
    )
