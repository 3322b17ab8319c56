"""Random texts: the engine answers each with a value or with an error of the language, within bounds.

`EDGEKEEPER_FUZZ=50000` makes each test examine so many texts; `python -m packages.kubecel.tests.fuzz` is quicker for very many.
"""

from __future__ import annotations

import os
import re

import pytest

from kubecel.environment import Environment
from packages.kubecel.tests.fuzz import laws
from packages.kubecel.tests.fuzz.fuzzing import ENVIRONMENTS, WAYS, case_of, fuzz
from packages.kubecel.tests.fuzz.laws import LawBrokenError, examine
from packages.kubecel.tests.fuzz.material import CONTEXT

RUNS = int(os.environ.get("EDGEKEEPER_FUZZ") or 1_000)
SEEDS = (1, 2)
GENERATED = 3_000
"""Enough texts to see every function of both environments."""


@pytest.mark.parametrize("seed", SEEDS)
def test_random_texts_break_no_law(seed: int) -> None:
    report = fuzz(seed, range(RUNS))
    assert not report.failures, "\n".join(map(str, report.failures))
    assert report.ends.total() == RUNS


def test_runs_reach_values_failures_and_refusals() -> None:
    ends = fuzz(3, range(200)).ends
    assert set(ends) == {"value", "failed", "refused"}
    assert min(ends.values()) >= 10


def test_run_is_the_same_text_every_time() -> None:
    cases = [case_of(1, number) for number in range(20)]
    assert cases == [case_of(1, number) for number in range(20)]
    assert cases != [case_of(2, number) for number in range(20)]
    assert {(case.environment, case.way) for case in cases} == {
        (environment, way) for environment in ENVIRONMENTS for way in WAYS
    }


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_generated_texts_use_all_functions_and_macros(name: str) -> None:
    vocabulary = ENVIRONMENTS[name]._vocabulary
    words = {word for word in vocabulary.functions if re.fullmatch(r"[a-zA-Z][\w.]*", word)}
    words |= {macro for macro, _, _ in vocabulary.macros}
    cases = [case_of(1, number) for number in range(GENERATED)]
    written = "\n".join(case.text for case in cases if case.environment == name)
    assert {word for word in words if f"{word}(" not in written} <= {"optional.unwrap"}


@pytest.mark.parametrize("error", [KeyError("a"), RecursionError("b"), ZeroDivisionError("c")], ids=repr)
def test_error_of_another_kind_is_a_failure(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Environment, "compile", fail)
    report = fuzz(1, range(3))
    assert len(report.failures) == 3
    assert str(report.failures[0]).startswith("run 0 (kro, grammar)")
    assert str(report.failures[0]).endswith(f"{type(error).__name__}: {error}")


def test_input_that_was_changed_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONTEXT, "another", 1)
    with pytest.raises(LawBrokenError, match="changed its input"):
        examine(ENVIRONMENTS["kro"], "1")


def test_work_that_takes_too_long_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, "SECONDS", 0.0)
    with pytest.raises(LawBrokenError, match="seconds of processor time"):
        examine(ENVIRONMENTS["kro"], "1")
