"""Servers that break the rules: they speak HTTP byte by byte, as far as the test wants them to."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from kubesim.plane.auth.authentication import utc_now
from kubesim.plane.auth.certificates import CertificateAuthority


@dataclass(frozen=True)
class Heard:
    """A request as it arrived."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


Talk: TypeAlias = Callable[[Heard, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class HostileServer:
    """What a server has heard so far, and from how many connections."""

    url: str = ""
    heard: list[Heard] = field(default_factory=list)
    connections: int = 0
    open_connections: int = 0

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.heard]


@asynccontextmanager
async def hostile(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[HostileServer]:
    """Serve on loopback. A connection goes on until `talk` closes it or raises ConnectionError."""
    server = HostileServer()
    talks: set[asyncio.Task[object]] = set()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        server.open_connections += 1
        if (present := asyncio.current_task()) is not None:
            talks.add(present)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while not writer.is_closing():
                    request = await _read(reader)
                    server.heard.append(request)
                    await talk(request, writer)
                    await writer.drain()
        finally:
            server.open_connections -= 1
            writer.close()

    listening = await asyncio.start_server(converse, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        listening.close()
        for talk_under_way in talks:
            talk_under_way.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Heard:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Heard(method, target, headers, body)


def reply(status: int, body: bytes = b"", content_type: str = "application/json", /, **headers: str) -> Talk:
    """Answer everything in the same way."""
    raw = response(status, body, content_type, **headers)

    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)

    return talk


def response(
    status: int, body: bytes = b"", content_type: str = "application/json", /, **headers: str
) -> bytes:
    lines = {"content-type": content_type, "content-length": str(len(body)), **headers}
    shown = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} -\r\n{shown}\r\n".encode() + body


def reset(writer: asyncio.StreamWriter) -> None:
    """Break a connection the hard way."""
    writer.transport.abort()


def serving_context(authority: CertificateAuthority, *names: str) -> ssl.SSLContext:
    """What a server needs to prove that it has these names, to those who trust the authority."""
    pair = authority.issue_serving(names, utc_now())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as pem:
        pem.write(pair.certificate + pair.key)
        pem.flush()
        context.load_cert_chain(pem.name)
    return context
