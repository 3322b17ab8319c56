"""The same operator with kopf, on the same kind of server, until the same end state.

Ratios are of processor time and peak memory. The goals hold on a real API server, where operators live: it answers later
than the embedded one, and what an operator does while it waits is part of its cost. The embedded server, which spares
both operators that wait, stands beside it; so do the figures at fewer objects where kopf does not get through in time.
Both operators run with their defaults and log at level info into a file. A machine that is shared with others is faster
at one time than at another, so ours runs before and after kopf, and its figures are the means of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from benchmarks.row import Absent, Goal, Row
from benchmarks.runtime.stage import (
    EMBEDDED,
    KOPF,
    OURS,
    REAL,
    Effort,
    UnfinishedError,
    await_convergence,
    set_up,
)
from tests.conformance.real import find_programs
from tests.conformance.servers import UnavailableError

LIMIT_SECONDS = 360.0
FEWER = 1_000
CPU_GOAL = Goal("≤", 0.2)
RSS_GOAL = Goal("≤", 1 / 8)
PLACES = {EMBEDDED: "embedded server", REAL: "real server"}


def compare(ours: Effort) -> Iterator[Row | Absent]:
    """Yield kopf's figures and the ratios. `ours` is the effort on the embedded server, at the number to try first."""
    yield from _compare_on(EMBEDDED, ours.count, ours)
    try:
        find_programs()
    except UnavailableError as error:
        yield Absent("runtime", "beside kopf on a real server", f"{error} (`make conformance` builds it)")
        return
    yield from _compare_on(REAL, ours.count)


def _compare_on(server: str, count: int, before: Effort | None = None) -> Iterator[Row | Absent]:
    before = before or measure(OURS, server, count)
    try:
        kopf = measure(KOPF, server, count)
    except UnfinishedError as error:
        yield Absent("runtime", f"kopf at {count:,} objects, {PLACES[server]}", str(error))
        before, kopf = measure(OURS, server, FEWER), measure(KOPF, server, FEWER)
    after = measure(OURS, server, kopf.count)
    yield from ratios(mean(before, after), kopf, server)


def mean(one: Effort, other: Effort) -> Effort:
    """What the same number of objects took on average."""
    return Effort(
        count=one.count,
        seconds=fmean((one.seconds, other.seconds)),
        cpu=fmean((one.cpu, other.cpu)),
        megabytes=fmean((one.megabytes, other.megabytes)),
        writes=fmean((one.writes, other.writes)),
        refused=fmean((one.refused, other.refused)),
    )


def measure(operator_module: str, server: str, count: int) -> Effort:
    """The effort of one operator, with a server of its own."""
    with set_up(count, "new", server) as stage, stage.operator(operator_module) as operator:
        return await_convergence(stage, operator, LIMIT_SECONDS)


def ratios(ours: Effort, kopf: Effort, server: str) -> Iterator[Row]:
    """What both did, and how we stand beside kopf."""
    where = f"{kopf.count:,} objects, {PLACES[server]}"
    for name, effort in {"ours": ours, "kopf": kopf}.items():
        yield Row("runtime", f"{name}, {where}: start to all reconciled", effort.seconds, "s")
        yield Row("runtime", f"{name}, {where}: CPU", effort.cpu, "s")
        yield Row("runtime", f"{name}, {where}: peak RSS", effort.megabytes, "MiB")
        yield Row("runtime", f"{name}, {where}: writes per object", effort.writes / effort.count, "writes")
        yield Row("runtime", f"{name}, {where}: refused writes", effort.refused, "errors")
    cpu, rss = (CPU_GOAL, RSS_GOAL) if server == REAL else (None, None)
    yield Row("runtime", f"CPU beside kopf, {where}", ours.cpu / kopf.cpu, "×", cpu)
    yield Row("runtime", f"peak RSS beside kopf, {where}", ours.megabytes / kopf.megabytes, "×", rss)
