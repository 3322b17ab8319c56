"""R-01, R-03, R-29 for compositions: whatever call fails, in whatever way, instances end with the children that their
definition renders, and nothing else is touched.

`EDGEKEEPER_CRASH=all` runs every plan, `make crash` every fifth; otherwise it is a smaller sample.
"""

from __future__ import annotations

import pytest

from tests.composition_crash.estate import Estate
from tests.composition_crash.system import INSTANCES_DELETED, INSTANCES_KEPT
from tests.crash.faults import Mode
from tests.crash.instance_scenarios import departures, scenarios
from tests.crash.runner import explore, rest
from tests.crash.sampling import ALL, EVERY_PLAN, modes_of, sample_of
from tests.crash.system import Scenario, System
from tests.results import Figures

STAGED = [
    *((INSTANCES_KEPT, one) for one in scenarios),
    *((INSTANCES_DELETED, one) for one in departures),
]
PLAYED = [
    pytest.param(system, one, mode, id=f"{one.name}-{mode.name}")
    for number, (system, one) in enumerate(sample_of(STAGED))
    for mode in modes_of(number)
]
RESTED = [pytest.param(system, one, id=one.name) for system, one in (STAGED if ALL else STAGED[::13])]


@pytest.mark.parametrize(("system", "scenario", "mode"), PLAYED)
def test_instances_end_the_same_whichever_call_fails(
    system: System[Estate], scenario: Scenario[Estate], mode: Mode, figures: Figures
) -> None:
    failures = list(explore(system, scenario, [mode], every=EVERY_PLAN, figures=figures))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize(("system", "scenario"), RESTED)
def test_instances_rest_for_a_day(system: System[Estate], scenario: Scenario[Estate]) -> None:
    assert not rest(system, scenario)
