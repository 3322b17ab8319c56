"""The expression engine: how long it takes to prepare and to evaluate typical expressions, alone and beside a partner.

Programs are prepared once, and evaluated with cost accounting on, as they always are. Objects are used as they come from
JSON; the partner gets its objects converted beforehand, which its figures leave out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median

from benchmarks.cel.partner import Partner, UnableError, measure_partner
from benchmarks.cel.timing import median_ratio, microseconds
from benchmarks.cel.workload import CONTEXT, EXPRESSIONS, environment
from benchmarks.row import Absent, Goal, Row
from kubecel.display import as_json

NAME = "cel-python"


def measure() -> Iterator[Row | Absent]:
    """Yield every figure of the group."""
    prepared = environment()
    programs = {name: prepared.compile(text) for name, text in EXPRESSIONS.items()}
    evaluation = {
        name: microseconds(partial(program.evaluate, CONTEXT)) for name, program in programs.items()
    }
    compilation = {name: microseconds(partial(prepared.compile, text)) for name, text in EXPRESSIONS.items()}
    yield _row("evaluation of a prepared expression, median", median(evaluation.values()), "µs", Goal("≤", 5))
    yield _row("evaluation of a prepared expression, slowest", max(evaluation.values()), "µs")
    yield _row("compile and check, median", median(compilation.values()), "µs", Goal("≤", 400))
    yield _row("compile and check, slowest", max(compilation.values()), "µs")
    partners: dict[str, Partner] = {}
    for name, program in programs.items():
        try:
            partners[name] = measure_partner(EXPRESSIONS[name], as_json(program.evaluate(CONTEXT)))
        except UnableError as error:
            yield Absent("cel", f"{NAME}, {name}", str(error))
    yield from beside(evaluation, compilation, partners)


def beside(
    evaluation: dict[str, float], compilation: dict[str, float], partners: dict[str, Partner]
) -> Iterator[Row]:
    """What the partner takes for the expressions that it can evaluate, and how often ours would fit into it."""
    yield _row(f"{NAME}: expressions it evaluates, of {len(evaluation)}", len(partners), "expressions")
    theirs = {name: partner.evaluation for name, partner in partners.items()}
    prepared = {name: partner.compilation for name, partner in partners.items()}
    if partners:
        yield _row(f"{NAME}: evaluation, median", median(theirs.values()), "µs")
        yield _row(f"evaluation beside {NAME}", median_ratio(evaluation, theirs), "× faster")
        yield _row(f"{NAME}: compile without a check, median", median(prepared.values()), "µs")
        yield _row(f"compile and check beside {NAME}", median_ratio(compilation, prepared), "× faster")


def _row(name: str, value: float, unit: str, goal: Goal | None = None) -> Row:
    return Row("cel", name, value, unit, goal)
