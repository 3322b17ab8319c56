"""Whether an endpoint can be reached: an error says at which step it failed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from edgekeeper.cloud.reachability import EndpointError, Step, probe
from kubesim.serving import api_server

ANSWER = b"HTTP/1.1 403 Forbidden\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[int]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def failed(url: str) -> EndpointError:
    with pytest.raises(EndpointError) as caught:
        await probe(url)
    assert caught.value.remedy
    return caught.value


async def test_endpoint_that_refuses_us_is_reached_and_says_the_time() -> None:
    async with answering(ANSWER) as port:
        reached = await probe(f"http://127.0.0.1:{port}/")
    assert reached.date == "Thu, 01 Jan 2026 00:00:00 GMT"


async def test_closed_port_is_a_failed_connection(closed_port: int) -> None:
    error = await failed(f"http://127.0.0.1:{closed_port}/")
    assert error.step is Step.CONNECTION
    assert "allow egress" in error.remedy


async def test_name_that_does_not_exist_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    error = await failed("https://nowhere.invalid/")
    assert error.step is Step.NAME
    assert "DNS" in error.remedy


async def test_certificate_that_is_not_trusted_is_told_as_such() -> None:
    with api_server() as server:
        error = await failed(server.url)
    assert error.step is Step.CERTIFICATE
    assert "SSL_CERT_FILE" in error.remedy


async def test_proxy_that_cannot_be_reached_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{closed_port}")
    error = await failed("http://example.com/")
    assert error.step is Step.PROXY
    assert "HTTPS_PROXY" in error.remedy


async def test_endpoint_that_hangs_up_has_not_answered() -> None:
    async with answering(b"") as port:
        error = await failed(f"http://127.0.0.1:{port}/")
    assert error.step is Step.ANSWER
