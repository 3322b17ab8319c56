"""The way to an API server: straight, or through a proxy.

    https, no proxy      TCP, TLS
    https by a proxy     TCP to the proxy (TLS where it is https itself), CONNECT, TLS to the server inside
    http by a proxy      TCP to the proxy, which reads the requests: they name the whole address

All of it has to be done within one span of time. Whoever answers must prove to be the server before anything is sent to
it; a failure of that is an error of its own, since to try again would end the same way.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from datetime import timedelta

from yarl import URL

from edgekeeper.core.redaction import redact_text
from edgekeeper.kube.connection import Connection
from edgekeeper.kube.credentials import basic
from edgekeeper.kube.transport import TransportError
from edgekeeper.kube.wire import AnswerReader, encode_request

_NEXT_ADDRESS = 0.25
"""Seconds after which a host's next address is tried beside the first: half of the world announces an IPv6 that it lacks."""

_MOST_OF_A_REFUSAL = 64 * 1024
"""Bytes of what a proxy says instead of letting us through."""


class UntrustedServerError(TransportError):
    """Whoever answers cannot prove to be the server we mean. The request was not sent."""

    is_final = True


@dataclass(frozen=True, slots=True)
class Route:
    """Where to, and which way."""

    server: URL
    server_name: str = ""
    """The name that the server's certificate must have, where that is not its host."""
    proxy: URL | None = None
    patience: timedelta = timedelta(seconds=10)

    @property
    def is_secure(self) -> bool:
        return self.server.scheme == "https"

    @property
    def needs_tls(self) -> bool:
        return self.is_secure or (self.proxy is not None and self.proxy.scheme == "https")

    @property
    def is_relayed(self) -> bool:
        """Whether a proxy reads our requests and sends them on."""
        return self.proxy is not None and not self.is_secure

    async def dial(self, context: ssl.SSLContext | None) -> Connection:
        """A connection, ready for requests. Raise TransportError where there is none to be had."""
        try:
            async with asyncio.timeout(self.patience.total_seconds()) as limit:
                return await self._reach(context)
        except ssl.SSLCertVerificationError as error:
            raise UntrustedServerError(self._failure(error)) from error
        except OSError as error:
            if isinstance(error, TimeoutError) and limit.expired():
                error = TimeoutError(f"it took longer than {self.patience.total_seconds():g} s")
            raise TransportError(self._failure(error)) from error

    async def _reach(self, context: ssl.SSLContext | None) -> Connection:
        hop = self.proxy or self.server
        loop = asyncio.get_running_loop()
        secure = hop.scheme == "https"
        _, connection = await loop.create_connection(
            Connection,
            hop.raw_host or "",
            hop.port or 0,
            ssl=context if secure else None,
            server_hostname=self._name_of(hop) if secure else None,
            happy_eyeballs_delay=_NEXT_ADDRESS,
        )
        if self.proxy is not None and self.is_secure:
            try:
                await self._tunnel(connection, self.proxy, context)
            except BaseException:
                connection.abort()
                raise
        return connection

    async def _tunnel(self, connection: Connection, proxy: URL, context: ssl.SSLContext | None) -> None:
        """Have the proxy pass everything on to the server, and speak TLS through it."""
        assert context is not None  # noqa: S101 - whoever wants a tunnel needs TLS
        target = f"{self.server.host_subcomponent}:{self.server.port}"
        request = encode_request("CONNECT", target, {"Host": target, **proxy_authorization(proxy)})
        answer = AnswerReader(_MOST_OF_A_REFUSAL, "CONNECT")
        try:
            await connection.exchange(request, answer)
        except TransportError as error:
            raise ConnectionError(f"the proxy gave no answer: {error}") from error
        if answer.status >= 300 or not connection.is_usable:
            raise ConnectionError(f"the proxy answered {answer.status}")
        inner = await asyncio.get_running_loop().start_tls(
            connection.transport, connection, context, server_hostname=self._name_of(self.server)
        )
        if inner is None:
            raise ConnectionError("the proxy closed the connection")
        connection.begin_tls(inner)

    def _name_of(self, hop: URL) -> str:
        return (self.server_name if hop is self.server else "") or hop.host or ""

    def _failure(self, error: OSError) -> str:
        """What went wrong, naming hosts and never what is secret about the way to them."""
        way = f"{self.server.host}:{self.server.port}"
        if self.proxy is not None:
            way += f" by the proxy {self.proxy.host}:{self.proxy.port}"
        return f"Cannot connect to {way}: {redact_text(str(error)) or type(error).__name__}"


def proxy_authorization(proxy: URL) -> dict[str, str]:
    """The header that lets us use a proxy, where its address says who we are."""
    if proxy.user is None:
        return {}
    return {"Proxy-Authorization": basic(proxy.user, proxy.password or "")["authorization"]}
