"""R-01, R-03, R-29 for the toy kind: whatever call fails, in whatever way, everything ends as if it had not.

`EDGEKEEPER_CRASH=all` runs every plan, as `make crash` does; otherwise it is every fifth.
"""

from __future__ import annotations

import pytest

from tests.crash.faults import Mode
from tests.crash.gizmo_scenarios import scenarios
from tests.crash.runner import explore
from tests.crash.sampling import EVERY
from tests.crash.system import Scenario
from tests.toy.system import GIZMOS
from tests.toy.workshop import Workshop


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("scenario", list(scenarios), ids=lambda scenario: scenario.name)
def test_gizmos_end_the_same_whichever_call_fails(scenario: Scenario[Workshop], mode: Mode) -> None:
    failures = list(explore(GIZMOS, scenario, [mode], every=EVERY))
    assert not failures, "\n".join(map(str, failures))
