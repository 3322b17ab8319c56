"""The connections to one server: those that are busy, and those that wait for the next request.

Requests share a bounded number of connections; the next one goes to the connection that was used last, so that the
others may rest and, after a while, be closed. A watch gets a connection of its own that is counted nowhere: it lasts
for minutes, and among the others the writes would wait for it, or it for the writes.

A connection belongs to the TLS context it was opened with. When certificates have been replaced there is another
context, and what waits with the old one is closed; what is under way, watches above all, stays as it is.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from datetime import timedelta
from typing import NamedTuple

from edgekeeper.kube.connection import Connection
from edgekeeper.kube.dialing import Route
from edgekeeper.kube.transport import TransportError
from edgekeeper.kube.wire import AnswerReader


class _Resting(NamedTuple):
    connection: Connection
    context: ssl.SSLContext | None
    until: float


class Pool:
    """Connections to the end of one route."""

    def __init__(self, route: Route, limit: int, keep_alive: timedelta) -> None:
        self._route = route
        self._turns = asyncio.Semaphore(limit)
        self._keep_alive = keep_alive.total_seconds()
        self._open: set[Connection] = set()
        self._resting: deque[_Resting] = deque()
        """The one that was used last is at the right."""
        self._sweep: asyncio.TimerHandle | None = None
        self._closed = False

    async def exchange(self, message: bytes, answer: AnswerReader, context: ssl.SSLContext | None) -> None:
        """Send a request and read its whole answer, as soon as a connection is free."""
        async with self._turns:
            connection = self._rested(context) or await self.dial(context)
            await connection.exchange(message, answer)
            if connection.is_usable:
                self._rest(connection, context)

    async def dial(self, context: ssl.SSLContext | None) -> Connection:
        """A new connection, for whoever wants to have it alone."""
        if self._closed:
            raise TransportError("we have hung up for good")
        connection = await self._route.dial(context)
        self._open.add(connection)
        connection.gone.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    async def close(self) -> None:
        """End all connections, also those that are busy."""
        self._closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        ending = list(self._open)
        for connection in ending:
            connection.abort()
        await asyncio.gather(*(connection.gone for connection in ending))

    def _rested(self, context: ssl.SSLContext | None) -> Connection | None:
        while self._resting:
            resting = self._resting.pop()
            if resting.context is context and resting.connection.is_usable:
                return resting.connection
            resting.connection.abort()
        return None

    def _rest(self, connection: Connection, context: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._keep_alive
        self._resting.append(_Resting(connection, context, until))
        if self._sweep is None:
            self._sweep = loop.call_at(until, self._close_rested)

    def _close_rested(self) -> None:
        """Close what has waited for too long, and come back when the next one will have."""
        loop = asyncio.get_running_loop()
        self._sweep = None
        while self._resting and self._resting[0].until <= loop.time():
            self._resting.popleft().connection.abort()
        if self._resting:
            self._sweep = loop.call_at(self._resting[0].until, self._close_rested)
