"""Handles SIGINT and SIGTERM: a command can wait for a signal, or have it cancel its work.

The first signal requests a graceful stop and removes the handlers, so that a second signal ends the process at once.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from edgekeeper.cli.failure import CommandError, ExitCode

T = TypeVar("T")
STOP_SIGNALS = {signal.SIGINT: ExitCode.INTERRUPTED, signal.SIGTERM: ExitCode.TERMINATED}


class StopRequest:
    """Whether a stop was requested, and by which signal."""

    def __init__(self) -> None:
        self._received: asyncio.Future[signal.Signals] = asyncio.get_running_loop().create_future()

    def receive(self, number: signal.Signals) -> None:
        if not self._received.done():
            self._received.set_result(number)

    async def wait(self) -> signal.Signals:
        return await asyncio.shield(self._received)

    async def unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work`, or cancel it and raise CommandError if a signal arrives first."""
        task = asyncio.create_task(work)
        pending: set[asyncio.Future[Any]] = {task, self._received}
        await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return await task
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        number = self._received.result()
        raise CommandError(f"stopped by {number.name} before the work was done", code=STOP_SIGNALS[number])


async def interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run `work`, or cancel it and raise CommandError if a signal arrives first."""
    with stop_on_signals() as stop:
        return await stop.unless_stopped(work)


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Handle the signals with a `StopRequest` for as long as the block runs."""
    loop, request = asyncio.get_running_loop(), StopRequest()

    def restore() -> None:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)

    def stop(number: signal.Signals) -> None:
        restore()
        request.receive(number)

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        yield request
    finally:
        restore()


async def until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` until it ends or a signal arrives, which is how a command ends that has no end of its own."""
    with stop_on_signals() as stop:
        task, stopped = asyncio.create_task(work), asyncio.create_task(stop.wait())
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not task.done():
            task.cancel()
        await asyncio.gather(stopped, return_exceptions=True)
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
