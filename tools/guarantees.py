"""Fill the column "last figure" of docs/guarantees.md from what the last runs of the tests have shown.

    make RESULTS=1 test test-rest crash chaos conformance     write build/results/*.json (tests/results.py)
    python -m tools.guarantees                                put their figures into the page
    python -m tools.guarantees --check                        fail if a row has no figure with its date

A row shows the figures that its test files declare, and for files without any the number of cases that passed; figures of
`benchmarks/…` are those that docs/benchmarks.md publishes. A row keeps its figure unless all of its files have run. A row with a
case that failed keeps it as well, and the command ends with 1.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.plots import published_figures
from tests.results import Case, Figure, Results, joined

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs/guarantees.md"
BENCHMARKS: Final = ROOT / "docs/benchmarks.md"
RESULTS: Final = ROOT / "build/results"
HEADING: Final = "last figure"
_FIGURE: Final = re.compile(r"\S.* \(\d{4}-\d{2}-\d{2}\)")
_PATH: Final = re.compile(r"`((?:tests|packages|benchmarks)/[\w/.-]+)`")
_PROMISE: Final = re.compile(r"[RS]-\d{2}")

Published = tuple[str, str, str]
_FLEET: Final = "10,000 tenants, own certificate"
PUBLISHED: Final[Mapping[str, tuple[Published, ...]]] = {
    "R-24": (
        ("10,000 tenants Ready after", "cloudfront", f"{_FLEET}: from empty to Ready, virtual time"),
        ("all looked at after a restart within", "cloudfront", f"{_FLEET}: restart, every object looked at"),
        ("a restart makes", "cloudfront", f"{_FLEET}: restart, writes anywhere"),
        ("with a peak RSS of", "cloudfront", f"{_FLEET}: peak RSS of the restarted operator"),
    ),
    "R-25": (
        ("a day of 10,000 tenants at rest takes", "cloudfront", f"{_FLEET}: steady calls per day"),
        ("and", "cloudfront", f"{_FLEET}: writes at rest, anywhere"),
        ("to create one takes", "cloudfront", f"{_FLEET}: calls per tenant until then"),
    ),
}
"""By promise the figures of docs/benchmarks.md that its row shows: words, group and name there."""


class FailedError(Exception):
    """A test of a row has failed: what it has shown is no figure."""


@dataclass
class Evidence:
    """What all runs have shown, by test file and case."""

    cases: defaultdict[str, dict[str, tuple[str, Case]]] = field(default_factory=lambda: defaultdict(dict))
    """With the date of the run."""

    @classmethod
    def of(cls, runs: Iterable[Results]) -> Evidence:
        """Join runs. Of a case that several have played the one with most counts, then the latest; one failure counts."""
        found = cls()
        for run in runs:
            for file, cases in run.files.items():
                known = found.cases[file]
                for name, case in cases.items():
                    candidates = [(run.date, case), *([known[name]] if name in known else ())]
                    known[name] = max(candidates, key=_weight)
        return found

    def below(self, path: str) -> dict[str, dict[str, tuple[str, Case]]]:
        """The files at or below a path that have run."""
        return {
            file: cases
            for file, cases in sorted(self.cases.items())
            if file == path or file.startswith(f"{path.rstrip('/')}/")
        }


def _weight(dated: tuple[str, Case]) -> tuple[bool, float, str]:
    date, case = dated
    return not case.passed, sum(figure.value for figure in case.figures if figure.adds_up), date


@dataclass(frozen=True)
class Row:
    """A row of a table with figures, as its cells."""

    cells: tuple[str, ...]

    @property
    def promise(self) -> str:
        """`R-01`, or nothing in a table without such names."""
        return self.cells[0] if _PROMISE.fullmatch(self.cells[0]) else ""

    @property
    def figure(self) -> str:
        return self.cells[-1]

    def paths(self) -> list[str]:
        return _PATH.findall(self.cells[-2])

    def with_figure(self, figure: str) -> str:
        return _line((*self.cells[:-1], figure))


def filled(page: str, evidence: Evidence, benchmarks: str) -> tuple[str, list[str]]:
    """The page with the figures of the evidence, and why rows were left out."""
    lines, problems = page.splitlines(), []
    for number, row in rows(page):
        try:
            lines[number] = row.with_figure(figure_of(row, evidence, benchmarks) or row.figure)
        except FailedError as error:
            problems.append(f"{row.promise or row.cells[0][:60]}: {error}")
    return "\n".join(lines) + "\n", problems


def rows(page: str) -> Iterator[tuple[int, Row]]:
    """The rows of all tables that have figures, with the numbers of their lines, counted from zero."""
    is_inside = False
    for number, line in enumerate(page.splitlines()):
        if not line.startswith("|"):
            is_inside = False
            continue
        cells = tuple(cell.strip() for cell in line.strip()[1:-1].split("|"))
        if cells[-1] == HEADING:
            is_inside = True
        elif is_inside and set(cells[-1]) != {"-"}:
            yield number, Row(cells)


def figure_of(row: Row, evidence: Evidence, benchmarks: str) -> str:
    """The figure of a row with its date, or nothing if what has run does not suffice."""
    tested = [path for path in row.paths() if _has_tests(path)]
    ran = {path: evidence.below(path) for path in tested}
    is_complete = all(ran.values())
    if (tested and not any(ran.values())) or (row.figure and not is_complete):
        return ""
    files = {file: cases for found in ran.values() for file, cases in found.items()}
    texts, dates = _tested(row.promise, files)
    published = _published(row.promise, benchmarks)
    if published:
        texts += published
        dates.append(_date_of(benchmarks))
    return f"{'; '.join(texts)} ({min(dates)})" if texts else ""


def _has_tests(path: str) -> bool:
    """Whether it is a file or folder of tests, and not of benchmarks or of what tests use."""
    return not path.startswith("benchmarks/") and (not path.endswith(".py") or "/test_" in path)


def _tested(promise: str, files: Mapping[str, Mapping[str, tuple[str, Case]]]) -> tuple[list[str], list[str]]:
    """What test files have shown of a promise, and when."""
    found: dict[str, Figure] = {}
    cases = 0
    for file, played in files.items():
        if failed := [name for name, (_, case) in played.items() if not case.passed]:
            raise FailedError(f"{file} has failed: {failed[0]}")
        own = [
            figure
            for _, case in played.values()
            for figure in case.figures
            if figure.promise in ("", promise)
        ]
        for figure in own:
            found[figure.name] = joined(found.get(figure.name), figure)
        cases += 0 if own else len(played)
    texts = [told(figure) for figure in found.values()]
    if cases:
        texts.append(f"{cases:,} {'case' if cases == 1 else 'cases'}")
    return texts, [date for played in files.values() for date, _ in played.values()]


def told(figure: Figure) -> str:
    """A figure in words: `2,310 fault plans`, `new leader after 16.2 s (limit 20)`."""
    if figure.adds_up:
        return f"{figure.value:,.0f} {figure.name}"
    limit = f" (limit {_number(figure.limit)})" if figure.limit is not None else ""
    return f"{figure.name} {_number(figure.value)} {figure.unit}".rstrip() + limit


def _number(value: float) -> str:
    """With three significant digits, and all digits of large numbers."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _published(promise: str, benchmarks: str) -> list[str]:
    figures = published_figures(benchmarks)
    return [
        f"{words} {_number(figures[group, name][0])} {figures[group, name][1]}"
        for words, group, name in PUBLISHED.get(promise, ())
    ]


def _date_of(benchmarks: str) -> str:
    found = re.search(r"^Taken on (\d{4}-\d{2}-\d{2})", benchmarks, re.MULTILINE)
    if found is None:
        raise ValueError("docs/benchmarks.md does not say when its figures were taken")
    return found[1]


def unproven(page: str) -> list[str]:
    """What is wrong with the form of the page: rows without a figure and its date, or written in another form."""
    lines = page.splitlines()
    found = []
    for number, row in rows(page):
        name = row.promise or row.cells[0][:60]
        if not _FIGURE.fullmatch(row.figure):
            found.append(f"{name}: no figure with its date")
        elif lines[number] != _line(row.cells):
            found.append(f"{name}: not as this command writes it")
    return found or ([] if any(rows(page)) else ["the page has no table with figures"])


def _line(cells: Sequence[str]) -> str:
    return re.sub(r"  +", " ", f"| {' | '.join(cells)} |")


def main(arguments: Sequence[str]) -> int:
    """Write or check the page. Return what the process ends with."""
    page = PAGE.read_text()
    if "--check" in arguments:
        problems = unproven(page)
    else:
        runs = [
            msgspec.json.decode(path.read_bytes(), type=Results) for path in sorted(RESULTS.glob("*.json"))
        ]
        page, problems = filled(page, Evidence.of(runs), BENCHMARKS.read_text())
        PAGE.write_text(page)
    for problem in problems:
        print(f"docs/guarantees.md: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
