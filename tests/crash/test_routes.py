"""R-01, R-02, R-03, R-29, S-22, S-29 for Zero Trust: whatever call of either worker fails, in whatever way, everything
ends as if it had not, no hostname is ever reachable without its declared policy, and no service token is lost.

`EDGEKEEPER_CRASH=all` runs every plan, `make crash` every fifth; otherwise it is a smaller sample. A plan is
determined by scenario, seed and number: `python -m tests.crash routes SCENARIO NUMBER MODE` plays any of them.
"""

from __future__ import annotations

import pytest

from tests.crash.faults import Mode
from tests.crash.route_scenarios import scenarios
from tests.crash.runner import explore, rest
from tests.crash.sampling import ALL, EVERY_PLAN, modes_of, sample_of
from tests.crash.system import Scenario, System
from tests.results import Figures
from tests.zerotrust_crash.estate import Estate
from tests.zerotrust_crash.system import CLOUDFLARE_WORKER, KUBE_WORKER, ROUTES

SPLIT = (
    "publication_with_a_service_token",
    "hostname_renamed",
    "tenant_of_another_account",
    "drift_of_an_application",
    "deletion_while_the_task_is_in_progress",
)
"""What is also played with two processes."""
PLAYED = [
    pytest.param(one, mode, id=f"{one.name}-{mode.name}")
    for number, one in enumerate(sample_of(scenarios))
    for mode in modes_of(number)
]
PLAYED_APART = [
    pytest.param(system, scenarios.known[name], mode, id=f"{role}-{name}-{mode.name}")
    for role, system in (("kube", KUBE_WORKER), ("cloudflare", CLOUDFLARE_WORKER))
    for number, name in enumerate(SPLIT if ALL else SPLIT[::4])
    for mode in modes_of(number)
]
RESTED = [
    pytest.param(scenarios.known[name], id=name)
    for name in (
        "publication_with_a_service_token",
        *(("deletion", "wildcard_application_shared") if ALL else ()),
    )
]


@pytest.mark.parametrize(("scenario", "mode"), PLAYED)
def test_routes_end_the_same_whichever_call_fails(
    scenario: Scenario[Estate], mode: Mode, figures: Figures
) -> None:
    failures = list(explore(ROUTES, scenario, [mode], every=EVERY_PLAN, figures=figures))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize(("system", "scenario", "mode"), PLAYED_APART)
def test_routes_end_the_same_whichever_call_of_one_process_fails(
    system: System[Estate], scenario: Scenario[Estate], mode: Mode, figures: Figures
) -> None:
    failures = list(explore(system, scenario, [mode], every=EVERY_PLAN, figures=figures))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize("scenario", RESTED)
def test_routes_rest_for_a_day(scenario: Scenario[Estate]) -> None:
    assert not rest(ROUTES, scenario)
