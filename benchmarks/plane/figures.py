"""The embedded API server: how it starts, writes, lists, remembers and tells, alone and beside its partners.

Server and client are processes of their own on a core of their own; the server's core is the figure's "one core". The
real API server gets every core that there is, together with etcd.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.plane.listing import measure_list_seconds
from benchmarks.plane.preparing import prepare
from benchmarks.plane.process import resident_megabytes, run_client, run_server
from benchmarks.plane.starting import measure_cold_start, measure_up
from benchmarks.plane.target import Target
from benchmarks.plane.workload import sites_path
from benchmarks.row import ROUNDS, Absent, Goal, Row, best_of
from tests.conformance.real import real_server
from tests.conformance.servers import ADMIN, TOKENS, UnavailableError

EMBEDDED, ECHO = "benchmarks.plane.embedded_server", "benchmarks.plane.echo_server"
CREATES = 5_000
CREATES_ON_REAL = 1_000
MANY = 10_000
WATCHED = 500
ROUND_NAMESPACES = [f"round-{number}" for number in range(ROUNDS)]


def measure() -> Iterator[Row | Absent]:
    """Yield every figure of the group; the slow partners come last."""
    yield from _starts()
    embedded = _embedded_creates()
    yield _row("creates of 2 KB objects, one core", embedded, "creates/s", Goal("≥", 2_000))
    yield _row(
        "list of 10,000 objects of 2 KB, server time", measure_list_seconds(MANY) * 1000, "ms", Goal("≤", 150)
    )
    yield from _big_collection()
    yield from _fanout()
    yield from _beside_echo(embedded)
    yield from _beside_real(embedded)


def _row(name: str, value: float, unit: str, goal: Goal | None = None) -> Row:
    return Row("plane", name, value, unit, goal)


def _starts() -> Iterator[Row]:
    yield _row("cold start to /readyz", best_of(measure_cold_start, min), "s", Goal("≤", 1))
    yield _row("edgekeeper up to /readyz", best_of(measure_up, min), "s", Goal("≤", 3))


def _embedded_creates() -> float:
    with tempfile.TemporaryDirectory() as directory, run_server(EMBEDDED, Path(directory)) as (target, _):
        prepare(target, ROUND_NAMESPACES)
        return _best_rate(target, CREATES)


def _best_rate(target: Target, count: int) -> float:
    return max(run_client("create", target, sites_path(name), count)["rate"] for name in ROUND_NAMESPACES)


def _big_collection() -> Iterator[Row]:
    """Memory and the list over the wire come from one server that holds nothing but the objects in question."""
    with tempfile.TemporaryDirectory() as directory, run_server(EMBEDDED, Path(directory)) as (target, pid):
        prepare(target, ["warm", "full"])
        run_client("create", target, sites_path("warm"), 100)
        before = resident_megabytes(pid)
        run_client("create", target, sites_path("full"), MANY)
        held = resident_megabytes(pid) - before
        seconds = best_of(lambda: run_client("list", target, sites_path("full"), MANY)["seconds"], min)
    yield _row("memory of 10,000 objects of 2 KB", held, "MB", Goal("≤", 60))
    yield _row("list of 10,000 objects of 2 KB, at the client", seconds * 1000, "ms")


def _fanout() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory, run_server(EMBEDDED, Path(directory)) as (target, _):
        prepare(target, ROUND_NAMESPACES)
        results = [run_client("fanout", target, sites_path(name), WATCHED) for name in ROUND_NAMESPACES]
    yield _row("watch events to 100 watchers", max(r["rate"] for r in results), "events/s", Goal("≥", 5_000))
    yield _row("watch events lost", sum(r["lost"] for r in results), "events", Goal("=", 0))


def _beside_echo(embedded: float) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory, run_server(ECHO, Path(directory)) as (target, _):
        echo = _best_rate(target, CREATES)
    yield _row("bare aiohttp echo of 2 KB, one core", echo, "requests/s")
    yield _row("creates beside the echo", embedded / echo, "×")


def _beside_real(embedded: float) -> Iterator[Row | Absent]:
    try:
        with tempfile.TemporaryDirectory() as directory, real_server(Path(directory)) as server:
            target = Target(server.url, str(server.authority.files.certificate), TOKENS[ADMIN])
            prepare(target, ROUND_NAMESPACES)
            real = _best_rate(target, CREATES_ON_REAL)
    except UnavailableError as error:
        yield Absent("plane", "creates beside the real server", f"{error} (`make conformance` builds it)")
        return
    yield _row("creates on the real server, all cores", real, "creates/s")
    yield _row("creates beside the real server", embedded / real, "×", Goal("≥", 4))
