"""What a caller of a shared writer holds: its own result, whatever became of the others in the batch."""

from __future__ import annotations

from typing import Generic, TypeVar

from edgekeeper.cloud.coalescer import Ticket
from edgekeeper.core.errors import PassError

T = TypeVar("T")


class Submission(Generic[T]):
    """A change that was handed in. A batch may succeed while one change in it is refused."""

    def __init__(self, ticket: Ticket[T | PassError]) -> None:
        self._ticket = ticket

    @property
    def done(self) -> bool:
        return self._ticket.done

    async def wait(self) -> T:
        """The result, as soon as there is one. Passes do not wait here; tests and tools may."""
        await self._ticket.wait()
        return self.result()

    def result(self) -> T:
        """What became of the change. Raise its error, or PendingError where nothing became of it yet."""
        outcome = self._ticket.result()
        if isinstance(outcome, PassError):
            raise outcome
        return outcome
