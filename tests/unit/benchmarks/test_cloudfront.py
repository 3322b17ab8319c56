"""The measurement of fleets: its goals, its clock, and that the operator that is measured is alone in its process."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.cloudfront.arrivals import ObservedPlane, furnish
from benchmarks.cloudfront.figures import Creation, Restart, creation_rows, growth_rows, restart_rows
from benchmarks.cloudfront.fleet import Growth, HandedOn, grow
from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.calls import Calls
from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.kinds import Key
from kubesim.aws.cloud import AwsCloud
from kubesim.plane import PlaneConfig
from kubesim.transport import InProcessTransport
from kubesim.virtual import LoopClock, run_virtual

CREATE, UPDATE, READ = "CreateDistributionTenant", "UpdateDistributionTenant", "GetDistributionTenant"


@pytest.mark.parametrize(
    ("calls", "seconds", "ok"),
    [
        pytest.param({CREATE: 1000}, 350.0, True, id="1.15 × 1000 writes ÷ 5 a second + 120 s"),
        pytest.param({CREATE: 1000}, 351.0, False, id="a second late"),
        pytest.param({CREATE: 1000, READ: 300}, 351.0, False, id="reads give no more time"),
        pytest.param({CREATE: 1000, UPDATE: 10}, 351.0, True, id="writes of other kinds do"),
    ],
)
def test_fleet_has_the_time_that_its_writes_take_and_what_aws_takes(
    calls: dict[str, int], seconds: float, ok: bool
) -> None:
    growth = Growth(seconds, waits=120.0, calls=calls, throttled=0, rest_calls=0, rest_writes=0)
    assert next(growth_rows("a fleet", 1000, "own", growth)).ok is ok


def test_goals_are_missed_by_calls_throttling_and_writes() -> None:
    growth = Growth(10.0, 120.0, {CREATE: 1301}, throttled=1, rest_calls=96, rest_writes=1)
    rows = [*growth_rows("a fleet", 1000, "own", growth), *restart_rows("a fleet", Restart(31, 1, 1, 1))]
    missed = [row.name.removeprefix("a fleet: ") for row in rows if not row.ok]
    assert missed == [
        "calls per tenant until then",
        "throttled calls",
        "writes at rest, anywhere",
        "restart, every object looked at",
        "restart, writes anywhere",
    ]
    assert {row.name: row.value for row in rows}["a fleet: steady calls per day"] == 96 * 48


def test_goals_of_a_creation_are_missed_by_writes_memory_and_requests() -> None:
    assert all(row.ok for row in creation_rows("some", Creation(4, 80, 0)))
    assert not any(row.ok for row in creation_rows("some", Creation(5, 80.1, 1)))


def test_arrivals_count_requests_and_the_most_status_writes_of_an_object(tmp_path: Path) -> None:
    async def main() -> None:
        clock = LoopClock()
        config = PlaneConfig(tmp_path, simulators=frozenset(), gateway_api=False, now=clock.now)
        async with ObservedPlane(config) as plane:
            await furnish(plane, AwsCloud(clock), 2)
            await plane.tally()
            status = {"conditions": [_true_condition("Ready"), _true_condition("DNSReady")]}
            client = KubeClient(InProcessTransport(plane), Calls(), clock)
            for number, drift in ((0, True), (0, False), (1, True)):
                key = Key("default", f"tenant-{number:05}")
                change = {"status": {**status, "driftDetected": drift}}
                await client.merge_patch(KIND, key, change, subresource="status")
            assert await plane.await_settled(2, 60) == {"settled": 2}
            assert await plane.tally() == {"requests": 3, "status writes": 2}
            assert await plane.tally() == {"requests": 0, "status writes": 0}

    run_virtual(main)


def _true_condition(type_: str) -> JsonObject:
    moment = "2026-01-01T00:00:00Z"
    return {"type": type_, "status": "True", "reason": "So", "message": "", "lastTransitionTime": moment}


def test_clock_goes_on_where_virtual_time_has_ended() -> None:
    virtual = VirtualClock()
    clock = HandedOn(virtual)
    moment, wall = clock.monotonic(), clock.now()
    clock.go_on_in_real_time()
    later, wall_later = clock.monotonic(), clock.now()
    assert 0 <= later - moment < 5
    assert 0 <= (wall_later - wall).total_seconds() < 5


def test_fleet_grows_and_comes_to_rest(tmp_path: Path) -> None:
    growth, cloud = run_virtual(lambda: grow(tmp_path, 3, "managed"), start=datetime.now(UTC))
    assert growth.calls[CREATE] == len(cloud.cloudfront.tenants) == 3
    assert growth.seconds > growth.waits
    assert (growth.throttled, growth.rest_writes) == (0, 0)


def test_operator_that_is_measured_has_no_simulator_in_memory() -> None:
    told = "import benchmarks.cloudfront.operator, sys; print([m for m in sys.modules if '.local' in m])"
    finished = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"
