"""Deadlines for waits that nearly always end in time.

`asyncio.timeout` sets a timer for every wait and takes it back afterwards, and a pass that writes waits several times.
Here many waits share one timer:

    deadlines = Deadlines()
    with deadlines.within(30.0) as limit:    # TimeoutError, if it takes longer; then `limit.expired` tells that it was us
        await answer

The timer is never taken back. When it rings it looks who has waited for too long, most often nobody, and is set anew for
whoever will be next. So a wait costs an entry in a dictionary, and a timer is set every few seconds, however many waits there are.
"""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadlines:
    """The waits of one place, within one event loop."""

    def __init__(self) -> None:
        self._waits: dict[Wait, None] = {}
        """In the order of their beginning, so that those which end together end in the same order in every run."""
        self._rings_at = float("inf")
        self._alarm: asyncio.TimerHandle | None = None

    def within(self, seconds: float) -> Wait:
        """A block that is to end within so many seconds from now."""
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
    """One wait of one task: a block of code with a deadline. What `asyncio.timeout` promises holds here, too."""

    __slots__ = ("_deadlines", "_requests_before", "_task", "due", "expired")

    def __init__(self, deadlines: Deadlines, due: float) -> None:
        self._deadlines = deadlines
        self.due = due
        self.expired = False
        """Whether the block was interrupted because its time was over."""

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
        # Somebody else may have asked for the end of the task meanwhile; that wish is not ours to grant or to refuse.
        is_ours = self._task.uncancel() <= self._requests_before
        if is_ours and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        self.expired = True
        self._task.cancel()
