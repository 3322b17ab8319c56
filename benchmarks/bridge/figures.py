"""The bridge and the platform APIs: how long a fleet takes, what it costs in calls, and how much code that is.

Fleets grow in virtual time, so their figures are exact and do not depend on the machine. Lines are those with code, see
`benchmarks.bridge.source`.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bridge import source
from benchmarks.bridge.fleet import STATEMENT_BYTES, STATEMENTS, Growth, Policy, fill, grow
from benchmarks.row import Goal, Row
from edgekeeper.runtime.logs import configure
from kubesim.virtual import run_virtual

SERVICES = 100
PERMISSION_LINES, DOMAIN_LINES = 900, 1_600
POLICY_CALLS, RESYNC_CALLS = STATEMENTS + 2, 1
READING = ("List", "Get", "Describe")


def measure() -> Iterator[Row]:
    """Yield every figure of the group; the largest fleets come last."""
    configure(format="json", level="error")
    yield from source_rows()
    yield from policy_rows(run_virtual(fill))
    for mode in ("ack", "direct"):
        yield from growth_rows(mode, run_virtual(lambda mode=mode: grow(SERVICES, mode)))  # type: ignore[misc]


def source_rows() -> Iterator[Row]:
    """How much code the kinds are."""
    permission, domain, types, imports = (
        source.lines_of(one)
        for one in (source.PERMISSION, source.DOMAIN, source.DOMAIN_API, source.DOMAIN_IMPORT)
    )
    yield _row(
        "LambdaPermission: lines of code, with API types", permission, "lines", Goal("≤", PERMISSION_LINES)
    )
    yield _row(
        "APIGatewayDomain: lines of code, without API types and import",
        domain - imports,
        "lines",
        Goal("≤", DOMAIN_LINES),
    )
    yield _row("APIGatewayDomain: lines of its API types", types, "lines")
    yield _row("APIGatewayDomain: lines of its import", imports, "lines")
    yield _row("shared by both kinds: lines of code", source.lines_of(source.SHARED), "lines")


def policy_rows(policy: Policy) -> Iterator[Row]:
    """A policy that is as full as it may be."""
    name = f"LambdaPermission with {STATEMENTS} statements"
    yield _row(f"{name}: size of each", policy.statement_bytes, "bytes", Goal("=", STATEMENT_BYTES))
    yield _row(f"{name}: calls until Ready", policy.calls, "calls", Goal("≤", POLICY_CALLS))
    yield _row(f"{name}: calls of an unchanged resync", policy.resync_calls, "calls", Goal("≤", RESYNC_CALLS))


def growth_rows(mode: str, growth: Growth) -> Iterator[Row]:
    """Instances from nothing to ACTIVE, and at rest."""
    name = f"{SERVICES} TubiLambdaService instances, {mode} mode"
    writes = sum(count for operation, count in growth.calls.items() if not operation.startswith(READING))
    reads = sum(growth.calls.values()) - writes
    yield _row(f"{name}: to ACTIVE, virtual time", growth.seconds, "s")
    yield _row(f"{name}: the operator's writes to AWS", writes, "calls")
    yield _row(f"{name}: the operator's reads of AWS", reads, "calls")
    yield _row(f"{name}: throttled calls", growth.throttled, "calls", Goal("=", 0))
    yield _row(f"{name}: calls in half an hour at rest", growth.rest_calls, "calls")
    yield _row(f"{name}: writes at rest, anywhere", growth.rest_writes, "writes", Goal("=", 0))


def _row(name: str, value: float, unit: str, goal: Goal | None = None) -> Row:
    return Row("bridge", name, value, unit, goal)
