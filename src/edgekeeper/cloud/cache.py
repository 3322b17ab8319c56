"""Caches of a provider's answers, with an expiry, and one call at a time for each key.

    distributions = LookupCache(cloudfront.find_distribution, clock)
    await distributions.get("E1ABC")

    refusals = ExpiringCache(clock)                  values that expire, stored by the caller
    refusals.put("E1ABC", refusal, timedelta(minutes=5))

*Guarantees*
 - One call at a time for each key. Concurrent lookups of a key share its answer.
 - Errors are not cached: the next lookup makes the next call.
 - Expired values are removed even if nobody looks them up, so that the cache does not grow with keys that are gone.
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

DEFAULT_LIFETIME: Final = timedelta(minutes=5)
"""How long an answer is cached by default."""
SWEEP_INTERVAL: Final = timedelta(minutes=1)
"""How often expired values are removed, while there are any values."""


@dataclass(frozen=True, slots=True)
class CacheEntry(Generic[V]):
    """A value, and when it expires by the monotonic clock."""

    value: V
    until: float


class ExpiringCache(Generic[K, V]):
    """Values by key, each with an expiry."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[K, CacheEntry[V]] = {}
        self._is_removing = False

    def __len__(self) -> int:
        """How many values there are, including expired ones that are not removed yet."""
        return len(self._entries)

    def get(self, key: K) -> CacheEntry[V] | None:
        """The entry of a key, unless it has expired."""
        entry = self._entries.get(key)
        return entry if entry is not None and self._clock.monotonic() < entry.until else None

    def left(self, entry: CacheEntry[V]) -> timedelta:
        """The remaining lifetime of an entry, rounded up to a second.

        Less than a microsecond would be rounded to zero, and a caller that waits for it would retry in a busy loop.
        """
        return timedelta(seconds=max(1, ceil(entry.until - self._clock.monotonic())))

    def put(self, key: K, value: V, lifetime: timedelta) -> None:
        """Store a value for `lifetime`. Must be called within the event loop."""
        self._entries[key] = CacheEntry(value, self._clock.monotonic() + lifetime.total_seconds())
        if not self._is_removing:
            self._remove_later()

    def forget(self, key: K) -> None:
        self._entries.pop(key, None)

    def _remove_later(self) -> None:
        self._is_removing = bool(self._entries)
        if self._is_removing:
            # In a new context: that of the first caller would be kept alive, with everything it refers to.
            asyncio.get_running_loop().call_later(
                SWEEP_INTERVAL.total_seconds(), self._remove, context=Context()
            )

    def _remove(self) -> None:
        now = self._clock.monotonic()
        self._entries = {key: entry for key, entry in self._entries.items() if now < entry.until}
        self._remove_later()


@dataclass(slots=True)
class _Lookup:
    """A call in progress, and the number of callers that wait for it."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiters: int = 0


class LookupCache(Generic[K, V]):
    """Answers by key. One that is not cached is looked up with a call."""

    def __init__(
        self,
        call: Callable[[K], Awaitable[V]],
        clock: Clock,
        lifetime: Callable[[V], timedelta] = lambda _: DEFAULT_LIFETIME,
    ) -> None:
        """`lifetime` says how long an answer is cached."""
        self._call = call
        self._lifetime = lifetime
        self._answers: ExpiringCache[K, V] = ExpiringCache(clock)
        self._lookups: dict[K, _Lookup] = {}

    def __len__(self) -> int:
        """How many keys have an answer or are being looked up."""
        return len(self._answers) + len(self._lookups)

    async def get(self, key: K) -> V:
        """The answer. Raise what the call raised."""
        if entry := self._answers.get(key):
            return entry.value
        lookup = self._lookups.setdefault(key, _Lookup())
        lookup.waiters += 1
        try:
            async with lookup.turn:
                return await self._look_up(key)
        finally:
            lookup.waiters -= 1
            if not lookup.waiters:
                del self._lookups[key]

    def forget(self, key: K) -> None:
        """Drop the answer of a key, because it is known to be outdated."""
        self._answers.forget(key)

    async def _look_up(self, key: K) -> V:
        if entry := self._answers.get(key):
            return entry.value
        answer = await self._call(key)
        self._answers.put(key, answer, self._lifetime(answer))
        return answer
