"""Stops whole processes, as SIGSTOP or a blocked event loop does, although they all live on one loop.

Every task that starts within `ice.around()`, and every task that those start, takes its next step only while the ice is
thawed. Timers ring all the same, as they do for a stopped process: it finds them rung when it wakes up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import Any

_ice: ContextVar[Ice | None] = ContextVar("ice", default=None)


class Ice:
    """Holds the tasks of one process while it is frozen."""

    def __init__(self) -> None:
        self.is_frozen = False
        self._waiting: list[asyncio.Future[None]] = []
        asyncio.get_running_loop().set_task_factory(_make_task)

    @contextmanager
    def around(self) -> Iterator[None]:
        """What starts in here belongs to the process."""
        token = _ice.set(self)
        try:
            yield
        finally:
            _ice.reset(token)

    def freeze(self) -> None:
        self.is_frozen = True

    def thaw(self) -> None:
        self.is_frozen = False
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    def next_thaw(self) -> asyncio.Future[None]:
        """What a task waits for that wants to go on."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future


class _Chilled(Coroutine[Any, Any, Any]):
    """A coroutine whose steps wait for the thaw. What is thrown into it meanwhile is kept for then."""

    def __init__(self, inner: Coroutine[Any, Any, Any], ice: Ice) -> None:
        self._inner = inner
        self._ice = ice
        self._error: BaseException | None = None
        self.cr_frame = None  # nobody needs to know where it waits

    def send(self, value: Any) -> Any:
        return self._advance()

    def throw(self, kind: Any, value: Any = None, trace: Any = None) -> Any:
        self._error = kind if isinstance(kind, BaseException) else (value or kind())
        return self._advance()

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise NotImplementedError("it is for tasks to run")

    def _advance(self) -> Any:
        if self._ice.is_frozen:
            future = self._ice.next_thaw()
            future._asyncio_future_blocking = True
            return future
        error, self._error = self._error, None
        return self._inner.send(None) if error is None else self._inner.throw(error)


def _make_task(
    loop: asyncio.AbstractEventLoop, coroutine: Any, *, context: Context | None = None
) -> asyncio.Task[Any]:
    ice = _ice.get() if context is None else context.get(_ice)
    return asyncio.Task(coroutine if ice is None else _Chilled(coroutine, ice), loop=loop, context=context)
