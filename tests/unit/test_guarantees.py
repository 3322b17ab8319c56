"""docs/guarantees.md names a test for every promise, and every promise that a test names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/guarantees.md").read_text()
_PROMISE = re.compile(r"\b[RS]-\d{2}\b")


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:tests|packages|benchmarks)/[\w/.]+)`", PAGE))))
def test_page_names_tests_that_exist(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("row", re.findall(r"^\| ([RS]-\d{2}) \|", PAGE.split("## Not")[0], re.MULTILINE))
def test_promise_that_is_shown_has_a_test(row: str) -> None:
    (line,) = [line for line in PAGE.split("## Not")[0].splitlines() if line.startswith(f"| {row} |")]
    assert "`tests/" in line or "`benchmarks/" in line


def test_every_promise_of_a_test_is_on_the_page() -> None:
    sources = [
        path
        for path in [*(ROOT / "tests").rglob("*.py"), *ROOT.glob("packages/*/tests/**/*.py")]
        if path != Path(__file__)
    ]
    named = {promise for path in sources for promise in _PROMISE.findall(path.read_text())}
    assert named <= set(_PROMISE.findall(PAGE))


def test_all_promises_are_on_the_page_once_as_shown_or_not() -> None:
    present, missing = PAGE.split("## Not tested yet")
    shown = re.findall(r"^\| ([RS]-\d{2}) \|", present, re.MULTILINE)
    expected = {f"R-{number:02}" for number in range(1, 33)} | {f"S-{number:02}" for number in range(1, 35)}
    pending = set(_PROMISE.findall(missing))
    assert set(shown) | pending == expected
    assert not set(shown) & pending
