"""R-30: nobody keeps the event loop to himself. Blocking calls are the linter's business (ruff's ASYNC rules)."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import pytest

from kubesim.virtual import SlowCallback
from tests.crash.stage import staged
from tests.reliability.slow_callbacks import LONGEST, RUNS, slow_callbacks
from tests.reliability.turmoil import Town
from tests.results import Figures
from tests.toy.system import GIZMOS

GIZMOS_IN_TOWN = 300


def processor_time(callback: SlowCallback) -> timedelta:
    return callback.processor_time


def test_no_callback_takes_long(figures: Figures) -> None:
    """Judged by processor time: a machine that is busy with something else is not our fault."""
    assert slow_callbacks(_turmoil, figures, processor_time) == []


async def _turmoil() -> None:
    async with staged(GIZMOS) as stage:
        town = Town(stage, seed=1)
        await town.grow(GIZMOS_IN_TOWN)
        stage.start_operator()
        await town.live(timedelta(minutes=10), pause=timedelta(seconds=5))
        await town.calm()
        await stage.settled()


@pytest.mark.parametrize(("slow_runs", "is_found"), [(1, False), (RUNS, True)])
def test_callback_that_is_slow_in_each_run_is_found(
    slow_runs: int, is_found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{slow_callbacks.__module__}.slowness", lambda: 1.0)
    runs = 0

    async def compute() -> None:
        until = time.thread_time() + 1.5 * LONGEST.total_seconds()
        while runs <= slow_runs and time.thread_time() < until:
            pass

    async def main() -> None:
        nonlocal runs
        runs += 1
        await asyncio.create_task(compute())

    assert bool(slow_callbacks(main, Figures(), processor_time)) is is_found
    assert runs == min(RUNS, slow_runs + 1)
