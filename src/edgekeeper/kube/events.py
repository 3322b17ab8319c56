"""The event recorder: writes Kubernetes Events in the background, without affecting the passes that record them.

`record` queues the event and returns. A task writes the queued events; its errors are counted (`counts`) and logged,
and never reach a caller.

Expected flow
    1. Recording an event that is already queued increases its count. When too many different events are queued, the
       oldest is dropped.
    2. The first occurrence of a fact creates an Event. The name of the Event is a function of the fact, so if it
       exists already (an earlier process created it, or the response to our create was lost) its series is continued.
    3. Further occurrences patch `series` of that Event: the first one at once, later ones at most every
       `series_pause`.
    4. `stop` writes what is still queued, within its time limit.

Guarantees
    - `record` does not raise or block, and keeps no reference to the object.
    - Writes are rate limited per object (`burst` at once, then one per `refill`, as in client-go) and for all objects
      together. Beyond the limit of an object new facts are dropped, and repetitions are counted until it may write.
    - Secrets, line breaks and escape sequences are removed; the server's limits on lengths are kept.
    - Memory is bounded: queued events, series and rate limits per object.

Caveats
    - Events are best effort everywhere in Kubernetes: the server deletes them after an hour. Information that must not
      be missed belongs in a condition.
    - Without permission to read Events, the count of a series that an earlier process began restarts at one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.log import get_logger
from edgekeeper.core.outcome import Event
from edgekeeper.kube.errors import (
    AlreadyExistsError,
    ForbiddenError,
    NotFoundError,
    ServerError,
    StaleError,
    ThrottledError,
    UnreachableError,
)
from edgekeeper.kube.event_facts import Fact, Reporter, Subject, occurrences, series
from edgekeeper.kube.kinds import EVENT, Key, Kind
from edgekeeper.kube.limits import TokenBucket

_log = get_logger(__name__)

_TRANSIENT = (ServerError, StaleError, ThrottledError, UnreachableError, TimeoutError)
"""Errors that are retried. Others (forbidden, invalid, the namespace is gone) are permanent."""
_MOST_TRIES = 3
_CALL_LIMIT = timedelta(seconds=10)


class EventClient(Protocol):
    """The methods of `KubeClient` that the recorder uses."""

    async def get(self, kind: Kind, key: Key) -> JsonObject: ...

    async def create(self, kind: Kind, obj: JsonObject, *, namespace: str = "") -> JsonObject: ...

    async def merge_patch(self, kind: Kind, key: Key, patch: JsonObject) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class RecorderOptions:
    """Queue sizes and rate limits of the recorder."""

    waiting: int = 1000
    """The maximum number of different events that wait to be written."""
    remembered: int = 4096
    """The maximum number of series, and of objects with a rate limit, that are kept in memory."""
    window: timedelta = timedelta(minutes=10)
    """How long after its last occurrence a series is kept in memory."""
    series_pause: timedelta = timedelta(seconds=30)
    """The interval between two patches of one series."""
    burst: int = 25
    """Writes per object without delay."""
    refill: timedelta = timedelta(minutes=5)
    """The interval between further writes per object."""
    writes_per_second: float = 20.0
    """The rate limit of all objects together."""


@dataclass(slots=True)
class _Waiting:
    """An event that is not written yet, and how often it has been recorded."""

    count: int
    first: datetime
    last: datetime


@dataclass(slots=True)
class _Series:
    """The occurrences of a fact whose Event exists, including those that are not written yet."""

    first: datetime
    last: datetime
    count: int
    touched: float
    """When it last happened, by the monotonic clock."""
    patch_due: float
    """When the next patch may be written."""


class Recorder:
    """Records the events of one process. Events are written between `start` and `stop`; `record` may be called before."""

    def __init__(
        self,
        client: EventClient,
        clock: Clock,
        reporter: Reporter,
        options: RecorderOptions = RecorderOptions(),  # noqa: B008 - frozen
    ) -> None:
        self.counts: Counter[str] = Counter()
        """Events by result: recorded, created, patched, dropped (and why: queue_full, rate_limited, failed, …)."""
        self._client = client
        self._clock = clock
        self._reporter = reporter
        self._options = options
        self._waiting: dict[tuple[Subject, Event], _Waiting] = {}
        self._series: dict[Fact, _Series] = {}
        self._unwritten: dict[Fact, _Series] = {}
        """The part of `_series` with occurrences that are not written yet."""
        self._allowance = _Allowance(options.burst, options.refill, options.remembered)
        self._pace = TokenBucket(options.writes_per_second, burst=options.burst)
        self._wake = asyncio.Event()
        self._closing = False
        self._overflowing = False
        self._task: asyncio.Task[None] | None = None

    def record(self, subject: JsonObject, event: Event) -> None:
        """Queue an event about `subject`. Returns at once and never raises."""
        try:
            self._enqueue(Subject.of(subject), event)
        except Exception as error:  # noqa: BLE001 - an event that cannot be recorded must not fail a pass
            self._drop("malformed")
            _log.warning("Cannot record event", error=str(error))

    async def start(self) -> None:
        self._task = asyncio.create_task(self._work(), name="event recorder")

    async def stop(self, limit: timedelta = timedelta(seconds=2)) -> None:
        """Write what is still queued, for no longer than `limit`. Later events are dropped."""
        self._closing = True
        self._wake.set()
        task, self._task = self._task, None
        if task is None:
            return
        try:
            async with asyncio.timeout(limit.total_seconds()):
                await task
        except TimeoutError:
            self._drop("unwritten_at_stop", len(self._waiting) + len(self._unwritten))
            _log.warning("Cannot write all events before stopping", events=len(self._waiting))

    # Recording

    def _enqueue(self, subject: Subject, event: Event) -> None:
        if self._closing:
            self._drop("stopped")
            return
        self.counts["recorded"] += 1
        now = self._clock.now()
        waiting = self._waiting.get((subject, event))
        if waiting is not None:
            waiting.count += 1
            waiting.last = now
            return
        self._waiting[subject, event] = _Waiting(1, now, now)
        if len(self._waiting) > self._options.waiting:
            self._drop_oldest()
        self._wake.set()

    def _drop_oldest(self) -> None:
        oldest = next(iter(self._waiting))
        self._drop("queue_full", self._waiting.pop(oldest).count)
        if not self._overflowing:
            self._overflowing = True
            _log.warning("Dropping the oldest events, too many are waiting", waiting=len(self._waiting))

    def _drop(self, why: str, count: int = 1) -> None:
        self.counts["dropped"] += count
        self.counts[why] += count

    # Writing

    async def _work(self) -> None:
        while not self._closing:
            await self._wait()
            await self._write_waiting()
            await self._write_unwritten()
            self._forget()
        await self._write_waiting()
        await self._write_unwritten()

    async def _wait(self) -> None:
        """Wait until an event is recorded, or until patches of series may be due."""
        pause = self._options.series_pause.total_seconds() if self._unwritten else None
        try:
            async with asyncio.timeout(pause):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _write_waiting(self) -> None:
        self._wake.clear()
        while self._waiting:
            subject, event = next(iter(self._waiting))
            waiting = self._waiting.pop((subject, event))
            try:
                fact = Fact.of(subject, event)
            except Exception as error:  # noqa: BLE001 - as in `record`, of which this is the deferred part
                self._drop("malformed", waiting.count)
                _log.warning("Cannot record event", error=type(error).__name__)
            else:
                await self._write_or_count(fact, waiting)
        self._overflowing = False

    async def _write_unwritten(self) -> None:
        now = self._clock.monotonic()
        due = [
            (fact, entry)
            for fact, entry in self._unwritten.items()
            if self._closing or now >= entry.patch_due
        ]
        for fact, entry in due:
            if self._closing or self._allowance.take(fact.subject, now):
                await self._write(fact, entry)

    async def _write_or_count(self, fact: Fact, waiting: _Waiting) -> None:
        """Write an event, or count it as a repetition to be written later, or drop it, as the limits allow."""
        now = self._clock.monotonic()
        entry = self._series.pop(fact, None)
        if entry is not None:
            self._series[fact] = entry  # moved to the end: the order is that of the last occurrence
            entry.count += waiting.count
            entry.last, entry.touched = waiting.last, now
            self._unwritten[fact] = entry
            if now >= entry.patch_due and self._allowance.take(fact.subject, now):
                await self._write(fact, entry)
        elif self._allowance.take(fact.subject, now):
            await self._write(fact, _Series(waiting.first, waiting.last, waiting.count, now, now))
        else:
            self._drop("rate_limited", waiting.count)

    async def _write(self, fact: Fact, entry: _Series) -> None:
        self._unwritten.pop(fact, None)
        try:
            if fact in self._series:
                await self._patch_or_create(fact, entry)
            else:
                await self._create_or_continue(fact, entry)
                self._series[fact] = entry
        except Exception as error:  # noqa: BLE001 - counted and logged; the other events are still written
            self._fail(fact, error)

    async def _create_or_continue(self, fact: Fact, entry: _Series) -> None:
        try:
            await self._create(fact, entry)
        except AlreadyExistsError:
            entry.count += await self._existing_occurrences(fact)
            await self._patch(fact, entry)

    async def _patch_or_create(self, fact: Fact, entry: _Series) -> None:
        try:
            await self._patch(fact, entry)
        except NotFoundError:  # the server deletes Events after an hour
            await self._create(fact, entry)

    async def _create(self, fact: Fact, entry: _Series) -> None:
        tree = self._reporter.event(fact, entry.first, entry.count, entry.last)
        await self._call(lambda: self._client.create(EVENT, tree, namespace=fact.key.namespace))
        self.counts["created"] += 1

    async def _patch(self, fact: Fact, entry: _Series) -> None:
        patch = series(entry.count, entry.last)
        await self._call(lambda: self._client.merge_patch(EVENT, fact.key, patch))
        self.counts["patched"] += 1
        entry.patch_due = self._clock.monotonic() + self._options.series_pause.total_seconds()

    async def _existing_occurrences(self, fact: Fact) -> int:
        """The count of the Event that exists already."""
        try:
            tree = await self._call(lambda: self._client.get(EVENT, fact.key))
        except ForbiddenError:
            return 1
        if not fact.is_reported_by(tree):
            raise ValueError(f"another event is named {fact.key.name}")
        return occurrences(tree)

    def _fail(self, fact: Fact, error: Exception) -> None:
        self._series.pop(fact, None)
        self._drop("failed")
        _log.warning(
            "Cannot write event",
            kind=fact.subject.kind,
            namespace=fact.subject.namespace,
            name=fact.subject.name,
            reason=fact.reason,
            note=fact.note,
            error=str(error) or type(error).__name__,
        )

    async def _call(self, send: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
        """Make a call under the common rate limit, and repeat it after transient errors."""
        tries = 1 if self._closing else _MOST_TRIES
        for attempt in range(1, tries):
            try:
                return await self._paced(send)
            except _TRANSIENT as error:
                _log.debug("Cannot write event yet", error=str(error) or type(error).__name__)
            await asyncio.sleep(2.0**attempt)
        return await self._paced(send)

    async def _paced(self, send: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
        if not self._closing:
            await self._pace.acquire()
        async with asyncio.timeout(_CALL_LIMIT.total_seconds()):
            return await send()

    def _forget(self) -> None:
        """Drop series whose last occurrence is older than `window`, and the oldest beyond `remembered`."""
        horizon = self._clock.monotonic() - self._options.window.total_seconds()
        while self._series:
            fact, entry = next(iter(self._series.items()))
            is_over = entry.touched < horizon and fact not in self._unwritten
            if not is_over and len(self._series) <= self._options.remembered:
                return
            del self._series[fact]
            if self._unwritten.pop(fact, None) is not None:
                self._drop("forgotten")


class _Allowance:
    """A token bucket per object, kept as the moment at which it would be full again.

    Beyond `most` objects the bucket that was used least recently is dropped, because it is the fullest.
    """

    def __init__(self, burst: int, refill: timedelta, most: int) -> None:
        self._interval = refill.total_seconds()
        self._room = (burst - 1) * self._interval
        self._most = most
        self._full_at: dict[Subject, float] = {}

    def take(self, subject: Subject, now: float) -> bool:
        full_at = max(self._full_at.pop(subject, now), now)
        allowed = full_at - now <= self._room
        self._full_at[subject] = full_at + self._interval if allowed else full_at
        if len(self._full_at) > self._most:
            del self._full_at[next(iter(self._full_at))]
        return allowed
