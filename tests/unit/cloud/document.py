"""A shared remote document that is written as a whole, and a coalescer that is its only writer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple

from edgekeeper.cloud.call_context import CallContext, current_context
from edgekeeper.cloud.coalescer import Coalescer, CoalescerOptions, Ticket, Waker
from edgekeeper.core.errors import Stall

LATENCY = 0.3
WINDOW = timedelta(seconds=1)


class Record(NamedTuple):
    """One change: make this name have this value."""

    name: str
    value: str = ""
    weight: int = 1


@dataclass
class Document:
    """What is there, and every write that made it so. Bad names are refused, with all that is written with them."""

    records: dict[str, str] = field(default_factory=dict)
    bad: set[str] = field(default_factory=set)
    error: Exception | None = None
    """Raised by every write."""
    writes: list[tuple[float, list[Record]]] = field(default_factory=list)
    """When each write began, and what it held, also of those that were refused."""
    contexts: list[CallContext] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    async def write(self, records: Sequence[Record]) -> list[str]:
        self.writes.append((asyncio.get_running_loop().time(), list(records)))
        self.contexts.append(current_context())
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        before = dict(
            self.records
        )  # read, change, write back: what lies between is lost if two do it at once
        try:
            await asyncio.sleep(LATENCY)
        finally:
            self.in_flight -= 1
        if self.error is not None:
            raise self.error
        if wrong := sorted(self.bad & {record.name for record in records}):
            raise Stall("InvalidChange", f"invalid: {', '.join(wrong)}")
        self.records = before | {record.name: record.value for record in records}
        return [f"wrote {record.name}" for record in records]

    @property
    def sizes(self) -> list[int]:
        return [len(records) for _, records in self.writes]


class Desk:
    """A coalescer in front of a document."""

    def __init__(
        self,
        document: Document | None = None,
        *,
        heaviest: int = 500,
        write: Callable[[Sequence[Record]], Any] | None = None,
        **settings: Any,
    ) -> None:
        self.document = document or Document()
        self.coalescer: Coalescer[Record, str] = Coalescer(
            "zone Z1",
            write or self.document.write,
            key=lambda record: record.name,
            weigh=lambda record: record.weight,
            options=CoalescerOptions(window=WINDOW, heaviest=heaviest),
            **settings,
        )
        self._tickets: list[Ticket[str]] = []

    def submit(self, record: Record, *, wake: Waker | None = None) -> Ticket[str]:
        ticket = self.coalescer.submit(record, wake=wake)
        self._tickets.append(ticket)
        return ticket

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Write what is handed in. At the end, wait until everything has a result."""
        running = asyncio.create_task(self.coalescer.run())
        try:
            yield
            await asyncio.gather(*(ticket.wait() for ticket in self._tickets), return_exceptions=True)
        finally:
            running.cancel()
            await asyncio.wait({running})


def names(count: int) -> list[Record]:
    return [Record(f"name-{n}", str(n)) for n in range(count)]
