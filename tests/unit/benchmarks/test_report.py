"""What programs and readers get: build/bench.json and the page, in a form they can rely on."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks import __main__ as runner
from benchmarks.groups import GROUPS, measure_group
from benchmarks.report import BEGIN, END, figures_table, write_page, write_results
from benchmarks.row import Absent, Goal, Relation, Row, best_of, format_value

FAST = Row("plane", "start", 0.51234, "s", Goal("≤", 1))
SLOW = Row("plane", "creates", 1_500.0, "creates/s", Goal("≥", 2_000))
PLAIN = Row("cel", "parse", 12.0, "µs")


def test_row_has_the_promised_keys() -> None:
    assert FAST.to_json() == {
        "group": "plane",
        "name": "start",
        "value": 0.5123,
        "unit": "s",
        "goal": "≤ 1",
        "ok": True,
    }
    assert SLOW.to_json()["ok"] is False
    assert SLOW.to_json()["goal"] == "≥ 2,000"
    assert PLAIN.to_json() | {"goal": None, "ok": True} == PLAIN.to_json()


@pytest.mark.parametrize(
    ("relation", "value", "met"),
    [("≤", 1, True), ("≤", 1.1, False), ("≥", 1, True), ("≥", 0.9, False), ("=", 1, True), ("=", 2, False)],
)
def test_goal_includes_its_bound(relation: Relation, value: float, met: bool) -> None:
    assert Goal(relation, 1).is_met(value) is met


def test_best_of_three_takes_three() -> None:
    values = iter([3.0, 1.0, 2.0, 0.0])
    assert best_of(lambda: next(values), min) == 1.0


def test_results_keep_the_groups_that_were_not_measured(tmp_path: Path) -> None:
    path = tmp_path / "build" / "bench.json"
    write_results([FAST, PLAIN], ["plane", "cel"], path)
    write_results([SLOW], ["plane"], path)
    written = json.loads(path.read_text())
    assert [row["name"] for row in written] == ["parse", "creates"]


def test_table_names_missed_goals() -> None:
    console = Console(file=io.StringIO(), color_system=None, width=120)
    console.print(figures_table([FAST.to_json(), SLOW.to_json(), PLAIN.to_json()]))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["ok", "missed", "µs"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.51234, "0.512"), (14.26, "14.26"), (3.997, "4.00"), (2345.6, "2,346"), (4.0, "4")],
)
def test_value_is_written_with_the_digits_that_matter(value: float, text: str) -> None:
    assert format_value(value) == text


def test_page_is_rewritten_between_its_marks_only(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_page([FAST.to_json(), SLOW.to_json()], "Taken today.", page)
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\nTaken today.\n\n| group |")
    assert "| plane | creates | 1,500 creates/s | ≥ 2,000 | **missed** |" in text
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text


def test_page_without_marks_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text("nothing here")
    with pytest.raises(ValueError, match="lacks the marks"):
        write_page([], "", page)


def test_group_without_measurements_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GROUPS, "later", None)
    assert list(measure_group("later")) == [Absent("later", "later", "nothing to measure yet")]


def test_every_promised_group_is_known() -> None:
    assert list(GROUPS) == [
        "plane",
        "runtime",
        "cel",
        "clouds",
        "cloudfront",
        "package",
        "zerotrust",
        "composition",
        "bridge",
        "web",
    ]


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["--strict"], 1)], ids=["lenient", "strict"])
def test_missed_goal_fails_only_when_strict(
    arguments: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "bench.json"
    monkeypatch.setattr(runner, "measure_group", lambda _: iter([SLOW]))
    monkeypatch.setattr(runner, "write_results", lambda rows, groups: write_results(rows, groups, results))
    outcome = CliRunner().invoke(runner.main, ["plane", *arguments])
    assert outcome.exit_code == code
    assert "missed" in outcome.output
    assert json.loads(results.read_text()) == [SLOW.to_json()]
