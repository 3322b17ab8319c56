"""A transport that notes the time of the server, by the header `Date` of its answers."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import timedelta

from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, Transport


class DatedTransport:
    """Passes requests on."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.date = ""
        """The header of the last answer; empty if there was none."""

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        response = await self._transport.send(request, deadline)
        self.date = response.headers.get("date", "")
        return response

    def stream(self, request: ApiRequest) -> AbstractAsyncContextManager[ApiStream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        await self._transport.close()
