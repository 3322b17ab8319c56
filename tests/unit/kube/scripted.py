"""A transport that answers as it is told, for what no honest server does on demand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeAlias

import msgspec

from edgekeeper.core.calls import CallRecord, Calls
from edgekeeper.core.clock import Clock, VirtualClock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import ClientOptions, KubeClient
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, TransportError

WIDGET = Kind("example.com", "v1", "Widget", "widgets")
KEY = Key("default", "one")

Answer: TypeAlias = ApiResponse | TransportError | timedelta
"""What comes back, or that nothing does, or how long it takes until `OK` does."""


def answer(status: int, tree: Any = None, /, **headers: str) -> ApiResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ApiResponse(status, named, msgspec.json.encode(tree if tree is not None else {}))


def refusal(status: int, reason: str = "", message: str = "no", /, **headers: str) -> ApiResponse:
    tree = {"kind": "Status", "code": status, "reason": reason, "message": message}
    return answer(status, tree, **headers)


OK = answer(200, {"kind": "Widget", "metadata": {"name": "one", "resourceVersion": "5"}, "spec": {"size": 1}})
LOST = TransportError("the connection was reset")


class ScriptedTransport:
    """Plays a script; its last line is repeated."""

    def __init__(self, *script: Answer, chunks: Iterable[bytes | TransportError] = ()) -> None:
        self._script = list(script) or [OK]
        self._chunks = chunks
        self.sent: list[ApiRequest] = []
        self.deadlines: list[timedelta] = []
        self.open_streams = 0
        self.closed = False

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.sent]

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        self.deadlines.append(deadline)
        try:
            async with asyncio.timeout(deadline.total_seconds()):
                return await self._next(request)
        except TimeoutError as error:
            raise TransportError("too slow") from error

    @asynccontextmanager
    async def stream(self, request: ApiRequest) -> AsyncIterator[ApiStream]:
        head = await self._next(request)
        self.open_streams += 1
        try:
            yield ApiStream(head.status, head.headers, self._played(head))
        finally:
            self.open_streams -= 1

    async def close(self) -> None:
        self.closed = True

    async def _next(self, request: ApiRequest) -> ApiResponse:
        self.sent.append(request)
        line = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(line, TransportError):
            raise line
        if isinstance(line, timedelta):
            await asyncio.sleep(line.total_seconds())
            return OK
        return line

    async def _played(self, head: ApiResponse) -> AsyncIterator[bytes]:
        if head.status >= 300:
            yield head.body
        for chunk in self._chunks:
            if isinstance(chunk, TransportError):
                raise chunk
            yield chunk


class Witness:
    """A hook that remembers, and can be told to break one call."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.records: list[CallRecord] = []
        self.break_before: dict[int, BaseException] = {}
        self.break_after: dict[int, BaseException] = {}

    async def before(self, call: CallRecord) -> None:
        self.seen.append(f"before {call.number}")
        self.records.append(call)
        if call.number in self.break_before:
            raise self.break_before[call.number]

    async def after(self, call: CallRecord) -> None:
        self.seen.append(f"after {call.number}")
        if call.number in self.break_after:
            raise self.break_after[call.number]


def client_of(
    transport: ScriptedTransport, *hooks: Witness, clock: Clock | None = None, **options: Any
) -> KubeClient:
    return KubeClient(transport, Calls(*hooks), clock or VirtualClock(), ClientOptions(**options))


def widget(name: str = "one", **spec: Any) -> JsonObject:
    return {"metadata": {"name": name}, "spec": spec}
