"""R-01, R-03, R-12, R-29 for DistributionTenants: whatever call fails, in whatever way, everything ends as if it had not,
and no name ever leads to a tenant that is gone.

`EDGEKEEPER_CRASH=all` runs every plan, as `make crash` does; otherwise it is a sample.
"""

from __future__ import annotations

import pytest

from tests.crash.faults import Mode
from tests.crash.runner import explore
from tests.crash.sampling import EVERY
from tests.crash.system import Scenario, System
from tests.crash.tenant_scenarios import INHABITED, first_steps, scenarios
from tests.tenants.estate import Estate
from tests.tenants.system import TENANTS

PLAYED = [
    *(pytest.param(INHABITED, one, id=one.name) for one in scenarios),
    *(pytest.param(TENANTS, one, id=one.name) for one in first_steps),
]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(("system", "scenario"), PLAYED)
def test_tenants_end_the_same_whichever_call_fails(
    system: System[Estate], scenario: Scenario[Estate], mode: Mode
) -> None:
    failures = list(explore(system, scenario, [mode], every=EVERY))
    assert not failures, "\n".join(map(str, failures))
