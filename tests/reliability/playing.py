"""Plays a scenario in a bent world, and tells how it ended: for comparing with how it ends in a straight one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.virtual import run_virtual
from tests.crash.faults import TracedCall
from tests.crash.gizmo_scenarios import scenarios
from tests.crash.oracles import cluster_state, duplicates, orphans
from tests.crash.runner import SEED, captured_logs
from tests.crash.stage import Stage, staged
from tests.crash.system import Scenario
from tests.toy.system import GIZMOS
from tests.toy.workshop import Workshop

GizmoStage = Stage[Workshop]
Bend = Callable[[GizmoStage], dict[str, Any]]
"""Changes the stage, and returns what of the operator's surroundings is to be different."""

PATIENT = [scenario for scenario in scenarios if scenario.exact]
"""The scenarios in which the user waits for the operator, so that there is only one way to end."""


@dataclass(frozen=True)
class Ending:
    """How it ended."""

    cluster: JsonObject
    outside: JsonObject
    tally: dict[str, tuple[int, int]]
    faults: tuple[str, ...]
    calls: tuple[TracedCall, ...] = field(compare=False, default=())


def straight(stage: GizmoStage) -> dict[str, Any]:
    return {}


def ending_of(
    scenario: Scenario[Workshop], bend: Bend = straight, *, patience: timedelta = timedelta(minutes=30)
) -> Ending:
    """Play a scenario in a world that `bend` has had its hands on."""

    async def play() -> Ending:
        async with staged(GIZMOS, SEED) as stage:
            stage.patience = patience
            stage.start_operator(**bend(stage))
            await stage.until(lambda: stage.operator.manager.is_ready)
            await scenario.drive(stage)
            await stage.settled()
            await stage.elapse(minutes=3)
            return ending(stage)

    with captured_logs():
        return run_virtual(play, seed=SEED)


def ending(stage: GizmoStage) -> Ending:
    faults = (*orphans(stage), *duplicates(stage.outside))
    calls = tuple(stage.trace.calls)
    return Ending(cluster_state(stage), stage.outside.state(), stage.outside.tally(), faults, calls)


@cache
def usual_ending(name: str) -> Ending:
    """How a scenario ends where nothing goes wrong."""
    return ending_of(scenarios.known[name])
