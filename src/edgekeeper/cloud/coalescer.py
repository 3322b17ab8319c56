"""The single writer of one shared remote document: a DNS zone, a tunnel's configuration, a function's policy.

    coalescer = Coalescer("zone Z1", write, key=lambda change: (change.name, change.type))
    group.create_task(coalescer.run())
    …
    ticket = coalescer.submit(change, wake=partial(controller.wake, key))      # in a pass, which then ends
    …
    ticket.result()                                                             # in the pass that follows the wake-up

Many objects change one document. If each read, changed and wrote it, concurrent changes would be lost, and every change
would need its own calls. So changes are collected and written together.

*Expected flow*
 1. The first change opens a window. When it closes, or enough changes have come, a batch is made.
 2. A change that is in effect already (`find_result`) gets its result without being written.
 3. `write` gets the rest. It returns one result per change, which may be an error, or raises. Every ticket gets its own
    result, and its owner is woken.
 4. An error that a single change may have caused splits the batch: each half is written separately, until the faulty change
    is alone and gets the error alone. New changes alternate with the parts.

*Guarantees*
 - One write at a time. No change is lost: every ticket gets a result, also where the writer is cancelled or has a bug.
 - Changes of one key are written in the order of submission, and never two in one batch. A change that equals the last
   pending one of its key shares its ticket.
 - `submit` never waits.

*Assumptions*
 - `write` is atomic: `Stall`, or an exception that is not one of the four errors, means that nothing was written. After
   the other errors that is unknown, or another attempt would fail as well: all changes get the error, without a retry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from typing import Generic, TypeAlias, TypeVar

from edgekeeper.cloud.batches import Batches, CoalescerOptions, Entry
from edgekeeper.cloud.call_context import acting_for, current_context
from edgekeeper.cloud.ticket import PendingError, Ticket, Waker
from edgekeeper.core.errors import Conflict, PassError, Retry, Wait
from edgekeeper.core.log import get_logger

__all__ = ["Coalescer", "CoalescerOptions", "PendingError", "Ticket", "Waker"]

log = get_logger(__name__)

C = TypeVar("C")
R = TypeVar("R")

Write: TypeAlias = Callable[[Sequence[C]], Awaitable[Sequence[R | PassError]]]
"""Writes changes to the document, and returns the result of each, or its error if it was not written."""

DEFAULT_OPTIONS = CoalescerOptions()

_MISTAKE = "A change cannot be written because of a bug"
"""Logged here, because tickets keep no traceback."""


def _unit_weight(_: object) -> int:
    return 1


def _no_result(_: object) -> None:
    return None


def _none_faulty(_: Exception, __: Sequence[object]) -> Collection[int]:
    return ()


class Coalescer(Generic[C, R]):
    """Gathers changes to one document and writes them in batches."""

    def __init__(  # noqa: PLR0913 - a name and a way to write, the rest by name
        self,
        name: str,
        write: Write[C, R],
        *,
        key: Callable[[C], Hashable],
        weigh: Callable[[C], int] = _unit_weight,
        find_result: Callable[[C], R | None] = _no_result,
        find_faulty: Callable[[Exception, Sequence[C]], Collection[int]] = _none_faulty,
        options: CoalescerOptions = DEFAULT_OPTIONS,
    ) -> None:
        """`key` says what a change is about. `find_result` returns the result of one that need not be written, or None.

        `find_faulty` may return the positions of the changes that caused an error, which is faster than splitting.
        """
        self.name = name
        self._write = write
        self._key = key
        self._weigh = weigh
        self._find_result = find_result
        self._find_faulty = find_faulty
        self._batches: Batches[C, R] = Batches(options)
        self._writing: list[Entry[C, R]] = []
        self._latest: dict[Hashable, Entry[C, R]] = {}
        """The last pending change of each key."""
        self._stopped = False
        self._news = asyncio.Event()

    def submit(self, change: C, *, wake: Waker | None = None) -> Ticket[R]:
        """Submit a change. `wake` is called when there is a result."""
        ticket = self._enter(change)
        if wake is not None:
            ticket.on_done(wake)
        return ticket

    @property
    def pending(self) -> int:
        """Changes without a result."""
        return len(self._batches) + len(self._writing)

    async def run(self) -> None:
        """Write until cancelled: then pending changes get an error. It may be run again."""
        self._stopped = False
        try:
            while True:
                await self._wait_for_work()
                self._writing = self._batches.pop(_now())
                await self._process(self._writing)
                self._writing = []
        finally:
            self._close()

    def _enter(self, change: C) -> Ticket[R]:
        key = self._key(change)
        latest = self._latest.get(key)
        if latest is not None and latest.change == change:
            return latest.ticket
        ticket: Ticket[R] = Ticket(self.name)
        if self._stopped:
            ticket.fail(Retry(f"{self.name}: the writer has stopped", "WriterStopped"))
            return ticket
        entry = Entry(change, key, self._weigh(change), ticket, current_context().actors, _now())
        self._latest[key] = entry
        self._batches.push(entry)
        self._news.set()
        return ticket

    async def _wait_for_work(self) -> None:
        """Return when there is something to write."""
        while (due := self._batches.due()) is None or due > _now():
            self._news.clear()
            try:
                async with asyncio.timeout_at(due):
                    await self._news.wait()
            except TimeoutError:
                return

    async def _process(self, batch: list[Entry[C, R]]) -> None:
        batch[:] = [entry for entry in batch if not self._is_settled(entry)]
        if not batch:
            return
        try:
            with acting_for(*{actor: None for entry in batch for actor in entry.actors}):
                results = await self._write([entry.change for entry in batch])
        except Exception as error:  # reported to the owners of the changes
            if not isinstance(error, PassError):
                log.exception(_MISTAKE, document=self.name)
            self._blame(batch, error)
            return
        if len(results) != len(batch):
            self._fail(batch, RuntimeError(f"{self.name}: {len(results)} results of {len(batch)} changes"))
            return
        for entry, result in zip(batch, results, strict=True):
            self._resolve(entry, result)

    def _is_settled(self, entry: Entry[C, R]) -> bool:
        """Whether the change has its result without being written."""
        try:
            result = self._find_result(entry.change)
        except Exception as error:  # reported to the owner of the change
            if not isinstance(error, PassError):
                log.exception(_MISTAKE, document=self.name)
            self._fail([entry], error)
            return True
        if result is None:
            return False
        self._resolve(entry, result)
        return True

    def _blame(self, batch: list[Entry[C, R]], error: Exception) -> None:
        """Split a batch that failed, or fail all its changes."""
        if len(batch) == 1 or isinstance(error, Retry | Wait | Conflict):
            self._fail(batch, error)
            return
        self._batches.divide(batch, self._suspects(batch, error))

    def _suspects(self, batch: list[Entry[C, R]], error: Exception) -> Collection[int]:
        """The changes that the error names, or half of the batch where it names none, or all."""
        positions = range(len(batch))
        try:
            faulty = set(self._find_faulty(error, [entry.change for entry in batch])).intersection(positions)
        except Exception:
            log.exception("Cannot determine which change caused an error", document=self.name)
            faulty = set()
        return faulty if 0 < len(faulty) < len(batch) else positions[: len(batch) // 2]

    def _resolve(self, entry: Entry[C, R], result: R | PassError) -> None:
        if isinstance(result, PassError):
            self._fail([entry], result)
            return
        self._forget(entry)
        entry.ticket.resolve(result)

    def _fail(self, entries: Sequence[Entry[C, R]], error: Exception) -> None:
        for entry in entries:
            self._forget(entry)
            entry.ticket.fail(error)

    def _forget(self, entry: Entry[C, R]) -> None:
        if self._latest.get(entry.key) is entry:
            del self._latest[entry.key]

    def _close(self) -> None:
        """Fail all changes that have no result."""
        self._stopped = True
        under_way = [entry for entry in self._writing if not entry.ticket.done]
        self._fail(under_way, self._retry("while the change was being written"))
        self._fail(self._batches.drain(), self._retry("before the change was written"))
        self._writing = []

    def _retry(self, when: str) -> Retry:
        return Retry(f"{self.name}: the writer stopped {when}", "WriterStopped")


def _now() -> float:
    return asyncio.get_running_loop().time()
