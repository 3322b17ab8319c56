"""Tickets: where the owner of a submitted change finds the result, and is woken when there is one."""

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
"""Called once there is a result. It puts the owner back into its queue, and does nothing else."""

_LOOK_AGAIN = timedelta(minutes=1)
"""When to look again without having been woken."""


class PendingError(Wait):
    """There is no result yet; the owner will be woken when there is."""

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
        """The result, as soon as there is one. Passes do not wait here; tests and tools may."""
        await self._done.wait()
        return self.result()

    def on_done(self, wake: Waker) -> None:
        """Call `wake` when there is a result: at once where there is one."""
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
    """A copy without traceback: several owners may share an error, and a ticket must not keep alive what it refers to.

    Of one that is none of the four errors there is no copy: it is a bug, which the writer has logged.
    """
    if isinstance(error, PassError):
        return fresh(error)
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
