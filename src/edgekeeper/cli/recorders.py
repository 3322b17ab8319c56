"""The event recorders of an operator process: one for each controller, under its own name."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterable, Mapping
from uuid import uuid4

from edgekeeper.core.clock import Clock
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Event
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.event_facts import Reporter
from edgekeeper.kube.events import Recorder
from edgekeeper.lifecycle.module import KindModule


class Recorders:
    """The event recorders of all controllers, started and stopped together."""

    def __init__(self, by_controller: Mapping[str, Recorder]) -> None:
        self._by_controller = by_controller

    def of(self, controller: str) -> Recorder:
        return self._by_controller[controller]

    def record(self, subject: JsonObject, event: Event) -> None:
        """Record an event of the process itself, under the name of its first controller."""
        next(iter(self._by_controller.values())).record(subject, event)

    async def start(self) -> None:
        for recorder in self._by_controller.values():
            await recorder.start()

    async def stop(self) -> None:
        await asyncio.gather(*(recorder.stop() for recorder in self._by_controller.values()))


def recorders_of(modules: Iterable[KindModule], client: KubeClient, clock: Clock) -> Recorders:
    """The recorders of these controllers."""
    identity = replica_identity()
    return Recorders(
        {
            module.name: Recorder(client, clock, Reporter(f"{module.name}-controller", identity))
            for module in modules
        }
    )


def replica_identity() -> str:
    """A unique id of this replica for the Lease and for events: the pod name, and a random part for the process."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{uuid4()}"
