"""What is to be looked at next: the rules of the queue, without a clock and without an event loop.

A key is in one of four places, and every law of the queue follows from the moves between them:

    place     add, due now              add, due later              take            release
    ────────  ────────────────────────  ──────────────────────────  ──────────────  ─────────────────────────
    nowhere   → ready                   → later
    later     → ready                   → later, the earlier one    once due: ready
    ready     ready, better priority    stays: sooner serves both   → held
    held      held, and once more       held, and once more later                   → as asked meanwhile, or nowhere

So a key is held by one taker at most, is queued at most once, and what was added while it was held is not lost.
Where two wishes meet, the earlier time and the better priority win.

Taking goes by priority, then round robin over the namespaces, then first come, first served. One turn in sixteen
goes to the worst priority that has anything waiting, so that a flood of changes delays a resync but never stops it.

Nothing is kept about a key that is nowhere.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import IntEnum
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from edgekeeper.kube.kinds import Key

COURTESY = 16
"""Every how many turns the worst waiting priority is served first."""

_SLACK = 64
"""How many outdated alarms are not worth sweeping up."""


class Priority(IntEnum):
    """Why a key is to be looked at. The lower, the sooner."""

    USER = 0
    """Somebody changed the object."""
    WAKE = 1
    """Something that the object depends on has changed."""
    RETRY = 2
    """A pass asked for another one."""
    RESYNC = 3
    """Just in case something was missed."""
    START = 4
    """The object was there when the process started."""


class _Wish(NamedTuple):
    due: float
    priority: Priority


class Backlog:
    """Keys that are ready, that will be, and that are held. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._ready: dict[Key, Priority] = {}
        self._lanes: tuple[_Lane, ...] = tuple(_Lane() for _ in Priority)
        self._later: dict[Key, _Wish] = {}
        self._alarms: list[tuple[float, int, Key]] = []
        self._held: dict[Key, float] = {}
        self._again: dict[Key, _Wish] = {}
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
        """How many things are remembered in all, to show that memory is bounded."""
        lanes = sum(len(lane) for lane in self._lanes)
        return (
            len(self._ready)
            + lanes
            + len(self._later)
            + len(self._alarms)
            + len(self._held)
            + len(self._again)
        )

    def held_since(self) -> list[float]:
        """When each of the held keys was taken."""
        return list(self._held.values())

    def add(self, key: Key, priority: Priority, due: float, now: float) -> bool:
        """Wish for `key` to be handed out, at `due` at the latest. Return whether that matters before its release."""
        if key in self._held:
            self._again[key] = _both(self._again.get(key), due, priority)
            return False
        if key in self._ready:
            self._promote(key, priority)
        else:
            wish = _both(self._later.get(key), due, priority)
            if wish.due <= now:
                self._later.pop(key, None)
                self._line_up(key, wish.priority, now)
            else:
                self._postpone(key, wish)
        return True

    def take(self, now: float) -> tuple[Key, float] | None:
        """Hold the next key; return it and how long it was ready, or None where nothing is."""
        self.advance(now)
        if not self._ready:
            return None
        self._turns += 1
        lanes = reversed(self._lanes) if self._turns % COURTESY == 0 else self._lanes
        key, since = next(lane for lane in lanes if lane).pop()
        del self._ready[key]
        self._held[key] = now
        return key, now - since

    def release(self, key: Key, now: float) -> float:
        """Hold `key` no longer, and do with it what was asked for meanwhile. Return how long it was held."""
        since = self._held.pop(key)
        wish = self._again.pop(key, None)
        if wish is not None:
            self.add(key, wish.priority, wish.due, now)
        return now - since

    def advance(self, now: float) -> None:
        """Make ready what is due."""
        while self._alarms and self._alarms[0][0] <= now:
            due, _, key = heappop(self._alarms)
            wish = self._later.get(key)
            if wish is not None and wish.due == due:
                del self._later[key]
                self._line_up(key, wish.priority, now)

    def next_due(self) -> float | None:
        """When `advance` will have something to do, at the earliest. Alarms of keys that came sooner are dropped here."""
        while self._alarms and not self._rings(self._alarms[0]):
            heappop(self._alarms)
        return self._alarms[0][0] if self._alarms else None

    def clear(self) -> None:
        """Forget everything but what is held."""
        self._ready.clear()
        self._lanes = tuple(_Lane() for _ in Priority)
        self._later.clear()
        self._alarms.clear()
        self._again.clear()

    def _line_up(self, key: Key, priority: Priority, now: float) -> None:
        self._ready[key] = priority
        self._lanes[priority].push(key, now)

    def _promote(self, key: Key, priority: Priority) -> None:
        if priority < self._ready[key]:
            since = self._lanes[self._ready[key]].remove(key)
            self._line_up(key, priority, since)

    def _postpone(self, key: Key, wish: _Wish) -> None:
        known = self._later.get(key)
        self._later[key] = wish
        if known is None or known.due != wish.due:
            heappush(self._alarms, (wish.due, next(self._numbers), key))
            self._sweep()

    def _sweep(self) -> None:
        """Drop outdated alarms once they are the majority: a key that is busy all day must not fill the heap."""
        if len(self._alarms) > 2 * len(self._later) + _SLACK:
            self._alarms = [alarm for alarm in self._alarms if self._rings(alarm)]
            heapify(self._alarms)

    def _rings(self, alarm: tuple[float, int, Key]) -> bool:
        wish = self._later.get(alarm[2])
        return wish is not None and wish.due == alarm[0]


def _both(known: _Wish | None, due: float, priority: Priority) -> _Wish:
    if known is None:
        return _Wish(due, priority)
    return _Wish(min(known.due, due), min(known.priority, priority))


class _Lane:
    """The ready keys of one priority: every namespace gets its turn, however much another one has waiting."""

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
