"""Figures for people, for programs and for the documentation."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.table import Table
from rich.text import Text

from benchmarks.row import Row, format_value
from edgekeeper.core.json import JsonObject

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "bench.json"
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def figures_table(rows: Iterable[JsonObject]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("GROUP", "FIGURE", "VALUE", "UNIT", "GOAL", ""):
        table.add_column(column, justify="right" if column == "VALUE" else "left", no_wrap=True)
    for row in rows:
        table.add_row(
            row["group"],
            row["name"],
            format_value(row["value"]),
            row["unit"],
            row["goal"] or "",
            _verdict(row),
        )
    return table


def _verdict(row: JsonObject) -> Text:
    if row["goal"] is None:
        return Text()
    return Text("ok", "green") if row["ok"] else Text("missed", "bold red")


def read_results(path: Path = RESULTS) -> list[JsonObject]:
    rows: list[JsonObject] = json.loads(path.read_text()) if path.exists() else []
    return rows


def write_results(rows: Sequence[Row], groups: Iterable[str], path: Path = RESULTS) -> list[JsonObject]:
    """Replace the rows of the measured groups, keep those of the others, and return all of them."""
    measured = set(groups)
    kept = [row for row in read_results(path) if row["group"] not in measured]
    merged = kept + [row.to_json() for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(merged, indent=2, ensure_ascii=False) + "\n")
    return merged


def write_page(rows: Sequence[JsonObject], provenance: str, page: Path = PAGE) -> None:
    """Put the figures between the page's two marks."""
    write_between(page, BEGIN, END, f"{provenance}\n\n{_markdown(rows)}")


def write_between(page: Path, begin: str, end: str, text: str) -> None:
    """Replace what a page has between two marks."""
    before, first, rest = page.read_text().partition(begin)
    _, second, after = rest.partition(end)
    if not first or not second:
        raise ValueError(f"{page} lacks the marks {begin} and {end}")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def _markdown(rows: Iterable[JsonObject]) -> str:
    lines = ["| group | figure | value | goal | |", "|---|---|---:|---|---|"]
    for row in rows:
        verdict = "" if row["goal"] is None else "ok" if row["ok"] else "**missed**"
        value = f"{format_value(row['value'])} {row['unit']}".strip()
        lines.append(f"| {row['group']} | {row['name']} | {value} | {row['goal'] or ''} | {verdict} |")
    return "\n".join(lines)


def describe_provenance(results: Path = RESULTS) -> str:
    """When, from which commit and on what the figures were taken."""
    taken = datetime.fromtimestamp(results.stat().st_mtime, UTC)
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    machine = f"{os.cpu_count()} cores ({platform.machine()}), {platform.python_implementation()}"
    return f"Taken on {taken:%Y-%m-%d} from commit `{commit}` on {machine} {platform.python_version()}."
