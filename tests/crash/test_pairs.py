"""R-04: two faults, one after the other: the second hits the work that makes up for the first.

The pairs are drawn by the name of the scenario, so they are the same in every run. `EDGEKEEPER_CRASH=all` plays more than five
thousand, `make crash` some hundreds; otherwise it is a handful.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.crash import test_bridge, test_instances, test_tenants
from tests.crash.route_scenarios import scenarios as routes
from tests.crash.runner import explore_pairs
from tests.crash.sampling import ALL, WHOLE
from tests.crash.system import Scenario, System
from tests.results import Figures
from tests.zerotrust_crash.system import ROUTES

PAIRS = 40 if WHOLE else 4 if ALL else 1
"""Of each scenario that is played: all, every second, or one of each kind."""
STAGED: dict[str, list[tuple[System[Any], Scenario[Any]]]] = {
    "tenants": list(test_tenants.STAGED),
    "routes": [(ROUTES, one) for one in routes],
    "bridge": [(system, one) for _, system, one in test_bridge.STAGED],
    "instances": list(test_instances.STAGED),
}
PLAYED = [
    pytest.param(system, one, id=f"{kind}-{number}-{one.name}")
    for kind, staged in STAGED.items()
    for number, (system, one) in enumerate(staged if WHOLE else staged[::2] if ALL else staged[:1])
]


@pytest.mark.parametrize(("system", "scenario"), PLAYED)
def test_two_faults_end_as_none(system: System[Any], scenario: Scenario[Any], figures: Figures) -> None:
    failures = list(explore_pairs(system, scenario, PAIRS, figures))
    assert not failures, "\n".join(map(str, failures))


def test_every_scenario_is_played_often_enough() -> None:
    assert 40 * sum(map(len, STAGED.values())) >= 5_000
