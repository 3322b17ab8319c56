"""The controller runtime: how fast it gets through many objects, what it holds in memory, and how little it writes.

Operator and server are processes of their own on a core of their own; the operator's core is the figure's "one core".
Times of a start begin with the process itself, so the interpreter and all imports are in them. Rates and the restart
are the best of three on one server. What needs a fresh server each time is measured once: the first convergence, the
latencies (of a thousand events) and everything with 50,000 objects. Memory is the peak, not what is left at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.row import ROUNDS, Absent, Goal, Row, best_of
from benchmarks.runtime.comparison import compare
from benchmarks.runtime.processes import Child
from benchmarks.runtime.stage import Effort, Stage, await_convergence, set_up

MANY = 10_000
VERY_MANY = 50_000
LIMIT_SECONDS = 120.0
POKES, POKE_PAUSE_SECONDS = 1_000, 0.004


def measure() -> Iterator[Row | Absent]:
    """Yield every figure of the group; the slow partner comes last."""
    with set_up(MANY, "new") as stage:
        with stage.operator() as operator:
            effort = await_convergence(stage, operator, LIMIT_SECONDS)
            yield from _first_convergence(effort, operator)
            yield from _rates(stage, operator)
            yield from _latencies(stage, operator)
        yield from _restarts(stage)
    yield from _very_many()
    yield from compare(effort)


def _row(name: str, value: float, unit: str, goal: Goal | None = None) -> Row:
    return Row("runtime", name, value, unit, goal)


def _first_convergence(effort: Effort, operator: Child) -> Iterator[Row]:
    count = f"{effort.count:,} objects"
    failures = operator.call("await_passes", 0)["errors"]
    yield _row(f"{count}: start to all reconciled", effort.seconds, "s")
    yield _row(f"{count}: CPU", effort.cpu, "s")
    yield _row(f"{count}: peak RSS", effort.megabytes, "MiB", Goal("≤", 100))
    yield _row("writes per object", effort.writes / effort.count, "writes", Goal("=", 2))
    yield _row("failed passes and refused writes", failures + effort.refused, "errors", Goal("=", 0))


def _rates(stage: Stage, operator: Child) -> Iterator[Row]:
    writing, idle = _rate(stage, operator, "rewrite"), _rate(stage, operator, "resync")
    yield _row("passes with one status write, one core", writing, "passes/s", Goal("≥", 1_000))
    yield _row("passes without a write, one core", idle, "passes/s", Goal("≥", 3_000))


def _rate(stage: Stage, operator: Child, command: str) -> float:
    return best_of(lambda: stage.count / operator.call(command)["seconds"], max)


def _latencies(stage: Stage, operator: Child) -> Iterator[Row]:
    """Others change objects while all of them are being looked at, again and again."""
    operator.ask("load", POKES, LIMIT_SECONDS)
    stage.server.call("poke", POKES, POKE_PAUSE_SECONDS)
    result = operator.answer()
    yield _row("event to pass under resync load, p50", result["p50"] * 1000, "ms")
    yield _row("event to pass under resync load, p99", result["p99"] * 1000, "ms")
    yield _row("events without a pass", POKES - result["seen"], "events", Goal("=", 0))


def _restarts(stage: Stage) -> Iterator[Row]:
    stage.server.call("tally")
    seconds = best_of(lambda: _restart(stage), min)
    writes = stage.server.call("tally")["writes"]
    yield _row(f"restart with {stage.count:,} objects: all passes done", seconds, "s", Goal("≤", 5))
    yield _row(f"writes of {ROUNDS} restarts", writes, "writes", Goal("=", 0))


def _restart(stage: Stage) -> float:
    with stage.operator() as operator:
        return operator.call("await_passes", stage.count)["reached"] - operator.started


def _very_many() -> Iterator[Row]:
    with set_up(VERY_MANY, "converged") as stage, stage.operator() as operator:
        synced = operator.call("await_synced")["reached"] - operator.started
        operator.call("await_passes", stage.count)
        peak = operator.peak_megabytes()
    yield _row(f"{VERY_MANY:,} objects: synced from a cold start", synced, "s", Goal("≤", 10))
    yield _row(f"{VERY_MANY:,} objects: peak RSS", peak, "MiB", Goal("≤", 220))
