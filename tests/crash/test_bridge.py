"""R-01, R-03, R-12, R-29 for the bridge: whatever call fails, in whatever way, everything ends as if it had not, and no name
ever leads to a domain name that is gone.

`EDGEKEEPER_CRASH=all` runs every plan, `make crash` every fifth; otherwise it is a smaller sample.
"""

from __future__ import annotations

import pytest

from tests.bridge.estate import BridgeEstate
from tests.bridge.world import DIRECT, THROUGH_ACK
from tests.crash.bridge_scenarios import RECOVERING, direct_domains, domains, permissions, recoveries
from tests.crash.faults import Mode
from tests.crash.runner import explore, rest
from tests.crash.sampling import ALL, EVERY_PLAN, modes_of, sample_of
from tests.crash.system import Scenario, System
from tests.results import Figures

STAGED = [
    *(("direct", DIRECT, one) for one in (*permissions, *domains, *direct_domains)),
    *(("ack", THROUGH_ACK, one) for one in domains),
    *(("recovering", RECOVERING, one) for one in recoveries),
]
PLAYED = [
    pytest.param(system, one, mode, id=f"{name}-{one.name}-{mode.name}")
    for number, (name, system, one) in enumerate(sample_of(STAGED))
    for mode in modes_of(number)
]
RESTED = [
    pytest.param(system, one, id=f"{name}-{one.name}")
    for name, system, one in (STAGED if ALL else STAGED[::17])
]


@pytest.mark.parametrize(("system", "scenario", "mode"), PLAYED)
def test_bridge_ends_the_same_whichever_call_fails(
    system: System[BridgeEstate], scenario: Scenario[BridgeEstate], mode: Mode, figures: Figures
) -> None:
    failures = list(explore(system, scenario, [mode], every=EVERY_PLAN, figures=figures))
    assert not failures, "\n".join(map(str, failures))


@pytest.mark.parametrize(("system", "scenario"), RESTED)
def test_bridge_rests_for_a_day(system: System[BridgeEstate], scenario: Scenario[BridgeEstate]) -> None:
    assert not rest(system, scenario)
