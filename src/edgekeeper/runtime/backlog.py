"""The data structure of the work queue: which key is next, without a clock and without an event loop.

A key is in one of four states:

    state     add, due now              add, due later              take            release
    ────────  ────────────────────────  ──────────────────────────  ──────────────  ─────────────────────────
    absent    → ready                   → later
    later     → ready                   → later, the earlier time   once due: ready
    ready     ready, higher priority    ready                       → held
    held      held, added again         held, added again, later                    → as added meanwhile, or absent

So a key is held by one worker at most and queued at most once, and what was added while it was held is not lost. When
a key is added twice, the earlier time and the higher priority count.

Keys are taken by priority, then round robin over the namespaces, then first in, first out. One of sixteen takes serves
the lowest priority that has a ready key, so that many changes delay a resync but never prevent it.

Nothing is kept about a key that is absent.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import IntEnum
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from edgekeeper.kube.kinds import Key

COURTESY = 16
"""Every how many takes the lowest priority with a ready key is served first."""

_SLACK = 64
"""How many outdated timers may stay in the heap before it is rebuilt."""


class Priority(IntEnum):
    """Why a key is queued. Lower numbers are served first."""

    USER = 0
    """The object was changed."""
    WAKE = 1
    """Something that the object depends on has changed."""
    RETRY = 2
    """A pass requeued the object."""
    RESYNC = 3
    """The resync interval has passed."""
    START = 4
    """The object existed when the process started."""


class _Entry(NamedTuple):
    due: float
    priority: Priority


class Backlog:
    """Keys that are ready, due later, or held by a worker. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._ready: dict[Key, Priority] = {}
        self._queues: tuple[_FairQueue, ...] = tuple(_FairQueue() for _ in Priority)
        self._later: dict[Key, _Entry] = {}
        self._timers: list[tuple[float, int, Key]] = []
        self._held: dict[Key, float] = {}
        self._again: dict[Key, _Entry] = {}
        self._numbers = count()
        self._turns = 0

    def __len__(self) -> int:
        """How many keys are ready."""
        return len(self._ready)

    @property
    def held(self) -> int:
        """How many keys are held."""
        return len(self._held)

    @property
    def size(self) -> int:
        """How many entries all collections hold, to show in tests that memory is bounded."""
        queues = sum(len(queue) for queue in self._queues)
        return (
            len(self._ready)
            + queues
            + len(self._later)
            + len(self._timers)
            + len(self._held)
            + len(self._again)
        )

    def held_since(self) -> list[float]:
        """The times at which the held keys were taken."""
        return list(self._held.values())

    def add(self, key: Key, priority: Priority, due: float, now: float) -> bool:
        """Queue `key`, to be ready at `due` at the latest. Return False if it is held, so that it waits for `release`."""
        if key in self._held:
            self._again[key] = _merged(self._again.get(key), due, priority)
            return False
        if key in self._ready:
            self._promote(key, priority)
        else:
            entry = _merged(self._later.get(key), due, priority)
            if entry.due <= now:
                self._later.pop(key, None)
                self._make_ready(key, entry.priority, now)
            else:
                self._postpone(key, entry)
        return True

    def take(self, now: float) -> tuple[Key, float] | None:
        """Hold the next key; return it and how long it was ready, or None if no key is ready."""
        self.advance(now)
        if not self._ready:
            return None
        self._turns += 1
        queues = reversed(self._queues) if self._turns % COURTESY == 0 else self._queues
        key, since = next(queue for queue in queues if queue).pop()
        del self._ready[key]
        self._held[key] = now
        return key, now - since

    def release(self, key: Key, now: float) -> float:
        """Stop holding `key`, and queue it if it was added meanwhile. Return how long it was held."""
        since = self._held.pop(key)
        entry = self._again.pop(key, None)
        if entry is not None:
            self.add(key, entry.priority, entry.due, now)
        return now - since

    def advance(self, now: float) -> None:
        """Make the keys ready that are due."""
        while self._timers and self._timers[0][0] <= now:
            due, _, key = heappop(self._timers)
            entry = self._later.get(key)
            if entry is not None and entry.due == due:
                del self._later[key]
                self._make_ready(key, entry.priority, now)

    def due(self, key: Key) -> float | None:
        """The time at which `key` becomes ready: in the past if it is ready, None if it is held or absent."""
        if key in self._ready:
            return float("-inf")
        entry = self._later.get(key)
        return entry.due if entry is not None else None

    def next_due(self) -> float | None:
        """The time at which the next key becomes due, if any. Outdated timers at the top of the heap are dropped."""
        while self._timers and not self._is_current(self._timers[0]):
            heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def clear(self) -> None:
        """Drop all keys but the held ones."""
        self._ready.clear()
        self._queues = tuple(_FairQueue() for _ in Priority)
        self._later.clear()
        self._timers.clear()
        self._again.clear()

    def _make_ready(self, key: Key, priority: Priority, now: float) -> None:
        self._ready[key] = priority
        self._queues[priority].push(key, now)

    def _promote(self, key: Key, priority: Priority) -> None:
        if priority < self._ready[key]:
            since = self._queues[self._ready[key]].remove(key)
            self._make_ready(key, priority, since)

    def _postpone(self, key: Key, entry: _Entry) -> None:
        previous = self._later.get(key)
        self._later[key] = entry
        if previous is None or previous.due != entry.due:
            heappush(self._timers, (entry.due, next(self._numbers), key))
            self._compact()

    def _compact(self) -> None:
        """Rebuild the heap once most timers are outdated, so that a key that is added often does not fill it."""
        if len(self._timers) > 2 * len(self._later) + _SLACK:
            self._timers = [timer for timer in self._timers if self._is_current(timer)]
            heapify(self._timers)

    def _is_current(self, timer: tuple[float, int, Key]) -> bool:
        entry = self._later.get(timer[2])
        return entry is not None and entry.due == timer[0]


def _merged(entry: _Entry | None, due: float, priority: Priority) -> _Entry:
    """The earlier time and the higher priority of both."""
    if entry is None:
        return _Entry(due, priority)
    return _Entry(min(entry.due, due), min(entry.priority, priority))


class _FairQueue:
    """The ready keys of one priority: round robin over the namespaces, first in, first out within one."""

    def __init__(self) -> None:
        self._namespaces: OrderedDict[str, OrderedDict[Key, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._namespaces)

    def push(self, key: Key, since: float) -> None:
        waiting = self._namespaces.get(key.namespace)
        if waiting is None:
            waiting = self._namespaces[key.namespace] = OrderedDict()
        waiting[key] = since

    def pop(self) -> tuple[Key, float]:
        namespace, waiting = next(iter(self._namespaces.items()))
        entry = waiting.popitem(last=False)
        if waiting:
            self._namespaces.move_to_end(namespace)
        else:
            del self._namespaces[namespace]
        return entry

    def remove(self, key: Key) -> float:
        waiting = self._namespaces[key.namespace]
        since = waiting.pop(key)
        if not waiting:
            del self._namespaces[key.namespace]
        return since
