"""An event loop whose clock jumps: where everybody waits for a timer, the time is that of the timer at once."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits. The time that a wait would have taken is added to the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise AssertionError("everybody waits, and no timer is set: nothing will ever happen again")
        self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end without ever sleeping."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
