"""The controller of an external kind: its reconciler and its background tasks.

running      mirrors, writers, accounts: run as long as the controller
warm_up      the first listings: passes start after it, or after its time limit
predecessor  the operator that edgekeeper replaces: passes run only while it does not
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from edgekeeper.kube.informers import Informer
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.lifecycle.kind import ExternalKind, KindMetrics
from edgekeeper.lifecycle.memory import Memory
from edgekeeper.lifecycle.metrics import ExternalMetrics
from edgekeeper.lifecycle.predecessor import CompleteReconciler, Predecessor, Successor
from edgekeeper.lifecycle.reconciler import ExternalReconciler
from edgekeeper.runtime.contract import ControllerOptions, Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.sources import Source

CLEANUP_TIMEOUT = timedelta(hours=1)


class Runnable(Protocol):
    """A background task that runs until it is cancelled."""

    async def run(self) -> None: ...


async def _no_warm_up() -> None:
    return


@dataclass(frozen=True)
class Upkeep:
    """Background tasks and intervals of a kind."""

    running: Sequence[Runnable] = ()
    warm_up: Callable[[], Awaitable[None]] = _no_warm_up
    predecessor: Predecessor | None = None
    intervals: Intervals = field(default_factory=Intervals)
    claims: Claims | None = None
    """Those of all kinds of the process, for a kind that has registered its own with them."""
    cleanup_timeout: timedelta = CLEANUP_TIMEOUT
    """How long a deletion may fail before it is abandoned; zero for no limit."""
    sources: Sequence[Source] = ()
    """Further watches of an external kind, of objects that its own refer to."""


class UpkeptController(Controller):
    """A controller with background tasks, claims and a predecessor, for whatever reconciler."""

    def __init__(
        self,
        options: ControllerOptions,
        reconciler: CompleteReconciler,
        services: Services,
        sources: Sequence[Source] = (),
        upkeep: Upkeep | None = None,
    ) -> None:
        self._upkeep = upkeep or Upkeep()
        self.claims = self._upkeep.claims
        self.predecessor = self._upkeep.predecessor
        held_back = Successor(reconciler, self.predecessor) if self.predecessor else reconciler
        super().__init__(options, held_back, services, sources)

    @property
    def own_informers(self) -> list[Informer]:
        """The informers of the controller's own kind."""
        return [informer for informer in self.informers if informer.kind == self.options.kind]

    def informers_changed(self) -> None:
        kind, own = self.options.kind, self.own_informers
        if self.claims is not None and own:
            self.claims.objects.attach(kind, own, self.wake)
        elif self.claims is not None:
            self.claims.objects.detach(kind)

    async def run(self) -> None:
        tasks = [asyncio.create_task(self._keep(), name=f"upkeep of {self.options.name}")]
        try:
            await self._upkeep.warm_up()
            if self.predecessor is not None:
                await self.predecessor.wait_gone()
            tasks.append(asyncio.create_task(super().run(), name=self.options.name))
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def shut_down(self) -> None:
        super().shut_down()
        if self.predecessor is not None:
            self.predecessor.stop_waiting()

    async def _keep(self) -> None:
        """Run the background tasks until cancelled, even if there are none."""
        async with asyncio.TaskGroup() as group:
            for runnable in self._upkeep.running:
                group.create_task(runnable.run())
            if self.predecessor is not None:
                group.create_task(self.predecessor.run())
            await asyncio.Event().wait()


class ExternalController(UpkeptController):
    """Reconciles the objects of one external kind."""

    def __init__(
        self,
        options: ControllerOptions,
        kind: ExternalKind[Any, Any],
        services: Services,
        metrics: KindMetrics,
        *,
        memory: Memory | None = None,
        upkeep: Upkeep | None = None,
    ) -> None:
        upkeep = upkeep or Upkeep()
        self._kind_metrics = metrics
        reconciler = ExternalReconciler(
            kind,
            memory or Memory(services.clock),
            metrics,
            services.clock,
            self.wake,
            upkeep.intervals,
            upkeep.cleanup_timeout,
        )
        super().__init__(options, reconciler, services, upkeep.sources, upkeep)

    def informers_changed(self) -> None:
        super().informers_changed()
        if isinstance(self._kind_metrics, ExternalMetrics):
            self._kind_metrics.count(informer.store for informer in self.own_informers)
