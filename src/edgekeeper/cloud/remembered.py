"""Answers of a provider that are good for a while, asked for once, however many want them.

    distributions = Remembered(cloudfront.find_distribution, clock)
    await distributions.get("E1ABC")

    refusals = Expiring(clock)                       for whoever keeps something else for a while
    refusals.put("E1ABC", refusal, timedelta(minutes=5))

*Guarantees*
 - One call at a time for each key. All who ask meanwhile share its answer.
 - Errors are not remembered: whoever asks next causes the next call. (Of refusals, those who call keep a memory.)
 - What has expired is removed, also where nobody asks any more, so that nothing grows with keys that are gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextvars import Context
from dataclasses import dataclass, field
from datetime import timedelta
from math import ceil
from typing import Final, Generic, TypeVar

from edgekeeper.core.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

LASTING: Final = timedelta(minutes=5)
"""How long an answer is good, where nobody says otherwise."""
REMOVED_EVERY: Final = timedelta(minutes=1)
"""How often what has expired is removed, as long as there is anything."""


@dataclass(frozen=True, slots=True)
class Kept(Generic[V]):
    """A value, and until when it counts by the monotonic clock."""

    value: V
    until: float


class Expiring(Generic[K, V]):
    """Values by key that disappear when their time is over."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[K, Kept[V]] = {}
        self._is_removing = False

    def __len__(self) -> int:
        """How many there are, those included that have expired and are not removed yet."""
        return len(self._kept)

    def get(self, key: K) -> Kept[V] | None:
        """What is kept under a key, unless it has expired."""
        kept = self._kept.get(key)
        return kept if kept is not None and self._clock.monotonic() < kept.until else None

    def left(self, kept: Kept[V]) -> timedelta:
        """After how long something does not count any more, rounded up to a second.

        Less than a microsecond would become no time at all, and whoever waits for it would come back for ever.
        """
        return timedelta(seconds=max(1, ceil(kept.until - self._clock.monotonic())))

    def put(self, key: K, value: V, lasting: timedelta) -> None:
        """Keep a value for so long. Must be called within the event loop."""
        self._kept[key] = Kept(value, self._clock.monotonic() + lasting.total_seconds())
        if not self._is_removing:
            self._remove_later()

    def forget(self, key: K) -> None:
        self._kept.pop(key, None)

    def _remove_later(self) -> None:
        self._is_removing = bool(self._kept)
        if self._is_removing:
            # In a context of its own: that of the first caller, and all it refers to, would be kept as well.
            asyncio.get_running_loop().call_later(
                REMOVED_EVERY.total_seconds(), self._remove, context=Context()
            )

    def _remove(self) -> None:
        now = self._clock.monotonic()
        self._kept = {key: kept for key, kept in self._kept.items() if now < kept.until}
        self._remove_later()


@dataclass(slots=True)
class _Question:
    """A call that is under way, and how many wait for it."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    askers: int = 0


class Remembered(Generic[K, V]):
    """See the module."""

    def __init__(
        self,
        ask: Callable[[K], Awaitable[V]],
        clock: Clock,
        lasting: Callable[[V], timedelta] = lambda _: LASTING,
    ) -> None:
        """`lasting` tells how long an answer is good."""
        self._ask = ask
        self._lasting = lasting
        self._answers: Expiring[K, V] = Expiring(clock)
        self._questions: dict[K, _Question] = {}

    def __len__(self) -> int:
        """How many keys something is kept for."""
        return len(self._answers) + len(self._questions)

    async def get(self, key: K) -> V:
        """The answer, or the error that came instead."""
        if kept := self._answers.get(key):
            return kept.value
        question = self._questions.setdefault(key, _Question())
        question.askers += 1
        try:
            async with question.turn:
                return await self._answered(key)
        finally:
            question.askers -= 1
            if not question.askers:
                del self._questions[key]

    def forget(self, key: K) -> None:
        """Something says that what we know is wrong."""
        self._answers.forget(key)

    async def _answered(self, key: K) -> V:
        if kept := self._answers.get(key):
            return kept.value
        answer = await self._ask(key)
        self._answers.put(key, answer, self._lasting(answer))
        return answer
