"""A process of the operator, from its start to its end.

Expected flow
    1. The server starts: probes are answered, and readiness says no.
    2. The controllers of this process' roles attach, and their stores fill. Readiness says yes: a replica that waits
       for the lease is ready too, or a rolling update would never end. Kinds that are not served, or may not be listed,
       are not waited for: their controllers begin when they can.
    3. The lease is acquired. Until then no pass has started, and the client refuses every write.
    4. Events are written, workers work.
    5. Something ends it: `stop`, SIGTERM or SIGINT; a lost lease; or a mistake of ours.

How it ends
    asked to stop       readiness says no; no new pass starts; those that run may end within `grace`, the rest are
                        cancelled; events are flushed; the lease is given back; watches and the server end
    the lease is lost   passes are cancelled at once, and `run` raises LostLeadershipError: start as a new process
    a mistake           the same, with the mistake

Guarantees
    - Every task belongs to a group that waits for it: when `run` returns or raises, nothing is left running.
    - Whatever stops, stops in the reverse order of its start, so nobody loses what he depends on.
    - An orderly stop takes 25 seconds at most, as long as passes do not resist being cancelled.
    - The lease is given back after the last pass has ended, and after readiness said no.

Caveats
    - A pass that swallows its cancellation, or blocks the event loop, cannot be ended. A second signal ends the process
      without asking anybody.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
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


class Service(Protocol):
    """Something that runs beside the controllers: the server of probes and metrics, the event recorder."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """How a process lives. The three limits of its end add up to 25 seconds, with what an elector allows itself."""

    roles: frozenset[str] = frozenset()
    """Run only the controllers of these roles, and those without one; empty for all."""
    grace: timedelta = timedelta(seconds=14)
    """How long passes may go on after the request to stop."""
    service_limit: timedelta = timedelta(seconds=3)
    """How long the recorder, and the server, may take to stop."""
    signals: bool = True
    freeze: bool = False
    """Tell the garbage collector that what exists after the start stays: its later pauses are shorter."""
    lag_interval: timedelta | None = timedelta(seconds=1)
    """How often the lag of the event loop is measured."""
    lag_alarm: timedelta = timedelta(milliseconds=500)
    """The lag from which on the log complains."""


DEFAULT_OPTIONS = ManagerOptions()


class Manager:
    """Runs controllers, and everything that they need."""

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
        self._stopping = asyncio.Event()
        self._attached = False
        self._warm = False
        self._workers: asyncio.TaskGroup | None = None
        self._running: dict[Controller, asyncio.Task[None]] = {}
        self._namespaces: tuple[str, ...] | None = None
        self._resync: timedelta | None = None
        if elector is not None:
            services.client.leadership = elector.check

    # Telling

    @property
    def controllers(self) -> tuple[Controller, ...]:
        return tuple(self._controllers)

    @property
    def is_ready(self) -> bool:
        """Whether the stores are warm, and nobody has asked us to stop."""
        return self._warm and not self._stopping.is_set()

    # Living

    async def run(self) -> None:
        """Live until asked to stop. Raise LostLeadershipError, or whatever mistake ended it."""
        try:
            await self._live()
        except BaseExceptionGroup as group:
            leaf = _only_leaf(group)
            if leaf is None:
                raise
            if not isinstance(leaf, _StoppedError):
                raise leaf from leaf.__cause__
        except _StoppedError:
            _log.info("Stopped before the work began")

    async def _live(self) -> None:
        async with AsyncExitStack() as stack:
            if self.options.signals:
                stack.enter_context(self._listening_to_signals())
            await stack.enter_async_context(self._measuring_lag())
            await stack.enter_async_context(self._serving(self._server))
            await stack.enter_async_context(self._watching())
            await stack.enter_async_context(self._leading())
            await stack.enter_async_context(self._serving(self._services.recorder))
            await stack.enter_async_context(self._working())
            await self._stopping.wait()

    def stop(self) -> None:
        """Ask for an orderly end. May be called at any time, any number of times."""
        if not self._stopping.is_set():
            _log.info("Stopping")
            self._stopping.set()

    async def add_controller(self, controller: Controller) -> None:
        """Take in a controller while running. It works once its stores are warm, if this process leads."""
        if not self._is_ours(controller):
            return
        self._apply_settings(controller)
        self._controllers.append(controller)
        if self._attached:
            controller.attach()
        if self._workers is not None:
            self._launch(controller)

    async def remove_controller(self, controller: Controller) -> None:
        """End a controller for good, with the same grace as at the end of the process."""
        if controller not in self._controllers:
            return
        self._controllers.remove(controller)
        await self._drain([controller])
        if self._attached:
            controller.detach()
        self._services.metrics.forget_controller(controller.options.name)

    # What may change while running

    def set_namespaces(self, namespaces: Iterable[str]) -> None:
        """Look at these namespaces from now on; empty for all. Nothing is deleted where nobody looks any more."""
        self._namespaces = tuple(dict.fromkeys(namespaces))
        _log.info("Watched namespaces have changed", namespaces=list(self._namespaces) or "all")
        for controller in self._controllers:
            self._apply_settings(controller)

    def set_resync(self, interval: timedelta) -> None:
        """Let every controller look at objects that need nothing that often. Raise ValueError unless it is positive."""
        if interval <= timedelta(0):
            raise ValueError("the resync interval must be positive")
        self._resync = interval
        for controller in self._controllers:
            self._apply_settings(controller)

    def set_log_level(self, level: str) -> None:
        """Log from this level on, where no object says otherwise. Raise ValueError for one that is not known."""
        set_level(level)

    def _apply_settings(self, controller: Controller) -> None:
        if self._namespaces is not None:
            controller.set_namespaces(self._namespaces)
        if self._resync is not None:
            controller.set_resync(self._resync)

    # What `run` is made of: each enters when the one above it has, and leaves before it does

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
                "Stores are warm", controllers=[controller.options.name for controller in self._controllers]
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
        """Lead while within. A lost lease cancels whatever is going on there, and is raised at the end."""
        if self._elector is None:
            yield
            return
        async with asyncio.TaskGroup() as group:
            group.create_task(self._elector.run(), name="elector")
            try:
                await self._unless_stopping(self._elector.wait_elected())
                yield
            finally:
                self._warm = False  # whatever ends us: nobody counts on us when others may lead
                await self._elector.release()

    @asynccontextmanager
    async def _working(self) -> AsyncIterator[None]:
        """Run the controllers while within. Left in order, passes have their grace; left by an exception, they have not."""
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
        assert self._workers is not None  # noqa: S101 - callers have looked
        task = self._workers.create_task(controller.run(), name=controller.options.name)
        self._running[controller] = task
        task.add_done_callback(lambda _: self._running.pop(controller, None))

    async def _drain(self, controllers: Sequence[Controller]) -> None:
        """Let the passes of these controllers end, for as long as `grace` allows; then end them."""
        tasks = []
        for controller in controllers:
            controller.shut_down()
            if controller in self._running:
                tasks.append(self._running[controller])
                if not controller.is_working:
                    tasks[-1].cancel()  # there is no pass to wait for, and may never be one
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=self.options.grace.total_seconds())
        for task in late:
            _log.warning("Cancelling passes that did not end in time", controller=task.get_name())
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _unless_stopping(self, waiting: Coroutine[Any, Any, None]) -> None:
        """Wait for something to begin, but no longer than until we are asked to stop."""
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
    """We were asked to stop before the work had begun."""


def _only_leaf(group: BaseExceptionGroup[BaseException]) -> BaseException | None:
    """The one exception that a group is about, or None where there are several."""
    leaves: list[BaseException] = []
    groups: list[BaseExceptionGroup[BaseException]] = [group]
    while groups:
        for error in groups.pop().exceptions:
            if isinstance(error, BaseExceptionGroup):
                groups.append(error)
            else:
                leaves.append(error)
    return leaves[0] if len(leaves) == 1 else None
