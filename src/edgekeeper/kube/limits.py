"""How often we may ask: a token bucket on the time of the event loop.

The server protects itself by priority and fairness, and answers 429 where it must, so a limit on our side is a
courtesy that is off by default. Where it is on, callers are served in the order in which they came, and one that is
cancelled while it waits costs the others nothing.

The bucket is kept as one number (the generic cell rate algorithm): the moment at which it would be full again. That
moment moves on by one interval per call, and a call may go as soon as it lies less than a whole bucket ahead.
"""

from __future__ import annotations

import asyncio
from collections import deque

_TOLERANCE = 1e-6
"""Seconds by which a timer may come early: event loops round, and a timer set again for the same moment would spin."""


class TokenBucket:
    """Lets `rate` callers per second pass, and `burst` of them at once after a pause."""

    def __init__(self, rate: float, burst: int) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError("a token bucket needs a positive rate and room for at least one token")
        self._interval = 1 / rate
        self._room = (burst - 1) * self._interval
        self._full_at = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def acquire(self) -> None:
        """Return when it is the caller's turn."""
        loop = asyncio.get_running_loop()
        if not self._waiting and self._is_due(loop.time()):
            self._take(loop.time())
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        self._set_timer(loop)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._give_back(loop)
            raise

    def _is_due(self, now: float) -> bool:
        return now + _TOLERANCE >= self._full_at - self._room

    def _take(self, now: float) -> None:
        self._full_at = max(self._full_at, now) + self._interval

    def _give_back(self, loop: asyncio.AbstractEventLoop) -> None:
        """Return a token to a caller who got it and was cancelled before it could run."""
        self._full_at -= self._interval
        self._serve(loop)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting and (self._waiting[0].done() or self._is_due(loop.time())):
            turn = self._waiting.popleft()
            if not turn.done():
                self._take(loop.time())
                turn.set_result(None)
        if self._waiting:
            self._set_timer(loop)

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is None:
            self._timer = loop.call_at(self._full_at - self._room, self._serve, loop)
