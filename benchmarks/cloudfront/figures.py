"""CloudFront tenants: how long a fleet takes under AWS's limits, what it costs in calls, and what a restart does.

A fleet grows and rests in virtual time, so those figures are exact and do not depend on the machine. Then a new process
of the operator alone is started over it, in real time, over HTTP: its seconds begin with the process, so the interpreter,
all imports and the budget for listing are in them, and its memory is nobody else's.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.cloudfront.fleet import REST_SECONDS, Growth
from benchmarks.cloudfront.workload import WRITES_PER_SECOND, Certificate
from benchmarks.row import Goal, Row
from benchmarks.runtime.processes import Child, run_child

FLEETS: tuple[tuple[int, Certificate], ...] = ((1_000, "own"), (1_000, "managed"), (10_000, "own"))
LEEWAY = 1.15
CALLS = {"own": 1.3, "managed": 5.0}
RESTART_SECONDS = 30
QUIET_SECONDS = 10
"""How long a restarted operator is watched once every object has had its pass."""
DAY_SECONDS = 86_400
_WRITES = ("CreateDistributionTenant", "UpdateDistributionTenant", "TagResource")


@dataclass(frozen=True)
class Restart:
    """What a new process did with a fleet that is as it should be."""

    seconds: float
    cpu: float
    megabytes: float
    writes: float


def measure() -> Iterator[Row]:
    """Yield every figure of the group; the largest fleet comes last."""
    for count, certificate in FLEETS:
        name = f"{count:,} tenants, {certificate} certificate"
        with tempfile.TemporaryDirectory() as directory:
            arguments = (directory, str(count), certificate)
            with run_child("benchmarks.cloudfront.fleet", Path(directory), *arguments) as fleet:
                growth = msgspec.json.decode(fleet.hear(), type=Growth)
                yield from growth_rows(name, count, certificate, growth)
                yield from restart_rows(name, _restart(fleet, count, Path(directory)))


def growth_rows(name: str, count: int, certificate: Certificate, growth: Growth) -> Iterator[Row]:
    """A fleet from empty to Ready, and at rest."""
    writes = sum(growth.calls.get(operation, 0) for operation in _WRITES)
    bound = LEEWAY * writes / WRITES_PER_SECOND + growth.waits
    calls = sum(growth.calls.values()) / count
    yield _row(f"{name}: from empty to Ready, virtual time", growth.seconds, "s", Goal("≤", round(bound)))
    yield _row(f"{name}: calls per tenant until then", calls, "calls", Goal("≤", CALLS[certificate]))
    yield _row(f"{name}: throttled calls", growth.throttled, "calls", Goal("=", 0))
    yield _row(f"{name}: steady calls per day", growth.rest_calls * DAY_SECONDS / REST_SECONDS, "calls")
    yield _row(f"{name}: writes at rest, anywhere", growth.rest_writes, "writes", Goal("=", 0))


def restart_rows(name: str, restart: Restart) -> Iterator[Row]:
    """The operator's process, started over the fleet."""
    yield _row(f"{name}: restart, every object looked at", restart.seconds, "s", Goal("≤", RESTART_SECONDS))
    yield _row(f"{name}: restart, processor time", restart.cpu, "s")
    yield _row(f"{name}: restart, writes anywhere", restart.writes, "writes", Goal("=", 0))
    yield _row(f"{name}: peak RSS of the restarted operator", restart.megabytes, "MiB")


def _restart(fleet: Child, count: int, directory: Path) -> Restart:
    with run_child("benchmarks.cloudfront.operator", directory, fleet.hear().decode()) as operator:
        result = operator.call("await_passes", count)
        if result["errors"]:
            raise RuntimeError(f"{result['errors']:g} passes of the restarted operator failed")
        cpu = operator.cpu_seconds()
        time.sleep(QUIET_SECONDS)
        megabytes = operator.peak_megabytes()
    return Restart(result["reached"] - operator.started, cpu, megabytes, fleet.call("tally")["writes"])


def _row(name: str, value: float, unit: str, goal: Goal | None = None) -> Row:
    return Row("cloudfront", name, value, unit, goal)
