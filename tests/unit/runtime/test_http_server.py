"""Whoever can reach a port can send anything to it."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta

import aiohttp
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.runtime import http_server as module
from edgekeeper.runtime.certificates import self_signed, server_context
from edgekeeper.runtime.http_server import Address, Listener, ListenError, plain, read_body
from tests.logs import capture_logs
from tests.unit.runtime.wire import ANYWHERE, LOOPBACK, NOW, believing, get, listening, say

SHORTLY = timedelta(milliseconds=50)


async def greet(_: web.BaseRequest) -> web.Response:
    return plain("hello")


async def hang(_: web.BaseRequest) -> web.Response:
    await asyncio.Event().wait()
    return plain("never")


# Addresses


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":8081", Address("", 8081)),
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("localhost:65535", Address("localhost", 65535)),
        ("[::1]:8443", Address("::1", 8443)),
        ("0", None),
        ("", None),
    ],
)
def test_address_is_read_as_operators_write_it(text: str, address: Address | None) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize(
    "text", ["8080", ":", ":http", ":65536", "::1:80", "[::1]", "a:b:1", "host:-1", " :80"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"is not an address such as :8080 or 127\.0\.0\.1:8080, nor 0 for none"
    ):
        Address.parse(text)


@given(st.from_regex(r"([a-z0-9.-]{1,20})?", fullmatch=True), st.integers(0, 65535))
def test_address_survives_being_written_and_read(host: str, port: int) -> None:
    address = Address(host, port)
    assert Address.parse(str(address)) == address


# Binding


async def test_port_in_use_is_told_with_the_flag_that_changes_it() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        address = Address(LOOPBACK, taken.getsockname()[1])
        listener = Listener(greet, address, "--health-probe-bind-address")
        with pytest.raises(ListenError) as caught:
            await listener.start()
    assert str(caught.value) == (
        f"cannot listen on {address}: address in use; choose another with --health-probe-bind-address"
    )


async def test_address_of_another_machine_is_told() -> None:
    why = "cannot listen on 192.0.2.1:80: this machine has no such address; choose another with --flag"
    with pytest.raises(ListenError, match=re.escape(why)):
        await Listener(greet, Address("192.0.2.1", 80), "--flag").start()


async def test_unknown_host_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", nobody)
    why = "cannot listen on edge:80: Name or service not known; choose another with --flag"
    with pytest.raises(ListenError, match=re.escape(why)):
        await Listener(greet, Address("edge", 80), "--flag").start()


async def test_empty_host_is_every_address_of_the_machine() -> None:
    with socket.create_server((LOOPBACK, 0)) as probe:
        port = probe.getsockname()[1]
    listener = Listener(greet, Address("", port), "--flag")
    await listener.start()
    assert await get(f"http://{LOOPBACK}:{port}/") == (200, "hello")
    await listener.stop()


async def test_stopping_what_never_started_is_nothing() -> None:
    await Listener(greet, ANYWHERE, "--flag").stop()


# Answers


async def test_answers_do_not_name_the_software() -> None:
    async with (
        listening(greet) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://{LOOPBACK}:{port}/") as response,
    ):
        headers = response.headers
    assert "Server" not in headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x00\x05hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"x" * 10_000 + b" HTTP/1.1\r\n\r\n",
    ],
    ids=["TLS on a plain port", "unknown version", "endless line"],
)
async def test_malformed_requests_get_400_without_names_or_a_line_in_the_log(
    request_bytes: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(greet) as port:
        answer = await say(port, request_bytes)
    assert answer.startswith(b"HTTP/1.0 400")
    assert b"aiohttp" not in answer
    assert b"Server:" not in answer
    assert "Traceback" not in caplog.text
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_failing_handler_is_logged_and_says_nothing() -> None:
    async def fail(_: web.BaseRequest) -> web.Response:
        raise RuntimeError("token=secret")

    async with listening(fail) as port:
        with capture_logs() as logs:
            answer = await get(f"http://{LOOPBACK}:{port}/")
    assert answer == (500, "internal error\n")
    assert [(line["event"], line["log_level"]) for line in logs] == [("Request failed", "error")]


# Limits


async def test_handler_that_takes_too_long_is_cancelled() -> None:
    listener = Listener(hang, ANYWHERE, "--flag", limit=SHORTLY)
    await listener.start()
    assert await get(f"http://{LOOPBACK}:{listener.port}/") == (503, "this takes too long\n")
    await listener.stop()


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost:"], ids=["nothing", "half a request"])
async def test_connection_without_a_request_is_closed(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", SHORTLY)
    async with listening(greet) as port:
        assert await say(port, sent) == b""


async def test_connection_that_has_sent_a_request_may_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", SHORTLY)
    released = asyncio.Event()

    async def wait(_: web.BaseRequest) -> web.Response:
        await released.wait()
        return plain("patience")

    async with listening(wait) as port:
        asking = asyncio.create_task(get(f"http://{LOOPBACK}:{port}/"))
        await say(port, b"")  # comes back when the other connection's time would be over too
        released.set()
        assert await asking == (200, "patience")


async def test_silent_tls_handshake_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", SHORTLY)
    async with listening(greet, server_context(self_signed((LOOPBACK,), NOW))) as port:
        assert await say(port, b"") == b""


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "in chunks"])
async def test_body_has_a_limit(chunked: bool) -> None:
    async def measure(request: web.BaseRequest) -> web.Response:
        body = await read_body(request, 1000)
        return plain("too large" if body is None else str(len(body)))

    async with listening(measure) as port, aiohttp.ClientSession() as session:
        for size, said in ((1000, "1000"), (1001, "too large")):
            data = _in_chunks(size) if chunked else b"x" * size
            async with session.post(f"http://{LOOPBACK}:{port}/", data=data) as response:
                assert await response.text() == said


async def _in_chunks(size: int) -> AsyncIterator[bytes]:
    for _ in range(size):
        yield b"x"


async def test_compressed_bodies_are_not_unpacked() -> None:
    """A kilobyte can become a gigabyte."""

    async def measure(request: web.BaseRequest) -> web.Response:
        return plain(str(len(await read_body(request, 1000) or b"")))

    async with listening(measure) as port, aiohttp.ClientSession() as session:
        packed = {"Content-Encoding": "gzip"}
        async with session.post(f"http://{LOOPBACK}:{port}/", data=b"bomb", headers=packed) as response:
            assert await response.text() == "4"


# Ending


async def test_running_requests_may_end_when_the_server_stops() -> None:
    entered, released = asyncio.Event(), asyncio.Event()

    async def wait(_: web.BaseRequest) -> web.Response:
        entered.set()
        await released.wait()
        return plain("done")

    listener = Listener(wait, ANYWHERE, "--flag")
    await listener.start()
    port = listener.port
    asking = asyncio.create_task(get(f"http://{LOOPBACK}:{port}/"))
    await entered.wait()
    stopping = asyncio.create_task(listener.stop())
    await asyncio.sleep(0)
    with pytest.raises(aiohttp.ClientConnectionError):
        await get(f"http://{LOOPBACK}:{port}/")
    released.set()
    assert await asking == (200, "done")
    await stopping


async def test_requests_that_never_end_do_not_hold_up_the_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DRAIN", SHORTLY)
    listener = Listener(hang, ANYWHERE, "--flag")
    await listener.start()
    asking = asyncio.create_task(get(f"http://{LOOPBACK}:{listener.port}/"))
    await _until(lambda: listener.connections == 1)
    async with asyncio.timeout(5):
        await listener.stop()
    with pytest.raises(aiohttp.ClientError):
        await asking


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
async def test_idle_connections_are_closed_when_the_stop_is_over(secure: bool) -> None:
    tls = server_context(self_signed((LOOPBACK,), NOW)) if secure else None
    listener = Listener(greet, ANYWHERE, "--flag", tls)
    await listener.start()
    url = f"{'https' if secure else 'http'}://{LOOPBACK}:{listener.port}/"
    async with aiohttp.ClientSession() as session:
        async with session.get(url, ssl=believing()) as response:
            await response.read()
        assert listener.connections == 1
        await listener.stop()
        assert listener.connections == 0


async def test_peer_that_does_not_answer_the_tls_close_is_dropped_by_the_stop() -> None:
    listener = Listener(greet, ANYWHERE, "--flag", server_context(self_signed((LOOPBACK,), NOW)))
    await listener.start()
    with socket.create_connection((LOOPBACK, listener.port)) as plain_socket:
        silent = await asyncio.to_thread(believing().wrap_socket, plain_socket, server_hostname=LOOPBACK)
        with silent:
            await _until(lambda: listener.connections == 1)
            await listener.stop()
            assert listener.connections == 0


async def test_connection_whose_handshake_ends_after_the_stop_is_closed() -> None:
    listener = Listener(greet, ANYWHERE, "--flag", server_context(self_signed((LOOPBACK,), NOW)))
    await listener.start()
    with socket.create_connection((LOOPBACK, listener.port)) as late:
        await _until(lambda: bool(listener._idle_timers))  # it is accepted
        await listener.stop()
        silent = await asyncio.to_thread(believing().wrap_socket, late, server_hostname=LOOPBACK)
        silent.settimeout(5)
        with silent:
            with suppress(ConnectionResetError):
                assert await asyncio.to_thread(silent.recv, 1) == b""
            assert listener.connections == 0


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - a connection has no event
            await asyncio.sleep(0)


async def test_listener_speaks_tls_where_it_has_a_certificate() -> None:
    async with listening(greet, server_context(self_signed((LOOPBACK,), NOW))) as port:
        assert await get(f"https://{LOOPBACK}:{port}/", ssl=believing()) == (200, "hello")
