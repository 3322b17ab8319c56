"""The suites, `make crash`, `make conformance` and `make web-test` together are all tests, and `make test` has a sample of each test bed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.suites import (
    BEDS,
    ELSEWHERE,
    PLAYED,
    ROOT,
    SAMPLE,
    SLOW,
    SLOW_TESTS,
    WHOLE,
    Suite,
    cases_of,
    is_divided,
    suite_of,
)


def files(folder: str) -> list[Path]:
    return [path for path in (ROOT / folder).rglob("test_*.py") if "tests" in path.relative_to(ROOT).parts]


@pytest.mark.parametrize("name", sorted(SAMPLE))
def test_sampled_file_exists_in_a_bed(name: str) -> None:
    assert (ROOT / name).is_file()
    assert name.startswith(BEDS)


@pytest.mark.parametrize("folder", ["packages/kubecel", "packages/kubesim", "tests/conformance"])
def test_each_bed_is_sampled_and_the_rest_is_larger(folder: str) -> None:
    sampled = [path for path in files(folder) if suite_of(path) is Suite.PRODUCT]
    assert sampled
    assert len(files(folder)) > 2 * len(sampled)


def test_tests_of_the_operator_are_in_the_suite_of_the_product_but_for_slow_ones() -> None:
    left_out = {path for path in files("tests") if suite_of(path) is Suite.REST}
    assert left_out == {ROOT / name for name in SLOW}
    nowhere = {path for path in files("tests") if suite_of(path) is None}
    assert {path.parent for path in nowhere} == {ROOT / "tests/conformance", ROOT / ELSEWHERE}


def test_tests_in_a_browser_are_in_no_suite() -> None:
    assert files(ELSEWHERE)
    assert {suite_of(path) for path in files(ELSEWHERE)} == {None}


class Chosen:
    """A configuration of pytest with one option."""

    def __init__(self, suite: Suite | None) -> None:
        self._suite = suite

    def getoption(self, name: str) -> Suite | None:
        assert name == "--suite"
        return self._suite


@pytest.mark.parametrize("suite", [*Suite, None])
def test_option_chooses_the_files_of_a_suite(suite: Suite | None, pytestconfig: pytest.Config) -> None:
    hooks: Any = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    found = files("packages")
    kept = [path for path in found if hooks.pytest_ignore_collect(path, Chosen(suite)) is None]
    assert kept == [path for path in found if suite in (None, suite_of(path))]


def test_cases_of_the_suites_are_all_cases_and_none_twice() -> None:
    names = ["test_a", "test_b[1]", "test_b[2]", "test_c[1]", "test_c[2]", "test_d[only]"]
    product, rest = (cases_of(suite, ROOT / "tests/tenants/test_new.py", names) for suite in Suite)
    assert product == {"test_a", "test_d[only]"}
    assert rest == {"test_b[1]", "test_b[2]", "test_c[1]", "test_c[2]"}


@pytest.mark.parametrize(
    ("target", "place"), [(target, place) for target, places in WHOLE.items() for place in places]
)
def test_what_another_target_runs_as_a_whole_is_not_run_again(target: str, place: str) -> None:
    recipe = (ROOT / "Makefile").read_text().partition(f"\n{target}:")[2].partition("\n\n")[0]
    assert f" {place} " in recipe
    path = ROOT / place if place.endswith(".py") else ROOT / place / "test_new.py"
    names = ["test_a[1]", "test_a[2]", "test_b"]
    assert cases_of(Suite.PRODUCT, path, names) >= {"test_a[1]"}
    assert suite_of(path) in {Suite.PRODUCT, None}
    assert cases_of(Suite.REST, path, names) == frozenset()


@pytest.mark.parametrize("name", sorted(SLOW_TESTS))
def test_slow_tests_exist_and_are_left_to_others(name: str) -> None:
    text = (ROOT / name).read_text()
    slow = SLOW_TESTS[name]
    assert all(f"def {one}(" in text for one in slow)
    assert cases_of(Suite.PRODUCT, ROOT / name, ["test_quick", *slow]) == {"test_quick"}
    left = set() if name.startswith((*WHOLE["crash"], *WHOLE["conformance"])) else set(slow)
    assert cases_of(Suite.REST, ROOT / name, ["test_quick", *slow]) == left


def test_quick_tests_beside_slow_ones_keep_all_their_cases_where_nothing_is_played() -> None:
    names = ["test_b[1]", "test_b[2]", "test_never_two_leaders_whatever_happens"]
    path = ROOT / "tests/unit/kube/test_lease_failover.py"
    assert cases_of(Suite.PRODUCT, path, names) == {"test_b[1]", "test_b[2]"}


def test_files_are_divided_below_folders_that_exist_unless_they_are_slow() -> None:
    divided = {path for path in files("tests") if is_divided(path)}
    played = {path for folder in PLAYED for path in files(folder)} - {ROOT / name for name in SLOW}
    assert divided == played | {ROOT / name for name in SLOW_TESTS}
    assert not any(is_divided(ROOT / name) for name in SLOW)
    assert not any(is_divided(path) for path in files("packages"))


@pytest.mark.parametrize("suite", [*Suite, None])
def test_divided_files_are_collected_for_both_suites(
    suite: Suite | None, pytestconfig: pytest.Config
) -> None:
    hooks: Any = pytestconfig.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    assert all(hooks.pytest_ignore_collect(path, Chosen(suite)) is None for path in files("tests/tenants"))
