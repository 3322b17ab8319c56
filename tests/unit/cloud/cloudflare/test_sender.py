"""The sender of production against servers that mean harm: limits hold, and nothing is followed."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from edgekeeper.cloud.cloudflare.sender import HttpSender, SenderOptions

_MIB = 1024 * 1024
_OPTIONS = SenderOptions(largest_answer=_MIB, proxy_from_environment=False)
Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def _serving(handler: Handler) -> AsyncIterator[tuple[HttpSender, str]]:
    runner = web.ServerRunner(web.Server(handler))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sender = HttpSender(_OPTIONS)
    try:
        yield sender, f"http://127.0.0.1:{runner.addresses[0][1]}/client/v4/zones?name=a%20b"
    finally:
        await sender.close()
        await runner.cleanup()


async def test_sender_carries_method_address_headers_and_body() -> None:
    seen: list[tuple[str, str, str | None, bytes]] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(
            (request.method, request.raw_path, request.headers.get("Authorization"), await request.read())
        )
        return web.Response(status=404, text="{}", headers={"X-Odd": "1", "Set-Cookie": "a=b"})

    async with _serving(handler) as (sender, url):
        for _ in range(2):
            status, headers, body = await sender("POST", url, {"authorization": "Bearer x"}, b"{}")
        assert (status, headers["x-odd"], body) == (404, "1", b"{}")
    assert seen == [("POST", "/client/v4/zones?name=a%20b", "Bearer x", b"{}")] * 2


async def test_sender_carries_large_bodies() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text=str(len(await request.content.read())))

    async with _serving(handler) as (sender, url):
        assert (await sender("PUT", url, {}, b"x" * (3 * _MIB)))[2] == str(3 * _MIB).encode()


async def test_sender_does_not_follow_redirects() -> None:
    requests = 0

    async def handler(_: web.BaseRequest) -> web.StreamResponse:
        nonlocal requests
        requests += 1
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async with _serving(handler) as (sender, url):
        status, _, _ = await sender("GET", url, {}, b"")
    assert (status, requests) == (307, 1)


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "chunked"])
async def test_sender_stops_reading_an_answer_that_is_too_large(declared: bool) -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if declared:
            return web.Response(body=b"x" * (2 * _MIB))
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)

    async with _serving(handler) as (sender, url):
        with pytest.raises(OSError, match="larger than"):
            await sender("GET", url, {}, b"")


async def test_sender_unpacks_what_was_packed() -> None:
    async def handler(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=gzip.compress(b"plain"), headers={"Content-Encoding": "gzip"})

    async with _serving(handler) as (sender, url):
        assert (await sender("GET", url, {}, b""))[2] == b"plain"


@pytest.mark.parametrize(
    ("body", "encoding", "why"),
    [
        pytest.param(gzip.compress(b"0" * (64 * _MIB)), "gzip", "larger than", id="bomb"),
        pytest.param(gzip.compress(b"plain")[:-6], "gzip", "is truncated", id="cut"),
        pytest.param(b"not packed at all", "gzip", "cannot be decompressed", id="no-gzip"),
        pytest.param(b"x", "br", "unsupported encoding", id="unknown-encoding"),
    ],
)
async def test_sender_refuses_to_unpack_what_is_bad(body: bytes, encoding: str, why: str) -> None:
    async def handler(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=body, headers={"Content-Encoding": encoding})

    async with _serving(handler) as (sender, url):
        with pytest.raises(OSError, match=why):
            await sender("GET", url, {}, b"")


async def test_sender_never_sends_a_request_twice() -> None:
    """aiohttp would, for a GET on a kept connection that the server closes without an answer."""
    requests = 0

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal requests
        requests += 1
        if requests > 1 and request.transport is not None:
            request.transport.abort()
        return web.Response(text="{}")

    async with _serving(handler) as (sender, url):
        await sender("GET", url, {}, b"")
        with pytest.raises(OSError, match=r".+"):
            await sender("GET", url, {}, b"")
    assert requests == 2


async def test_sender_raises_where_an_answer_breaks_off() -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"success":true,"result":[]}')
        assert request.transport is not None
        request.transport.abort()
        return response

    async with _serving(handler) as (sender, url):
        with pytest.raises(OSError, match=r".+"):
            await sender("GET", url, {}, b"")


async def test_sender_can_be_ended_while_an_answer_drips() -> None:
    """The transport's deadline does that: a drip is not taken for progress."""

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.01)

    async with _serving(handler) as (sender, url):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await sender("GET", url, {}, b"")


async def test_sender_says_that_nobody_listens() -> None:
    sender = HttpSender(_OPTIONS)
    with pytest.raises(OSError, match=r".+"):
        await sender("GET", "http://127.0.0.1:1/", {}, b"")
    await sender.close()
