"""docs/guarantees.md shows the figures of the last runs, and keeps those of rows that did not run."""

from __future__ import annotations

import pytest

from benchmarks.plots import published_figures
from tests.results import Case, Figure, Results
from tools import guarantees
from tools.guarantees import Evidence, filled, unproven

FORMER = "9 cases (2026-01-02)"
BENCHMARKS = guarantees.BENCHMARKS.read_text()
PAGE = """# Guarantees

| guarantee | test | last figure |
|---|---|---|
| Nothing foreign is touched | `tests/a/test_own.py` | {0} |

| | guarantee | test | last figure |
|---|---|---|---|
| R-01 | Crashes do no harm | `tests/a/test_crash.py`, `tests/a/truth.py`, `tests/b` | {1} |
| R-17 | Somebody leads | `tests/a/test_lead.py` | {2} |

## Not tested yet

| | what is missing |
|---|---|
| | everything |
"""


def plans(count: int) -> Figure:
    return Figure("fault plans", count, adds_up=True)


def run(date: str, **files: Case) -> Results:
    """A run with one case of each file, given as `a__test_own`."""
    return Results(
        date, {f"tests/{name.replace('__', '/')}.py": {"test_it": case} for name, case in files.items()}
    )


def written(*runs: Results, former: str = "") -> list[str]:
    """The figures of the page after some runs."""
    page, problems = filled(PAGE.format(*[former] * 3), Evidence.of(runs), BENCHMARKS)
    assert not problems
    return [row.figure for _, row in guarantees.rows(page)]


def test_figures_add_up_or_are_the_largest_and_files_without_any_tell_their_cases() -> None:
    lead = (Figure("new leader after", 16.21, "s", 20.0),)
    found = written(
        run(
            "2026-11-17",
            a__test_own=Case(passed=True),
            a__test_crash=Case(passed=True, figures=(plans(2300),)),
            b__test_more=Case(passed=True, figures=(plans(10),)),
            b__test_rest=Case(passed=True),
            a__test_lead=Case(passed=True, figures=(*lead, Figure("other promise", 1, promise="S-01"))),
        )
    )
    assert found == [
        "1 case (2026-11-17)",
        "2,310 fault plans; 1 case (2026-11-17)",
        "new leader after 16.2 s (limit 20) (2026-11-17)",
    ]


def test_row_keeps_its_figure_unless_all_of_its_files_have_run() -> None:
    some = run("2026-11-17", a__test_crash=Case(passed=True, figures=(plans(3),)))
    assert written(some, former=FORMER) == [FORMER] * 3
    assert written(some) == ["", "3 fault plans (2026-11-17)", ""]


def test_case_of_several_runs_counts_once_with_its_most_plans() -> None:
    sample, whole = (
        run(date, a__test_crash=Case(passed=True, figures=(plans(count),)), b__test_more=Case(passed=True))
        for date, count in (("2026-11-17", 3), ("2026-11-15", 500))
    )
    for runs in ((sample, whole), (whole, sample)):
        assert written(*runs)[1] == "500 fault plans; 1 case (2026-11-15)"


def test_row_with_a_failure_keeps_its_figure_and_is_told() -> None:
    good, bad = (run("2026-11-17", a__test_own=Case(passed=passed)) for passed in (True, False))
    for runs in ((good, bad), (bad, good)):
        page, problems = filled(PAGE.format(*[FORMER] * 3), Evidence.of(runs), BENCHMARKS)
        assert page == PAGE.format(*[FORMER] * 3)
        assert problems == ["Nothing foreign is touched: tests/a/test_own.py has failed: test_it"]


@pytest.mark.parametrize("figure", ["", "9 cases", "9 cases (yesterday)", "(2026-01-02)"])
def test_row_without_a_figure_and_its_date_is_found(figure: str) -> None:
    assert unproven(PAGE.format(FORMER, figure, FORMER)) == ["R-01: no figure with its date"]


def test_row_in_another_form_is_found() -> None:
    assert unproven(PAGE.format(FORMER, FORMER, f"{FORMER}  ")) == ["R-17: not as this command writes it"]
    assert unproven(PAGE.format(*[FORMER] * 3)) == []
    assert unproven("no table") == ["the page has no table with figures"]


def test_figures_of_benchmarks_are_published() -> None:
    published = published_figures(BENCHMARKS)
    named = [(group, name) for figures in guarantees.PUBLISHED.values() for _, group, name in figures]
    assert [one for one in named if one not in published] == []


def test_page_has_a_figure_with_its_date_in_every_row() -> None:
    assert unproven(guarantees.PAGE.read_text()) == []
