"""R-23: one object in a hundred always fails, and nobody else notices.

Users change objects all the time, at a rate that keeps half of the workers busy, and we measure how long it takes from a
change to the end of the pass that carries it out: with and without the objects that fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from edgekeeper.core.calls import Calls
from edgekeeper.core.outcome import Outcome, StatusWrite, done
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.contract import Request, Services
from edgekeeper.runtime.controller import Controller
from kubesim.virtual import run_virtual
from tests.crash.stage import staged
from tests.crash.system import System
from tests.results import Figures
from tests.toy.controllers import controller_of
from tests.toy.gizmo import DECLARATION, DEFINITION, GIZMO, gizmo, spec
from tests.toy.workshop import Workshop

OBJECTS = 500
CHANGES = 1_000
WORK = 0.1
"""Seconds that a pass takes."""
BETWEEN_CHANGES = 0.0125
"""Sixteen workers could do twice as much."""


@dataclass
class Fragile:
    """Works a while, and fails where the object is poisonous."""

    poisonous: bool
    ended: dict[tuple[str, int], float] = field(default_factory=dict)

    async def reconcile(self, request: Request) -> Outcome:
        await asyncio.sleep(WORK)
        number = int(request.key.name.removeprefix("g-"))
        if self.poisonous and number % 100 == 0:
            raise ValueError("poison")
        self.ended[request.key.name, request.generation] = now()
        return done().writing(StatusWrite({"observedGeneration": request.generation}))

    async def finalize(self, request: Request) -> Outcome:
        return done()


def now() -> float:
    return asyncio.get_running_loop().time()


def latencies(*, poisonous: bool) -> list[float]:
    """How long each change took, sorted."""
    return run_virtual(lambda: _measure(Fragile(poisonous)))


async def _measure(reconciler: Fragile) -> list[float]:
    def controllers(services: Services, _: Workshop, __: Calls) -> Sequence[Controller]:
        return [controller_of(reconciler, services)]

    system: System[Any] = System(
        (DEFINITION,), {GIZMO: DECLARATION}, Workshop, controllers, lambda *_: "", canary="-"
    )
    async with staged(system) as stage:
        for number in range(OBJECTS):
            await stage.create(gizmo(Key("default", f"g-{number}"), wheel="red"))
        stage.start_operator()
        await stage.elapse(minutes=2)
        changed = await _change_all_the_time(stage)
        await stage.elapse(minutes=1)
    return sorted(reconciler.ended[change] - moment for change, moment in changed.items())


async def _change_all_the_time(stage: Any) -> dict[tuple[str, int], float]:
    random, changed = Random(1), {}
    healthy = [number for number in range(OBJECTS) if number % 100]
    for turn in range(CHANGES):
        key = Key("default", f"g-{random.choice(healthy)}")
        written = await stage.patch(GIZMO, key, {"spec": spec(wheel=f"shade-{turn}")})
        changed[key.name, written["metadata"]["generation"]] = now()
        await asyncio.sleep(BETWEEN_CHANGES)
    return changed


def test_objects_that_always_fail_do_not_slow_others_down(figures: Figures) -> None:
    baseline, poisoned = (_p99(latencies(poisonous=poisonous)) for poisonous in (False, True))
    assert baseline >= timedelta(seconds=WORK)
    assert poisoned <= baseline * 1.1
    figures.measure("p99 beside failing objects", poisoned / baseline, "× the usual", limit=1.1)


def _p99(sorted_seconds: list[float]) -> timedelta:
    assert len(sorted_seconds) == CHANGES
    return timedelta(seconds=sorted_seconds[int(CHANGES * 0.99)])
