"""`pytest --results FILE` writes what a run has shown, with any number of processes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import pytest

from tests.results import Case, Figure, Results

ROOT = Path(__file__).parents[2]
pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.mark.parametrize("plans", [2, 3])
def test_counted(plans, figures):
    for _ in range(plans):
        figures.count("fault plans")
    figures.measure("new leader after", 10.0 + plans, "s", limit=20)

def test_plain():
    pass

def test_that_fails(figures):
    figures.count("fault plans")
    assert False

@pytest.fixture
def broken():
    yield
    raise ValueError

def test_that_fails_afterwards(broken, figures):
    figures.count("fault plans")

@pytest.mark.skip
def test_that_is_skipped():
    pass
"""
EXPECTED = {
    f"test_counted[{plans}]": Case(
        passed=True,
        figures=(
            Figure("fault plans", plans, adds_up=True),
            Figure("new leader after", 10.0 + plans, "s", 20),
        ),
    )
    for plans in (2, 3)
} | {
    "test_plain": Case(passed=True),
    "test_that_fails": Case(passed=False),
    "test_that_fails_afterwards": Case(passed=False),
}


@pytest.mark.parametrize("processes", [0, 1])
def test_run_writes_cases_and_their_figures(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
    pytester.makepyfile(test_shown=TESTS)
    path = pytester.path / "build/results/run.json"
    options = ("-p", "tests.results", "-p", "no:asyncio", "-n", str(processes), f"--results={path}")
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=4, failed=1, errors=1, skipped=1)
    results = msgspec.json.decode(path.read_bytes(), type=Results)
    assert results.files == {"test_shown.py": EXPECTED}
