"""Many runs: `python -m packages.kubecel.tests.fuzz --runs 200000`. One again: `python -m packages.kubecel.tests.fuzz --first 4711 --runs 1`."""

from __future__ import annotations

import faulthandler
import sys
import time

import click

from packages.kubecel.tests.fuzz.fuzzing import Report, case_of, fuzz

STRIDE = 1000
HANG = 300
"""Seconds after which so many runs count as hanging: the stack is printed, and the process ends."""


@click.command()
@click.option("--runs", default=10_000, show_default=True, help="How many texts to examine.")
@click.option("--seed", default=1, show_default=True, help="Which texts.")
@click.option("--first", default=0, show_default=True, help="The number of the first run.")
def main(runs: int, seed: int, first: int) -> None:
    """Compile and evaluate random texts, and say which of them break a law."""
    started, total, last = time.process_time(), Report(), first + runs
    for start in range(first, last, STRIDE):
        faulthandler.dump_traceback_later(HANG, exit=True)
        report = fuzz(seed, range(start, min(start + STRIDE, last)))
        for failure in report.failures:
            click.echo(str(failure))
        total.add(report)
    faulthandler.cancel_dump_traceback_later()
    ends = ", ".join(f"{count} {end}" for end, count in sorted(total.ends.items()))
    click.echo(f"seed {seed}, runs {first} to {last - 1}: {ends}; {time.process_time() - started:.0f} s")
    seconds, number = total.slowest
    click.echo(f"slowest: run {number}, {seconds:.2f} s: {case_of(seed, number).text[:200]!r}")
    sys.exit(bool(total.failures))


if __name__ == "__main__":
    main()
