"""Where a run takes place: a cluster, an outside, users, and an operator of one process or two that may end at any time.

A process that dies, or loses the leadership, is started again a second later, as a kubelet does it. All processes share a
clock that may be set, and one way to the server that may fail; the faults are in `faults`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.kube.lease import LeaseOptions, LostLeadershipError
from kubesim.virtual import LoopClock
from tests.chaos.faults import CallFaults, Refusals
from tests.chaos.violation import Violation
from tests.crash.life import Life
from tests.crash.stage import RESTART_PAUSE, Stage
from tests.crash.system import W
from tests.reliability.freezing import Ice
from tests.unit.kube.faults import FaultyTransport

LEASE = LeaseOptions(timedelta(seconds=120), timedelta(seconds=80), timedelta(seconds=30))
"""Longer than usual: renewals are most of what two idle replicas do."""


@dataclass
class Process:
    """One process of the operator."""

    life: Life
    ice: Ice | None

    @property
    def is_running(self) -> bool:
        return not self.life.task.done() and not self.life.dead

    @property
    def leads(self) -> bool:
        elector = self.life.elector
        return self.is_running and (elector is None or elector.is_leader)


class World(Generic[W]):
    """See the module."""

    def __init__(self, stage: Stage[W]) -> None:
        self.stage = stage
        self.outside = stage.outside
        self.clock = LoopClock()
        """The operator's own, which may be wrong."""
        self.transport = FaultyTransport(stage.around.transport)
        self.refusals = Refusals()
        self.transport.refuse = self.refusals
        self.faults = CallFaults()
        self.processes: list[Process] = []
        self.found: list[Violation] = []
        self._latest = self.clock.now()
        self._replicas = 1
        self._wanted = 0
        """How many processes somebody keeps alive at the moment."""

    # Time

    def set_clock(self, interval: timedelta) -> None:
        """Set the operator's clock forward or back."""
        self._latest = self.latest_time()
        self.clock.jump(interval)

    def latest_time(self) -> datetime:
        """The latest time that anybody may have written down so far."""
        return max(self._latest, self.clock.now(), self.stage.clock.now())

    # Users

    def kind_of(self, kind: str = "") -> Kind:
        """A kind of the system by its name, or its first one."""
        return next(one for one in self.stage.system.declarations if kind in ("", one.kind))

    def find(self, key: Key) -> JsonObject | None:
        """An object as the server has it."""
        found = (one for one in self.stage.objects() if key_of(one) == key)
        return next(found, None)

    # The operator

    @property
    def running(self) -> list[Process]:
        return [one for one in self.processes if one.is_running]

    @property
    def worker(self) -> Process | None:
        """The process that works: the leader, or else any."""
        return next((one for one in self.running if one.leads), next(iter(self.running), None))

    def start(self) -> None:
        """Have as many processes as there are replicas."""
        self._wanted = self._replicas
        while len(self.running) < self._wanted:
            self._start_process()

    async def stop(self) -> None:
        """End all processes in order, and start none."""
        self._wanted = 0
        self.thaw()
        for process in self.running:
            await process.life.stop()

    def kill(self, process: Process | None = None) -> None:
        """A process ends at once, wherever it is; the next one starts soon."""
        victim = process or self.worker
        if victim is None:
            return
        victim.life.die()
        if victim.ice is not None:
            victim.ice.thaw()
        self._replace_soon()

    async def set_replicas(self, count: int) -> None:
        """Stop what is running, and go on with this many processes, which elect a leader if there are several."""
        was_running = self._wanted
        await self.stop()
        self._replicas = count
        if was_running:
            self.start()

    def freeze(self, seconds: float) -> None:
        """The process that works does not get on for a while, as after SIGSTOP."""
        process = self.worker
        if process is None or process.ice is None or process.ice.is_frozen:
            return
        process.ice.freeze()
        asyncio.get_running_loop().call_later(seconds, process.ice.thaw)

    def thaw(self) -> None:
        for process in self.processes:
            if process.ice is not None:
                process.ice.thaw()

    def heal(self) -> None:
        """End all faults, and have the operator run."""
        self.faults.clear()
        self.refusals.clear()
        self.thaw()
        self.start()

    def _start_process(self) -> None:
        around: dict[str, Any] = {"transport": self.transport, "clock": self.clock}
        if self._replicas == 1:
            process = Process(self._live(around), None)
        else:
            ice = Ice()
            with ice.around():
                process = Process(self._live({**around, "lease": LEASE}), ice)
        self.processes.append(process)
        process.life.task.add_done_callback(lambda task: self._ended(process, task))
        process.life.calls.hooks.append(self.faults.hook(lambda: self.kill(process)))

    def _live(self, around: dict[str, Any]) -> Life:
        return self.stage.start_operator(**around)

    def _ended(self, process: Process, task: asyncio.Task[None]) -> None:
        """A process that nobody stopped is started again. Only a lost leadership is a reason to end by itself."""
        if task.cancelled() or process.life.dead:
            return
        error = task.exception()
        if error is None:
            return
        if not isinstance(error, LostLeadershipError):
            self.found.append(Violation("process", f"the operator ended with {error!r}"))
        self._replace_soon()

    def _replace_soon(self) -> None:
        asyncio.get_running_loop().call_later(RESTART_PAUSE, self._replace)

    def _replace(self) -> None:
        if len(self.running) < self._wanted:
            self._start_process()


def key_of(obj: JsonObject) -> Key:
    metadata = obj["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


def parse_key(text: str) -> Key:
    """`alpha` in the default namespace, `other/alpha` in another."""
    namespace, _, name = text.rpartition("/")
    return Key(namespace or "default", name)
