"""The harness has teeth: reconcilers with the classic mistakes do not get past it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from edgekeeper.core.calls import Calls
from edgekeeper.core.outcome import Outcome, done
from edgekeeper.core.ownership import Owner
from edgekeeper.runtime.contract import Request, Services
from edgekeeper.runtime.controller import Controller
from tests.crash.faults import Mode, Plan
from tests.crash.gizmo_scenarios import scenarios
from tests.crash.runner import explore, explore_pairs, run
from tests.crash.system import System
from tests.results import Figures
from tests.toy.client import WorkshopClient
from tests.toy.controllers import controller_of
from tests.toy.gizmo import Gizmo
from tests.toy.reconciler import CLUSTER, Create, GizmoReconciler, Step, desired
from tests.toy.system import GIZMOS
from tests.toy.workshop import Workshop


def system_of(reconciler: Callable[..., GizmoReconciler]) -> System[Workshop]:
    """The toy with another reconciler."""

    def controllers(services: Services, workshop: Workshop, calls: Calls) -> list[Controller]:
        client = WorkshopClient(workshop, calls)
        return [controller_of(reconciler(client, services.client, services.clock), services)]

    return replace(GIZMOS, controllers=controllers)


@dataclass(frozen=True, slots=True)
class RecordsTooLate(GizmoReconciler):
    """Makes things first and writes down later that they exist."""

    async def reconcile(self, request: Request) -> Outcome:
        gizmo, owner = request.decode(Gizmo), Owner.of(request.object, CLUSTER)
        wanted = desired(gizmo, owner)
        seen = await self._observe(gizmo, wanted)
        for name, part in wanted.items():
            if name not in seen:
                await self._perform(Create(name, part), request, owner)
        return await GizmoReconciler.reconcile(self, request)


@dataclass(frozen=True, slots=True)
class ForgetsToCleanUp(GizmoReconciler):
    """Lets the object go before what it stands for is gone."""

    async def finalize(self, request: Request) -> Outcome:
        return done()


@dataclass(frozen=True, slots=True)
class BelievesErrors(GizmoReconciler):
    """Takes a call without an answer for one without an effect, and makes up for it."""

    async def _perform(self, step: Step | None, request: Request, owner: Owner) -> None:
        try:
            await GizmoReconciler._perform(self, step, request, owner)
        except Exception:
            if isinstance(step, Create):
                again = replace(step, name=f"{step.name}-again")
                await GizmoReconciler._perform(self, again, request, owner)
            raise


@dataclass(frozen=True, slots=True)
class NeverRests(GizmoReconciler):
    """Repaints what is as it should be."""

    async def _observe(self, gizmo: Gizmo, wanted: Any) -> Any:
        seen = await GizmoReconciler._observe(self, gizmo, wanted)
        for item in seen.values():
            await self.workshop.update(item.name, item.colour, item.version)
        return seen


@pytest.mark.parametrize(
    ("mistake", "scenario", "mode", "found"),
    [
        pytest.param(
            RecordsTooLate, "rename_while_creating", Mode.CRASH, "outside ends as", id="records too late"
        ),
        pytest.param(BelievesErrors, "creation", Mode.LOST, "duplicate", id="believes errors"),
    ],
)
def test_harness_finds_the_mistake_behind_a_fault(
    mistake: Any, scenario: str, mode: Mode, found: str
) -> None:
    failures = explore(system_of(mistake), scenarios.known[scenario], [mode])
    assert any(found in fault for failure in failures for fault in failure.faults)


@pytest.mark.parametrize(
    ("mistake", "scenario", "found"),
    [
        pytest.param(ForgetsToCleanUp, "deletion", "orphan", id="forgets to clean up"),
        pytest.param(NeverRests, "creation", "TimeoutError|not quiet", id="never rests"),
    ],
)
def test_harness_finds_the_mistake_without_any_fault(mistake: Any, scenario: str, found: str) -> None:
    with pytest.raises((AssertionError, TimeoutError)) as caught:
        next(explore(system_of(mistake), scenarios.known[scenario], [Mode.BEFORE]))
    assert any(word in f"{caught.type.__name__} {caught.value}" for word in found.split("|"))


def test_harness_finds_the_mistake_behind_two_faults() -> None:
    failure = next(explore_pairs(system_of(BelievesErrors), scenarios.known["creation"], 8, Figures()))
    assert any("duplicate" in fault for fault in failure.faults)
    assert "calls later" in str(failure)


@pytest.mark.parametrize(("mode", "lives"), [(Mode.CRASH, 3), (Mode.LOST, 2)])
def test_second_fault_hits_what_follows_the_first(mode: Mode, lives: int) -> None:
    """In the next life after a crash, else in the same."""
    record = run(GIZMOS, scenarios.known["creation"], Plan(9, mode, Plan(3, Mode.CRASH)))
    assert {call.life for call in record.trace} == set(range(1, lives + 1))
    last = {life: max(call.number for call in record.trace if call.life == life) for life in range(1, lives)}
    assert last == ({1: 9, 2: 3} if mode is Mode.CRASH else {1: 12})


def test_failure_names_all_that_it_takes_to_repeat_it() -> None:
    told = str(next(explore(system_of(BelievesErrors), scenarios.known["creation"], [Mode.LOST])))
    assert "creation, seed 7, lost at call #" in told
    assert "workshop Create default-one-" in told
