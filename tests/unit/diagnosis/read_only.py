"""Proof that tools only read: whatever they send is looked at, and writes are kept to be asserted.

A check that fails unexpectedly has a result that says so, so an error alone would prove nothing: `confirm_no_writes` does.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import timedelta

from edgekeeper.core.calls import CallRecord
from edgekeeper.kube.transport import ApiRequest, ApiResponse, ApiStream, Transport

REVIEWS = ("selfsubjectaccessreviews", "subjectaccessreviews")
"""What is posted, and stored by no server."""
WRITES: list[str] = []
"""What tools have tried to write since the last confirmation."""


class ReadOnly:
    """Passes reads on to a server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: ApiRequest, deadline: timedelta) -> ApiResponse:
        is_review = request.method == "POST" and request.path.endswith(REVIEWS)
        if request.method != "GET" and not is_review:
            WRITES.append(f"{request.method} {request.path}")
        return await self._transport.send(request, deadline)

    def stream(self, request: ApiRequest) -> AbstractAsyncContextManager[ApiStream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        await self._transport.close()


class CloudReads:
    """A hook of cloud calls."""

    async def before(self, call: CallRecord) -> None:
        if call.mutating:
            WRITES.append(f"{call.target} {call.operation}")

    async def after(self, call: CallRecord) -> None:
        """Nothing is to be done."""


def confirm_no_writes() -> None:
    found = list(WRITES)
    WRITES.clear()
    assert found == []
