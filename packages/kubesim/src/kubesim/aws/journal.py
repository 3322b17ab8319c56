"""Every call that reached the simulated cloud: the last ones in full, all of them as counts."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

KEPT = 100_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One call and how it ended."""

    number: int
    at: datetime
    moment: float
    """Monotonic seconds, to tell rates."""
    account: str
    principal: str
    region: str
    service: str
    operation: str
    params: Mapping[str, Any]
    status: int
    """What was answered; zero where the caller got no answer at all."""
    code: str
    """The error's code, or nothing."""
    user_agent: str = ""


class Journal:
    """Calls in the order in which they were answered."""

    def __init__(self, kept: int = KEPT) -> None:
        self.entries: deque[Entry] = deque(maxlen=kept)
        self.counts: Counter[str] = Counter()
        """By operation. An operation that two services have, such as TagResource, is counted for both."""
        self.services: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        """Errors by code."""

    def __len__(self) -> int:
        return self.services.total()

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.counts[entry.operation] += 1
        self.services[entry.service] += 1
        if entry.code:
            self.codes[entry.code] += 1

    def calls(self, operation: str | None = None, service: str | None = None) -> Iterator[Entry]:
        """The calls still remembered, oldest first."""
        return (
            entry
            for entry in self.entries
            if operation in (None, entry.operation) and service in (None, entry.service)
        )

    def clear(self) -> None:
        self.entries.clear()
        for counter in (self.counts, self.services, self.codes):
            counter.clear()
