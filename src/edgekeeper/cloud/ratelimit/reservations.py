"""Reservations of callers that were refused and will retry, fair between namespaces.

A pass does not wait for long: it gets the expected wait, and ends. Without reservations a thousand callers would get the
same short wait and retry at once. So refused callers count towards the expected wait of the next one. A reservation that
is not used expires.
"""

from __future__ import annotations


class Reservations:
    """The callers of a lane that will retry, in order."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[str, float]] = {}
        """By namespace and caller, when the reservation expires. The first namespace is next."""
        self._soonest = float("inf")
        """No reservation expires before."""

    def book(self, namespace: str, caller: str, until: float) -> None:
        """Reserve a position, or prolong the reservation that the caller has."""
        self._lines.setdefault(namespace, {})[caller] = until
        self._soonest = min(self._soonest, until)

    def redeem(self, namespace: str, caller: str) -> None:
        """End the reservation of a caller that retries. The other namespaces are next."""
        line = self._lines.pop(namespace, {})
        line.pop(caller, None)
        if line:
            self._lines[namespace] = line

    def ahead(self, namespace: str, caller: str, now: float) -> int:
        """How many reservations are ahead of this caller, whether it has one or not."""
        self._expire(now)
        line = self._lines.get(namespace, {})
        mine = list(line).index(caller) if caller in line else len(line)
        ahead, share = mine, mine + 1
        for name, others in self._lines.items():
            if name == namespace:
                share = mine  # namespaces behind this one have had one position less by then
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
