"""The transport of production against servers that do what servers must not."""

from __future__ import annotations

import asyncio
import gzip
import socket
import tracemalloc
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest

from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import SystemClock
from edgekeeper.kube.client import ClientOptions, KubeClient
from edgekeeper.kube.cluster import Trust
from edgekeeper.kube.credentials import ClientCertificate, StoredCredentials, bearer
from edgekeeper.kube.errors import ApiError, NotFoundError, ServerError, UnreachableError
from edgekeeper.kube.http import HttpOptions
from edgekeeper.kube.kinds import CONFIG_MAP, Key
from edgekeeper.kube.transport import ApiRequest, TransportError
from kubesim.plane.auth.authentication import utc_now
from kubesim.plane.auth.certificates import CertificateAuthority
from packages.kubesim.tests.plane.cluster import until
from tests.unit.kube.hostile import Heard, Talk, hostile, reply, reset, response, serving_context
from tests.unit.kube.transports import transport_to

GET = ApiRequest("GET", "/version")
SOON = timedelta(seconds=5)
KEY = Key("default", "one")
OBJECT = b'{"kind":"ConfigMap"}'


@asynccontextmanager
async def _client(url: str, deadline: timedelta = SOON, **cluster: Any) -> AsyncIterator[KubeClient]:
    async with transport_to(url, **cluster) as transport:
        yield KubeClient(transport, Calls(), SystemClock(), ClientOptions(deadline=deadline))


# Answers that are not what they should be


async def test_plain_text_404_is_not_found() -> None:
    async with (
        hostile(reply(404, b"404 page not found\n", "text/plain")) as server,
        _client(server.url) as client,
    ):
        with pytest.raises(NotFoundError, match="404 page not found"):
            await client.get(CONFIG_MAP, KEY)


async def test_throttled_request_is_sent_again_after_the_time_asked_for() -> None:
    answers = iter([response(429, b"slow down", "text/plain", retry_after="0"), response(200, OBJECT)])

    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers))

    async with hostile(talk) as server, _client(server.url) as client:
        assert await client.create(CONFIG_MAP, {}, namespace="default") == {"kind": "ConfigMap"}
        assert server.methods == ["POST", "POST"]


async def test_page_of_html_is_a_server_error() -> None:
    async with (
        hostile(reply(500, b"<html>oops</html>", "text/html")) as server,
        _client(server.url) as client,
    ):
        with pytest.raises(ServerError, match="internal server error"):
            await client.get(CONFIG_MAP, KEY)


async def test_answer_beyond_the_limit_is_not_read() -> None:
    async with (
        hostile(reply(200, b"x" * 2_000_000)) as server,
        transport_to(server.url, HttpOptions(largest_answer=1_000_000)) as transport,
    ):
        with pytest.raises(TransportError, match="larger than 1000000 bytes"):
            await transport.send(GET, SOON)


async def test_limit_counts_what_is_unpacked() -> None:
    bomb = gzip.compress(b"x" * 50_000_000)
    async with (
        hostile(reply(200, bomb, content_encoding="gzip")) as server,
        transport_to(server.url, HttpOptions(largest_answer=1_000_000)) as transport,
    ):
        tracemalloc.start()
        try:
            with pytest.raises(TransportError, match="larger than"):
                await transport.send(GET, SOON)
            assert tracemalloc.get_traced_memory()[1] < 15_000_000, "most of it is never unpacked"
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("chunked", [False, True], ids=["by length", "by chunks"])
async def test_answer_that_is_cut_off_is_no_answer(chunked: bool) -> None:
    head = (
        "transfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n" if chunked else "content-length: 100\r\n\r\nabcde"
    )

    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\n{head}".encode())
        writer.close()

    async with hostile(talk) as server, transport_to(server.url) as transport:
        with pytest.raises(TransportError):
            await transport.send(GET, SOON)


async def test_answer_that_only_drips_ends_with_the_deadline() -> None:
    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with hostile(talk) as server, transport_to(server.url) as transport:
        with pytest.raises(TransportError, match=r"no answer within 0\.1 s"):
            await transport.send(GET, timedelta(seconds=0.1))
        await until(lambda: server.open_connections == 0)


@pytest.mark.parametrize("begun", [False, True], ids=["no answer", "half an answer"])
async def test_connection_of_a_request_that_is_given_up_is_closed_without_a_tls_close(begun: bool) -> None:
    """The server does not answer a TLS close, as one that hangs: it would be waited for."""
    authority = CertificateAuthority.create(utc_now())
    context = serving_context(authority, "127.0.0.1")

    def serve(listening: socket.socket) -> bytes:
        connection, _ = listening.accept()
        connection.settimeout(5)
        with connection.dup() as below, context.wrap_socket(connection, server_side=True) as secure:
            assert secure.recv(4096).startswith(b"GET /version")
            if begun:
                secure.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabcde")
            below.settimeout(5)
            with suppress(ConnectionResetError):
                while below.recv(4096):
                    pass
        return b"closed"

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(asyncio.to_thread(serve, listening))
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        async with transport_to(url, trust=Trust(authority.certificate)) as transport:
            with pytest.raises(TransportError, match="no answer within"):
                await transport.send(GET, timedelta(seconds=0.5))
            assert await serving == b"closed"


async def test_answer_that_never_begins_ends_with_the_deadline() -> None:
    async def talk(_: Heard, __: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    async with hostile(talk) as server, transport_to(server.url) as transport:
        with pytest.raises(TransportError, match="no answer within"):
            await transport.send(GET, timedelta(seconds=0.1))


@pytest.mark.parametrize(
    "garbage", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 abc OK\r\n\r\n", b"\0" * 64 + b"\r\n\r\n"]
)
async def test_answer_in_another_language_is_no_answer(garbage: bytes) -> None:
    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(garbage)
        writer.close()

    async with hostile(talk) as server, transport_to(server.url) as transport:
        with pytest.raises(TransportError):
            await transport.send(GET, SOON)


async def test_redirect_is_not_followed() -> None:
    async with hostile(reply(200)) as trap, hostile(reply(302, location=trap.url)) as server:
        async with _client(server.url, credentials=StoredCredentials(bearer("t"))) as client:
            with pytest.raises(ApiError, match="is not followed"):
                await client.get(CONFIG_MAP, KEY)
        assert trap.heard == []


async def test_server_that_is_not_there_is_unreachable() -> None:
    async with hostile(reply(200)) as server:
        gone = server.url
    async with _client(gone, deadline=timedelta(seconds=0.2)) as client:
        with pytest.raises(UnreachableError, match="Cannot connect"):
            await client.get(CONFIG_MAP, KEY)


# Requests are sent once


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("warm", [False, True], ids=["new connection", "kept connection"])
async def test_request_is_sent_once_when_the_connection_breaks(method: str, warm: bool) -> None:
    """Many libraries repeat some of these by themselves on a kept connection."""

    async def talk(request: Heard, writer: asyncio.StreamWriter) -> None:
        if request.target == "/warm":
            writer.write(response(200))
        else:
            reset(writer)

    async with hostile(talk) as server, transport_to(server.url) as transport:
        if warm:
            await transport.send(ApiRequest("GET", "/warm"), SOON)
        with pytest.raises(TransportError):
            await transport.send(ApiRequest(method, "/effect", body=b"{}"), SOON)
        assert [request.target for request in server.heard].count("/effect") == 1
        assert server.connections == 1


async def test_write_whose_connection_breaks_is_not_repeated() -> None:
    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        reset(writer)

    async with hostile(talk) as server, _client(server.url) as client:
        with pytest.raises(UnreachableError):
            await client.create(CONFIG_MAP, {}, namespace="default")
        assert server.methods == ["POST"]


async def test_cancelled_request_leaves_no_connection_behind() -> None:
    async def talk(_: Heard, __: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0)

    async with hostile(talk) as server, transport_to(server.url) as transport:
        task = asyncio.create_task(transport.send(GET, SOON))
        await until(lambda: bool(server.heard))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await until(lambda: server.open_connections == 0)


# What is sent


async def test_request_carries_what_it_should_and_nothing_else() -> None:
    cookie = {"set_cookie": "session=1"}
    async with hostile(reply(200, OBJECT, **cookie)) as server:
        async with _client(server.url, credentials=StoredCredentials(bearer("t"))) as client:
            await client.get(CONFIG_MAP, KEY)
            await client.merge_patch(CONFIG_MAP, KEY, {"data": {"a": "b"}})
        get, patch = server.heard
    assert get.target == "/api/v1/namespaces/default/configmaps/one"
    assert set(get.headers) == {"host", "accept", "accept-encoding", "user-agent", "authorization"}
    assert get.headers["user-agent"].startswith("edgekeeper/")
    assert get.headers["authorization"] == "Bearer t"
    assert (patch.headers["content-type"], patch.body) == (
        "application/merge-patch+json",
        b'{"data":{"a":"b"}}',
    )
    assert "cookie" not in patch.headers


async def test_transport_names_its_host_for_metrics() -> None:
    async with transport_to("https://api.example.com:6443/prefix") as transport:
        assert transport.host == "api.example.com:6443"


async def test_server_may_be_below_a_path() -> None:
    async with hostile(reply(200, OBJECT)) as server:
        async with _client(f"{server.url}/k8s/clusters/c-1/") as client:
            await client.get(CONFIG_MAP, KEY)
        assert server.heard[0].target == "/k8s/clusters/c-1/api/v1/namespaces/default/configmaps/one"


@pytest.mark.parametrize(
    ("name", "sent"),
    [("system:node", "system:node"), ("a b?c#d", "a%20b%3Fc%23d"), ("ü", "%C3%BC")],
    ids=["plain in paths", "reserved", "not ASCII"],
)
async def test_name_stays_one_segment_of_the_path(name: str, sent: str) -> None:
    async with hostile(reply(200, OBJECT)) as server:
        async with _client(server.url) as client:
            await client.get(CONFIG_MAP, Key("default", name))
        assert server.heard[0].target == f"/api/v1/namespaces/default/configmaps/{sent}"


async def test_compressed_answers_are_unpacked() -> None:
    packed = gzip.compress(OBJECT)
    async with hostile(reply(200, packed, content_encoding="gzip")) as server:
        async with _client(server.url) as client:
            assert await client.get(CONFIG_MAP, KEY) == {"kind": "ConfigMap"}
        assert server.heard[0].headers["accept-encoding"] == "gzip"


async def test_compression_can_be_switched_off() -> None:
    async with hostile(reply(200, OBJECT)) as server:
        async with _client(server.url, compression=False) as client:
            await client.get(CONFIG_MAP, KEY)
        assert server.heard[0].headers["accept-encoding"] == "identity"


async def test_headers_that_come_twice_are_joined() -> None:
    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b'HTTP/1.1 200 OK\r\nWarning: 299 - "a"\r\nWarning: 299 - "b"\r\ncontent-length: 0\r\n\r\n'
        )

    async with hostile(talk) as server, transport_to(server.url) as transport:
        answered = await transport.send(GET, SOON)
    assert answered.headers["warning"] == '299 - "a", 299 - "b"'


# Credentials


class Rotating:
    """Credentials with a list of tokens; each refusal moves on to the next one."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = list(tokens)

    async def headers(self) -> Mapping[str, str]:
        return bearer(self._tokens[0])

    async def certificate(self) -> ClientCertificate | None:
        return None

    async def on_unauthorized(self, refused: Mapping[str, str]) -> bool:
        assert refused == bearer(self._tokens[0])
        if len(self._tokens) == 1:
            return False
        self._tokens.pop(0)
        return True


def _accepting(token: str) -> Talk:
    async def talk(request: Heard, writer: asyncio.StreamWriter) -> None:
        accepted = request.headers["authorization"] == f"Bearer {token}"
        writer.write(response(200, OBJECT) if accepted else response(401))

    return talk


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_refused_credentials_are_replaced_and_the_request_repeated(method: str) -> None:
    async with hostile(_accepting("new")) as server:
        async with transport_to(server.url, credentials=Rotating("old", "new")) as transport:
            answered = await transport.send(ApiRequest(method, "/x", body=b"{}"), SOON)
        assert (answered.status, server.methods) == (200, [method, method])


async def test_refused_credentials_are_replaced_once_per_request() -> None:
    async with hostile(_accepting("never")) as server:
        async with transport_to(server.url, credentials=Rotating("a", "b", "c")) as transport:
            assert (await transport.send(GET, SOON)).status == 401
        assert len(server.heard) == 2


async def test_request_is_not_repeated_without_better_credentials() -> None:
    async with hostile(_accepting("never")) as server:
        async with transport_to(server.url, credentials=Rotating("only")) as transport:
            assert (await transport.send(GET, SOON)).status == 401
        assert len(server.heard) == 1


async def test_watch_gets_better_credentials_too() -> None:
    async with hostile(_accepting("new")) as server:
        async with (
            transport_to(server.url, credentials=Rotating("old", "new")) as transport,
            transport.stream(GET) as stream,
        ):
            assert stream.status == 200
        assert len(server.heard) == 2


async def test_no_error_ever_shows_a_token() -> None:
    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        reset(writer)

    secret = "eyJhbGciOi.secret-token-0123456789"
    async with (
        hostile(talk) as server,
        _client(server.url, credentials=StoredCredentials(bearer(secret))) as client,
    ):
        with pytest.raises(UnreachableError) as caught:
            await client.delete(CONFIG_MAP, KEY)
    error: BaseException | None = caught.value
    while error is not None:
        assert "secret-token" not in f"{error!s} {error!r}"
        error = error.__cause__ or error.__context__


# Pools


def _held(held: asyncio.Event) -> Talk:
    async def talk(request: Heard, writer: asyncio.StreamWriter) -> None:
        if request.target == "/held":
            await held.wait()
        writer.write(response(200))

    return talk


async def test_requests_wait_for_a_free_connection() -> None:
    held = asyncio.Event()
    async with hostile(_held(held)) as server:
        async with (
            transport_to(server.url, HttpOptions(connections=2)) as transport,
            asyncio.TaskGroup() as group,
        ):
            for _ in range(10):
                group.create_task(transport.send(ApiRequest("GET", "/held"), SOON))
            await until(lambda: len(server.heard) == 2)
            for _ in range(50):
                await asyncio.sleep(0)
            assert len(server.heard) == 2
            held.set()
        assert (len(server.heard), server.connections) == (10, 2)


async def test_watches_take_no_connection_from_requests() -> None:
    async def talk(request: Heard, writer: asyncio.StreamWriter) -> None:
        if "watch" in request.target:
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        else:
            writer.write(response(200))

    async with (
        hostile(talk) as server,
        transport_to(server.url, HttpOptions(connections=1)) as transport,
        transport.stream(ApiRequest("GET", "/watch")),
        transport.stream(GET),
    ):
        assert (await transport.send(GET, SOON)).status == 200


async def test_connections_are_kept_for_the_next_request() -> None:
    async with hostile(reply(200)) as server, transport_to(server.url) as transport:
        for _ in range(5):
            await transport.send(GET, SOON)
        assert server.connections == 1


# Streams


async def test_stream_yields_what_comes_when_it_comes() -> None:
    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")

    async with hostile(talk) as server, transport_to(server.url) as transport:
        async with transport.stream(GET) as stream:
            assert await anext(stream.chunks) == b"abc"
        await until(lambda: server.open_connections == 0)


async def test_stream_that_breaks_says_so() -> None:
    async def talk(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")
        await writer.drain()
        writer.close()

    async with (
        hostile(talk) as server,
        transport_to(server.url) as transport,
        transport.stream(GET) as stream,
    ):
        assert await anext(stream.chunks) == b"abc"
        with pytest.raises(TransportError):
            await anext(stream.chunks)
