"""One connection to an API server, or to the proxy before it: a question at a time, each with its answer.

    exchange    a request and its whole answer; the connection may serve the next one afterwards
    open        a request whose answer is read as it comes, by `chunks`; the connection ends with it

A connection that has nothing to do is still listened to: a server that closes it, or says something without being
asked, makes it useless at that moment, and not when the next request has already been sent into the void.

A watch whose reader is slow is held back where it comes from: beyond a megabyte nothing more is read from the socket.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator

from edgekeeper.core.redaction import redact_text
from edgekeeper.kube.transport import TransportError
from edgekeeper.kube.wire import AnswerReader

MOST_UNREAD = 1024 * 1024
"""Bytes of a stream that are taken in before its reader has to keep up."""


class Connection(asyncio.Protocol):
    """Made by a loop's `create_connection`, used by one task at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._answer: AnswerReader | None = None
        self._whole = True
        self._waiter: asyncio.Future[None] | None = None
        self._failure: str | None = None
        """Why the connection is of no further use, in words: an exception would keep every frame that it passes."""
        self._held_back = False
        self.gone: asyncio.Future[None] = self._loop.create_future()
        """Done when nothing is left of the connection."""

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None  # noqa: S101 - nobody gets hold of a connection that is not made
        return self._transport

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent."""
        return self._failure is None and self._answer is None

    async def exchange(self, message: bytes, answer: AnswerReader) -> None:
        """Send a request and wait for its whole answer. Where there is none, the connection is of no further use."""
        self._ask(message, answer, whole=True)
        try:
            while not answer.is_complete:
                await self._hear()
        except BaseException:
            self.abort()
            raise
        if answer.keeps_connection:
            self._answer = None
        else:
            self.abort()

    async def open(self, message: bytes, answer: AnswerReader) -> None:
        """Send a request and wait for the head of its answer."""
        self._ask(message, answer, whole=False)
        try:
            while not answer.status:
                await self._hear()
        except BaseException:
            self.abort()
            raise

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The body of what was opened, as it comes."""
        answer = self._answer
        while answer is not None:
            chunk = answer.take()
            if self._held_back:
                self._held_back = False
                self.transport.resume_reading()
            if chunk:
                yield chunk
            elif answer.is_complete:
                return
            else:
                await self._hear()

    def begin_tls(self, transport: asyncio.Transport) -> None:
        """From here on everything goes through `transport`, which encrypts what it passes on to the present one."""
        self._transport = transport

    def abort(self) -> None:
        """Leave without the farewell of TLS, which a peer that has fallen silent would not answer either."""
        self._fail(TransportError("the connection was given up"))

    def _ask(self, message: bytes, answer: AnswerReader, *, whole: bool) -> None:
        self._raise_failure()
        self._answer, self._whole = answer, whole
        self.transport.write(message)

    async def _hear(self) -> None:
        """Wait until something has happened. Raise TransportError where nothing will any more."""
        self._raise_failure()
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise TransportError(self._failure)

    def _fail(self, failure: TransportError) -> None:
        """Hang up, unless that has happened before."""
        if self._failure is not None:
            return
        self._failure = str(failure)
        self._wake()
        self.transport.abort()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # What the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - it is a stream, not a datagram
        self._transport = transport
        # Peers that vanish without a word are found out even where nobody has set a deadline.
        connected: socket.socket = transport.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:
            self._fail(TransportError("the server spoke without being asked"))
            return
        try:
            answer.feed(data)
        except TransportError as error:
            self._fail(error)
            return
        if self._whole and not answer.is_complete:
            return
        self._wake()
        if answer.unread > MOST_UNREAD and not (self._whole or self._held_back):
            self._held_back = True
            self.transport.pause_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._fail(self._why_lost(error))
        if not self.gone.done():
            self.gone.set_result(None)

    def _why_lost(self, error: Exception | None) -> TransportError:
        if error is not None:
            return TransportError(redact_text(str(error)) or type(error).__name__)
        try:
            if self._answer is not None:
                self._answer.end()
        except TransportError as failure:
            return failure
        return TransportError("the server closed the connection")
