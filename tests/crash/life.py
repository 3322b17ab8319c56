"""One life of the operator: a process, with its own memory, on a server and an outside that outlive it.

A life ends in order (`stop`), or at once (`die`): from that instant none of its calls leaves, its tasks are cancelled,
and nothing that it knew is used again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NoReturn

from edgekeeper.core.calls import CallHook, CallRecord, Calls
from edgekeeper.core.clock import Clock
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.event_facts import Reporter
from edgekeeper.kube.events import Recorder
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import Key
from edgekeeper.kube.lease import Elector, LeaseOptions, LostLeadershipError
from edgekeeper.kube.transport import Transport
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller
from edgekeeper.runtime.manager import Manager, ManagerOptions
from edgekeeper.runtime.metrics import Metrics
from tests.crash.system import System, W

LEASE_KEY = Key("default", "toy-operator")
OPTIONS = ManagerOptions(signals=False, lag_interval=None)


@dataclass(frozen=True)
class Surroundings:
    """What a life depends on, and tests may bend."""

    transport: Transport
    clock: Clock
    hooks: Sequence[CallHook] = ()
    lease: LeaseOptions | None = None
    """Elect a leader, with these intervals."""
    identity: str = ""
    seed: str = ""
    options: ManagerOptions = field(default=OPTIONS)


class Life:
    """A process of the operator."""

    def __init__(self, system: System[W], outside: W, around: Surroundings) -> None:
        self.metrics = Metrics()
        self.dead = False
        self.elector: Elector | None = None
        self.calls = calls = Calls(_Mortality(self), *around.hooks)
        client = KubeClient(around.transport, calls, around.clock)
        client.observe = self.metrics.requests("embedded")
        self.services = Services(
            client,
            Informers(client, around.clock, random=Random(f"watches {around.seed}")),
            around.clock,
            Recorder(client, around.clock, Reporter("toy", around.identity or "toy")),
            self.metrics,
            Random(around.seed),
        )
        if around.lease is not None:
            # Of its own, since whoever must lead in order to write could never begin to lead.
            candidate = KubeClient(around.transport, calls, around.clock)
            self.elector = Elector(candidate, around.clock, LEASE_KEY, around.identity, around.lease)
        self.controllers: Sequence[Controller] = system.controllers(self.services, outside, calls)
        self.manager = Manager(self.services, self.controllers, elector=self.elector, options=around.options)
        self.task = asyncio.create_task(self.manager.run(), name=f"operator {around.identity}")

    def die(self) -> None:
        """End at this instant, in the middle of whatever is going on."""
        self.dead = True
        self.task.cancel()

    async def stop(self) -> None:
        """End in order; wait for that. Raise whatever ended the life otherwise."""
        self.manager.stop()
        await self.ended()

    async def ended(self) -> None:
        """Wait for the end. Death and a lost lease are ends like others; anything else is raised."""
        await asyncio.wait([self.task])
        if self.task.cancelled() and self.dead:
            return
        error = self.task.exception()
        if error is not None and not isinstance(error, LostLeadershipError):
            raise error


@dataclass(frozen=True, slots=True)
class _Mortality:
    """Keeps the dead from calling."""

    life: Life

    async def before(self, call: CallRecord) -> None:
        if self.life.dead:
            await oblivion()

    async def after(self, call: CallRecord) -> None:
        if self.life.dead:
            await oblivion()


async def oblivion() -> NoReturn:
    """Never return: the process is not there any more. Its tasks are cancelled one after the other."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError  # cleaning up, which the dead do not
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nobody wakes the dead")
