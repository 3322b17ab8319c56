"""R-01, R-03, R-12, R-29 for DistributionTenants: whatever call fails, in whatever way, everything ends as if it had not,
and no name ever leads to a tenant that is gone.

`EDGEKEEPER_CRASH=all` runs every plan, `make crash` every fifth; otherwise it is a smaller sample.
"""

from __future__ import annotations

import pytest

from tests.crash.faults import Mode
from tests.crash.runner import explore, rest
from tests.crash.sampling import ALL, EVERY_PLAN, modes_of, sample_of
from tests.crash.system import Scenario, System
from tests.crash.tenant_scenarios import INHABITED, RECOVERING, first_steps, recoveries, scenarios
from tests.results import Figures
from tests.tenants.estate import Estate
from tests.tenants.system import TENANTS

STAGED = [
    *((INHABITED, one) for one in scenarios),
    *((TENANTS, one) for one in first_steps),
    *((RECOVERING, one) for one in recoveries),
]
PLAYED = [
    pytest.param(system, one, mode, id=f"{one.name}-{mode.name}")
    for number, (system, one) in enumerate(sample_of(STAGED))
    for mode in modes_of(number)
]
RESTED = [pytest.param(system, one, id=one.name) for system, one in (STAGED if ALL else STAGED[::17])]


@pytest.mark.parametrize(("system", "scenario", "mode"), PLAYED)
def test_tenants_end_the_same_whichever_call_fails(
    system: System[Estate], scenario: Scenario[Estate], mode: Mode, figures: Figures
) -> None:
    failures = list(explore(system, scenario, [mode], every=EVERY_PLAN, figures=figures))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize(("system", "scenario"), RESTED)
def test_tenants_rest_for_a_day(system: System[Estate], scenario: Scenario[Estate]) -> None:
    assert not rest(system, scenario)
