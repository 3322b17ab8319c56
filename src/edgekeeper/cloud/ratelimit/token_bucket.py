"""The arithmetic of one lane: a token bucket that can be paused, and that has learnt to go slower. No clock, no loop.

Tokens come at `rate` until the bucket is full. A pause empties it, so that its end is no burst, and takes off speed,
since whoever was throttled asked for too much; the speed comes back by and by (additive increase, multiplicative
decrease). Where a call costs more than the bucket can hold, a full bucket will do, and the rest is owed.
"""

from __future__ import annotations

_SLOWER = 0.8
_SLOWEST = 0.25
_RECOVERY = 60.0
"""Seconds in which a stopped lane would be at full speed again."""
_SHORTEST_PAUSE = 1.0
_TOLERANCE = 1e-6
"""Seconds by which a timer may come early: event loops round, and a timer set again for the same moment would spin."""


class TokenBucket:
    """Lets `rate` tokens per second pass, and `burst` of them at once after a rest."""

    def __init__(self, rate: float, burst: int, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._counted_until = now
        """Until when tokens have been added: in the future during a pause."""
        self._speed = 1.0
        self._speed_since = now

    def ready_in(self, cost: int, now: float, ahead: int = 0) -> float:
        """Seconds until there are enough tokens, also for those who go before; 0 where there are."""
        self._refill(now)
        missing = min(cost, self._burst) + ahead - self._tokens
        wait = self.paused_for(now) + max(0.0, missing) / self._rate_at(self._counted_until)
        return wait if wait > _TOLERANCE else 0.0

    def take(self, cost: int, now: float) -> None:
        self._refill(now)
        self._tokens -= cost

    def give_back(self, cost: int) -> None:
        """Return what was taken for a call that was never made."""
        self._tokens = min(self._burst, self._tokens + cost)

    def pause(self, seconds: float | None, now: float) -> None:
        """Let nobody pass for some time: longer from time to time, unless `seconds` says how long."""
        if now >= self._counted_until:  # what fails during a pause was sent before, and is no further sign
            self._speed, self._speed_since = max(_SLOWEST, self._speed_at(now) * _SLOWER), now
        self._refill(now)
        self._tokens = min(self._tokens, 0.0)
        length = _SHORTEST_PAUSE / self._speed if seconds is None else seconds
        self._counted_until = max(self._counted_until, now + length)

    def paused_for(self, now: float) -> float:
        """Seconds until the present pause ends."""
        return max(0.0, self._counted_until - now)

    def _refill(self, now: float) -> None:
        if now <= self._counted_until:
            return
        # The speed at the beginning of the interval is its lowest: rather too few tokens than too many.
        gained = (now - self._counted_until) * self._rate_at(self._counted_until)
        self._tokens = min(self._burst, self._tokens + gained)
        self._counted_until = now

    def _rate_at(self, moment: float) -> float:
        return self._rate * self._speed_at(moment)

    def _speed_at(self, moment: float) -> float:
        return min(1.0, self._speed + max(0.0, moment - self._speed_since) / _RECOVERY)
