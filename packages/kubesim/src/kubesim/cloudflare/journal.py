"""Every request that arrived, and what came of it: what tests count.

journal.count("POST /zones/{zone}/dns_records/batch")
journal.counts()            by operation
journal.writes()            the entries that changed something, or tried to
journal.most_within(…)      the highest number in any interval of that length
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from datetime import timedelta

from edgekeeper.core.json import JsonObject


@dataclass(frozen=True, slots=True)
class Entry:
    """One request."""

    number: int
    at: float
    """Seconds on the monotonic clock of the simulation."""
    operation: str
    """Method and template of the path, such as `GET /zones`; or the bare path where there is no such operation."""
    path: str
    token: str
    """Id of the token; empty where it is not known."""
    status: int
    """Zero where no answer left."""
    code: int
    """The code of the refusal, or zero."""
    mutating: bool
    received: int
    sent: int
    """Bytes of both bodies."""


class Journal:
    """Keeps the entries in order of arrival."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._last = 0

    def next_number(self) -> int:
        self._last += 1
        return self._last

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)

    def clear(self) -> None:
        self.entries.clear()

    def counts(self) -> dict[str, int]:
        return dict(Counter(entry.operation for entry in self.entries))

    def count(self, operation: str = "") -> int:
        """Requests of one operation, or all of them."""
        return sum(operation in ("", entry.operation) for entry in self.entries)

    def writes(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.mutating]

    def most_within(self, interval: timedelta, token: str = "") -> int:
        """The highest number of requests in any interval of that length: what a rate limit would have seen."""
        moments = sorted(entry.at for entry in self.entries if token in ("", entry.token))
        first = most = 0
        for last, moment in enumerate(moments):
            while moments[first] <= moment - interval.total_seconds():
                first += 1
            most = max(most, last - first + 1)
        return most

    def shown(self) -> JsonObject:
        return {"counts": self.counts(), "entries": [asdict(entry) for entry in self.entries]}
