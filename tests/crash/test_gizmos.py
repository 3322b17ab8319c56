"""R-01, R-03, R-29 for the toy kind: whatever call fails, in whatever way, everything ends as if it had not.

`EDGEKEEPER_CRASH=all` runs every plan, `make crash` every fifth; otherwise it is a smaller sample.
"""

from __future__ import annotations

import pytest

from tests.crash.faults import Mode
from tests.crash.gizmo_scenarios import scenarios
from tests.crash.runner import explore
from tests.crash.sampling import EVERY_PLAN, modes_of
from tests.crash.system import Scenario
from tests.results import Figures
from tests.toy.system import GIZMOS
from tests.toy.workshop import Workshop

PLAYED = [
    pytest.param(scenario, mode, id=f"{scenario.name}-{mode.name}")
    for number, scenario in enumerate(scenarios)
    for mode in modes_of(number)
]


@pytest.mark.parametrize(("scenario", "mode"), PLAYED)
def test_gizmos_end_the_same_whichever_call_fails(
    scenario: Scenario[Workshop], mode: Mode, figures: Figures
) -> None:
    failures = list(explore(GIZMOS, scenario, [mode], every=EVERY_PLAN, figures=figures))
    assert not failures, "\n".join(map(str, failures))
