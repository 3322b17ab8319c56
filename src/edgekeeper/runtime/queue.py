"""The queue between the sources of work and the workers of one controller.

`backlog` holds the rules; this module adds what they need to run: the event loop's clock, one timer for whatever is
due next, workers that wait, backoff, and numbers for the metrics.

    queue.add(key)                        as soon as possible; again after the current pass, if there is one
    queue.add(key, after=timedelta(…))    at that time at the latest
    key = await queue.get()               nobody else gets this key until …
    queue.retry(key)                      it failed: again, after a pause that grows with every failure
    queue.forget(key)                     it succeeded: the next failure starts with the shortest pause
    queue.done(key)                       … the pass is over
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Protocol

from edgekeeper.core.backoff import Backoff
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.backlog import Backlog, Priority

__all__ = ["Priority", "QueueMetrics", "ShutDownError", "SilentQueueMetrics", "WorkQueue"]

AT_ONCE = timedelta(0)


class ShutDownError(Exception):
    """The queue has nothing more to hand out, ever."""


class QueueMetrics(Protocol):
    """What a queue tells about itself: the `workqueue_…` metrics of one controller."""

    def watch(self, running: Callable[[], list[float]]) -> None:
        """`unfinished_work_seconds`, `longest_running_processor_seconds`: `running` has the ages of passes."""

    def added(self) -> None:
        """`adds_total`: somebody asked for a pass."""

    def retried(self) -> None:
        """`retries_total`: a pass failed, and another one was scheduled."""

    def depth(self, ready: int) -> None:
        """`depth`: so many keys are ready and wait for a worker."""

    def taken(self, waited: float) -> None:
        """`queue_duration_seconds`: a key was handed out, after so many seconds in the queue."""

    def finished(self, worked: float) -> None:
        """`work_duration_seconds`: a key was given back, after so many seconds of work."""


class SilentQueueMetrics:
    """Tells nobody."""

    def watch(self, running: Callable[[], list[float]]) -> None: ...

    def added(self) -> None: ...

    def retried(self) -> None: ...

    def depth(self, ready: int) -> None: ...

    def taken(self, waited: float) -> None: ...

    def finished(self, worked: float) -> None: ...


class WorkQueue:
    """Hands out keys, each to one worker at a time."""

    def __init__(self, backoff: Backoff, random: Random, metrics: QueueMetrics | None = None) -> None:
        self._backoff = backoff
        self._random = random
        self._metrics = metrics or SilentQueueMetrics()
        self._backlog = Backlog()
        self._failures: dict[Key, int] = {}
        self._idle: dict[asyncio.Future[None], None] = {}
        """Workers that wait, the first to come first."""
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at: float | None = None
        self._open = True
        self._drained = asyncio.Event()
        self._drained.set()
        self._metrics.watch(self.running)

    def __len__(self) -> int:
        """How many keys wait for a worker."""
        return len(self._backlog)

    @property
    def size(self) -> int:
        """How many things are remembered in all."""
        return self._backlog.size + len(self._failures)

    def running(self) -> list[float]:
        """For how many seconds each of the present passes has been running."""
        now = _now()
        return [now - since for since in self._backlog.held_since()]

    def add(self, key: Key, *, priority: Priority = Priority.USER, after: timedelta = AT_ONCE) -> None:
        """Ask for a pass. It starts after `after` at the latest; sooner if others ask for that."""
        if not self._open:
            return
        now = _now()
        self._metrics.added()
        if self._backlog.add(key, priority, now + after.total_seconds(), now):
            self._settle()

    def retry(self, key: Key, *, priority: Priority = Priority.RETRY) -> timedelta:
        """Ask for another pass after a failure. Return the pause before it."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause = self._backoff.delay(failures, self._random)
        self._metrics.retried()
        self.add(key, priority=priority, after=pause)
        return pause

    def forget(self, key: Key) -> None:
        """Forget the failures of a key: it has succeeded, or is gone."""
        self._failures.pop(key, None)

    async def get(self) -> Key:
        """Wait for the next key and hold it. Raise ShutDownError once there will be none."""
        while self._open:
            taken = self._backlog.take(_now())
            if taken is not None:
                key, waited = taken
                self._drained.clear()
                self._metrics.taken(waited)
                self._settle()
                return key
            await self._until_woken()
        raise ShutDownError

    def done(self, key: Key) -> None:
        """Hold `key` no longer. What was asked for meanwhile happens now, or when it is due."""
        self._metrics.finished(self._backlog.release(key, _now()))
        if not self._backlog.held:
            self._drained.set()
        self._settle()

    def shut_down(self) -> None:
        """Hand out nothing more and take nothing more in. Passes that are running go on."""
        self._open = False
        self._backlog.clear()
        self._failures.clear()
        if self._alarm is not None:
            self._alarm.cancel()
        self._metrics.depth(0)
        for waiter in self._idle:
            if not waiter.done():
                waiter.set_result(None)

    async def drained(self) -> None:
        """Wait until no key is held. Meant for after `shut_down`: before it, more may follow."""
        await self._drained.wait()

    def _settle(self) -> None:
        """After every change: say how deep the queue is, wake a worker if there is work, set the alarm."""
        if not self._open:
            return
        ready = len(self._backlog)
        self._metrics.depth(ready)
        if ready and self._idle:
            self._wake()
        due = self._backlog.next_due()
        if due != self._alarm_at:
            self._set_alarm(due)

    def _wake(self) -> None:
        """Wake one idle worker. It wakes the next one, if anything is left."""
        while self._idle:
            waiter = next(iter(self._idle))
            del self._idle[waiter]
            if not waiter.done():
                waiter.set_result(None)
                return

    async def _until_woken(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._idle[waiter] = None
        try:
            await waiter
        except asyncio.CancelledError:
            self._idle.pop(waiter, None)
            if not waiter.cancelled():
                self._wake()  # it was woken for work that somebody else has to do now
            raise

    def _set_alarm(self, due: float | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(due, self._ring) if due is not None else None
        self._alarm_at = due

    def _ring(self) -> None:
        self._alarm = self._alarm_at = None
        self._backlog.advance(_now())
        self._settle()


def _now() -> float:
    return asyncio.get_running_loop().time()
