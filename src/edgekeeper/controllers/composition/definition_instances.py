"""Runs the controllers of instances beside that of definitions, and only while compositions are ours.

If kro is found running, all of them stop at once, and nothing more is written: no instance is reconciled by both. They
start again when it is gone.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from edgekeeper.controllers.composition.definition_options import CompositionOptions
from edgekeeper.controllers.composition.definition_shared import Composition
from edgekeeper.controllers.composition.instance_controllers import InstanceControllers, InstanceOptions
from edgekeeper.controllers.composition.instance_plan import Limits
from edgekeeper.lifecycle.predecessor import Predecessor
from edgekeeper.runtime.contract import Services


class InstanceRunner:
    """Runs the controllers of instances: always, or whenever another operator does not run."""

    def __init__(self, services: Services, shared: Composition) -> None:
        self._services = services
        self._shared = shared
        self._other = shared.predecessor
        self._current: InstanceControllers | None = None

    def set_namespaces(self, namespaces: tuple[str, ...]) -> None:
        """Watch these namespaces from now on; empty for all."""
        self._services = replace(self._services, namespaces=namespaces)
        if self._current is not None:
            self._current.set_namespaces(namespaces)

    async def run(self) -> None:
        """Run until cancelled, or until the process ends while the other operator runs."""
        if self._other is None:
            await self._make().run()
            return
        while True:
            await self._other.wait_gone()
            if self._other.sign:
                return  # nobody waits any more, because the process ends
            await self._run_until_back(self._other)

    def _make(self) -> InstanceControllers:
        self._current = InstanceControllers(
            self._services, self._shared.graphs, instance_options(self._shared)
        )
        return self._current

    async def _run_until_back(self, other: Predecessor) -> None:
        """Run until the other operator does. From then on no pass goes on."""
        controllers = self._make()
        running = asyncio.create_task(controllers.run(), name="controllers of instances")
        back = asyncio.create_task(other.wait_back(), name="watch for another operator")
        try:
            await asyncio.wait((running, back), return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                running.result()
            controllers.end_at_once()
        finally:
            for task in (running, back):
                task.cancel()
            await asyncio.gather(running, back, return_exceptions=True)


def instance_options(shared: Composition) -> InstanceOptions:
    """Kinds are not limited here again: a graph with a kind that is not allowed is not in force."""
    options = shared.options
    limits = instance_limits(options)
    return InstanceOptions(options.instance_max_concurrent, options.instance_resync, limits=limits)


def instance_limits(options: CompositionOptions) -> Limits:
    """What an installation allows instances to have, in whatever namespaces it watches."""
    return Limits(namespaces=options.allowed_namespaces, collection_size=options.max_collection_size)
