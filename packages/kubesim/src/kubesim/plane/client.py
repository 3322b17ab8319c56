"""A client without a socket: the server's own controllers, and tests, call the handler directly."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.plane.request import JSON_TYPE, Request, Response

Handler = Callable[[Request], Awaitable[Response]]


class InProcessClient:
    """Speaks JSON to a handler and raises what it refuses."""

    def __init__(self, handler: Handler, token: str = "", agent: str = "edgekeeper") -> None:
        self._handler = handler
        self._headers = {"user-agent": agent, "accept": "application/json"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"

    async def get(self, target: str) -> JsonObject:
        return await self.call("GET", target)

    async def create(self, target: str, body: JsonObject) -> JsonObject:
        return await self.call("POST", target, body)

    async def replace(self, target: str, body: JsonObject) -> JsonObject:
        return await self.call("PUT", target, body)

    async def merge(self, target: str, patch: JsonObject) -> JsonObject:
        return await self.call("PATCH", target, patch, "application/merge-patch+json")

    async def apply(self, target: str, body: JsonObject, *, manager: str, force: bool = False) -> JsonObject:
        query = f"fieldManager={manager}" + ("&force=true" if force else "")
        return await self.call("PATCH", f"{target}?{query}", body, "application/apply-patch+yaml")

    async def delete(self, target: str, options: JsonObject | None = None) -> JsonObject:
        return await self.call("DELETE", target, options)

    async def call(
        self, method: str, target: str, body: Any = None, content_type: str = "application/json"
    ) -> JsonObject:
        """Make a call and return the decoded answer; a refusal is raised as the `StatusError` it was."""
        raw = b"" if body is None else msgspec.json.encode(body)
        request = Request.of(method, target, raw, content_type=content_type, **self._headers)
        response = await self._handler(request)
        answer = _decoded(response)
        if response.status >= 400:
            raise StatusError(
                response.status,
                answer.get("reason", ""),
                answer.get("message", ""),
                details=answer.get("details"),
                metadata=answer.get("metadata"),
            )
        return answer

    async def watch(self, target: str) -> AsyncIterator[JsonObject]:
        """Follow a watch; each event is decoded as it comes."""
        response = await self._handler(Request.of("GET", target, b"", **self._headers))
        if response.stream is None:
            answer = _decoded(response)
            raise StatusError(response.status, answer.get("reason", ""), answer.get("message", ""))
        async for chunk in response.stream:
            for line in chunk.splitlines():
                yield msgspec.json.decode(line)


def _decoded(response: Response) -> JsonObject:
    """The object in an answer; plain text, as for unknown paths, becomes the message of one."""
    if not response.body:
        return {}
    if response.content_type != JSON_TYPE:
        return {"message": response.body.decode().strip()}
    answer: JsonObject = response.json()
    return answer
