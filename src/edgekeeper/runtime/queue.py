"""The queue between the sources of work and the workers of one controller.

`backlog` is the data structure; this module adds the event loop's clock, a timer for the key that is due next, workers
that wait, backoff, and metrics.

    queue.add(key)                        as soon as possible; again after the current pass, if there is one
    queue.add(key, after=timedelta(…))    after that time at the latest
    key = await queue.get()               no other worker gets this key until …
    queue.retry(key)                      the pass failed: requeue with exponential backoff
    queue.forget(key)                     the pass succeeded: reset the backoff
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
    """The queue was shut down."""


class QueueMetrics(Protocol):
    """The `workqueue_…` metrics of one controller."""

    def watch(self, running: Callable[[], list[float]]) -> None:
        """`unfinished_work_seconds`, `longest_running_processor_seconds`: `running` returns the ages of passes."""

    def added(self) -> None:
        """`adds_total`: a key was added."""

    def retried(self) -> None:
        """`retries_total`: a key was requeued after a failed pass."""

    def depth(self, ready: int) -> None:
        """`depth`: the number of keys that are ready and wait for a worker."""

    def taken(self, waited: float) -> None:
        """`queue_duration_seconds`: a worker took a key that was ready for `waited` seconds."""

    def finished(self, worked: float) -> None:
        """`work_duration_seconds`: a worker is done with a key after `worked` seconds."""


class SilentQueueMetrics:
    """Discards the metrics of a queue."""

    def watch(self, running: Callable[[], list[float]]) -> None: ...

    def added(self) -> None: ...

    def retried(self) -> None: ...

    def depth(self, ready: int) -> None: ...

    def taken(self, waited: float) -> None: ...

    def finished(self, worked: float) -> None: ...


class WorkQueue:
    """A queue of keys with delays, priorities and backoff, which gives each key to one worker at a time."""

    def __init__(self, backoff: Backoff, random: Random, metrics: QueueMetrics | None = None) -> None:
        self._backoff = backoff
        self._random = random
        self._metrics = metrics or SilentQueueMetrics()
        self._backlog = Backlog()
        self._failures: dict[Key, int] = {}
        self._idle: dict[asyncio.Future[None], None] = {}
        """Waiting workers, in the order in which they are woken."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due: float | None = None
        self._open = True
        self._drained = asyncio.Event()
        self._drained.set()
        self._metrics.watch(self.running)

    def __len__(self) -> int:
        """How many keys wait for a worker."""
        return len(self._backlog)

    @property
    def size(self) -> int:
        """How many entries are held in all, to show in tests that memory is bounded."""
        return self._backlog.size + len(self._failures)

    def running(self) -> list[float]:
        """The age in seconds of each running pass."""
        now = _now()
        return [now - since for since in self._backlog.held_since()]

    def due_in(self, key: Key) -> float | None:
        """Seconds until the next pass of a key is due; 0 if it waits for a worker, None if none is planned or one runs."""
        due = self._backlog.due(key)
        return None if due is None else max(0.0, due - _now())

    def add(self, key: Key, *, priority: Priority = Priority.USER, after: timedelta = AT_ONCE) -> None:
        """Queue a key, to be ready after `after`; earlier if it is, or will be, added with a shorter time."""
        if not self._open:
            return
        now = _now()
        self._metrics.added()
        if self._backlog.add(key, priority, now + after.total_seconds(), now):
            self._settle()

    def retry(self, key: Key, *, priority: Priority = Priority.RETRY) -> timedelta:
        """Requeue a key with backoff after a failed pass. Return the delay."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause = self._backoff.delay(failures, self._random)
        self._metrics.retried()
        self.add(key, priority=priority, after=pause)
        return pause

    def forget(self, key: Key) -> None:
        """Reset the backoff of a key: its pass succeeded, or its object no longer exists."""
        self._failures.pop(key, None)

    async def get(self) -> Key:
        """Wait for the next key and hold it. Raise ShutDownError after `shut_down`."""
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
        """Stop holding `key`. If it was added meanwhile, it is ready now, or when it is due."""
        self._metrics.finished(self._backlog.release(key, _now()))
        if not self._backlog.held:
            self._drained.set()
        self._settle()

    def shut_down(self) -> None:
        """Drop all keys, accept no more, and end all `get`. Running passes continue."""
        self._open = False
        self._backlog.clear()
        self._failures.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._metrics.depth(0)
        for waiter in self._idle:
            if not waiter.done():
                waiter.set_result(None)

    async def drained(self) -> None:
        """Wait until no key is held. Call it after `shut_down`: before, workers may take further keys."""
        await self._drained.wait()

    def _settle(self) -> None:
        """After every change: update the depth, wake a worker if a key is ready, set the timer."""
        if not self._open:
            return
        ready = len(self._backlog)
        self._metrics.depth(ready)
        if ready and self._idle:
            self._wake()
        due = self._backlog.next_due()
        if due != self._timer_due:
            self._set_timer(due)

    def _wake(self) -> None:
        """Wake one idle worker. It wakes the next one, if further keys are ready."""
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
                self._wake()  # it was woken for a key that another worker has to take now
            raise

    def _set_timer(self, due: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(due, self._on_timer) if due is not None else None
        self._timer_due = due

    def _on_timer(self) -> None:
        self._timer = self._timer_due = None
        self._backlog.advance(_now())
        self._settle()


def _now() -> float:
    return asyncio.get_running_loop().time()
