"""How soon a tenant is looked at again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgekeeper.controllers.cloudfront.decide import decide
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.lifecycle.intervals import Intervals
from tests.unit.controllers.cloudfront.cases import (
    DNS,
    PENDING_CHANGES,
    absent,
    live,
    present,
    record,
    spec,
    zone,
)

AT_ONCE, IN_PROGRESS, STEADY = timedelta(0), timedelta(seconds=30), timedelta(minutes=5)
WITH_DNS = spec(dns=DNS)


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(absent(), IN_PROGRESS, id="created"),
        pytest.param(present(), STEADY, id="deployed"),
        pytest.param(present(tenant=live(status="InProgress")), IN_PROGRESS, id="being deployed"),
        pytest.param(present(generation=2, spec=spec(enabled=False)), IN_PROGRESS, id="updated"),
        pytest.param(present(deleting=True), IN_PROGRESS, id="disabled"),
        pytest.param(absent(spec=WITH_DNS, zone=zone()), AT_ONCE, id="records remembered"),
        pytest.param(
            absent(spec=WITH_DNS, zone=zone(), inventory=(record(state="Planned"),)),
            IN_PROGRESS,
            id="records handed in",
        ),
        pytest.param(
            absent(
                spec=WITH_DNS,
                zone=zone("shop.example.com"),
                inventory=(record(),),
                changes=PENDING_CHANGES,
            ),
            IN_PROGRESS,
            id="records not known everywhere",
        ),
    ],
)
def test_tenant_is_looked_at_again_after(snapshot: Snapshot, expected: timedelta) -> None:
    assert Intervals().after(decide(snapshot).next) == expected
