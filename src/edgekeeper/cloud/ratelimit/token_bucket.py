"""A token bucket that can be paused and that slows down after throttling. No clock, no event loop.

Tokens come at `rate` until the bucket is full. A pause empties it, so that its end is no burst, and reduces the speed, which
recovers with time (additive increase, multiplicative decrease). A call that costs more than the bucket holds needs a full
bucket, and leaves a debt.
"""

from __future__ import annotations

_SLOWER = 0.8
_SLOWEST = 0.25
_RECOVERY = 60.0
"""Seconds in which the speed recovers from zero to full."""
_SHORTEST_PAUSE = 1.0
_TOLERANCE = 1e-6
"""Seconds by which a timer may come early: event loops round, and a timer set again for the same moment would spin."""


class TokenBucket:
    """`rate` tokens per second, and at most `burst` at once."""

    def __init__(self, rate: float, burst: int, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._counted_until = now
        """Until when tokens have been added: in the future during a pause."""
        self._speed = 1.0
        self._speed_since = now

    def ready_in(self, cost: int, now: float, ahead: int = 0) -> float:
        """Seconds until there are enough tokens for this cost and for what goes `ahead`; 0 where there are."""
        self._refill(now)
        missing = min(cost, self._burst) + ahead - self._tokens
        wait = self.paused_for(now) + max(0.0, missing) / self._rate_at(self._counted_until)
        return wait if wait > _TOLERANCE else 0.0

    def available(self, now: float) -> float:
        """The tokens that there are; negative during a debt."""
        self._refill(now)
        return self._tokens

    def take(self, cost: int, now: float) -> None:
        self._refill(now)
        self._tokens -= cost

    def give_back(self, cost: int) -> None:
        """Return the tokens of a call that was not made."""
        self._tokens = min(self._burst, self._tokens + cost)

    def pause(self, seconds: float | None, now: float) -> None:
        """Give no tokens for `seconds`; without it, for longer each time that the bucket is paused again soon."""
        if now >= self._counted_until:  # what fails during a pause was sent before it
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
        # The speed is lowest at the beginning of the interval: this may count too few tokens, never too many.
        gained = (now - self._counted_until) * self._rate_at(self._counted_until)
        self._tokens = min(self._burst, self._tokens + gained)
        self._counted_until = now

    def _rate_at(self, moment: float) -> float:
        return self._rate * self._speed_at(moment)

    def _speed_at(self, moment: float) -> float:
        return min(1.0, self._speed + max(0.0, moment - self._speed_since) / _RECOVERY)
