"""The one way to the workshop: every call is numbered, may be broken by a hook, and fails in the four nouns only.

    number ─► hooks before ─► still leading? ─► the workshop ─► hooks after ─► errors

What went wrong is told in words of `core.errors`; nothing of the workshop's own gets past here:

    no answer                        Retry       it may have taken effect all the same
    exists, gone, another version    Conflict    what we knew is out of date: observe again
    refused                          Stall       nothing but another spec will help
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeVar

from edgekeeper.core.calls import CallRecord, Calls
from edgekeeper.core.errors import Conflict, Retry, Stall
from tests.toy.workshop import Item, RefusedError, Workshop, WorkshopError

T = TypeVar("T")

LATENCY = 0.04
"""Seconds from a call to its answer. What was sent takes effect, whatever becomes of the sender meanwhile."""
CANARY = "c4n4ry-0f-th3-w0rksh0p"
"""The credential of all clients. It must never be seen anywhere."""


class WorkshopClient:
    """Talks to one workshop."""

    def __init__(self, workshop: Workshop, calls: Calls, credential: str = CANARY) -> None:
        self._workshop = workshop
        self._calls = calls
        self._credential = credential
        self.leadership: Callable[[], None] | None = None
        """Asked before every write; raises where this process may not write any more."""

    async def describe(self, name: str) -> Item | None:
        return await self._call("Describe", name, lambda: self._workshop.describe(name), mutating=False)

    async def create(self, name: str, colour: str, tags: Mapping[str, str]) -> None:
        await self._call("Create", name, lambda: self._workshop.create(name, colour, tags, self._credential))

    async def update(self, name: str, colour: str, version: int) -> None:
        await self._call(
            "Update", name, lambda: self._workshop.update(name, colour, version, self._credential)
        )

    async def delete(self, name: str, version: int) -> None:
        await self._call("Delete", name, lambda: self._workshop.delete(name, version))

    async def _call(self, operation: str, name: str, effect: Callable[[], T], *, mutating: bool = True) -> T:
        call = self._calls.record("workshop", operation, name, mutating=mutating)
        try:
            return await self._attempt(call, effect)
        except ConnectionError as error:
            raise Retry(f"cannot reach the workshop: {error}", "WorkshopUnreachable") from error
        except RefusedError as error:
            raise Stall("Refused", str(error)) from error
        except WorkshopError as error:
            raise Conflict(str(error)) from error

    async def _attempt(self, call: CallRecord, effect: Callable[[], T]) -> T:
        await self._calls.before(call)
        if call.mutating and self.leadership is not None:
            self.leadership()
        try:
            return effect()
        finally:
            # A refusal is an answer too, and can be lost like any other.
            await asyncio.sleep(LATENCY)
            await self._calls.after(call)
