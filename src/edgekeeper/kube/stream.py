"""One open watch: lines as they come, and silence taken for what it is.

A connection can die without anybody being told: a firewall that forgets it, a node that loses its power. The server
sends a bookmark about every minute, so a stream that says nothing for longer than that is dead, however open its
socket looks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import TypeVar

from edgekeeper.core.clock import Clock
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.deadlines import Deadlines
from edgekeeper.kube.kinds import Kind
from edgekeeper.kube.lines import Line, parse_line
from edgekeeper.kube.requests import Selection

T = TypeVar("T")

_LINES_PER_TURN = 200
"""Lines after which others get their turn: one chunk can hold thousands, and reading them never waits."""
_SHORT = 1.0


class SilenceError(Exception):
    """No line, not even a bookmark, for longer than the server ever keeps quiet."""


class ShortStreamError(Exception):
    """A stream ended as soon as it began. To open it again at once would keep the server busy with nothing."""


class Stream:
    """Lines of a watch, from `open` to `aclose`."""

    def __init__(self, clock: Clock, silence: timedelta) -> None:
        self._clock = clock
        self._silence = silence
        self._deadlines = Deadlines()
        self._resources = AsyncExitStack()
        self._lines: AsyncIterator[bytes] | None = None
        self._opened = 0.0
        self.heard = 0.0
        """When the server last said something, by the monotonic clock."""
        self.count = 0

    async def open(
        self,
        client: KubeClient,
        kind: Kind,
        selection: Selection,
        *,
        position: str,
        lifetime: timedelta,
        initial_events: bool = False,
    ) -> None:
        """Ask for what happens after `position`, for as long as `lifetime`."""
        self._opened = self.heard = self._clock.monotonic()
        watch = client.watch(
            kind,
            resource_version=position,
            timeout=lifetime,
            namespace=selection.namespace,
            labels=selection.labels,
            fields=selection.fields,
            metadata_only=selection.metadata_only,
            initial_events=initial_events,
        )
        self._lines = await self._unless_silent(self._resources.enter_async_context(watch))
        self.heard = self._clock.monotonic()

    async def next_line(self) -> Line | None:
        """The next line, or None at the end of the stream.

        Raise SilenceError where there is neither, and ShortStreamError where the stream ends right at its beginning.
        """
        assert self._lines is not None  # noqa: S101 - `open` comes first
        line = await self._unless_silent(anext(self._lines, None))
        self.heard = self._clock.monotonic()
        if line is None:
            if self.count == 0 and self.heard - self._opened < _SHORT:
                raise ShortStreamError("the watch ended as soon as it began")
            return None
        self.count += 1
        if self.count % _LINES_PER_TURN == 0:
            await asyncio.sleep(0)
        return parse_line(line)

    async def aclose(self) -> None:
        await self._resources.aclose()

    async def _unless_silent(self, word: Awaitable[T]) -> T:
        """What the server says next, if it does not keep quiet for too long."""
        try:
            with self._deadlines.within(self._silence.total_seconds()) as limit:
                return await word
        except TimeoutError as error:
            if not limit.expired:
                raise
            raise SilenceError(f"not a word for {self._silence.total_seconds():g} s") from error
