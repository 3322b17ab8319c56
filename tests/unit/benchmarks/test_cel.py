"""The pure parts of the expression engine's measurements."""

from __future__ import annotations

import pytest

from benchmarks.cel.figures import beside
from benchmarks.cel.partner import SHORT, Partner, UnableError, describe, measure_partner
from benchmarks.cel.timing import median_ratio, microseconds
from benchmarks.cel.workload import CONTEXT, EXPRESSIONS, environment
from kubecel.display import as_json


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_every_expression_has_a_value(name: str) -> None:
    assert environment().compile(EXPRESSIONS[name]).evaluate(CONTEXT) is not None


def test_time_of_a_call_is_that_of_one_call() -> None:
    def work() -> int:
        return sum(range(1000))

    once, twice = microseconds(work, enough=0.002), microseconds(lambda: (work(), work()), enough=0.002)
    assert 0 < once < twice


def test_ratio_is_the_median_over_what_both_can_do() -> None:
    ours = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    assert median_ratio(ours, {"a": 2.0, "b": 10.0, "c": 3.0}) == 3.0


def test_partner_is_compared_where_it_has_an_answer() -> None:
    times = {"a": 1.0, "b": 2.0}
    rows = {row.name: row.value for row in beside(times, times, {"b": Partner(compilation=8, evaluation=6)})}
    assert rows == {
        "cel-python: expressions it evaluates, of 2": 1,
        "cel-python: evaluation, median": 6,
        "evaluation beside cel-python": 3,
        "cel-python: compile without a check, median": 8,
        "compile and check beside cel-python": 4,
    }


def test_partner_without_any_answer_has_no_ratio() -> None:
    assert [row.value for row in beside({"a": 1.0}, {"a": 1.0}, {})] == [0]


def test_partner_is_measured_on_answers_that_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.cel.partner.microseconds", lambda _: 7.0)
    text = EXPRESSIONS["filter"]
    expected = as_json(environment().compile(text).evaluate(CONTEXT))
    assert measure_partner(text, expected) == Partner(7.0, 7.0)
    with pytest.raises(UnableError, match="answers"):
        measure_partner(text, ["something else"])
    with pytest.raises(UnableError, match="CELParseError"):
        measure_partner(EXPRESSIONS["default"], "info")


def test_errors_that_go_on_for_pages_are_cut() -> None:
    assert describe(KeyError("a")) == "KeyError: 'a'"
    assert len(describe(ValueError("a " * 1000))) == len("ValueError: …") + SHORT
