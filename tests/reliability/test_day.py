"""A day of a fleet: whatever happens until the evening, at midnight everything is as declared, and nobody stirs.

The day takes some seconds. It is the same every time: a seed decides who does what when, and what goes wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from edgekeeper.local.virtual import run_virtual
from tests.crash.faults import TracedCall
from tests.crash.oracles import Watchman, duplicates, leaks, orphans, unrest
from tests.crash.runner import captured_logs
from tests.crash.sampling import EVERY
from tests.crash.stage import staged
from tests.reliability.fleet import Fleet
from tests.toy.system import GIZMOS

EVENING = timedelta(hours=22)
LAST_HOUR = timedelta(hours=1)
PAUSE = timedelta(minutes=2)
SIZE = 300
SEEDS = range(1) if EVERY > 1 else range(10)


@dataclass(frozen=True)
class Day:
    """What is left of a day."""

    calls: tuple[TracedCall, ...]
    lives: int
    faults: tuple[str, ...]


def live_through(seed: int, *, size: int = SIZE, evening: timedelta = EVENING) -> Day:
    async def day() -> Day:
        async with staged(GIZMOS, seed) as stage:
            watchman, fleet = Watchman(stage), Fleet(stage, seed)
            stage.start_operator()
            await fleet.grow(size)
            await fleet.live(evening, PAUSE)
            await fleet.calm()
            await stage.elapse(seconds=LAST_HOUR.total_seconds())
            faults = [
                *await unrest(stage, LAST_HOUR),
                *fleet.faults(),
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
    first, second = (live_through(1, size=30, evening=timedelta(hours=4)) for _ in range(2))
    assert first == second
    assert len(first.calls) > 1000


def test_another_seed_is_another_day() -> None:
    first, second = (live_through(seed, size=3, evening=timedelta(hours=1)) for seed in (1, 2))
    assert first.calls != second.calls
