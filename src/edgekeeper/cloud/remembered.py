"""Caches of a provider's answers, with an expiry, and one call at a time for each key.

    distributions = Remembered(cloudfront.find_distribution, clock)
    await distributions.get("E1ABC")

    refusals = Expiring(clock)                       values that expire, without a way to ask for them
    refusals.put("E1ABC", refusal, timedelta(minutes=5))

*Guarantees*
 - One call at a time for each key. All who ask meanwhile share its answer.
 - Errors are not cached: whoever asks next causes the next call.
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
"""How long an answer is cached by default."""
REMOVED_EVERY: Final = timedelta(minutes=1)
"""How often expired values are removed, while there are any values."""


@dataclass(frozen=True, slots=True)
class Kept(Generic[V]):
    """A value, and when it expires by the monotonic clock."""

    value: V
    until: float


class Expiring(Generic[K, V]):
    """Values by key that expire."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[K, Kept[V]] = {}
        self._is_removing = False

    def __len__(self) -> int:
        """How many values there are, including expired ones that are not removed yet."""
        return len(self._kept)

    def get(self, key: K) -> Kept[V] | None:
        """The value of a key, unless it has expired."""
        kept = self._kept.get(key)
        return kept if kept is not None and self._clock.monotonic() < kept.until else None

    def left(self, kept: Kept[V]) -> timedelta:
        """After how long a value expires, rounded up to a second.

        Less than a microsecond would be rounded to zero, and whoever waits for it would ask again without end.
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
            # In a new context: that of the first caller, and all that it refers to, would be kept alive.
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
    """Answers by key, asked for when they are needed and not cached."""

    def __init__(
        self,
        ask: Callable[[K], Awaitable[V]],
        clock: Clock,
        lasting: Callable[[V], timedelta] = lambda _: LASTING,
    ) -> None:
        """`lasting` says how long an answer is cached."""
        self._ask = ask
        self._lasting = lasting
        self._answers: Expiring[K, V] = Expiring(clock)
        self._questions: dict[K, _Question] = {}

    def __len__(self) -> int:
        """How many keys have an answer or are being asked for."""
        return len(self._answers) + len(self._questions)

    async def get(self, key: K) -> V:
        """The answer. Raise what the call raised."""
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
        """Drop the answer of a key, because it is known to be outdated."""
        self._answers.forget(key)

    async def _answered(self, key: K) -> V:
        if kept := self._answers.get(key):
            return kept.value
        answer = await self._ask(key)
        self._answers.put(key, answer, self._lasting(answer))
        return answer
