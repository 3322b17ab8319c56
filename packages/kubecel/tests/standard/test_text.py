"""Functions of strings that belong to the language, and sizes."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kubecel.errors import ErrorKind
from packages.kubecel.tests.engine import evaluate, failure


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'abc'.contains('b')", True),
        ("'abc'.contains('')", True),
        ("'abc'.startsWith('ab')", True),
        ("'abc'.endsWith('ab')", False),
        ("'abc'.matches('b')", True),
        ("'abc'.matches('^b')", False),
        ("matches('Straße', 'a.e$')", True),
        ("size('Straße')", 6),
        ("'😀'.size()", 1),
        ("b'\\xff\\xfe'.size()", 2),
        ("size([1, 2])", 2),
        ("{'a': 1}.size()", 1),
    ],
)
def test_strings_are_looked_into(text: str, value: Any) -> None:
    assert evaluate(text) == value


@pytest.mark.parametrize("pattern", ["(", "a**", "(?=a)", "\\1", "\ud800"])
def test_bad_patterns_are_an_error(pattern: str) -> None:
    error = failure("'a'.matches(pattern)", pattern=pattern)
    assert error.kind is ErrorKind.INVALID_ARGUMENT
    assert "b'" not in error.message


def test_texts_that_are_no_unicode_are_an_error() -> None:
    assert failure("text.matches('a')", text="\ud800").kind is ErrorKind.INVALID_ARGUMENT


def test_patterns_cannot_run_away() -> None:
    started = time.process_time()
    assert evaluate("text.matches('^(a+)+$')", text="a" * 5000 + "!") is False
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    "text", ["x.size()", "x.contains('a')", "'a'.contains(x)", "size(x)", "x.matches('a')"]
)
def test_other_types_have_no_such_functions(text: str) -> None:
    assert failure(text, x=5).kind is ErrorKind.NO_SUCH_OVERLOAD
