"""Runs scenarios: once undisturbed to count their calls, and then once for every call and everything that can befall it.

    clean run                 N calls until all has settled, then quiet
    N × {before, lost, crash} the same again with one fault each, then quiet; judged against the clean run
                              (what reads is not lost: nobody could tell that from one that never left)
    a clean run for long      nothing is written for a whole day

A run is determined by scenario, seed and plan. What fails is told as these three, and
`python -m tests.crash KIND SCENARIO NUMBER MODE` plays it again, call by call. A second fault is told and played as a further
number, of calls after the first one, and a mode.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random

from edgekeeper.runtime.logs import configure
from kubesim.virtual import run_virtual
from tests.crash.faults import COMPANION, Mode, Plan, TracedCall
from tests.crash.oracles import (
    Record,
    Watchman,
    cluster_state,
    differences,
    duplicates,
    leaks,
    orphans,
    unrest,
)
from tests.crash.stage import Stage, staged
from tests.crash.system import DAY, Scenario, System, W
from tests.logs import log_as_it_was
from tests.results import Figures

SEED = 7
AFTERMATH = timedelta(minutes=3)
"""How long events, polls and the like may go on after all has settled."""

BEFOREHAND = 7
"""Of the calls before a scenario has begun, every so many get a fault."""


@dataclass(frozen=True)
class Failure:
    """A plan after which something was wrong."""

    scenario: str
    seed: int
    plan: Plan
    call: TracedCall
    faults: tuple[str, ...]

    def __str__(self) -> str:
        head = f"{self.scenario}, seed {self.seed}, {self.plan.mode} at call {self.call}"
        if self.plan.then is not None:
            head = f"{head}, then {self.plan.then.mode} {self.plan.then.number} calls later"
        return "\n".join([head, *(f"    {fault}" for fault in self.faults)])


def explore(
    system: System[W],
    scenario: Scenario[W],
    modes: Iterable[Mode],
    *,
    every: int = 1,
    figures: Figures | None = None,
) -> Iterator[Failure]:
    """Run the plans of a scenario, or every so many of each mode, each beginning with another, and tell what failed."""
    clean = run(system, scenario)
    if clean.faults:
        raise AssertionError(f"{scenario.name} fails without any fault:\n" + "\n".join(clean.faults))
    for mode in modes:
        for plan in plans_of(clean, [mode])[list(Mode).index(mode) % every :: every]:
            if figures is not None:
                figures.count("fault plans")
            if failure := attempt(system, scenario, plan, clean):
                yield failure


def explore_pairs(
    system: System[W], scenario: Scenario[W], pairs: int, figures: Figures
) -> Iterator[Failure]:
    """Run a sample of the plans of a scenario with a second fault after the first, and tell what failed."""
    clean = run(system, scenario)
    random = Random(f"two faults: {scenario.name}")
    plans = plans_of(clean, Mode)
    for _ in range(pairs):
        first = random.choice(plans)
        left = len(clean.calls) if first.mode is Mode.CRASH else len(clean.calls) - first.number
        second = Plan(random.randint(1, max(left, 10)), random.choice(list(Mode)))
        figures.count("pairs of faults")
        if failure := attempt(system, scenario, replace(first, then=second), clean):
            yield failure


def plans_of(clean: Record, modes: Iterable[Mode]) -> list[Plan]:
    """Every plan of a scenario, and a sample of what came before it began, which other scenarios have as well."""
    calls = [call for call in clean.calls if call.number > clean.begun or call.number % BEFOREHAND == 0]
    return [Plan(call.number, mode) for mode in modes for call in calls if _matters(mode, call)]


def _matters(mode: Mode, call: TracedCall) -> bool:
    """A reading call whose answer is lost has changed nothing: it is one that never left, which is another mode."""
    return call.mutating or mode is not Mode.LOST


def attempt(
    system: System[W], scenario: Scenario[W], plan: Plan, clean: Record, seed: int = SEED
) -> Failure | None:
    """Run one plan and judge it."""
    try:
        record = run(system, scenario, plan, seed=seed)
        faults = (*record.faults, *differences(record, clean, scenario))
    except Exception as error:  # noqa: BLE001 - a run that does not even end is a finding as well
        faults = (f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ()))
    call = clean.calls[plan.number - 1]
    return Failure(scenario.name, seed, plan, call, tuple(faults)) if faults else None


def rest(system: System[W], scenario: Scenario[W]) -> tuple[str, ...]:
    """Run a scenario undisturbed, and tell what was wrong by the end of a long day after it."""
    return run(replace(system, quiet=DAY), scenario).faults


def run(system: System[W], scenario: Scenario[W], plan: Plan | None = None, *, seed: int = SEED) -> Record:
    """Play a scenario to its end, and watch what happens afterwards."""
    with captured_logs() as logs:
        return run_virtual(lambda: _play(system, scenario, plan, seed, logs), seed=seed)


async def _play(
    system: System[W], scenario: Scenario[W], plan: Plan | None, seed: int, logs: io.StringIO
) -> Record:
    async with staged(system, seed) as stage:
        watchman = Watchman(stage)
        stage.start_companion()
        stage.start_operator(plan)
        await stage.until(lambda: stage.operator.manager.is_ready)
        await scenario.drive(stage)
        await stage.settled()
        calls = tuple(call for call in stage.trace.calls if call.life != COMPANION)
        await stage.elapse(seconds=AFTERMATH.total_seconds())
        ends = cluster_state(stage), stage.outside.state()
        faults = [
            *await unrest(stage, system.quiet),
            *watchman.faults,
            *orphans(stage),
            *duplicates(stage.outside),
            *system.wrongs(stage),
            *leaks(stage, logs.getvalue(), await _metrics(stage)),
        ]
        return Record(
            calls,
            tuple(stage.trace.calls),
            *ends,
            tally=stage.outside.tally(),
            repeated=tuple(stage.outside.repeated()),
            faults=tuple(faults),
            begun=stage.begun,
        )


async def _metrics(stage: Stage[W]) -> str:
    lives = [stage.operator, *([stage.companion] if stage.companion is not None else ())]
    return "".join([(await life.metrics.text()).decode() for life in lives])


@contextmanager
def captured_logs() -> Iterator[io.StringIO]:
    """Everything that is logged, at every level, in the form in which production writes it."""
    text = io.StringIO()
    with log_as_it_was():
        configure(format="json", level="debug", stream=text, environ={})
        yield text
