"""CloudFront tenants: how long a fleet takes under AWS's limits, what it costs in calls, and what a restart does.

A fleet grows and rests in virtual time, so those figures are exact and do not depend on the machine. Then a new process
of the operator alone is started over it, in real time, over HTTP: its seconds begin with the process, so the interpreter,
all imports and the budget for listing are in them, and its memory is nobody else's.

What a creation costs in the cluster is measured with `edgekeeper run` itself, in real time, on 200 new objects with records.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.cloudfront.arrivals import Surroundings
from benchmarks.cloudfront.fleet import REST_SECONDS, Growth
from benchmarks.cloudfront.workload import ACCOUNT, WRITES_PER_SECOND, Certificate
from benchmarks.row import Goal, Row
from benchmarks.runtime.processes import Child, run_child

FLEETS: tuple[tuple[int, Certificate], ...] = ((1_000, "own"), (1_000, "managed"), (10_000, "own"))
LEEWAY = 1.15
CALLS = {"own": 1.3, "managed": 5.0}
RESTART_SECONDS = 30
QUIET_SECONDS = 10
"""How long a restarted operator is watched once every object has had its pass."""
DAY_SECONDS = 86_400
ARRIVALS = 200
ARRIVAL_PATIENCE_SECONDS = 600
STATUS_WRITES = 4
MEGABYTES = 80
IDLE_SECONDS = 60
_WRITES = ("CreateDistributionTenant", "UpdateDistributionTenant", "TagResource")


@dataclass(frozen=True)
class Restart:
    """What a new process did with a fleet that is as it should be."""

    seconds: float
    cpu: float
    megabytes: float
    writes: float


@dataclass(frozen=True)
class Creation:
    """What `edgekeeper run` did about new objects."""

    status_writes: float
    """Of the object that had the most, until all were as they should be."""
    megabytes: float
    idle_requests: float
    """To the API server, in the minute after; watches aside."""


def measure() -> Iterator[Row]:
    """Yield every figure of the group; the largest fleet comes last."""
    yield from creation_rows(f"{ARRIVALS} new tenants with DNS", _create(ARRIVALS))
    for count, certificate in FLEETS:
        name = f"{count:,} tenants, {certificate} certificate"
        with tempfile.TemporaryDirectory() as directory:
            arguments = (directory, str(count), certificate)
            with run_child("benchmarks.cloudfront.fleet", Path(directory), *arguments) as fleet:
                growth = msgspec.json.decode(fleet.hear(), type=Growth)
                yield from growth_rows(name, count, certificate, growth)
                yield from restart_rows(name, _restart(fleet, count, Path(directory)))


def creation_rows(name: str, creation: Creation) -> Iterator[Row]:
    """`edgekeeper run`, from empty to Ready and for a minute after."""
    writes, idle = creation.status_writes, creation.idle_requests
    yield _row(
        f"{name}: status writes of each until Ready, at most", writes, "writes", Goal("≤", STATUS_WRITES)
    )
    yield _row(f"{name}: peak RSS of edgekeeper run", creation.megabytes, "MiB", Goal("≤", MEGABYTES))
    yield _row(f"{name}: requests to the API server in an idle minute", idle, "requests", Goal("=", 0))


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


def _create(count: int) -> Creation:
    with tempfile.TemporaryDirectory() as directory, _arrivals(Path(directory), count) as (server, operator):
        settled = server.call("await_settled", ARRIVAL_PATIENCE_SECONDS)["settled"]
        if settled < count:
            raise RuntimeError(f"only {settled:g} of {count} tenants became Ready")
        writes = server.call("tally")["status writes"]
        time.sleep(QUIET_SECONDS)
        server.call("tally")
        time.sleep(IDLE_SECONDS)
        return Creation(writes, operator.peak_megabytes(), server.call("tally")["requests"])


@contextmanager
def _arrivals(directory: Path, count: int) -> Iterator[tuple[Child, Child]]:
    """A server with new objects, and `edgekeeper run` beside it."""
    key = {
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with run_child("benchmarks.cloudfront.arrivals", directory, str(directory), str(count)) as server:
        around = msgspec.json.decode(server.hear(), type=Surroundings)
        options = [
            f"--kubeconfig={around.kubeconfig}",
            f"--aws-endpoint-url={around.aws}",
            f"--budget=cloudfront-write={WRITES_PER_SECOND}/{WRITES_PER_SECOND}",
            "--health-probe-bind-address=127.0.0.1:0",
        ]
        with run_child(
            "benchmarks.cloudfront.command", directory, "run", *options, environment=key
        ) as operator:
            yield server, operator
            operator.process.terminate()


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
