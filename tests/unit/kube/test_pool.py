"""Connections that are kept, held back, given up and waited for."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from edgekeeper.kube.cluster import ClusterConfig, Trust
from edgekeeper.kube.credentials import StoredCredentials, bearer
from edgekeeper.kube.http import HttpOptions, HttpTransport, UnsendableError
from edgekeeper.kube.transport import ApiRequest, TransportError
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


async def test_connection_on_which_the_server_sends_unasked_bytes_is_closed() -> None:
    writers: list[asyncio.StreamWriter] = []

    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(response(200, b"true"))

    async with hostile(talk) as server, transport_to(server.url) as transport:
        assert (await transport.send(GET, SOON)).body == b"true"
        writers[0].write(b"x")
        await writers[0].drain()
        await _a_few_turns()
        assert (await transport.send(GET, SOON)).body == b"true"
        assert server.connections == 2


async def test_answer_that_nobody_asked_for_is_not_taken_for_the_next_one() -> None:
    writers: list[asyncio.StreamWriter] = []

    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(response(200, b"true"))

    async with hostile(talk) as server, transport_to(server.url) as transport:
        assert (await transport.send(GET, SOON)).body == b"true"
        writers[0].write(response(200, b"forged"))
        await writers[0].drain()
        await _a_few_turns()
        with pytest.raises(TransportError, match="response without a request"):
            await transport.send(GET, SOON)
        assert len(server.heard) == 1, "nothing was sent"
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
        with pytest.raises(TransportError):
            await sending


async def test_closed_transport_opens_nothing() -> None:
    async with hostile(reply(200)) as server:
        transport = HttpTransport(ClusterConfig(server.url), environ={})
        await transport.close()
        with pytest.raises(TransportError, match="is closed"):
            await transport.send(GET, SOON)
        assert server.connections == 0


# The beginning


async def test_connection_has_to_be_there_in_time() -> None:
    """The server takes the connection and never says a word of TLS."""
    options = HttpOptions(connect=timedelta(milliseconds=50))
    async with hostile(reply(200)) as server:
        url = server.url.replace("http:", "https:")
        async with transport_to(url, options, trust=Trust(insecure=True)) as transport:
            with pytest.raises(TransportError, match=r"timeout to host https://127.0.0.1:\d+"):
                await transport.send(GET, SOON)


async def test_token_with_a_line_break_is_not_sent() -> None:
    credentials = StoredCredentials(bearer("secret\r\nimpersonate-user: root"))
    async with hostile(reply(200)) as server, transport_to(server.url, credentials=credentials) as transport:
        with pytest.raises(UnsendableError, match="nothing was sent") as caught:
            await transport.send(GET, SOON)
        assert (server.heard, "secret" in str(caught.value)) == ([], False)


async def _a_few_turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)
