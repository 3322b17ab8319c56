"""One open watch: its lines, and detection of connections that no longer deliver any.

A connection can break without being closed: a firewall drops its state, a node loses power. The server sends a bookmark
about every minute, so a stream without a line for longer than that is considered broken although its socket is open.
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
"""Lines after which the stream yields to the event loop: one chunk can hold thousands, and reading them never waits."""
_SHORT = 1.0
"""A stream that ends without a line within so many seconds raises ShortStreamError."""


class IdleTimeoutError(Exception):
    """No line, not even a bookmark, arrived for longer than the interval of bookmarks."""


class ShortStreamError(Exception):
    """A stream ended at once and without a line. Opening it again without a pause would load the server."""


class Stream:
    """Lines of a watch, from `open` to `aclose`."""

    def __init__(self, clock: Clock, idle_timeout: timedelta) -> None:
        self._clock = clock
        self._idle_timeout = idle_timeout
        self._deadlines = Deadlines()
        self._resources = AsyncExitStack()
        self._lines: AsyncIterator[bytes] | None = None
        self._opened = 0.0
        self.last_line_at = 0.0
        """When the last line arrived, or the stream was opened, by the monotonic clock."""
        self.count = 0
        """How many lines arrived."""

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
        """Open a watch from `position`, which the server ends after `lifetime`."""
        self._opened = self.last_line_at = self._clock.monotonic()
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
        self._lines = await self._within_idle_timeout(self._resources.enter_async_context(watch))
        self.last_line_at = self._clock.monotonic()

    async def next_line(self) -> Line | None:
        """The next line, or None at the end of the stream.

        Raise IdleTimeoutError if neither comes in time, and ShortStreamError if the stream ends at once without a line.
        """
        assert self._lines is not None  # noqa: S101 - `open` comes first
        line = await self._within_idle_timeout(anext(self._lines, None))
        self.last_line_at = self._clock.monotonic()
        if line is None:
            if self.count == 0 and self.last_line_at - self._opened < _SHORT:
                raise ShortStreamError("the watch ended as soon as it began")
            return None
        self.count += 1
        if self.count % _LINES_PER_TURN == 0:
            await asyncio.sleep(0)
        return parse_line(line)

    async def aclose(self) -> None:
        await self._resources.aclose()

    async def _within_idle_timeout(self, response: Awaitable[T]) -> T:
        """Await a response of the server. Raise IdleTimeoutError if it takes longer than `idle_timeout`."""
        try:
            with self._deadlines.within(self._idle_timeout.total_seconds()) as limit:
                return await response
        except TimeoutError as error:
            if not limit.expired:
                raise
            raise IdleTimeoutError(
                f"no line received for {self._idle_timeout.total_seconds():g} s"
            ) from error
