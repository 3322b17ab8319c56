"""Tickets: the pending results of submitted changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Generic, TypeAlias, TypeVar

from edgekeeper.core.errors import PassError, Wait, fresh
from edgekeeper.core.log import get_logger

log = get_logger(__name__)

R = TypeVar("R")

Waker: TypeAlias = Callable[[], None]
"""Called when there is a result. It requeues the owner, and does nothing else."""

_LOOK_AGAIN = timedelta(minutes=1)
"""The requeue time in case the owner is not woken."""


class PendingError(Wait):
    """There is no result yet; the owner is woken when there is."""

    def __init__(self, document: str) -> None:
        super().__init__(
            _LOOK_AGAIN, "ChangePending", f"{document}: the change waits to be written with others"
        )


class Ticket(Generic[R]):
    """One submitted change."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._results: list[R] = []
        self._error: BaseException | None = None
        self._done = asyncio.Event()
        self._wakers: list[Waker] = []

    @property
    def done(self) -> bool:
        return self._done.is_set()

    def result(self) -> R:
        """The result of the change. Raise its error, or PendingError where there is no result yet."""
        if not self.done:
            raise PendingError(self._document)
        if self._error is not None:
            raise _again(self._error)
        return self._results[0]

    async def wait(self) -> R:
        """Wait for the result. For tests and tools: passes must not wait."""
        await self._done.wait()
        return self.result()

    def on_done(self, wake: Waker) -> None:
        """Call `wake` when there is a result, at once if there is one already."""
        if self.done:
            self._call(wake)
        else:
            self._wakers.append(wake)

    def resolve(self, result: R) -> None:
        self._results.append(result)
        self._finish()

    def fail(self, error: BaseException) -> None:
        self._error = _again(error)
        self._finish()

    def _finish(self) -> None:
        self._done.set()
        wakers, self._wakers = self._wakers, []
        for wake in wakers:
            self._call(wake)

    def _call(self, wake: Waker) -> None:
        try:
            wake()
        except Exception:
            log.exception("The owner of a change cannot be woken", document=self._document)


def _again(error: BaseException) -> BaseException:
    """A copy without traceback, because owners may share an error, and a ticket must not keep frames alive.

    An exception that is not one of the four errors is a bug, which the writer has logged. It is not copied.
    """
    if isinstance(error, PassError):
        return fresh(error)
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
