"""A day in a town of Gizmos: whatever happens until the evening, at midnight everything is as declared, and nobody stirs.

The day takes some seconds. It is the same every time: a seed decides who does what when, and what goes wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from edgekeeper.core.calls import Calls
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller
from kubesim.virtual import run_virtual
from tests.crash.faults import TracedCall
from tests.crash.oracles import Watchman, duplicates, leaks, orphans, unrest
from tests.crash.runner import captured_logs
from tests.crash.sampling import EVERY
from tests.crash.stage import staged
from tests.reliability.turmoil import Town
from tests.toy.client import WorkshopClient
from tests.toy.controllers import controller_of
from tests.toy.reconciler import GizmoReconciler
from tests.toy.system import GIZMOS
from tests.toy.workshop import Workshop

EVENING = timedelta(hours=22)
LAST_HOUR = timedelta(hours=1)
PAUSE = timedelta(minutes=3)
SIZE = 100 if EVERY == 1 else 40
SEEDS = range(4) if EVERY == 1 else range(1)

POLL = timedelta(minutes=50)
"""How often each Gizmo is compared with its items: seldom, and yet once in the last hour."""


def _controllers(services: Services, workshop: Workshop, calls: Calls) -> list[Controller]:
    reconciler = GizmoReconciler(WorkshopClient(workshop, calls), services.client, services.clock, POLL)
    return [controller_of(reconciler, services)]


SYSTEM = replace(GIZMOS, controllers=_controllers)


@dataclass(frozen=True)
class Day:
    """What is left of a day."""

    calls: tuple[TracedCall, ...]
    lives: int
    faults: tuple[str, ...]


def live_through(seed: int, *, size: int = SIZE, evening: timedelta = EVENING) -> Day:
    async def day() -> Day:
        async with staged(SYSTEM, seed) as stage:
            watchman, town = Watchman(stage), Town(stage, seed)
            stage.start_operator()
            await town.grow(size)
            await town.live(evening, PAUSE)
            await town.calm()
            await stage.elapse(seconds=LAST_HOUR.total_seconds())
            faults = [
                *await unrest(stage, LAST_HOUR),
                *town.faults(),
                *watchman.faults,
                *orphans(stage),
                *duplicates(stage.outside),
                *leaks(stage, logs.getvalue(), (await stage.operator.metrics.text()).decode()),
            ]
            return Day(tuple(stage.trace.calls), len(stage.lives), tuple(faults))

    with captured_logs() as logs:
        return run_virtual(day, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_day_ends_as_declared_and_quiet(seed: int) -> None:
    day = live_through(seed)
    assert day.lives > 5, "it was too easy"
    assert not day.faults, "\n".join([f"seed {seed}", *day.faults[:20]])


def test_day_is_the_same_twice() -> None:
    first, second = (live_through(1, size=20, evening=timedelta(hours=4)) for _ in range(2))
    assert first == second
    assert len(first.calls) > 1000


def test_another_seed_is_another_day() -> None:
    first, second = (live_through(seed, size=3, evening=timedelta(hours=1)) for seed in (1, 2))
    assert first.calls != second.calls
