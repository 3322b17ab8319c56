"""A client that hides nothing: each call returns the status, headers and body that the server sent.

Tests assert on the wire protocol, so there are no models and no retries here; refusals are values, not exceptions.
"""

from __future__ import annotations

import asyncio
import io
import json
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp

from edgekeeper.core.json import JsonObject
from tests.conformance.servers import ADMIN, TOKENS, Server

JSON = "application/json"
YAML = "application/yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

DEADLINE_SECONDS = 20.0
"""How long anything that happens by itself may take before the test gives up."""

T = TypeVar("T")
Body = JsonObject | list[Any] | bytes | None


@dataclass(frozen=True)
class Answer:
    """What came back from one request."""

    status: int
    headers: Mapping[str, str]
    raw: bytes
    warnings: tuple[str, ...] = ()

    @property
    def body(self) -> JsonObject:
        decoded: JsonObject = json.loads(self.raw)
        return decoded

    @property
    def text(self) -> str:
        return self.raw.decode()

    @property
    def content_type(self) -> str:
        return self.headers["Content-Type"]

    def expect(self, status: int) -> JsonObject:
        """Return the body of an answer that must have this status."""
        assert self.status == status, f"expected {status}, got {self.status}: {self.text[:2000]}"
        return self.body

    def refuse(self, status: int, reason: str, message: str | None = None) -> JsonObject:
        """Return the Status of an answer that must be this refusal, in exactly these words when given."""
        body = self.expect(status)
        shape = (body["kind"], body["apiVersion"], body["status"], body["code"], body.get("reason", ""))
        expected = ("Status", "v1", "Failure", status, reason)
        assert shape == expected, f"expected {expected}, got {self.text}"
        if message is not None:
            assert body["message"] == message, f"expected {message!r},\n     got {body['message']!r}"
        return body


class Watch:
    """An open watch: events in the order in which they arrive."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.content_type = response.headers["Content-Type"]
        self._response = response

    async def next(self, deadline: float = DEADLINE_SECONDS) -> JsonObject:
        """Return the next event; the stream must not end before it."""
        line = await asyncio.wait_for(self._response.content.readline(), deadline)
        assert line, "the watch ended while an event was expected"
        event: JsonObject = json.loads(line)
        return event

    async def next_frame(self, deadline: float = DEADLINE_SECONDS) -> bytes:
        """Return the next event of a watch in protobuf, still encoded."""
        async with asyncio.timeout(deadline):
            length = int.from_bytes(await self._response.content.readexactly(4), "big")
            return await self._response.content.readexactly(length)

    async def take(self, count: int) -> list[JsonObject]:
        return [await self.next() for _ in range(count)]

    async def until(self, accept: Callable[[JsonObject], bool]) -> JsonObject:
        """Return the first event that `accept` likes, passing over others."""
        while True:
            event = await self.next()
            if accept(event):
                return event

    async def rest(self, deadline: float = DEADLINE_SECONDS) -> list[JsonObject]:
        """Return all events up to the end of the stream."""

        async def drain() -> list[JsonObject]:
            return [json.loads(line) async for line in self._response.content]

        return await asyncio.wait_for(drain(), deadline)


class Client:
    """One identity's view of one server."""

    def __init__(self, server: Server, session: aiohttp.ClientSession, headers: Mapping[str, str]) -> None:
        self.server = server
        self._session = session
        self._headers = headers

    async def request(  # the full set of what tests vary
        self,
        method: str,
        path: str,
        body: Body = None,
        *,
        content_type: str = JSON,
        accept: str = JSON,
        headers: Mapping[str, str] | None = None,
        **parameters: Any,
    ) -> Answer:
        sent = {**self._headers, "Accept": accept, **(headers or {})}
        if body is not None:
            sent["Content-Type"] = content_type
        async with self._session.request(
            method,
            self.server.url + path,
            data=_encode(body),
            headers=sent,
            params=_query(parameters),
            allow_redirects=False,
        ) as response:
            raw = await response.read()
            warnings = tuple(response.headers.getall("Warning", []))
            return Answer(response.status, response.headers, raw, warnings)

    async def get(self, path: str, *, accept: str = JSON, **parameters: Any) -> Answer:
        return await self.request("GET", path, accept=accept, **parameters)

    async def create(self, path: str, body: Body, *, content_type: str = JSON, **parameters: Any) -> Answer:
        return await self.request("POST", path, body, content_type=content_type, **parameters)

    async def put(self, path: str, body: Body, *, content_type: str = JSON, **parameters: Any) -> Answer:
        return await self.request("PUT", path, body, content_type=content_type, **parameters)

    async def patch(
        self, path: str, body: Body, *, content_type: str = MERGE_PATCH, **parameters: Any
    ) -> Answer:
        return await self.request("PATCH", path, body, content_type=content_type, **parameters)

    async def apply(self, path: str, body: JsonObject, manager: str, **parameters: Any) -> Answer:
        """Server-side apply: JSON is YAML, so the body needs no other encoder."""
        return await self.patch(path, body, content_type=APPLY_PATCH, fieldManager=manager, **parameters)

    async def delete(self, path: str, options: JsonObject | None = None, **parameters: Any) -> Answer:
        return await self.request("DELETE", path, options, **parameters)

    @asynccontextmanager
    async def watch(self, path: str, *, accept: str = JSON, **parameters: Any) -> AsyncIterator[Watch]:
        """Open a watch. A refusal is not expected here: `get(path, watch="1")` shows those."""
        query = _query({"watch": "1", **parameters})
        headers = {**self._headers, "Accept": accept}
        async with self._session.get(self.server.url + path, headers=headers, params=query) as response:
            assert response.status == 200, await response.text()
            try:
                yield Watch(response)
            finally:
                # An open stream would end with a TLS farewell, which outlives the test's event loop.
                if response.connection is not None and response.connection.transport is not None:
                    response.connection.transport.abort()


@asynccontextmanager
async def connect(
    server: Server, user: str | None = ADMIN, *, certificate: bool = False
) -> AsyncIterator[Client]:
    """Open a client for a user with a token, for nobody (`None`), or for the owner of the certificate."""
    trust = ssl.create_default_context(cafile=str(server.authority.files.certificate))
    if certificate:
        trust.load_cert_chain(server.certificate.certificate, server.certificate.key)
    headers = {"Authorization": f"Bearer {TOKENS[user]}"} if user else {}
    timeout = aiohttp.ClientTimeout(total=None, sock_read=60)
    sockets: list[socket.socket] = []

    def open_socket(address: Any) -> socket.socket:
        sockets.append(socket.socket(*address[:3]))
        return sockets[-1]

    async def closed() -> bool | None:
        return all(one.fileno() == -1 for one in sockets) or None

    connector = aiohttp.TCPConnector(ssl=trust, socket_factory=open_socket)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=2**22) as session:
        yield Client(server, session, headers)
    # A request that was cancelled ends with a TLS close, which must not outlive the test's event loop.
    await eventually(closed, what="all connections are closed")


async def eventually(
    attempt: Callable[[], Awaitable[T | None]], deadline: float = DEADLINE_SECONDS, *, what: str = "it"
) -> T:
    """Repeat `attempt` until it returns something, for what servers do by themselves after answering."""
    give_up = time.monotonic() + deadline
    pause = 0.01
    while True:
        outcome = await attempt()
        if outcome is not None:
            return outcome
        assert time.monotonic() < give_up, f"waited {deadline:.0f} s in vain until {what}"
        await asyncio.sleep(pause)
        pause = min(pause * 2, 0.5)


def _encode(body: Body) -> io.BytesIO | None:
    """A stream rather than bytes: aiohttp warns of large bodies that it would have to send at once."""
    if body is None:
        return None
    return io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())


def _query(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Lists become repeated parameters and booleans are written as Go writes them."""
    pairs: list[tuple[str, str]] = []
    for name, value in parameters.items():
        values = value if isinstance(value, list) else [value]
        pairs += [(name, str(item).lower() if isinstance(item, bool) else str(item)) for item in values]
    return pairs
