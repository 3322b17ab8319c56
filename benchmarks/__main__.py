"""Measure groups and report: `python -m benchmarks [GROUP …]`."""

from __future__ import annotations

import sys

import click
from rich.console import Console

from benchmarks.groups import GROUPS, measure_group
from benchmarks.plots import write_plots
from benchmarks.report import (
    RESULTS,
    ROOT,
    describe_provenance,
    figures_table,
    read_results,
    write_page,
    write_results,
)
from benchmarks.row import Absent, Row, format_value

LOG_WIDTH = 120
"""How wide the table may be where there is no terminal to ask."""


@click.command()
@click.argument("groups", nargs=-1, type=click.Choice(list(GROUPS)), metavar="[GROUP]...")
@click.option(
    "--write-docs",
    is_flag=True,
    help="Measure nothing; put the last figures into docs/benchmarks.md, with plots.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 when a goal is missed.")
def main(groups: tuple[str, ...], write_docs: bool, strict: bool) -> None:
    """Measure the GROUPs, all by default: plane, runtime, cel, clouds, cloudfront, package, …"""
    if write_docs:
        write_page(read_results(), describe_provenance())
        write_plots()
        return
    chosen = groups or tuple(GROUPS)
    rows, absent = _measure(chosen)
    merged = write_results(rows, chosen)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else LOG_WIDTH)
    console.print(figures_table(row for row in merged if row["group"] in chosen))
    for gap in absent:
        console.print(
            f"{gap.group}: {gap.name}: {gap.reason}"
            if gap.name != gap.group
            else f"{gap.group}: {gap.reason}"
        )
    console.print(f"written to {RESULTS.relative_to(ROOT)}")
    if strict and not all(row.ok for row in rows):
        sys.exit(1)


def _measure(groups: tuple[str, ...]) -> tuple[list[Row], list[Absent]]:
    """Measure one after the other: two at a time would disturb each other."""
    rows: list[Row] = []
    absent: list[Absent] = []
    for group in groups:
        for result in measure_group(group):
            if isinstance(result, Absent):
                absent.append(result)
                continue
            rows.append(result)
            print(f"{group}: {result.name}: {format_value(result.value)} {result.unit}", file=sys.stderr)
    return rows, absent


if __name__ == "__main__":
    main()
