"""Where scenarios are played: a server, an outside, a user, and an operator that may die and come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Generic

from edgekeeper.core.annotations import PAUSED
from edgekeeper.core.calls import Calls
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Key, Kind
from kubesim.plane.plane import Plane, PlaneConfig
from kubesim.plane.resource import GroupResource
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock
from tests.crash.faults import COMPANION, Plan, PlannedFault, Trace
from tests.crash.life import Life, Surroundings, oblivion
from tests.crash.system import System, W

RESTART_PAUSE = 1.0
"""Seconds from the death of an operator to the start of the next one."""


class Stage(Generic[W]):
    """Everything at hand, in virtual time."""

    def __init__(self, system: System[W], plane: Plane, clock: LoopClock, seed: int = 0) -> None:
        self.system = system
        self.plane = plane
        self.clock = clock
        self.seed = seed
        self.outside = system.outside(clock)
        self.user = KubeClient(InProcessTransport(plane), Calls(), clock)
        self.trace = Trace()
        self.lives: list[Life] = []
        self.companion: Life | None = None
        self.begun = 0
        self.background: list[asyncio.Task[None]] = []
        """What else runs on the stage, until the end."""
        self.around = Surroundings(InProcessTransport(plane), clock)
        """What new lives of the operator get, beside a name and a seed of their own."""
        self.patience = timedelta(minutes=30)
        """How long anything may take to settle."""

    # What users do

    async def create(self, obj: JsonObject) -> JsonObject:
        return await self.user.create(self._kind_of(obj), obj)

    async def patch(self, kind: Kind, key: Key, patch: JsonObject) -> JsonObject:
        return await self.user.merge_patch(kind, key, patch)

    async def delete(self, kind: Kind, key: Key) -> None:
        await self.user.delete(kind, key)

    async def elapse(self, **interval: float) -> None:
        """Let time pass: `await stage.elapse(minutes=5)`."""
        await asyncio.sleep(timedelta(**interval).total_seconds())

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(self.patience.total_seconds()):
            pause = 0.5
            while not holds():
                await asyncio.sleep(pause)
                pause = min(pause * 1.1, 60.0)

    async def settled(self) -> None:
        """Wait until every object is as its user wants it, or says why it cannot be, and nothing is half deleted."""
        stalls, is_settled_here = self.system.stalls, self.system.is_settled
        if is_settled_here is not None:
            await self.until(lambda: is_settled_here(self))
        else:
            await self.until(lambda: all(is_settled(obj, stalls) for obj in self.objects()))

    def begin(self) -> None:
        """From here on the scenario differs from others: of the plans before, `explore` runs a sample."""
        self.begun = sum(call.life != COMPANION for call in self.trace.calls)

    # What there is

    def objects(self) -> Iterator[JsonObject]:
        """All objects of the system's kinds, straight from the server's memory."""
        for kind in (*self.system.declarations, *self.system.compared):
            collection = self.plane.store.collection(GroupResource(kind.group, kind.plural))
            for item in collection.ordered():
                yield {"apiVersion": kind.api_version, "kind": kind.kind, **item.decode()}

    # The operator

    @property
    def operator(self) -> Life:
        return self.lives[-1]

    def start_operator(self, plan: Plan | None = None, **around: Any) -> Life:
        """Begin a new life. Only a plan disturbs it."""
        number = len(self.lives) + 1
        fault = (PlannedFault(plan, self.crash),) if plan is not None else ()
        base = replace(self.around, **around)
        surroundings = replace(
            base,
            hooks=(self.trace.hook(number), *base.hooks, *fault),
            identity=base.identity or f"life-{number}",
            seed=f"{self.seed}/{number}",
        )
        self.lives.append(Life(self.system, self.outside, surroundings))
        return self.operator

    def start_companion(self) -> None:
        """Start the second process, if the system has one."""
        controllers = self.system.companion
        if controllers is None:
            return
        around = replace(
            self.around,
            hooks=(self.trace.hook(COMPANION), *self.around.hooks),
            identity="companion",
            seed=f"{self.seed}/companion",
        )
        self.companion = Life(replace(self.system, controllers=controllers), self.outside, around)

    async def crash(self, then: Plan | None = None) -> None:
        """The operator dies at this instant; another one starts soon. Called from within, this never returns."""
        self.operator.die()
        asyncio.get_running_loop().call_later(RESTART_PAUSE, self.start_operator, then)
        await oblivion()

    async def stop_operators(self) -> None:
        for life in (*self.lives, *([self.companion] if self.companion is not None else ())):
            await life.stop()
        for task in self.background:
            task.cancel()
        for end in await asyncio.gather(*self.background, return_exceptions=True):
            if isinstance(end, Exception):
                raise end

    def _kind_of(self, obj: JsonObject) -> Kind:
        kinds = (*self.system.declarations, *self.system.compared)
        return next(kind for kind in kinds if kind.kind == obj["kind"])


@asynccontextmanager
async def staged(system: System[W], seed: int = 0) -> AsyncIterator[Stage[W]]:
    """A stage on which the system's kinds are known, and no operator runs yet."""
    clock = LoopClock()
    config = PlaneConfig(simulators=frozenset(), gateway_api=False, seed=seed, now=clock.now)
    async with Plane(config) as plane:
        stage = Stage(system, plane, clock, seed)
        for definition in system.definitions:
            await stage.user.create(CUSTOM_RESOURCE_DEFINITION, definition)
        await plane.settle()
        await system.prepare(stage)
        try:
            yield stage
        finally:
            await stage.stop_operators()


def is_settled(obj: JsonObject, stalls: frozenset[str] = frozenset()) -> bool:
    """Whether nothing more will happen to an object by itself: it is Ready, stalled or paused, and stays."""
    metadata = obj["metadata"]
    if dig(metadata, "annotations", PAUSED) == "true":
        return True
    if "deletionTimestamp" in metadata:
        return False
    facts = {one["type"]: one for one in dig_list(obj, "status", "conditions")}
    current = {
        type_: one["status"] == "True"
        for type_, one in facts.items()
        if one.get("observedGeneration") == metadata["generation"]
    }
    is_stalled = "Ready" in current and facts["Ready"]["reason"] in stalls
    return is_stalled or any(current.get(type_, False) for type_ in ("Ready", "Stalled"))
