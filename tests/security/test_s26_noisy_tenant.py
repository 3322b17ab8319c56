"""S-26: a namespace that keeps the operator busy with all its might does not slow the others down.

Quiet namespaces change an object now and then, and we measure how long it takes from a change to the end of the pass that carries
it out: with and without a noisy namespace, which asks for more than all workers together can do. How the calls to a cloud are shared is
told by the tests of the budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import pytest

from edgekeeper.core.calls import Calls
from edgekeeper.core.outcome import Outcome, StatusWrite, done
from edgekeeper.kube.kinds import NAMESPACE, Key
from edgekeeper.runtime.contract import Request, Services
from edgekeeper.runtime.controller import Controller
from kubesim.virtual import run_virtual
from tests.crash.runner import captured_logs
from tests.crash.stage import staged
from tests.crash.system import System
from tests.reliability.playing import GizmoStage
from tests.results import Figures
from tests.toy.controllers import controller_of
from tests.toy.gizmo import DECLARATION, DEFINITION, GIZMO, gizmo, spec
from tests.toy.workshop import Workshop

NOISY: Final = "noisy"
QUIET: Final = tuple(f"quiet-{number}" for number in range(5))
WORK: Final = 0.1
"""Seconds that a pass takes, on the average. Sixteen workers make 160 passes a second."""
CHANGES: Final = 200
LIMIT: Final = 1.25
"""What the p99 of the others may become, beside what it is without the noise: when all workers are busy, a change waits
until the next one is free."""


@dataclass
class Busy:
    """Works a while, and fails for the noisy namespace if it is told to."""

    fails: bool
    ended: dict[tuple[Key, int], float] = field(default_factory=dict)
    passes: dict[str, int] = field(default_factory=dict)
    random: Random = field(default_factory=lambda: Random(26))

    async def reconcile(self, request: Request) -> Outcome:
        await asyncio.sleep(self.random.uniform(0.5, 1.5) * WORK)
        self.passes[request.key.namespace] = self.passes.get(request.key.namespace, 0) + 1
        if self.fails and request.key.namespace == NOISY:
            raise ValueError("always")
        self.ended[request.key, request.generation] = now()
        return done().writing(StatusWrite({"observedGeneration": request.generation}))

    async def finalize(self, request: Request) -> Outcome:
        return done()


@dataclass(frozen=True)
class Noise:
    """What the noisy namespace does."""

    objects: int = 0
    edits: int = 0
    """A second."""
    fails: bool = False


def now() -> float:
    return asyncio.get_running_loop().time()


async def measure(noise: Noise) -> tuple[list[float], Busy]:
    """How long each change of the quiet ones took, sorted."""
    reconciler = Busy(noise.fails)

    def controllers(services: Services, _: Workshop, __: Calls) -> Sequence[Controller]:
        return [controller_of(reconciler, services)]

    system: System[Any] = System(
        (DEFINITION,), {GIZMO: DECLARATION}, Workshop, controllers, lambda *_: "", canary="-"
    )
    async with staged(system) as stage:
        for name in (NOISY, *QUIET):
            await stage.user.create(NAMESPACE, {"metadata": {"name": name}})
        for key in _keys(*QUIET, each=CHANGES // len(QUIET)):
            await stage.create(gizmo(key, wheel="red"))
        stage.start_operator()
        await stage.elapse(minutes=1)
        for key in _keys(NOISY, each=noise.objects):
            await stage.create(gizmo(key, wheel="red"))
        noisy = asyncio.create_task(_make_noise(stage, noise))
        changed = await _change_now_and_then(stage)
        noisy.cancel()
        await asyncio.wait([noisy])
        await stage.elapse(seconds=10)
    return sorted(reconciler.ended[change] - moment for change, moment in changed.items()), reconciler


def _keys(*namespaces: str, each: int) -> list[Key]:
    return [Key(namespace, f"g-{number}") for namespace in namespaces for number in range(each)]


async def _make_noise(stage: GizmoStage, noise: Noise) -> None:
    turn = 0
    while noise.edits:
        turn += 1
        key = Key(NOISY, f"g-{turn % noise.objects}")
        await stage.patch(GIZMO, key, {"spec": spec(wheel=f"shade-{turn}")})
        await asyncio.sleep(1 / noise.edits)


async def _change_now_and_then(stage: GizmoStage) -> dict[tuple[Key, int], float]:
    """Each object once."""
    random, changed = Random(1), {}
    keys = _keys(*QUIET, each=CHANGES // len(QUIET))
    random.shuffle(keys)
    for key in keys:
        written = await stage.patch(GIZMO, key, {"spec": spec(wheel="blue")})
        changed[key, written["metadata"]["generation"]] = now()
        await asyncio.sleep(random.uniform(0.02, 0.08))
    return changed


def p99(sorted_seconds: list[float]) -> float:
    assert len(sorted_seconds) == CHANGES
    return sorted_seconds[int(CHANGES * 0.99)]


NOISES: Final = {
    "many objects": Noise(objects=2_000),
    "many edits": Noise(objects=300, edits=300),
    "always failing": Noise(objects=1_000, fails=True),
    "everything": Noise(objects=1_000, edits=200, fails=True),
}


@pytest.mark.parametrize("name", NOISES)
def test_noisy_namespace_does_not_slow_others_down(name: str, figures: Figures) -> None:
    with captured_logs():
        silent, _ = run_virtual(lambda: measure(Noise()))
        noisy, reconciler = run_virtual(lambda: measure(NOISES[name]))
    assert reconciler.passes[NOISY] > 1_000, "it has kept the workers busy"
    ratio = p99(noisy) / p99(silent)
    figures.measure("p99 beside a noisy namespace", ratio, "× the usual", limit=LIMIT)
    assert ratio <= LIMIT
