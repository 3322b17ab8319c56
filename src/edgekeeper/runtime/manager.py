"""The manager: starts and stops everything that a process of the operator runs.

Expected flow
    1. The server starts: probes are answered, and the process is not ready.
    2. The controllers of this process' roles attach, and their stores are filled. The process becomes ready, also while
       it waits for the lease, or a rolling update would never end. Kinds that are not served, or may not be listed, are
       not waited for: their controllers start when they can.
    3. The lease is acquired. Until then no pass has started, and the client refuses every write.
    4. The event recorder, what runs in the background and the workers start.
    5. The process ends: by `stop`, SIGTERM or SIGINT, by a lost lease, or by an unexpected exception.

How it ends
    asked to stop       not ready any more; no new pass starts; running passes may end within `grace`, then they are
                        cancelled; events are flushed; the lease is given back; watches and the server stop
    the lease is lost   passes are cancelled at once, and `run` raises LostLeadershipError: start a new process
    an exception        the same, and `run` raises the exception

Guarantees
    - Every task belongs to a group that waits for it: when `run` returns or raises, nothing is left running.
    - Everything stops in the reverse order of its start, so nothing loses what it depends on.
    - An orderly stop takes 25 seconds at most, unless a pass suppresses its cancellation.
    - The lease is given back after the last pass has ended, and after the process has become unready.

Caveats
    - A pass that suppresses its cancellation, or blocks the event loop, cannot be ended. A second signal ends the
      process at once.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from edgekeeper.core.log import get_logger
from edgekeeper.kube.lease import Elector
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.logs import set_level

_log = get_logger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Runnable(Protocol):
    """Something that the controllers need, and that runs until it is cancelled: the accounts of a cloud."""

    async def run(self) -> None: ...


class Service(Protocol):
    """Something that runs beside the controllers: the server of probes and metrics, the event recorder."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """Settings of a manager. The time limits of stopping, including the elector's own, add up to 25 seconds."""

    roles: frozenset[str] = frozenset()
    """Run only the controllers of these roles, and those without one; empty for all."""
    grace: timedelta = timedelta(seconds=14)
    """How long running passes may continue after the request to stop."""
    service_limit: timedelta = timedelta(seconds=3)
    """How long the recorder, and the server, may take to stop."""
    signals: bool = True
    freeze: bool = False
    """Call `gc.freeze` after the start, which shortens later pauses of the garbage collector."""
    lag_interval: timedelta | None = timedelta(seconds=1)
    """How often the lag of the event loop is measured."""
    lag_alarm: timedelta = timedelta(milliseconds=500)
    """A lag above this is logged as a warning."""


DEFAULT_OPTIONS = ManagerOptions()


class Manager:
    """Runs controllers, informers, the elector, the event recorder and the server of one process."""

    def __init__(
        self,
        services: Services,
        controllers: Sequence[Controller] = (),
        *,
        elector: Elector | None = None,
        server: Service | None = None,
        options: ManagerOptions = DEFAULT_OPTIONS,
    ) -> None:
        self.options = options
        self._services = services
        self._controllers = [controller for controller in controllers if self._is_ours(controller)]
        self._elector = elector
        self._server = server
        self._background: list[Runnable] = []
        self._namespace_users: list[Callable[[tuple[str, ...]], None]] = []
        self._stopping = asyncio.Event()
        self._attached = False
        self._warm = False
        self._workers: asyncio.TaskGroup | None = None
        self._running: dict[Controller, asyncio.Task[None]] = {}
        self._namespaces: tuple[str, ...] | None = None
        self._resync: timedelta | None = None
        if elector is not None:
            services.client.leadership = elector.check

    # State

    @property
    def controllers(self) -> tuple[Controller, ...]:
        return tuple(self._controllers)

    @property
    def is_ready(self) -> bool:
        """Whether the stores are filled, and the process is not stopping."""
        return self._warm and not self._stopping.is_set()

    # Running

    async def run(self) -> None:
        """Run until `stop` or a signal. Raise LostLeadershipError, or the exception that ended it."""
        try:
            await self._run()
        except BaseExceptionGroup as group:
            leaf = _only_leaf(group)
            if leaf is None:
                raise
            if not isinstance(leaf, _StoppedError):
                raise leaf from leaf.__cause__
        except _StoppedError:
            _log.info("Stopped before the controllers started")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """Run beside the block, which gets the task, and stop at its end. Raise what ended it before."""
        working = asyncio.create_task(self.run(), name="operator")
        try:
            yield working
        finally:
            self.stop()
            await working

    async def _run(self) -> None:
        async with AsyncExitStack() as stack:
            if self.options.signals:
                stack.enter_context(self._listening_to_signals())
            await stack.enter_async_context(self._measuring_lag())
            await stack.enter_async_context(self._serving(self._server))
            await stack.enter_async_context(self._watching())
            await stack.enter_async_context(self._leading())
            await stack.enter_async_context(self._serving(self._services.recorder))
            await stack.enter_async_context(self._in_background())
            await stack.enter_async_context(self._working())
            await self._stopping.wait()

    def stop(self) -> None:
        """Request an orderly stop. May be called at any time, any number of times."""
        if not self._stopping.is_set():
            _log.info("Stopping")
            self._stopping.set()

    def add_background(self, runnables: Iterable[Runnable]) -> None:
        """Run these beside the controllers, while this process leads. To be called before `run`."""
        self._background.extend(runnables)

    def on_namespaces(self, use: Callable[[tuple[str, ...]], None]) -> None:
        """Call `use` when the watched namespaces change, for watches that belong to no controller."""
        self._namespace_users.append(use)

    async def add_controller(self, controller: Controller) -> None:
        """Add a controller while running. It starts once its stores are filled, if this process leads."""
        if not self._is_ours(controller):
            return
        self._apply_settings(controller)
        self._controllers.append(controller)
        if self._attached:
            controller.attach()
        if self._workers is not None:
            self._launch(controller)

    async def remove_controller(self, controller: Controller) -> None:
        """Stop and remove a controller. Its running passes may end within `grace`."""
        if controller not in self._controllers:
            return
        self._controllers.remove(controller)
        await self._drain([controller])
        if self._attached:
            controller.detach()
        self._services.metrics.forget_controller(controller.options.name)

    # What may change while running

    def set_namespaces(self, namespaces: Iterable[str]) -> None:
        """Watch these namespaces from now on; empty for all. Nothing is deleted in those no longer watched."""
        self._namespaces = tuple(dict.fromkeys(namespaces))
        _log.info("Watched namespaces have changed", namespaces=list(self._namespaces) or "all")
        for controller in self._controllers:
            self._apply_settings(controller)
        for use in self._namespace_users:
            use(self._namespaces)

    def set_resync(self, interval: timedelta | None) -> None:
        """Change the resync interval of all controllers; None for that of each. Raise ValueError unless it is positive."""
        if interval is not None and interval <= timedelta(0):
            raise ValueError("the resync interval must be positive")
        self._resync = interval
        if interval is None:
            for controller in self._controllers:
                controller.set_resync(controller.options.resync)
        for controller in self._controllers:
            self._apply_settings(controller)

    def set_log_level(self, level: str) -> None:
        """Change the log level, except for objects that set their own. Raise ValueError for an unknown level."""
        set_level(level)

    def _apply_settings(self, controller: Controller) -> None:
        if self._namespaces is not None:
            controller.set_namespaces(self._namespaces)
        if self._resync is not None:
            controller.set_resync(self._resync)

    # The contexts that `run` enters in this order and leaves in reverse order

    @contextmanager
    def _listening_to_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def restore() -> None:
            for number in STOP_SIGNALS:
                loop.remove_signal_handler(number)

        def stop() -> None:
            restore()  # a second signal ends the process at once
            self.stop()

        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, stop)
        try:
            yield
        finally:
            restore()

    @asynccontextmanager
    async def _measuring_lag(self) -> AsyncIterator[None]:
        if self.options.lag_interval is None:
            yield
            return
        async with asyncio.TaskGroup() as group:
            probe = group.create_task(self._measure_lag(self.options.lag_interval.total_seconds()))
            try:
                yield
            finally:
                probe.cancel()

    async def _measure_lag(self, interval: float) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + interval
            await asyncio.sleep(interval)
            lag = max(0.0, loop.time() - due)
            self._services.metrics.loop_lag(lag)
            if lag > self.options.lag_alarm.total_seconds():
                _log.warning("Event loop was blocked", seconds=round(lag, 3))

    @asynccontextmanager
    async def _serving(self, service: Service | None) -> AsyncIterator[None]:
        if service is None:
            yield
            return
        await service.start()
        try:
            yield
        finally:
            try:
                async with asyncio.timeout(self.options.service_limit.total_seconds()):
                    await service.stop()
            except TimeoutError:
                _log.warning("Service did not stop in time", service=type(service).__name__)

    @asynccontextmanager
    async def _watching(self) -> AsyncIterator[None]:
        self._attached = True
        for controller in self._controllers:
            controller.attach()
        await self._services.informers.start()
        try:
            await self._unless_stopping(self._services.informers.wait_settled())
            self._warm = True
            _log.info(
                "Stores are filled", controllers=[controller.options.name for controller in self._controllers]
            )
            if self.options.freeze:
                gc.collect()
                gc.freeze()
            yield
        finally:
            self._warm = self._attached = False
            for controller in self._controllers:
                controller.detach()
            await self._services.informers.stop()

    @asynccontextmanager
    async def _leading(self) -> AsyncIterator[None]:
        """Hold the lease inside the context. A lost lease cancels its body and raises LostLeadershipError."""
        if self._elector is None:
            yield
            return
        async with asyncio.TaskGroup() as group:
            group.create_task(self._elector.run(), name="elector")
            try:
                await self._unless_stopping(self._elector.wait_elected())
                yield
            finally:
                self._warm = False  # become unready before another replica may lead
                await self._elector.release()

    @asynccontextmanager
    async def _in_background(self) -> AsyncIterator[None]:
        """Run what controllers need inside the context. Where one of it fails, the body is cancelled."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(runnable.run()) for runnable in self._background]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()

    @asynccontextmanager
    async def _working(self) -> AsyncIterator[None]:
        """Run the controllers inside the context. On a normal exit passes get `grace`; on an exception they do not."""
        async with asyncio.TaskGroup() as group:
            self._workers = group
            for controller in self._controllers:
                self._launch(controller)
            try:
                yield
            finally:
                self._workers = None
            await self._drain(list(self._running))

    def _launch(self, controller: Controller) -> None:
        assert self._workers is not None  # noqa: S101 - callers check it
        task = self._workers.create_task(controller.run(), name=controller.options.name)
        self._running[controller] = task
        task.add_done_callback(lambda _: self._running.pop(controller, None))

    async def _drain(self, controllers: Sequence[Controller]) -> None:
        """Wait up to `grace` for the running passes of these controllers, then cancel the rest."""
        tasks = []
        for controller in controllers:
            controller.shut_down()
            if controller in self._running:
                tasks.append(self._running[controller])
                if not controller.is_working:
                    tasks[-1].cancel()  # it still waits for its stores, so no pass is running
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=self.options.grace.total_seconds())
        for task in late:
            _log.warning("Cancelling passes that did not end in time", controller=task.get_name())
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _unless_stopping(self, waiting: Coroutine[Any, Any, None]) -> None:
        """Await `waiting`. Raise _StoppedError if the process is asked to stop first."""
        tasks = [asyncio.create_task(waiting), asyncio.create_task(self._stopping.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set():
                raise _StoppedError
            await tasks[0]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _is_ours(self, controller: Controller) -> bool:
        role = controller.options.role
        return not role or not self.options.roles or role in self.options.roles


class _StoppedError(Exception):
    """The process was asked to stop before the controllers started."""


def _only_leaf(group: BaseExceptionGroup[BaseException]) -> BaseException | None:
    """The only exception in a group, however deeply nested, or None if there are several."""
    leaves: list[BaseException] = []
    groups: list[BaseExceptionGroup[BaseException]] = [group]
    while groups:
        for error in groups.pop().exceptions:
            if isinstance(error, BaseExceptionGroup):
                groups.append(error)
            else:
                leaves.append(error)
    return leaves[0] if len(leaves) == 1 else None
