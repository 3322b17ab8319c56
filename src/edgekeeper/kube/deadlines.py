"""Cheap deadlines for waits that rarely time out.

`asyncio.timeout` sets and cancels a timer for every wait, and a pass that writes waits several times. Here many waits
share one timer:

    deadlines = Deadlines()
    with deadlines.within(30.0) as limit:    # raises TimeoutError if it takes longer; `limit.expired` is True then
        await answer

The timer is never cancelled. When it fires, it interrupts the waits that are overdue, usually none, and is set for the
next deadline. So a wait costs an entry in a dictionary, and a timer is set every few seconds, however many waits there
are.
"""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadlines:
    """Waits with deadlines that share a timer, within one event loop."""

    def __init__(self) -> None:
        self._waits: dict[Wait, None] = {}
        """In the order in which they began, so that those which expire together do so in a reproducible order."""
        self._rings_at = float("inf")
        self._alarm: asyncio.TimerHandle | None = None

    def within(self, seconds: float) -> Wait:
        """A context whose body is interrupted with TimeoutError after so many seconds."""
        return Wait(self, asyncio.get_running_loop().time() + seconds)

    def begin(self, wait: Wait) -> None:
        self._waits[wait] = None
        if wait.due < self._rings_at:
            self._set_alarm(wait.due)

    def end(self, wait: Wait) -> None:
        self._waits.pop(wait, None)

    def _set_alarm(self, due: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(due, self._ring)
        self._rings_at = due

    def _ring(self) -> None:
        self._alarm, rings_at, self._rings_at = None, self._rings_at, float("inf")
        for wait in [wait for wait in self._waits if wait.due <= rings_at]:
            del self._waits[wait]
            wait.expire()
        if self._waits:
            self._set_alarm(min(wait.due for wait in self._waits))


class Wait:
    """One wait of one task: a context with a deadline, with the guarantees of `asyncio.timeout`."""

    __slots__ = ("_deadlines", "_requests_before", "_task", "due", "expired")

    def __init__(self, deadlines: Deadlines, due: float) -> None:
        self._deadlines = deadlines
        self.due = due
        self.expired = False
        """Whether the body was interrupted because of the deadline."""

    def __enter__(self) -> Wait:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("only tasks can wait")
        self._task = task
        self._requests_before = task.cancelling()
        self._deadlines.begin(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._deadlines.end(self)
        if not self.expired:
            return
        # The task may have been cancelled from outside, too; that cancellation must be passed on.
        is_ours = self._task.uncancel() <= self._requests_before
        if is_ours and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        self.expired = True
        self._task.cancel()
