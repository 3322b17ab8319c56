"""The single writer of one shared remote document: a DNS zone, a tunnel's configuration, a function's policy.

    coalescer = Coalescer("zone Z1", write, key=lambda change: (change.name, change.type))
    group.create_task(coalescer.run())
    …
    ticket = coalescer.submit(change, wake=partial(controller.wake, key))      # in a pass, which then ends
    …
    ticket.result()                                                             # in the pass that follows the wake-up

Many objects change one document. Were each to read it, change it and write it back, most changes would be lost, and
the others would cost a call each. So changes are gathered, and written together by one writer.

*Expected flow*
 1. The first change opens a window. When it closes, or enough has come together, a batch is made.
 2. What is the case already (`already`) has its result, and is not written.
 3. `write` gets the rest. It returns one result per change, or raises. Every ticket gets its own result, and whoever
    handed it in is woken.
 4. An error that may be one change's fault divides the batch: the halves are written for themselves, until the bad
    change is alone, and gets the error alone. What has come meanwhile takes turns with the parts.

*Guarantees*
 - One write at a time. No change is lost: every ticket gets a result, also where the writer is stopped or has a bug.
 - Changes of one key are written in the order in which they came, and never two in one batch. A change that equals the
   last one of its key that is still under way shares its ticket.
 - `submit` never waits. `stop` returns when all that was handed in has been written.

*Assumptions*
 - `write` is all or nothing: `Stall`, or an exception that is none of the four errors, says that nothing was written.
   After the other errors nobody knows, or another attempt would fail likewise: all get the error, and none is repeated.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeAlias, TypeVar

from edgekeeper.cloud.origin import Actor, acting_for, current_origin
from edgekeeper.cloud.ticket import PendingError, Ticket, Waker
from edgekeeper.core.errors import Conflict, Retry, Wait

__all__ = ["Coalescer", "CoalescerOptions", "PendingError", "Ticket", "Waker"]

C = TypeVar("C")
R = TypeVar("R")

Write: TypeAlias = Callable[[Sequence[C]], Awaitable[Sequence[R]]]
"""Writes changes to the document, all or none, and returns the result of each."""


@dataclass(frozen=True, slots=True)
class CoalescerOptions:
    """How changes are gathered."""

    window: timedelta = timedelta(seconds=1)
    """How long the first change of a batch waits for others."""
    heaviest: int = 500
    """The weight of a batch at most. A single change that weighs more is written alone."""


DEFAULT_OPTIONS = CoalescerOptions()


@dataclass(frozen=True, slots=True, eq=False)
class _Entry(Generic[C, R]):
    """A change that was handed in."""

    change: C
    key: Hashable
    weight: int
    ticket: Ticket[R]
    actors: tuple[Actor, ...]
    since: float


def _one(_: object) -> int:
    return 1


def _nothing(_: object) -> None:
    return None


def _nobody(_: Exception, __: Sequence[object]) -> Collection[int]:
    return ()


class Coalescer(Generic[C, R]):
    """See the module."""

    def __init__(  # noqa: PLR0913 - a name and a way to write, the rest by name
        self,
        name: str,
        write: Write[C, R],
        *,
        key: Callable[[C], Hashable],
        weigh: Callable[[C], int] = _one,
        already: Callable[[C], R | None] = _nothing,
        accuse: Callable[[Exception, Sequence[C]], Collection[int]] = _nobody,
        options: CoalescerOptions = DEFAULT_OPTIONS,
    ) -> None:
        """`key` tells what a change is about; `already` returns the result of one that need not be written, or None.

        `accuse` may find in an error which changes are at fault, by their positions. The others are then written
        first.
        """
        self.name = name
        self._write = write
        self._key = key
        self._weigh = weigh
        self._already = already
        self._accuse = accuse
        self._options = options
        self._waiting: deque[_Entry[C, R]] = deque()
        self._parts: deque[list[_Entry[C, R]]] = deque()
        """Of batches that were divided, oldest first."""
        self._writing: list[_Entry[C, R]] = []
        self._latest: dict[Hashable, _Entry[C, R]] = {}
        """The last change of each key that is under way."""
        self._part_is_next = True
        self._stopping = self._ended = False
        self._news = asyncio.Event()
        self._end = asyncio.Event()

    def submit(self, change: C, *, wake: Waker | None = None) -> Ticket[R]:
        """Hand in a change. `wake` is called when there is a result."""
        ticket = self._enter(change)
        if wake is not None:
            ticket.on_done(wake)
        return ticket

    @property
    def pending(self) -> int:
        """Changes without a result."""
        return len(self._waiting) + len(self._writing) + sum(map(len, self._parts))

    async def run(self) -> None:
        """Write until `stop`. Where this is cancelled, whatever is under way gets an error."""
        try:
            while await self._work():
                self._writing = self._next_batch()
                await self._process(self._writing)
                self._writing = []
        finally:
            self._close()

    async def stop(self) -> None:
        """Write what was handed in, without waiting for more, and end. Later changes are refused."""
        self._stopping = True
        self._news.set()
        await self._end.wait()

    # Gathering

    def _enter(self, change: C) -> Ticket[R]:
        key = self._key(change)
        latest = self._latest.get(key)
        if latest is not None and latest.change == change:
            return latest.ticket
        ticket: Ticket[R] = Ticket(self.name)
        if self._stopping or self._ended:
            ticket.fail(Retry(f"{self.name}: the writer has stopped", "WriterStopped"))
            return ticket
        now = asyncio.get_running_loop().time()
        entry = _Entry(change, key, self._weigh(change), ticket, current_origin().actors, now)
        self._latest[key] = entry
        self._waiting.append(entry)
        self._news.set()
        return ticket

    async def _work(self) -> bool:
        """Wait until there is something to write. False says that there will never be."""
        loop = asyncio.get_running_loop()
        while not self._parts:
            due = self._due()
            if due is None and self._stopping:
                return False
            if due is not None and due <= loop.time():
                return True
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._news.wait()
        return True

    def _due(self) -> float | None:
        """When the next batch of new changes is to be written."""
        if not self._waiting:
            return None
        if self._stopping or sum(entry.weight for entry in self._waiting) >= self._options.heaviest:
            return self._waiting[0].since
        return self._waiting[0].since + self._options.window.total_seconds()

    def _next_batch(self) -> list[_Entry[C, R]]:
        due = self._due()
        is_due = due is not None and due <= asyncio.get_running_loop().time()
        if self._parts and (self._part_is_next or not is_due):
            self._part_is_next = False
            return self._parts.popleft()
        self._part_is_next = True
        return self._gather()

    def _gather(self) -> list[_Entry[C, R]]:
        """As many of the waiting as fit, in order, and of each key the first, unless that is still in a part."""
        batch: list[_Entry[C, R]] = []
        left: deque[_Entry[C, R]] = deque()
        taken = {entry.key for part in self._parts for entry in part}
        room = self._options.heaviest
        for entry in self._waiting:
            if entry.key not in taken and (entry.weight <= room or not batch):
                batch.append(entry)
                room -= entry.weight
            else:
                left.append(entry)
            taken.add(entry.key)
        self._waiting = left
        return batch

    # Writing

    async def _process(self, batch: list[_Entry[C, R]]) -> None:
        batch[:] = [entry for entry in batch if not self._is_settled(entry)]
        if not batch:
            return
        try:
            with acting_for(*{actor: None for entry in batch for actor in entry.actors}):
                results = await self._write([entry.change for entry in batch])
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to those whose changes these are
            self._blame(batch, error)
            return
        if len(results) != len(batch):
            self._fail(batch, RuntimeError(f"{self.name}: {len(results)} results of {len(batch)} changes"))
            return
        for entry, result in zip(batch, results, strict=True):
            self._forget(entry)
            entry.ticket.resolve(result)

    def _is_settled(self, entry: _Entry[C, R]) -> bool:
        try:
            result = self._already(entry.change)
        except Exception as error:  # noqa: BLE001 - as above
            self._fail([entry], error)
            return True
        if result is None:
            return False
        self._forget(entry)
        entry.ticket.resolve(result)
        return True

    def _blame(self, batch: list[_Entry[C, R]], error: Exception) -> None:
        """Divide a batch that failed, or give the error to all who are in it."""
        if len(batch) == 1 or isinstance(error, Retry | Wait | Conflict):
            self._fail(batch, error)
            return
        changes = [entry.change for entry in batch]
        accused = set(self._accuse(error, changes)) & set(range(len(batch)))
        if not 0 < len(accused) < len(batch):
            accused = set(range(len(batch) // 2, len(batch)))
        self._parts.append([entry for position, entry in enumerate(batch) if position not in accused])
        self._parts.append([entry for position, entry in enumerate(batch) if position in accused])

    def _fail(self, entries: Sequence[_Entry[C, R]], error: BaseException) -> None:
        for entry in entries:
            self._forget(entry)
            entry.ticket.fail(error)

    def _forget(self, entry: _Entry[C, R]) -> None:
        if self._latest.get(entry.key) is entry:
            del self._latest[entry.key]

    def _close(self) -> None:
        """Leave nobody waiting."""
        self._ended = True
        unknown = Retry(
            f"{self.name}: the writer stopped while the change was being written", "WriterStopped"
        )
        unwritten = Retry(f"{self.name}: the writer stopped before the change was written", "WriterStopped")
        self._fail([entry for entry in self._writing if not entry.ticket.done], unknown)
        self._fail([entry for part in self._parts for entry in part], unwritten)
        self._fail(self._waiting, unwritten)
        self._writing = []
        self._parts.clear()
        self._waiting.clear()
        self._end.set()
