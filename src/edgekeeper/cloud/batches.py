"""Decides which changes are written together, and when. Pure: the time is passed in.

    waiting     submitted changes, in order; they become a batch when none has come for the time of a window, when the
                first has waited for as long as any may, or when together they weigh enough
    parts       the parts of batches that were divided; they are due at once

If both are due they alternate, so that neither delays the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from edgekeeper.cloud.call_context import Actor
from edgekeeper.cloud.ticket import Ticket

C = TypeVar("C")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class CoalescerOptions:
    """How changes are batched."""

    window: timedelta = timedelta(seconds=1)
    """How long a change waits for others. One that comes meanwhile keeps the batch open, up to `longest`."""
    heaviest: int = 500
    """The largest weight of a batch. A single change that weighs more is written alone."""
    longest: timedelta = timedelta()
    """How long the first change of a batch waits at most while others keep coming; never less than the window."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry(Generic[C, R]):
    """A submitted change."""

    change: C
    key: Hashable
    weight: int
    ticket: Ticket[R]
    actors: tuple[Actor, ...]
    since: float


class Batches(Generic[C, R]):
    """Changes that are not being written yet."""

    def __init__(self, options: CoalescerOptions) -> None:
        self._options = options
        self._waiting: list[Entry[C, R]] = []
        self._weight = 0
        self._parts: deque[list[Entry[C, R]]] = deque()
        self._part_is_next = True

    def __len__(self) -> int:
        return len(self._waiting) + sum(map(len, self._parts))

    def push(self, entry: Entry[C, R]) -> None:
        self._waiting.append(entry)
        self._weight += entry.weight

    def due(self) -> float | None:
        """When the next batch is due, which may be in the past; None if there is nothing to write."""
        return float("-inf") if self._parts else self._due_of_waiting()

    def pop(self, now: float) -> list[Entry[C, R]]:
        """The next batch to write."""
        due = self._due_of_waiting()
        if self._parts and (self._part_is_next or due is None or due > now):
            self._part_is_next = False
            return self._parts.popleft()
        self._part_is_next = True
        return self._gather()

    def divide(self, batch: list[Entry[C, R]], suspects: Collection[int]) -> None:
        """Split a batch: `suspects` (positions) are written separately, after the others."""
        self._parts.append([entry for position, entry in enumerate(batch) if position not in suspects])
        self._parts.append([entry for position, entry in enumerate(batch) if position in suspects])

    def drain(self) -> list[Entry[C, R]]:
        """Remove and return everything."""
        entries = [*(entry for part in self._parts for entry in part), *self._waiting]
        self._parts.clear()
        self._waiting, self._weight = [], 0
        return entries

    def _due_of_waiting(self) -> float | None:
        if not self._waiting:
            return None
        if self._weight >= self._options.heaviest:
            return float("-inf")
        window, longest = self._options.window.total_seconds(), self._options.longest.total_seconds()
        return min(self._waiting[-1].since + window, self._waiting[0].since + max(window, longest))

    def _gather(self) -> list[Entry[C, R]]:
        """As many waiting changes as fit; only the first of each key, and none whose key is in a part."""
        batch: list[Entry[C, R]] = []
        left: list[Entry[C, R]] = []
        seen = {entry.key for part in self._parts for entry in part}
        weight = 0
        for entry in self._waiting:
            fits = not batch or weight + entry.weight <= self._options.heaviest
            if fits and entry.key not in seen:
                batch.append(entry)
                weight += entry.weight
            else:
                left.append(entry)
            seen.add(entry.key)
        self._waiting, self._weight = left, self._weight - weight
        return batch
