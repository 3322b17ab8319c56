"""The same operator with kopf, on the same kind of server, until the same end state.

Ratios are of processor time and peak memory, at 10,000 objects if kopf gets through them in time, else at fewer; their
names tell. Both operators run with their defaults and log at level info into a file.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.row import Absent, Goal, Row
from benchmarks.runtime.stage import KOPF, OURS, Effort, UnfinishedError, await_convergence, set_up

LIMIT_SECONDS = 360.0
FEWER = 1_000
EIGHTH = Goal("≤", 1 / 8)


def compare(ours: Effort) -> Iterator[Row | Absent]:
    """Yield kopf's figures and the ratios. `ours` is the effort at the number of objects to try first."""
    try:
        kopf = measure(KOPF, ours.count, LIMIT_SECONDS)
    except UnfinishedError as error:
        yield Absent("runtime", f"kopf at {ours.count:,} objects", str(error))
        ours, kopf = (measure(module, FEWER, LIMIT_SECONDS) for module in (OURS, KOPF))
    yield from ratios(ours, kopf)


def measure(module: str, count: int, limit: float) -> Effort:
    """The effort of one operator, with a server of its own."""
    with set_up(count, "new") as stage, stage.operator(module) as operator:
        return await_convergence(stage, operator, limit)


def ratios(ours: Effort, kopf: Effort) -> Iterator[Row]:
    """What kopf did, and how we stand beside it."""
    count = f"{kopf.count:,} objects"
    yield Row("runtime", f"kopf, {count}: start to all reconciled", kopf.seconds, "s")
    yield Row("runtime", f"kopf, {count}: CPU", kopf.cpu, "s")
    yield Row("runtime", f"kopf, {count}: peak RSS", kopf.megabytes, "MiB")
    yield Row("runtime", f"kopf, {count}: writes per object", kopf.writes / kopf.count, "writes")
    yield Row("runtime", f"kopf, {count}: refused writes", kopf.refused, "errors")
    yield Row("runtime", f"CPU beside kopf, {count}", ours.cpu / kopf.cpu, "×", EIGHTH)
    yield Row("runtime", f"peak RSS beside kopf, {count}", ours.megabytes / kopf.megabytes, "×", EIGHTH)
