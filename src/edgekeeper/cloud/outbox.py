"""The changes that objects have handed in, kept for the pass that comes for the results.

    outbox = Outbox(coalescer, controller.wake)
    results = outbox.perform(key, changes)          in every pass of the object that wants these changes

The first call hands the changes in and raises `PendingError`, which ends the pass. When the last result is there the
object is woken, and the same call returns the results, or raises the error that a change met: once, so that the pass
after that tries again. A pass that wants other changes than the last one hands those in; what is under way is written
before them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Generic, TypeVar

from edgekeeper.cloud.coalescer import Coalescer
from edgekeeper.cloud.ticket import Ticket

C = TypeVar("C")
R = TypeVar("R")
K = TypeVar("K", bound=Hashable)


class Outbox(Generic[K, C, R]):
    """One coalescer as the objects of one controller use it."""

    def __init__(self, coalescer: Coalescer[C, R], wake: Callable[[K], None]) -> None:
        self._coalescer = coalescer
        self._wake = wake
        self._held: dict[K, tuple[list[C], list[Ticket[R]]]] = {}

    def perform(self, owner: K, changes: Sequence[C]) -> list[R]:
        """The result of each change. Raise PendingError until all are there."""
        wanted, tickets = self._held.get(owner, ([], []))
        if not tickets or wanted != list(changes):
            wake = partial(self._wake, owner)
            tickets = [self._coalescer.submit(change, wake=wake) for change in changes]
            self._held[owner] = list(changes), tickets
        if all(ticket.done for ticket in tickets):
            self.forget(owner)
        else:
            tickets = [ticket for ticket in tickets if not ticket.done]
        return [ticket.result() for ticket in tickets]

    def forget(self, owner: K) -> None:
        """The owner is gone, or wants nothing any more. What is under way is written all the same."""
        self._held.pop(owner, None)
