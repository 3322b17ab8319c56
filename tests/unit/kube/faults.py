"""A way to the embedded server on which everything goes wrong that does on real ones, on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, Transport, TransportError


class Fault(Enum):
    """What can happen to a watch that is open."""

    END = "the server ends it"
    CUT = "the connection breaks"
    CUT_IN_LINE = "the stream ends within a line"
    SILENCE = "nothing arrives any more, and nobody says so"
    GARBAGE = "a line is no JSON"
    NAMELESS = "an event is about nobody"
    UNKNOWN = "an event is of a type that nobody knows"
    EXPIRED = "the position is forgotten"
    BROKEN = "the server cannot go on"
    DUPLICATE = "the last line comes twice"
    REPLAY = "every line so far comes again"
    REVERSED = "every line so far comes again, last first"


def status(code: int, reason: str = "", message: str = "no") -> JsonObject:
    return {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message}


def refusal(code: int, reason: str = "", message: str = "no", **headers: str) -> ApiResponse:
    return ApiResponse(code, headers, msgspec.json.encode(status(code, reason, message)))


NOT_FOUND = ApiResponse(404, {"content-type": "text/plain"}, b"404 page not found\n")
FORBIDDEN = refusal(403, "Forbidden", "widgets is forbidden")


def event(type_: str, tree: JsonObject) -> bytes:
    return msgspec.json.encode({"type": type_, "object": tree}) + b"\n"


_LINES = {
    Fault.CUT_IN_LINE: b'{"type":"MODIFIED","object":{"metadata":{"na',
    Fault.GARBAGE: b"<html>bad gateway</html>\n",
    Fault.NAMELESS: event("MODIFIED", {"kind": "Widget", "metadata": {}}),
    Fault.UNKNOWN: event("RENAMED", {"kind": "Widget", "metadata": {"name": "a", "resourceVersion": "1"}}),
    Fault.EXPIRED: event("ERROR", status(410, "Expired", "too old resource version")),
    Fault.BROKEN: event("ERROR", status(500, "InternalError", "etcd has no leader")),
}


@dataclass(eq=False)
class _OpenWatch:
    incident: asyncio.Future[Fault]
    lines: list[bytes] = field(default_factory=list)


class FaultyTransport:
    """Hands requests to another transport, unless told otherwise."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.refuse: Callable[[ApiRequest], ApiResponse | TransportError | None] = lambda _: None
        """Answers in place of the server, where it returns something."""
        self.drop: Callable[[bytes], bool] = lambda _: False
        """Which lines of watches never arrive."""
        self.hang = False
        """Watches are accepted, and never answered."""
        self.lists = 0
        self.watches: list[_OpenWatch] = []
        self.positions: list[str] = []
        """Where watches were asked to begin."""

    async def strike(self, fault: Fault) -> None:
        """Do it to every open watch."""
        for watch in list(self.watches):
            if not watch.incident.done():
                watch.incident.set_result(fault)
        await asyncio.sleep(0)

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        if request.method == "GET" and "limit" in request.query:
            self.lists += "continue" not in request.query
        answer = self.refuse(request)
        if isinstance(answer, TransportError):
            raise answer
        return answer or await self.inner.send(request, deadline)

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        self.positions.append(request.query["resourceVersion"])
        answer = self.refuse(request)
        if isinstance(answer, TransportError):
            raise answer
        if self.hang:
            await asyncio.Event().wait()
        if answer is not None:
            yield ApiStream(answer.status, answer.headers, _single(answer.body))
            return
        async with self.inner.stream(request) as stream:
            watch = _OpenWatch(asyncio.get_running_loop().create_future())
            self.watches.append(watch)
            try:
                async with aclosing(self._disturbed(stream.chunks, watch)) as chunks:
                    yield ApiStream(stream.status, stream.headers, chunks)
            finally:
                self.watches.remove(watch)
                watch.incident.cancel()

    async def close(self) -> None:
        await self.inner.close()

    async def _disturbed(
        self, chunks: AsyncIterator[bytes], watch: _OpenWatch
    ) -> AsyncGenerator[bytes, None]:
        reading: asyncio.Future[bytes] | None = None
        try:
            while True:
                reading = reading or asyncio.ensure_future(_next(chunks))
                happening: list[asyncio.Future[Any]] = [reading, watch.incident]
                await asyncio.wait(happening, return_when=asyncio.FIRST_COMPLETED)
                if reading.done():
                    chunk, reading = reading.result(), None
                    if not chunk:
                        return
                    yield self._remembered(chunk, watch)
                    continue
                fault = watch.incident.result()
                async for line in _suffer(fault, watch.lines):
                    yield line
                if fault not in _HARMLESS:
                    return
                watch.incident = asyncio.get_running_loop().create_future()
        finally:
            if reading is not None:
                reading.cancel()
                await asyncio.wait([reading])

    def _remembered(self, chunk: bytes, watch: _OpenWatch) -> bytes:
        kept = [line for line in chunk.splitlines(keepends=True) if not self.drop(line)]
        watch.lines += kept
        return b"".join(kept)


_HARMLESS = (Fault.DUPLICATE, Fault.REPLAY, Fault.REVERSED)
"""The stream goes on after these."""


async def _suffer(fault: Fault, lines: list[bytes]) -> AsyncIterator[bytes]:
    match fault:
        case Fault.SILENCE:
            await asyncio.Event().wait()
        case Fault.CUT:
            raise TransportError("connection reset by peer")
        case Fault.DUPLICATE:
            yield b"".join(lines[-1:])
        case Fault.REPLAY:
            yield b"".join(lines)
        case Fault.REVERSED:
            yield b"".join(reversed(lines))
        case Fault.END:
            return
        case _:
            yield _LINES[fault]


async def _next(chunks: AsyncIterator[bytes]) -> bytes:
    return await anext(chunks, b"")


async def _single(body: bytes) -> AsyncIterator[bytes]:
    yield body
