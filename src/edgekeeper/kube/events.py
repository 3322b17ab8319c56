"""The event recorder: tells people what happened to an object, and never gets in the way of it happening.

`record` only notes the event and returns. A task of its own writes them, and whatever goes wrong there is counted
(`counts`) and logged, and stays there.

Expected flow
    1. An event that is already waiting is counted there; repetitions take no room. When too many different ones wait,
       the oldest is dropped.
    2. A fact told for the first time becomes an Event. Its name follows from the fact, so if the server has it already
       (an earlier process told it, or the answer to our creation was lost) the series goes on there.
    3. A repetition becomes a patch of `series` on that Event: the first at once, later ones gathered over
       `series_pause`.
    4. `stop` writes what is left, as far as its time allows.

Guarantees
    - `record` does not raise, block, or keep the object alive.
    - An object gets `burst` writes at once and one per `refill` after that, as with client-go. Beyond that new facts
      are dropped, and repetitions are gathered until there is room again. All objects together are paced as well.
    - Secrets, line breaks and escape sequences do not get through; the server's limits on lengths are kept.
    - Memory is bounded: waiting events, known series and limits per object.

Caveats
    - Events are best effort everywhere in Kubernetes: the server forgets them after an hour. What must not be missed
      belongs into a condition.
    - Where we may not read Events, a series that an earlier process began starts to count again at one.
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
from edgekeeper.kube.event_facts import Fact, Reporter, Subject, series, told_so_far
from edgekeeper.kube.kinds import EVENT, Key, Kind
from edgekeeper.kube.limits import TokenBucket

_log = get_logger(__name__)

_PASSING = (ServerError, StaleError, ThrottledError, UnreachableError, TimeoutError)
"""What may work when tried again. Anything else (forbidden, invalid, the namespace is gone) will not."""
_MOST_TRIES = 3
_CALL_LIMIT = timedelta(seconds=10)


class EventClient(Protocol):
    """What the recorder needs of `KubeClient`."""

    async def get(self, kind: Kind, key: Key) -> JsonObject: ...

    async def create(self, kind: Kind, obj: JsonObject, *, namespace: str = "") -> JsonObject: ...

    async def merge_patch(self, kind: Kind, key: Key, patch: JsonObject) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class RecorderOptions:
    """How much is said, and how often."""

    waiting: int = 1000
    """Different events that may wait to be written."""
    remembered: int = 4096
    """Series, and objects with a limit, that are kept in mind."""
    window: timedelta = timedelta(minutes=10)
    """How long after its last occurrence a fact is kept in mind."""
    series_pause: timedelta = timedelta(seconds=30)
    """Between two patches of one series."""
    burst: int = 25
    refill: timedelta = timedelta(minutes=5)
    writes_per_second: float = 20.0
    """All objects together."""


@dataclass(slots=True)
class _Waiting:
    """An event that nobody has written yet, and how often it happened since."""

    count: int
    first: datetime
    last: datetime


@dataclass(slots=True)
class _Series:
    """A fact that has been written, and what has not been written of it yet."""

    first: datetime
    last: datetime
    count: int
    touched: float
    """When it last happened, by the monotonic clock."""
    patch_due: float
    """When the next patch may be written."""


class Recorder:
    """Records events for one process. Use `start` and `stop` around its life; `record` works at any time."""

    def __init__(
        self,
        client: EventClient,
        clock: Clock,
        reporter: Reporter,
        options: RecorderOptions = RecorderOptions(),  # noqa: B008 - frozen
    ) -> None:
        self.counts: Counter[str] = Counter()
        """What became of events: recorded, created, patched, dropped (of which queue_full, rate_limited, failed …)."""
        self._client = client
        self._clock = clock
        self._reporter = reporter
        self._options = options
        self._waiting: dict[tuple[Subject, Event], _Waiting] = {}
        self._series: dict[Fact, _Series] = {}
        self._unwritten: dict[Fact, _Series] = {}
        """Series that happened again since they were written, a part of `_series`."""
        self._allowance = _Allowance(options.burst, options.refill, options.remembered)
        self._pace = TokenBucket(options.writes_per_second, burst=options.burst)
        self._wake = asyncio.Event()
        self._closing = False
        self._overflowing = False
        self._task: asyncio.Task[None] | None = None

    def record(self, subject: JsonObject, event: Event) -> None:
        """Note that this happened to `subject`. Returns at once and never raises."""
        try:
            self._note(Subject.of(subject), event)
        except Exception as error:  # noqa: BLE001 - telling what happened must not make anything else happen
            self._drop("malformed")
            _log.warning("Cannot record event", error=str(error))

    async def start(self) -> None:
        self._task = asyncio.create_task(self._work(), name="event recorder")

    async def stop(self, limit: timedelta = timedelta(seconds=2)) -> None:
        """Write what is left, for no longer than `limit`."""
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

    # Noting

    def _note(self, subject: Subject, event: Event) -> None:
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
        """Until something happens, or gathered repetitions may be written."""
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
            except Exception as error:  # noqa: BLE001 - see `record`: this is the part of it that can wait
                self._drop("malformed", waiting.count)
                _log.warning("Cannot record event", error=type(error).__name__)
            else:
                await self._tell(fact, waiting)
        self._overflowing = False

    async def _write_unwritten(self) -> None:
        now = self._clock.monotonic()
        due = [
            (fact, told) for fact, told in self._unwritten.items() if self._closing or now >= told.patch_due
        ]
        for fact, told in due:
            if self._closing or self._allowance.take(fact.subject, now):
                await self._write(fact, told)

    async def _tell(self, fact: Fact, waiting: _Waiting) -> None:
        now = self._clock.monotonic()
        told = self._series.pop(fact, None)
        if told is not None:
            self._series[fact] = told  # at the end again: the order is that of the last occurrence
            told.count += waiting.count
            told.last, told.touched = waiting.last, now
            self._unwritten[fact] = told
            if now >= told.patch_due and self._allowance.take(fact.subject, now):
                await self._write(fact, told)
        elif self._allowance.take(fact.subject, now):
            await self._write(fact, _Series(waiting.first, waiting.last, waiting.count, now, now))
        else:
            self._drop("rate_limited", waiting.count)

    async def _write(self, fact: Fact, told: _Series) -> None:
        self._unwritten.pop(fact, None)
        try:
            if fact in self._series:
                await self._patch_or_create(fact, told)
            else:
                await self._create_or_continue(fact, told)
                self._series[fact] = told
        except Exception as error:  # noqa: BLE001 - see the module
            self._fail(fact, error)

    async def _create_or_continue(self, fact: Fact, told: _Series) -> None:
        try:
            await self._create(fact, told)
        except AlreadyExistsError:
            told.count += await self._told_so_far(fact)
            await self._patch(fact, told)

    async def _patch_or_create(self, fact: Fact, told: _Series) -> None:
        try:
            await self._patch(fact, told)
        except NotFoundError:  # events do not live long
            await self._create(fact, told)

    async def _create(self, fact: Fact, told: _Series) -> None:
        tree = self._reporter.event(fact, told.first, told.count, told.last)
        await self._call(lambda: self._client.create(EVENT, tree, namespace=fact.key.namespace))
        self.counts["created"] += 1

    async def _patch(self, fact: Fact, told: _Series) -> None:
        patch = series(told.count, told.last)
        await self._call(lambda: self._client.merge_patch(EVENT, fact.key, patch))
        self.counts["patched"] += 1
        told.patch_due = self._clock.monotonic() + self._options.series_pause.total_seconds()

    async def _told_so_far(self, fact: Fact) -> int:
        """How often the Event that is there already has been told."""
        try:
            tree = await self._call(lambda: self._client.get(EVENT, fact.key))
        except ForbiddenError:
            return 1
        if not fact.is_told_by(tree):
            raise ValueError(f"another event is named {fact.key.name}")
        return told_so_far(tree)

    def _fail(self, fact: Fact, error: Exception) -> None:
        self._series.pop(fact, None)
        self._drop("failed")
        _log.warning(
            "Cannot write event",
            kind=fact.subject.kind,
            namespace=fact.subject.namespace,
            name=fact.subject.name,
            reason=fact.reason,
            error=str(error) or type(error).__name__,
        )

    async def _call(self, send: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
        """Make a call, again if it may help, at the pace that all events share."""
        tries = 1 if self._closing else _MOST_TRIES
        for attempt in range(1, tries):
            try:
                return await self._paced(send)
            except _PASSING as error:
                _log.debug("Cannot write event yet", error=str(error) or type(error).__name__)
            await asyncio.sleep(2.0**attempt)
        return await self._paced(send)

    async def _paced(self, send: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
        if not self._closing:
            await self._pace.acquire()
        async with asyncio.timeout(_CALL_LIMIT.total_seconds()):
            return await send()

    def _forget(self) -> None:
        """Keep in mind what happened lately, and no more than so many."""
        horizon = self._clock.monotonic() - self._options.window.total_seconds()
        while self._series:
            fact, told = next(iter(self._series.items()))
            is_over = told.touched < horizon and fact not in self._unwritten
            if not is_over and len(self._series) <= self._options.remembered:
                return
            del self._series[fact]
            if self._unwritten.pop(fact, None) is not None:
                self._drop("forgotten")


class _Allowance:
    """A token bucket per object, kept as the moment at which it would be full again.

    Of too many objects those that spoke least recently are forgotten: their buckets are the fullest.
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
