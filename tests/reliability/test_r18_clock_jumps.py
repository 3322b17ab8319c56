"""R-18: wall clocks that are wrong, or jump while something is going on, change nothing about the end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from edgekeeper.core.calls import CallRecord
from kubesim.virtual import START, LoopClock
from tests.crash.sampling import EVERY
from tests.crash.system import Scenario
from tests.reliability.playing import PATIENT, GizmoStage, ending_of, usual_ending
from tests.results import Figures
from tests.toy.workshop import Workshop

HOUR = timedelta(hours=1)
SKEW = timedelta(minutes=10)


@dataclass
class Jump:
    """A hook that sets the operator's clock at a call."""

    clock: LoopClock
    by: timedelta
    at: int

    async def before(self, call: CallRecord) -> None:
        if call.number == self.at:
            self.clock.jump(self.by)

    async def after(self, call: CallRecord) -> None: ...


@pytest.mark.parametrize("by", [HOUR, -HOUR], ids=["forward", "back"])
@pytest.mark.parametrize("scenario", PATIENT, ids=lambda scenario: scenario.name)
def test_jump_at_any_call_changes_nothing_about_the_end(
    scenario: Scenario[Workshop], by: timedelta, figures: Figures
) -> None:
    usual = usual_ending(scenario.name)
    for call in usual.calls[::EVERY]:

        def bend(stage: GizmoStage, at: int = call.number) -> dict[str, Any]:
            clock = LoopClock()
            return {"clock": clock, "hooks": (Jump(clock, by, at),)}

        result = ending_of(scenario, bend)
        assert result == usual, f"after a jump at {call}"
        assert _when(result.calls) == _when(usual.calls), f"after a jump at {call}"
        figures.count("jumps")


@pytest.mark.parametrize("skew", [SKEW, -SKEW], ids=["fast", "slow"])
@pytest.mark.parametrize("scenario", PATIENT, ids=lambda scenario: scenario.name)
def test_skew_changes_nothing_about_the_end(scenario: Scenario[Workshop], skew: timedelta) -> None:
    usual = usual_ending(scenario.name)
    result = ending_of(scenario, lambda _: {"clock": LoopClock(START + skew)})
    assert result == usual
    assert _when(result.calls) == _when(usual.calls)


def _when(calls: Any) -> list[float]:
    """When calls were made: no timer rings earlier, later or more often than it would have."""
    return [call.time for call in calls]
