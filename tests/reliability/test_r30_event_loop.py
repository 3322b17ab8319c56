"""R-30: nobody keeps the event loop to himself. Blocking calls are the linter's business (ruff's ASYNC rules)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from kubesim.virtual import DEFAULT_LIMITS, SlowCallback, run_virtual
from tests.crash.stage import staged
from tests.reliability.turmoil import Town
from tests.toy.system import GIZMOS

LONGEST = timedelta(milliseconds=100)
GIZMOS_IN_TOWN = 300


def test_no_callback_takes_long() -> None:
    """Judged by processor time: a machine that is busy with something else is not our fault."""
    slow: list[SlowCallback] = []
    run_virtual(_turmoil, limits=replace(DEFAULT_LIMITS, slow_callback=LONGEST), slow_callbacks=slow)
    ours = [callback for callback in slow if not _is_the_test_itself(callback)]
    assert [callback for callback in ours if callback.processor_time > LONGEST] == []


async def _turmoil() -> None:
    async with staged(GIZMOS) as stage:
        town = Town(stage, seed=1)
        await town.grow(GIZMOS_IN_TOWN)
        stage.start_operator()
        await town.live(timedelta(minutes=10), pause=timedelta(seconds=5))
        await town.calm()
        await stage.settled()


def _is_the_test_itself(callback: SlowCallback) -> bool:
    """Which plays hundreds of users in one go."""
    return "supervised" in callback.name
