"""CloudFront tenants: how long a fleet takes under AWS's limits, what it costs in calls, and what a restart does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from benchmarks.cloudfront.fleet import REST_SECONDS, WRITES_PER_SECOND
from benchmarks.row import Absent, Goal, Row

LEEWAY = 1.15
DEPLOYMENT, PROPAGATION, ISSUANCE = 120.0, 60.0, 120.0
"""What the simulated AWS takes, in seconds."""
WAITS = {"own": DEPLOYMENT, "managed": PROPAGATION + DEPLOYMENT + ISSUANCE + DEPLOYMENT}
CALLS = {"own": 1.3, "managed": 5.0}
FLEETS = ((1_000, "own"), (1_000, "managed"), (10_000, "own"))
_WRITES = ("CreateDistributionTenant", "UpdateDistributionTenant", "TagResource")


def measure() -> Iterator[Row | Absent]:
    """Yield every figure of the group; the largest fleet comes last."""
    for count, kind in FLEETS:
        command = [sys.executable, "-m", "benchmarks.cloudfront.fleet", str(count), kind]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        if finished.returncode != 0:
            raise RuntimeError(f"a fleet of {count} did not get ready: {finished.stderr[-2000:]}")
        yield from figures(count, kind, msgspec.json.decode(finished.stdout))


def figures(count: int, kind: str, found: dict[str, Any]) -> Iterator[Row]:
    """The rows of one fleet."""
    name = f"{count:,} tenants, {kind} certificate"
    writes = sum(found["calls"].get(operation, 0) for operation in _WRITES)
    bound = LEEWAY * writes / WRITES_PER_SECOND + WAITS[kind]
    yield _row(f"{name}: from empty to Ready, virtual time", found["seconds"], "s")
    yield _row(
        f"{name}: beside writes ÷ budget × 1.15 + AWS's waits", found["seconds"] / bound, "×", Goal("≤", 1)
    )
    per_tenant = sum(found["calls"].values()) / count
    yield _row(f"{name}: calls per tenant", per_tenant, "calls", Goal("≤", CALLS[kind]))
    yield _row(f"{name}: throttled calls", found["throttled"], "calls", Goal("=", 0))
    yield _row(f"{name}: steady calls per day", found["rest"] * 86_400 / REST_SECONDS, "calls")
    yield _row(f"{name}: peak RSS, with the server and AWS", found["megabytes"], "MiB")
    restart = found["restart"]
    yield _row(f"{name}: restart, every object looked at", restart["seconds"], "s", Goal("≤", 30))
    yield _row(f"{name}: writes of a restart, anywhere", restart["writes"], "writes", Goal("=", 0))


def _row(name: str, value: float, unit: str, goal: Goal | None = None) -> Row:
    return Row("cloudfront", name, value, unit, goal)
