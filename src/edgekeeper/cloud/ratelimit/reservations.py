"""Reservations of callers that were told to come back later, namespace by namespace.

A pass does not wait for hours: it is told how long its turn will take, and ends. Without reservations the lane would tell
the same short wait to a thousand callers, and all would come back at once. So those that were sent away count in the
expected wait of the next one. A reservation that is not used expires.
"""

from __future__ import annotations


class Reservations:
    """The callers that will come back to a lane, in order."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[str, float]] = {}
        """By namespace and caller, when the reservation expires. The first namespace is next."""
        self._soonest = float("inf")
        """No reservation expires before."""

    def book(self, namespace: str, caller: str, until: float) -> None:
        """Reserve a turn, or prolong the reservation that the caller has."""
        self._lines.setdefault(namespace, {})[caller] = until
        self._soonest = min(self._soonest, until)

    def redeem(self, namespace: str, caller: str) -> None:
        """End the reservation of a caller that is back. The other namespaces are next."""
        line = self._lines.pop(namespace, {})
        line.pop(caller, None)
        if line:
            self._lines[namespace] = line

    def ahead(self, namespace: str, caller: str, now: float) -> int:
        """How many reservations go before this caller, whether it has one or not."""
        self._expire(now)
        line = self._lines.get(namespace, {})
        mine = list(line).index(caller) if caller in line else len(line)
        ahead, share = mine, mine + 1
        for name, others in self._lines.items():
            if name == namespace:
                share = mine  # those behind us in the round have had one turn less when ours comes
            else:
                ahead += min(len(others), share)
        return ahead

    def _expire(self, now: float) -> None:
        if now < self._soonest:
            return
        kept = {
            namespace: {caller: until for caller, until in line.items() if until > now}
            for namespace, line in self._lines.items()
        }
        self._lines = {namespace: line for namespace, line in kept.items() if line}
        self._soonest = min(
            (until for line in kept.values() for until in line.values()), default=float("inf")
        )
