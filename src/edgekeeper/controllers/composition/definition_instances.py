"""Runs the controllers of instances beside that of definitions, and only while compositions are ours.

If kro is found running, all of them stop: no instance is reconciled by both. They start again when it is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from edgekeeper.controllers.composition.definition_shared import Composition
from edgekeeper.controllers.composition.instance_controllers import InstanceControllers, InstanceOptions
from edgekeeper.controllers.composition.waves import Limits
from edgekeeper.lifecycle.controller import Runnable
from edgekeeper.runtime.contract import Services


class Presence(Protocol):
    """Says whether another operator runs: `lifecycle.predecessor`."""

    sign: str | None

    async def wait_gone(self) -> None: ...

    async def wait_back(self) -> None: ...


class WhileGone:
    """Runs something whenever another operator does not run."""

    def __init__(self, other: Presence, make: Callable[[], Runnable]) -> None:
        self._other = other
        self._make = make

    async def run(self) -> None:
        while True:
            await self._other.wait_gone()
            if self._other.sign:
                return  # nobody waits any more, because the process ends
            tasks = [
                asyncio.create_task(self._make().run(), name="controllers of instances"),
                asyncio.create_task(self._other.wait_back(), name="watch for another operator"),
            ]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    if task.done():
                        task.result()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


def instance_runner(services: Services, shared: Composition) -> Runnable:
    """The controllers of instances, held back while kro is running."""
    options = instance_options(shared)

    def make() -> Runnable:
        return InstanceControllers(services, shared.graphs, options)

    return make() if shared.predecessor is None else WhileGone(shared.predecessor, make)


def instance_options(shared: Composition) -> InstanceOptions:
    """Kinds are not limited here again: a graph with a kind that is not allowed is not in force."""
    options = shared.options
    limits = Limits(namespaces=options.allowed_namespaces, collection_size=options.max_collection_size)
    return InstanceOptions(options.instance_max_concurrent, options.instance_resync, limits=limits)
