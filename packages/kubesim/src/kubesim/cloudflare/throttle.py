"""Rate limits as published: 1,200 requests in five minutes per token, 200 in a second per address.

Whoever exceeds the first is shut out altogether for the next five minutes. The `Ratelimit` header is of no help: it
keeps saying that 1,199 are left, as recordings of the real one do.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from edgekeeper.core.clock import Clock
from kubesim.cloudflare.wire import Refusal


@dataclass(slots=True)
class Limits:
    """How much is let through. A test may tighten it."""

    per_token: int = 1200
    window: timedelta = timedelta(minutes=5)
    block: timedelta = timedelta(minutes=5)
    per_address: int = 200
    tells_when: bool = True
    """Whether a 429 carries Retry-After; it is not known that it always does."""


class Throttle:
    """Counts requests and shuts out those who send too many."""

    def __init__(self, clock: Clock) -> None:
        self.limits = Limits()
        self._clock = clock
        self._by_token: defaultdict[str, deque[float]] = defaultdict(deque)
        self._by_address: defaultdict[str, deque[float]] = defaultdict(deque)
        self._blocked: dict[str, float] = {}

    def block(self, token: str, interval: timedelta | None = None) -> None:
        """Shut a token out, as somebody else who uses the same budget would bring about."""
        length = self.limits.block if interval is None else interval
        self._blocked[token] = self._clock.monotonic() + length.total_seconds()

    def admit(self, token: str, address: str) -> None:
        """Count a request. Raise Refusal where it is one too many."""
        now = self._clock.monotonic()
        left = self._blocked.get(token, now) - now
        if left > 0:
            raise self._refusal(left)
        if _count(self._by_token[token], now, self.limits.window.total_seconds()) > self.limits.per_token:
            self._by_token[token].clear()
            self.block(token)
            raise self._refusal(self.limits.block.total_seconds())
        if _count(self._by_address[address], now, 1.0) > self.limits.per_address:
            raise self._refusal(1.0)

    def _refusal(self, seconds: float) -> Refusal:
        refusal = Refusal(429, 971, "Please wait and consider throttling your request speed")
        if self.limits.tells_when:
            refusal.headers["retry-after"] = str(ceil(seconds))
        return refusal


def headers(path: str) -> dict[str, str]:
    """What every answer says about limits."""
    policy = "list_zones" if path.strip("/") == "zones" else "default"
    return {"ratelimit": f'"{policy}";r=1199;t=1', "ratelimit-policy": f'"{policy}";q=1200;w=300'}


def _count(moments: deque[float], now: float, window: float) -> int:
    moments.append(now)
    while moments[0] <= now - window:
        moments.popleft()
    return len(moments)
