"""Routes of Cloudflare Zero Trust: how long a fleet takes under Cloudflare's limits, and what it costs in calls and memory.

Fleets grow, rest and change in virtual time, so those figures are exact and do not depend on the machine. Memory is that of
`edgekeeper run` as a process, started over a fleet in real time, once all its routes and states were looked at.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.row import Goal, Row
from benchmarks.runtime.processes import Child, run_child
from benchmarks.runtime.scraping import await_passes, free_port
from benchmarks.zerotrust.fleet import Excess, Growth
from benchmarks.zerotrust.workload import BUDGET, CLUSTER, HOME, Site

PROTECTED, PUBLIC, STANDARD = 1_000, 5_000, 500
LEEWAY = 1.15
PROTECTED_CALLS, PUBLIC_CALLS, DRIFT_CALLS = 1_100, 60, 10
CHANGE_CALLS, CHANGE_SECONDS = 5, 3
MEGABYTES = 150
PATIENCE_SECONDS, QUIET_SECONDS = 300.0, 10.0
UNLIMITED_CHANGES = frozenset({"other hostname"})
"""A new name and the withdrawal of the old one are two changes."""
FLEET = "benchmarks.zerotrust.fleet"
CONTROLLERS = ("httproute", "cloudflaredrift")


@dataclass(frozen=True)
class Restart:
    """What a new process did with a fleet that is as it should be."""

    seconds: float
    megabytes: float
    writes: float


def measure() -> Iterator[Row]:
    """Yield every figure of the group; the largest fleet comes last."""
    with _fleet(STANDARD, "quota") as (fleet, _):
        yield from excess_rows(msgspec.json.decode(fleet.hear(), type=Excess))
    for count, kind in ((PROTECTED, "access"), (PUBLIC, "public")):
        name = f"{count:,} routes {'with' if kind == 'access' else 'without'} Access"
        with _fleet(count, kind) as (fleet, directory):
            growth = msgspec.json.decode(fleet.hear(), type=Growth)
            yield from growth_rows(name, count, growth, PROTECTED_CALLS if kind == "access" else PUBLIC_CALLS)
            yield from change_rows(name, growth)
            yield from restart_rows(name, _restart(fleet, count, directory))


def excess_rows(excess: Excess) -> Iterator[Row]:
    """One application more than a standard account has room for."""
    name = f"application {STANDARD + 1} on a standard account"
    is_said = float(excess.reason == "QuotaExceeded")
    yield _row(f"{name}: its route says QuotaExceeded", is_said, "routes", Goal("=", 1))
    yield _row(f"{name}: other routes published", excess.published, "routes", Goal("=", STANDARD))
    yield _row(
        f"{name}: change of another, virtual time", excess.other_seconds, "s", Goal("≤", CHANGE_SECONDS)
    )
    yield _row(f"{name}: writes to Cloudflare per hour from then on", excess.hourly_writes, "calls")


def growth_rows(name: str, count: int, growth: Growth, most: int) -> Iterator[Row]:
    """A fleet from empty to done, and at rest."""
    calls = sum(growth.calls.values())
    bound = round(LEEWAY * calls / BUDGET, 1)
    writes = {kind: number / count for kind, number in growth.kube_writes.items()}
    own = sum(number for kind, number in writes.items() if kind != "events")
    yield _row(f"{name}: calls from empty to done", calls, "calls", Goal("≤", most))
    yield _row(
        f"{name}: from empty to done, virtual time",
        growth.seconds,
        "s",
        Goal("≤", bound) if bound > 60 else None,
    )
    yield _row(f"{name}: throttled calls", growth.throttled, "calls", Goal("=", 0))
    yield _row(f"{name}: writes to the cluster per route until ready", own, "writes")
    yield _row(f"{name}: events per route until ready", writes.get("events", 0), "events")
    yield _row(f"{name}: calls of a steady drift pass", growth.rest_calls, "calls", Goal("≤", DRIFT_CALLS))
    yield _row(f"{name}: writes at rest, anywhere", growth.rest_writes, "writes", Goal("=", 0))


def change_rows(name: str, growth: Growth) -> Iterator[Row]:
    """Changes of one route in a fleet at rest."""
    for what, change in growth.changes.items():
        is_limited = what not in UNLIMITED_CHANGES
        calls, seconds = Goal("≤", CHANGE_CALLS), Goal("≤", CHANGE_SECONDS)
        yield _row(f"{name}: {what}, calls", change.calls, "calls", calls if is_limited else None)
        yield _row(f"{name}: {what}, virtual time", change.seconds, "s", seconds if is_limited else None)


def restart_rows(name: str, restart: Restart) -> Iterator[Row]:
    """`edgekeeper run`, started over the fleet."""
    yield _row(f"{name}: restart, everything looked at", restart.seconds, "s")
    yield _row(f"{name}: restart, writes anywhere", restart.writes, "writes", Goal("=", 0))
    yield _row(f"{name}: peak RSS of edgekeeper run", restart.megabytes, "MiB", Goal("≤", MEGABYTES))


@contextmanager
def _fleet(count: int, kind: str) -> Iterator[tuple[Child, Path]]:
    with (
        tempfile.TemporaryDirectory() as directory,
        run_child(FLEET, Path(directory), directory, str(count), kind) as fleet,
    ):
        yield fleet, Path(directory)


def _restart(fleet: Child, count: int, directory: Path) -> Restart:
    site = msgspec.json.decode(fleet.hear(), type=Site)
    with _operator(site, directory) as (operator, metrics):
        seconds = await_passes(metrics, CONTROLLERS, count, PATIENCE_SECONDS) - operator.started
        time.sleep(QUIET_SECONDS)
        megabytes = operator.peak_megabytes()
        operator.process.terminate()
    return Restart(seconds, megabytes, fleet.call("tally")["writes"])


@contextmanager
def _operator(site: Site, directory: Path) -> Iterator[tuple[Child, str]]:
    address = f"127.0.0.1:{free_port()}"
    arguments = (
        "run",
        f"--kubeconfig={site.kubeconfig}",
        f"--cloudflare-api-base={site.cloudflare}",
        f"--operator-namespace={HOME}",
        f"--cluster-id={CLUSTER}",
        f"--metrics-bind-address={address}",
        "--metrics-secure=false",
        "--health-probe-bind-address=0",
        "--controllers=-distributiontenant",
    )
    with run_child("benchmarks.cloudfront.command", directory, *arguments) as operator:
        yield operator, f"http://{address}/metrics"


def _row(name: str, value: float, unit: str, goal: Goal | None = None) -> Row:
    return Row("zerotrust", name, value, unit, goal)
