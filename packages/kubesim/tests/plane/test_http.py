"""The wire: whatever a client sends, it gets a clear answer or a closed connection, and the server goes on."""

from __future__ import annotations

import asyncio
import gzip
import io
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import aiohttp
import msgspec
import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.auth.authentication import utc_now
from kubesim.plane.handler import MAX_BODY
from kubesim.plane.kubeconfig import Endpoint
from kubesim.plane.plane import Plane
from kubesim.plane.resource import GroupResource
from packages.kubesim.tests.plane.cluster import (
    CONFIG_MAPS,
    DEFINITIONS,
    PATIENCE,
    WIDGETS,
    config_map,
    define,
    definition,
    running,
    until,
)

STORED = GroupResource("", "configmaps")


@dataclass
class Wire:
    """A plane that listens, and ways to talk to it, well or badly."""

    plane: Plane
    endpoint: Endpoint

    @property
    def port(self) -> int:
        return int(self.endpoint.url.rpartition(":")[2])

    @property
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.endpoint.ca_pem.decode())

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.tls)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)

    async def exchange(self, sent: bytes) -> bytes:
        """Send bytes as they are; return everything that comes back until the server closes."""
        async with asyncio.timeout(PATIENCE), self.connection() as (reader, writer):
            writer.write(sent)
            return await reader.read()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[aiohttp.ClientSession]:
        connector = aiohttp.TCPConnector(ssl=self.tls, limit=0, force_close=True)
        timeout = aiohttp.ClientTimeout(total=3 * PATIENCE)
        async with aiohttp.ClientSession(self.endpoint.url, connector=connector, timeout=timeout) as session:
            yield session

    async def post(self, target: str, body: bytes, **headers: str) -> tuple[int, JsonObject]:
        named = {"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
        async with self.session() as session, session.post(target, data=body, headers=named) as response:
            return response.status, msgspec.json.decode(await response.read())

    def watchers(self) -> int:
        return len(self.plane.store.collection(STORED)._wakers)


@pytest.fixture
async def wire(caplog: pytest.LogCaptureFixture) -> AsyncIterator[Wire]:
    """A listening plane that must be in good health at the end, with nothing to complain about in its log."""
    caplog.set_level(logging.WARNING)
    async with running(now=utc_now) as plane:
        started = Wire(plane, await plane.serve())
        yield started
        async with started.session() as session, session.get("/readyz") as response:
            assert await response.text() == "ok"
        await until(lambda: not started.watchers())
    assert [record.getMessage() for record in caplog.get_records("call")] == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


def request(method: str, target: str, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def nested(depth: int) -> bytes:
    return b'{"metadata":{"name":"deep"},"data":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"


MALFORMED = {
    "empty": b"",
    "no-json": b"hello",
    "cut-off": b'{"metadata": {"name": "x"',
    "a-list": b"[]",
    "a-number": b"5",
    "a-string": b'"x"',
    "null": b"null",
    "trailing": b"{} {}",
    "bad-utf8": b'{"metadata":{"name":"\xff\xfe"}}',
    "lone-surrogate": b'{"metadata":{"name":"\\ud800"}}',
    "nul-name": b'{"metadata":{"name":"\\u0000"}}',
    "metadata-list": b'{"metadata":[]}',
    "metadata-string": b'{"metadata":"x"}',
    "name-number": b'{"metadata":{"name":5}}',
    "labels-list": b'{"metadata":{"name":"x","labels":["a"]}}',
    "label-number": b'{"metadata":{"name":"x","labels":{"a":5}}}',
    "owners-string": b'{"metadata":{"name":"x","ownerReferences":"y"}}',
    "owner-string": b'{"metadata":{"name":"x","ownerReferences":["y"]}}',
    "owner-null": b'{"metadata":{"name":"x","ownerReferences":[null]}}',
    "finalizer-object": b'{"metadata":{"name":"x","finalizers":[{}]}}',
    "managed-string": b'{"metadata":{"name":"x","managedFields":"y"}}',
    "managed-list": b'{"metadata":{"name":"x","managedFields":[5]}}',
    "kind-number": b'{"kind":5,"metadata":{"name":"x"}}',
    "kind-other": b'{"kind":"Pod","metadata":{"name":"x"}}',
    "version-other": b'{"apiVersion":"v7","metadata":{"name":"x"}}',
    "data-list": b'{"metadata":{"name":"x"},"data":[]}',
    "data-number": b'{"metadata":{"name":"x"},"data":{"a":5}}',
    "huge-number": b'{"metadata":{"name":"x","generation":1' + b"0" * 400 + b"}}",
    "endless-number": b'{"metadata":{"name":"x","generation":' + b"9" * 6000 + b"}}",
    "nan": b'{"metadata":{"name":"x"},"data":NaN}',
    "nested-1000": nested(1000),
    "nested-50000": nested(50_000),
    "brackets": b"[" * 200_000,
    "generate-name-number": b'{"metadata":{"generateName":5}}',
    "long-name": b'{"metadata":{"name":"' + b"x" * 100_000 + b'"}}',
}  # fmt: skip


def assert_refused(status: int, answer: JsonObject) -> None:
    """A refusal on purpose: a Status with a message, and not the confession of a mistake."""
    assert status >= 400
    assert (answer["kind"], answer["status"], answer["code"]) == ("Status", "Failure", status)
    assert answer["message"]
    assert "the server made a mistake" not in answer["message"]


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
@pytest.mark.parametrize("target", [CONFIG_MAPS, WIDGETS], ids=["built-in", "custom"])
async def test_malformed_object_gets_a_status(wire: Wire, target: str, body: bytes) -> None:
    await define(wire.plane, preserving())
    status, answer = await wire.post(target, body)
    assert_refused(status, answer)


def preserving() -> JsonObject:
    """A definition whose objects may hold anything."""
    tree = definition()
    schema = tree["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-preserve-unknown-fields"] = True
    return tree


YAML = {
    "tab": b"a:\n\t- b",
    "cut-off": b"a: [1, 2",
    "bad-utf8": b"a: \xff\xff",
    "nul": b"a: \x00",
    "tag": b"a: !!python/object/apply:os.system [ls]",
    "nested": b"[" * 5_000,
    "nested-block": b"".join(b" " * depth + b"a:\n" for depth in range(1_000)),
    "alias-of-itself": b"a: &x [*x]",
    "bomb": b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (98 + level, 98 + level, b",".join([b"*%c" % (97 + level)] * 9)) for level in range(8)
    ),
    "unknown-alias": b"a: *nobody",
    "many-documents": b"---\na: 1\n---\nb: 2\n",
}  # fmt: skip


@pytest.mark.parametrize("body", YAML.values(), ids=YAML.keys())
async def test_malformed_yaml_gets_a_status(wire: Wire, body: bytes) -> None:
    status, answer = await wire.post(CONFIG_MAPS, body, Content_Type="application/yaml")
    assert_refused(status, answer)


PATCHES = {
    "json-patch-object": ("application/json-patch+json", b"{}"),
    "json-patch-numbers": ("application/json-patch+json", b"[1, 2]"),
    "json-patch-no-path": ("application/json-patch+json", b'[{"op":"add"}]'),
    "json-patch-path-number": ("application/json-patch+json", b'[{"op":"add","path":5,"value":1}]'),
    "json-patch-metadata": ("application/json-patch+json", b'[{"op":"replace","path":"/metadata","value":5}]'),
    "json-patch-root": ("application/json-patch+json", b'[{"op":"replace","path":"","value":[]}]'),
    "json-patch-uid": ("application/json-patch+json", b'[{"op":"remove","path":"/metadata/uid"}]'),
    "merge-list": ("application/merge-patch+json", b"[]"),
    "merge-metadata": ("application/merge-patch+json", b'{"metadata":5}'),
    "merge-deep": ("application/merge-patch+json", nested(50_000)),
    "strategic-list": ("application/strategic-merge-patch+json", b"[]"),
    "strategic-directive": ("application/strategic-merge-patch+json", b'{"$patch":"explode"}'),
    "strategic-labels": ("application/strategic-merge-patch+json", b'{"metadata":{"labels":5}}'),
    "apply-list": ("application/apply-patch+yaml", b"[]"),
    "apply-kindless": ("application/apply-patch+yaml", b"{}"),
    "apply-metadata": ("application/apply-patch+yaml", b"apiVersion: v1\nkind: ConfigMap\nmetadata: 5"),
    "apply-labels": ("application/apply-patch+yaml", b"apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: [1]}"),
    "apply-deep": ("application/apply-patch+yaml", nested(50_000)),
    "no-type": ("", b"{}"),
    "unknown-type": ("application/x-who-knows", b"{}"),
}  # fmt: skip


@pytest.mark.parametrize(("content_type", "body"), PATCHES.values(), ids=PATCHES.keys())
async def test_malformed_patch_gets_a_status(wire: Wire, content_type: str, body: bytes) -> None:
    await wire.plane.client.create(CONFIG_MAPS, config_map("a", k="v"))
    async with (
        wire.session() as session,
        session.patch(
            f"{CONFIG_MAPS}/a?fieldManager=m", data=body, headers={"Content-Type": content_type}
        ) as response,
    ):
        answer = msgspec.json.decode(await response.read())
    assert_refused(response.status, answer)
    assert (await wire.plane.client.get(f"{CONFIG_MAPS}/a"))["data"] == {"k": "v"}


async def test_deep_objects_are_either_stored_whole_or_refused(wire: Wire) -> None:
    await define(wire.plane, preserving())
    for depth in (10, 100, 500, 900, 2_000, 9_000):
        tree = b'{"apiVersion":"example.com/v1","kind":"Widget",' + nested(depth)[1:]
        status, answer = await wire.post(WIDGETS, tree)
        assert status in (201, 400, 409), answer
        if status == 201:
            async with wire.session() as session, session.get(f"{WIDGETS}/deep") as response:
                assert (await response.read()).count(b'"a":') >= depth
            await wire.plane.client.delete(f"{WIDGETS}/deep")


@pytest.mark.parametrize(
    "body",
    [
        b'{"kind":"Pod","apiVersion":"v1"}',
        b'{"gracePeriodSeconds":"soon"}',
        b'{"preconditions":5}',
        b'{"preconditions":{"uid":5}}',
        b'{"propagationPolicy":5}',
        b'{"dryRun":"All"}',
        b'{"dryRun":["Some"]}',
        b"[]",
        b"nonsense",
    ],
)
async def test_malformed_options_of_a_deletion_get_a_status(wire: Wire, body: bytes) -> None:
    await wire.plane.client.create(CONFIG_MAPS, config_map("a"))
    headers = {"Content-Type": "application/json"}
    async with (
        wire.session() as session,
        session.delete(f"{CONFIG_MAPS}/a", data=body, headers=headers) as response,
    ):
        answer = msgspec.json.decode(await response.read())
    assert answer["kind"] == "Status"
    assert response.status in (200, 400, 409, 422)


async def chunks(size: int) -> AsyncIterator[bytes]:
    for _ in range(0, size, 2**16):
        yield b"x" * 2**16


@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
async def test_body_beyond_the_limit_is_refused(wire: Wire, chunked: bool) -> None:
    body = chunks(MAX_BODY + 2**17) if chunked else io.BytesIO(b"x" * (MAX_BODY + 1))
    async with wire.session() as session, session.post(CONFIG_MAPS, data=body) as response:
        answer = msgspec.json.decode(await response.read())
    assert (response.status, answer["reason"]) == (413, "RequestEntityTooLarge")
    assert answer["message"] == f"Request entity too large: limit is {MAX_BODY}"


async def test_announcement_of_a_giant_body_is_refused_at_once(wire: Wire) -> None:
    answer = await wire.exchange(request("POST", CONFIG_MAPS, f"Content-Length: {10**12}", body=b"{"))
    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_body_within_the_limit_is_taken(wire: Wire) -> None:
    body = msgspec.json.encode(config_map("big", k="x" * 900_000))
    status, answer = await wire.post(CONFIG_MAPS, body)
    assert (status, answer["metadata"]["name"]) == (201, "big")


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("gzip", b"this is not gzip"), ("gzip", gzip.compress(b"{}")[:-9]), ("deflate", b"\x00\xff\x00")],
    ids=["gzip-garbage", "gzip-cut-off", "deflate-garbage"],
)
async def test_body_that_does_not_decompress_is_refused(wire: Wire, encoding: str, body: bytes) -> None:
    head = (f"Content-Encoding: {encoding}", f"Content-Length: {len(body)}", "Content-Type: application/json")
    answer = await wire.exchange(request("POST", CONFIG_MAPS, *head, body=body))
    assert answer[9:12] in (b"400", b"422")


async def test_decompressed_body_counts_against_the_limit(wire: Wire) -> None:
    body = gzip.compress(b" " * (64 * 1024 * 1024))
    head = ("Content-Encoding: gzip", f"Content-Length: {len(body)}", "Content-Type: application/json")
    answer = await wire.exchange(request("POST", CONFIG_MAPS, *head, body=body))
    assert answer[:13] in (b"HTTP/1.1 413 ", b"HTTP/1.1 400 ")


GARBAGE = {
    "noise": b"\x00\x01\x02\xff" * 100 + b"\r\n\r\n",
    "words": b"how do you do\r\n\r\n",
    "bad-header": b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
    "nul-header": b"GET / HTTP/1.1\r\nHost: local\x00host\r\n\r\n",
    "long-line": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    "long-header": b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    "bad-length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n",
    "two-lengths": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "bad-chunk": request("POST", CONFIG_MAPS, "Transfer-Encoding: chunked", body=b"zz\r\n{}\r\n0\r\n\r\n"),
}


@pytest.mark.parametrize("sent", GARBAGE.values(), ids=GARBAGE.keys())
async def test_garbage_instead_of_http_is_a_bad_request(wire: Wire, sent: bytes) -> None:
    answer = await wire.exchange(sent)
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 "))


@pytest.mark.parametrize(
    "target",
    ["/%ff%fe", "/%00", "//", "/../../etc/passwd", "/api/v1/namespaces/%2e%2e/configmaps", "/api//v1", "/?%ff=%fe",
     "/api/v1/watch", "/apis/%20/v1", f"{CONFIG_MAPS}/%C3%A9", f"{CONFIG_MAPS}?limit=%C3%A9", "*"],
)  # fmt: skip
async def test_strange_paths_are_answered(wire: Wire, target: str) -> None:
    answer = await wire.exchange(request("GET", target))
    status = int(answer.split(b" ")[1])
    assert status in (200, 400, 404, 500)
    assert b"the server made a mistake" not in answer


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "FROBNICATE"])
async def test_unusual_methods_are_answered(wire: Wire, method: str) -> None:
    answer = await wire.exchange(request(method, f"{CONFIG_MAPS}/a"))
    assert int(answer.split(b" ")[1]) in (400, 404, 405)


async def test_warnings_of_any_content_reach_the_client(wire: Wire) -> None:
    for field in (
        "plain",
        'quo"te',
        "back\\slash",
        "line\nbreak",
        "nul\x00",
        "bell\x07",
        "é",
        "\U0001f600",
        "x" * 20_000,
    ):
        tree = {**config_map("a"), field: 1}
        status, answer = await wire.post(f"{CONFIG_MAPS}?dryRun=All", msgspec.json.encode(tree))
        assert status == 201, (field, answer)


async def test_warning_header_is_quoted(wire: Wire) -> None:
    tree = msgspec.json.encode({**config_map("a"), "nonsense": 1})
    head = (f"Content-Length: {len(tree)}", "Content-Type: application/json")
    answer = await wire.exchange(request("POST", CONFIG_MAPS, *head, body=tree))
    assert b'\r\nWarning: 299 - "unknown field \\"nonsense\\""\r\n' in answer


async def test_body_that_stops_half_way_changes_nothing(wire: Wire) -> None:
    head = ("Content-Length: 1000", "Content-Type: application/json")
    async with wire.connection() as (_, writer):
        writer.write(request("POST", CONFIG_MAPS, *head, body=b'{"metadata":{"name":"half"}}'))
        await writer.drain()
    async with wire.session() as session, session.get(f"{CONFIG_MAPS}/half") as response:
        assert response.status == 404


async def test_client_that_leaves_before_the_answer_harms_nobody(wire: Wire) -> None:
    await wire.plane.client.create(CONFIG_MAPS, config_map("big", k="x" * 900_000))
    for _ in range(5):
        async with wire.connection() as (reader, writer):
            writer.write(request("GET", CONFIG_MAPS))
            await writer.drain()
            await reader.read(100)


async def test_connection_that_says_nothing_harms_nobody(wire: Wire) -> None:
    async with wire.connection(), wire.connection() as (_, writer):
        writer.write(b"GET /re")
        await writer.drain()


async def test_plain_http_on_the_tls_port_is_turned_away(wire: Wire) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", wire.port)
    writer.write(request("GET", "/readyz"))
    answer = await asyncio.gather(reader.read(), return_exceptions=True)
    assert b"ok" not in (answer[0] if isinstance(answer[0], bytes) else b"")
    writer.close()
    await asyncio.gather(writer.wait_closed(), return_exceptions=True)


async def test_client_that_does_not_answer_the_tls_close_is_cut_off_by_the_stop() -> None:
    async with running(now=utc_now) as plane:
        wire = Wire(plane, await plane.serve())
        with socket.create_connection(("127.0.0.1", wire.port)) as connection:
            below = connection.dup()  # sees what is sent below TLS, and does not answer
            with below, await asyncio.to_thread(_handshake, wire.tls, connection):
                async with asyncio.timeout(PATIENCE):
                    await plane.stop()
                below.settimeout(PATIENCE)
                with suppress(ConnectionResetError):
                    while await asyncio.to_thread(below.recv, 4096):
                        pass


def _handshake(tls: ssl.SSLContext, connection: socket.socket) -> ssl.SSLSocket:
    client = tls.wrap_socket(connection, server_hostname="127.0.0.1")
    client.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b" 200 " in client.recv(1024)
    return client


async def test_watch_over_the_wire_sees_everything(wire: Wire) -> None:
    async with wire.session() as session, session.get(f"{CONFIG_MAPS}?watch=true") as response:
        assert response.headers["Content-Type"] == "application/json"
        created = await wire.plane.client.create(CONFIG_MAPS, config_map("a"))
        line = await response.content.readline()
        assert msgspec.json.decode(line) == {"type": "ADDED", "object": created}


async def test_clients_that_leave_their_watches_leave_nothing_behind(wire: Wire) -> None:
    before = asyncio.all_tasks()
    async with wire.session() as session:
        watches = [await session.get(f"{CONFIG_MAPS}?watch=true") for _ in range(20)]
        await until(lambda: wire.watchers() == 20)
        for watch in watches:
            watch.close()
    await until(lambda: not wire.watchers())
    await until(lambda: asyncio.all_tasks() <= before)


async def test_client_that_leaves_in_the_middle_of_an_event_leaves_nothing_behind(wire: Wire) -> None:
    before = asyncio.all_tasks()
    for number in range(20):
        await wire.plane.client.create(CONFIG_MAPS, config_map(f"big{number}", k="x" * 500_000))
    for _ in range(3):
        async with wire.connection() as (reader, writer):
            writer.write(request("GET", f"{CONFIG_MAPS}?watch=true"))
            await reader.read(1000)
    await until(lambda: not wire.watchers())
    await until(lambda: asyncio.all_tasks() <= before)


async def read_versions(session: aiohttp.ClientSession, target: str, count: int) -> list[int]:
    """The resourceVersions of the first events of a watch."""
    seen: list[int] = []
    async with session.get(target) as response:
        while len(seen) < count:
            line = await response.content.readline()
            assert line, "the stream ended early"
            seen.append(int(msgspec.json.decode(line)["object"]["metadata"]["resourceVersion"]))
    return seen


def burst(plane: Plane, count: int) -> None:
    for number in range(count):
        metadata = {"name": "a", "namespace": "default", "uid": "u"}
        plane.store.put(STORED, {"metadata": metadata, "data": {"k": f"{number}" + "x" * 200}})


async def test_slow_watcher_holds_up_nobody_and_costs_little(wire: Wire) -> None:
    count = 10_000
    start = wire.plane.store.revision
    target = f"{CONFIG_MAPS}?watch=true&resourceVersion={start}"
    async with wire.session() as session, wire.connection() as (slow, writer):
        raw: socket.socket = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(request("GET", target))
        readers = [asyncio.create_task(read_versions(session, target, count)) for _ in range(3)]
        await until(lambda: wire.watchers() == 4)
        for _ in range(count // 100):
            burst(wire.plane, 100)
            await asyncio.sleep(0)
        for seen in await asyncio.gather(*readers):
            assert seen == list(range(start + 1, start + count + 1))
        buffered = [
            connection.transport.get_write_buffer_size()
            for server in wire.plane._servers
            for connection in server._runner.server.connections  # type: ignore[union-attr]
            if connection.transport is not None
        ]
        assert max(buffered, default=0) < 4 * 1024 * 1024


async def test_hundred_watchers_over_the_wire_see_everything(wire: Wire) -> None:
    start = wire.plane.store.revision
    target = f"{CONFIG_MAPS}?watch=true&resourceVersion={start}"
    async with wire.session() as session:
        readers = [asyncio.create_task(read_versions(session, target, 50)) for _ in range(100)]
        await until(lambda: wire.watchers() == 100)
        burst(wire.plane, 50)
        for seen in await asyncio.gather(*readers):
            assert seen == list(range(start + 1, start + 51))


async def test_watch_ends_properly_when_its_resource_does(wire: Wire) -> None:
    await define(wire.plane)
    async with wire.session() as session, session.get(f"{WIDGETS}?watch=true") as response:
        await wire.plane.client.delete(f"{DEFINITIONS}/widgets.example.com")
        assert await response.content.read() == b""


async def test_stopping_with_open_watches_is_quick_and_leaves_no_task() -> None:
    async with running(now=utc_now) as plane:
        wire = Wire(plane, await plane.serve())
        async with wire.session() as session:
            watches = [await session.get(f"{CONFIG_MAPS}?watch=true") for _ in range(20)]
            await until(lambda: wire.watchers() == 20)
            began = asyncio.get_running_loop().time()
            await plane.stop()
            assert asyncio.get_running_loop().time() - began < 2.0
            for response in watches:
                assert await response.content.read() == b""
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_stopping_with_a_stuck_client_is_quick() -> None:
    async with running(now=utc_now) as plane:
        wire = Wire(plane, await plane.serve())
        for number in range(20):
            await plane.client.create(CONFIG_MAPS, config_map(f"big{number}", k="x" * 500_000))
        async with wire.connection() as (slow, writer):
            slow._transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(request("GET", f"{CONFIG_MAPS}?watch=true"))
            await until(lambda: wire.watchers() == 1)
            began = asyncio.get_running_loop().time()
            await plane.stop()
            assert asyncio.get_running_loop().time() - began < 2.0
    await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})
    assert not wire.watchers()


async def test_address_that_is_taken_cannot_be_served(wire: Wire) -> None:
    with pytest.raises(OSError, match="in use"):
        await wire.plane.serve(port=wire.port)


async def test_kubeconfig_leads_to_the_server(wire: Wire) -> None:
    text = wire.plane.kubeconfig(wire.endpoint, "mine")
    assert f"server: {wire.endpoint.url}" in text
    assert f"token: {wire.plane.admin_token}" in text
    assert "current-context: mine" in text
