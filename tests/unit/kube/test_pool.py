"""Connections that are kept, held back, given up and waited for."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.connection import MOST_UNREAD, Connection
from edgekeeper.kube.credentials import StoredCredentials, bearer
from edgekeeper.kube.http import HttpOptions, HttpTransport
from edgekeeper.kube.transport import ApiRequest, TransportError
from edgekeeper.kube.wire import AnswerReader, UnsendableError
from packages.kubesim.tests.plane.cluster import until
from tests.unit.kube.hostile import Heard, hostile, reply, response
from tests.unit.kube.transports import transport_to

GET = ApiRequest("GET", "/version")
SOON = timedelta(seconds=5)


# Connections that rest


async def test_connection_that_the_server_closed_is_not_used_again() -> None:
    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(response(200))
        writer.close()

    async with hostile(talk) as server, transport_to(server.url) as transport:
        for _ in range(3):
            assert (await transport.send(GET, SOON)).status == 200
            await until(lambda: server.open_connections == 0)
            await _a_few_turns()
        assert server.connections == 3


@pytest.mark.parametrize("unasked", [b"x", response(200, b"forged")], ids=["a byte", "an answer"])
async def test_connection_on_which_the_server_speaks_unasked_is_given_up(unasked: bytes) -> None:
    """What comes before a question is no answer to it."""
    writers: list[asyncio.StreamWriter] = []

    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(response(200, b"true"))

    async with hostile(talk) as server, transport_to(server.url) as transport:
        assert (await transport.send(GET, SOON)).body == b"true"
        writers[0].write(unasked)
        await until(lambda: server.open_connections == 0)
        assert (await transport.send(GET, SOON)).body == b"true"
        assert server.connections == 2


async def test_answer_is_never_that_of_the_question_before() -> None:
    async def talk(request: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(response(200, request.target.encode()) + response(200, b"forged"))

    async with hostile(talk) as server, transport_to(server.url) as transport:
        for number in range(3):
            assert (await transport.send(ApiRequest("GET", f"/{number}"), SOON)).body == b"/%d" % number
        assert server.connections == 3


async def test_connection_that_nobody_needs_is_closed_after_a_while() -> None:
    options = HttpOptions(keep_alive=timedelta(milliseconds=20))
    async with hostile(reply(200)) as server, transport_to(server.url, options) as transport:
        await asyncio.gather(*(transport.send(GET, SOON) for _ in range(5)))
        await until(lambda: server.open_connections == 0)
        assert (await transport.send(GET, SOON)).status == 200


async def test_cancelled_wait_for_a_connection_takes_none_from_others() -> None:
    held = asyncio.Event()

    async def talk(request: Heard, writer: asyncio.StreamWriter) -> None:
        if request.target == "/held":
            await held.wait()
        writer.write(response(200))

    async with hostile(talk) as server, transport_to(server.url, HttpOptions(connections=1)) as transport:
        first = asyncio.create_task(transport.send(ApiRequest("GET", "/held"), SOON))
        await until(lambda: bool(server.heard))
        with pytest.raises(TransportError, match="no answer within"):
            await transport.send(GET, timedelta(milliseconds=20))
        held.set()
        assert (await first).status == 200
        assert (await transport.send(GET, SOON)).status == 200
        assert server.connections == 1


# The end


async def test_close_ends_what_is_under_way() -> None:
    async def talk(_: Heard, __: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with hostile(talk) as server:
        transport = HttpTransport(ClusterConfig(server.url), environ={})
        sending = asyncio.create_task(transport.send(GET, SOON))
        await until(lambda: bool(server.heard))
        await transport.close()
        with pytest.raises(TransportError, match="given up"):
            await sending


async def test_closed_transport_opens_nothing() -> None:
    async with hostile(reply(200)) as server:
        transport = HttpTransport(ClusterConfig(server.url), environ={})
        await transport.close()
        with pytest.raises(TransportError, match="for good"):
            await transport.send(GET, SOON)
        assert server.connections == 0


# The beginning


async def test_connection_has_to_be_there_in_time() -> None:
    """The server takes the connection and never says a word of TLS."""
    options = HttpOptions(connect=timedelta(milliseconds=50))
    async with hostile(reply(200)) as server:
        url = server.url.replace("http:", "https:")
        async with transport_to(url, options, trust=Trust(insecure=True)) as transport:
            with pytest.raises(TransportError, match=r"Cannot connect to 127.0.0.1:\d+: it took longer than"):
                await transport.send(GET, SOON)


async def test_token_with_a_line_break_is_not_sent() -> None:
    credentials = StoredCredentials(bearer("secret\r\nimpersonate-user: root"))
    async with hostile(reply(200)) as server, transport_to(server.url, credentials=credentials) as transport:
        with pytest.raises(UnsendableError, match="nothing was sent") as caught:
            await transport.send(GET, SOON)
        assert (server.connections, "secret" in str(caught.value)) == (0, False)


# Streams


class _Socket:
    def setsockopt(self, *_: int) -> None: ...


class _Wire(asyncio.Transport):
    """A transport that goes nowhere, and remembers whether it is read from."""

    def __init__(self) -> None:
        super().__init__({"socket": _Socket()})
        self._reading = True

    def write(self, data: bytes | bytearray | memoryview) -> None: ...

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True

    def is_reading(self) -> bool:
        return self._reading

    def abort(self) -> None: ...


async def test_stream_is_held_back_while_its_reader_is_behind() -> None:
    wire, connection = _Wire(), Connection()
    connection.connection_made(wire)
    opening = asyncio.create_task(connection.open(b"", AnswerReader(10 * MOST_UNREAD)))
    await asyncio.sleep(0)
    connection.data_received(b"HTTP/1.1 200 -\r\n\r\n" + b"x" * MOST_UNREAD)
    await opening
    assert wire.is_reading()
    connection.data_received(b"y")
    assert not wire.is_reading()
    chunks = connection.chunks()
    assert len(await anext(chunks)) == MOST_UNREAD + 1
    assert wire.is_reading()
    await chunks.aclose()


async def test_whole_answer_is_not_held_back_below_its_limit() -> None:
    wire, connection = _Wire(), Connection()
    connection.connection_made(wire)
    answer = AnswerReader(10 * MOST_UNREAD)
    asking = asyncio.create_task(connection.exchange(b"", answer))
    await asyncio.sleep(0)
    connection.data_received(b"HTTP/1.1 200 -\r\ncontent-length: %d\r\n\r\n" % (4 * MOST_UNREAD))
    for _ in range(4):
        connection.data_received(bytes(MOST_UNREAD))
        assert wire.is_reading()
    await asking
    assert (len(answer.take()), connection.is_usable) == (4 * MOST_UNREAD, True)


async def test_stream_yields_what_came_before_it_broke() -> None:
    wire, connection = _Wire(), Connection()
    connection.connection_made(wire)
    opening = asyncio.create_task(connection.open(b"", AnswerReader(1000)))
    await asyncio.sleep(0)
    connection.data_received(b"HTTP/1.1 200 -\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")
    connection.connection_lost(ConnectionResetError("reset by peer"))
    await opening
    chunks = connection.chunks()
    assert await anext(chunks) == b"abc"
    with pytest.raises(TransportError, match="reset by peer"):
        await anext(chunks)


async def _a_few_turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)
