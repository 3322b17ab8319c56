"""Places in a line for callers who were told to come back later.

A pass does not stand in a line for hours: it is told how long its turn will take, and ends. If the lane forgot about it,
the lane would tell the same short wait to a thousand callers, and all would come back at once. So it keeps a place for
each, namespace by namespace, and counts the kept places when it tells the next one how long it will take. A place that
nobody comes back for is given up.
"""

from __future__ import annotations


class Reservations:
    """Who will come back to a lane, in order, namespace by namespace."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[str, float]] = {}
        """By namespace and caller, until when the place is kept. The first namespace is next."""
        self._soonest = float("inf")
        """No place is given up before."""

    def book(self, namespace: str, caller: str, until: float) -> None:
        """Keep a place: the one that the caller has, if it has one."""
        self._lines.setdefault(namespace, {})[caller] = until
        self._soonest = min(self._soonest, until)

    def redeem(self, namespace: str, caller: str) -> None:
        """The caller is back, and needs its place no more. The other namespaces are next."""
        line = self._lines.pop(namespace, {})
        line.pop(caller, None)
        if line:
            self._lines[namespace] = line

    def ahead(self, namespace: str, caller: str, now: float) -> int:
        """How many of those who will come back go before this caller, who may have a place or not."""
        self._give_up(now)
        line = self._lines.get(namespace, {})
        mine = list(line).index(caller) if caller in line else len(line)
        ahead, share = mine, mine + 1
        for name, others in self._lines.items():
            if name == namespace:
                share = mine  # those behind us in the round have had one turn less when ours comes
            else:
                ahead += min(len(others), share)
        return ahead

    def _give_up(self, now: float) -> None:
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
