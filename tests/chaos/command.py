"""The command line: many seeds in parallel, and a report of what failed that can be acted upon."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.chaos.gizmos import GIZMOS
from tests.chaos.kind import ChaosKind
from tests.chaos.operation import Operation, listing
from tests.chaos.runner import play
from tests.chaos.sequence import draw
from tests.chaos.shrinking import shrink
from tests.chaos.tenants import TENANTS
from tests.chaos.violation import Violation
from tests.results import Case, Figures, write

KINDS: dict[str, ChaosKind[Any]] = {kind.name: kind for kind in (TENANTS, GIZMOS)}


@dataclass(frozen=True)
class Failure:
    """A seed whose run broke a law."""

    kind: str
    seed: int
    violations: tuple[Violation, ...]
    """Of the whole sequence."""
    operations: tuple[Operation, ...]
    """The shortest sequence that breaks the first of these laws."""

    def __str__(self) -> str:
        name = f"{self.violations[0].law}_{self.seed}"
        return "\n".join(
            [
                f"seed {self.seed} of {self.kind}:",
                *(f"    {violation}" for violation in self.violations[:6]),
                "a case for tests/chaos/test_regressions.py:",
                f"{name} = {listing(self.operations)}",
            ]
        )


@dataclass(frozen=True)
class Result:
    """A seed that was played."""

    seed: int
    failure: Failure | None
    seconds: float
    """Of processor time, for the first run alone."""
    operations: int = 0
    """How many it has."""


def try_seed(kind_name: str, shrinks: bool, seed: int) -> Result:
    """Play the sequence of a seed, and shrink it if it fails."""
    kind, began = KINDS[kind_name], time.process_time()
    operations = draw(kind, seed)
    verdict = play(kind, operations)
    seconds = time.process_time() - began
    if not verdict.violations:
        return Result(seed, None, seconds, len(operations))
    law = verdict.violations[0].law
    shortest = shrink(operations, partial(breaks, kind, law)) if shrinks else operations
    return Result(
        seed, Failure(kind_name, seed, verdict.violations, tuple(shortest)), seconds, len(operations)
    )


def breaks(kind: ChaosKind[Any], law: str, operations: Sequence[Operation]) -> bool:
    """Does a sequence break a law?"""
    return any(violation.law == law for violation in play(kind, operations).violations)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Return what the process ends with: 1 if any seed failed."""
    options = _parsed(arguments)
    _confirm_order()
    if options.show is not None:
        return _show(KINDS[options.kind], options.show)
    seeds = range(options.start, options.start + options.seeds)
    attempt = partial(try_seed, options.kind, options.shrink)
    began, laws, spent, operations = time.monotonic(), Counter[str](), 0.0, 0
    with multiprocessing.Pool(options.workers) as pool:
        for result in pool.imap_unordered(attempt, seeds):
            spent += result.seconds
            operations += result.operations
            if result.failure is not None:
                laws.update({violation.law for violation in result.failure.violations})
                _say(str(result.failure))
    failed = sum(laws.values())
    told = ", ".join(f"{law} {count}" for law, count in laws.most_common()) or "no violation"
    _say(
        f"{len(seeds)} seeds of {options.kind} from {options.start}: {told} "
        f"({time.monotonic() - began:.0f} s, {spent / max(1, len(seeds)):.2f} s of processor time per seed)"
    )
    if options.results is not None:
        figures = Figures()
        figures.count(f"seeds of {options.kind}", len(seeds))
        figures.count("operations", operations)
        case = Case(passed=not failed, figures=tuple(figures))
        write(options.results, {"tests/chaos/command.py": {options.kind: case}})
    return 1 if failed else 0


def _confirm_order() -> None:
    """Start over with the one order of sets that everybody has: a run depends on it."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.chaos", *sys.argv[1:]])  # noqa: S606 - itself


def _show(kind: ChaosKind[Any], seed: int) -> int:
    operations = draw(kind, seed)
    _say(listing(operations))
    verdict = play(kind, operations)
    for violation in verdict.violations:
        _say(str(violation))
    return 1 if verdict.violations else 0


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Play random operations.")
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--kind", choices=sorted(KINDS), default=TENANTS.name)
    parser.add_argument("--workers", type=_workers, default=os.cpu_count(), help="a number, or auto")
    parser.add_argument("--shrink", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--show", type=int, metavar="SEED", help="print one sequence, and play it")
    parser.add_argument("--results", type=Path, help="a file for what the run has shown (tests/results.py)")
    return parser.parse_args(arguments)


def _workers(text: str) -> int:
    return (os.cpu_count() or 1) if text == "auto" else int(text)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
