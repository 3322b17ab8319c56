"""Warnings of the server are passed on, each once."""

from __future__ import annotations

import pytest

from edgekeeper.kube.server_warnings import ServerWarnings, warnings_in
from tests.logs import capture_logs


@pytest.mark.parametrize(
    ("header", "texts"),
    [
        ("", []),
        ('299 - "old"', ["old"]),
        ('299 - "old", 299 - "risky, too"', ["old", "risky, too"]),
        (r'299 kube "a \"quoted\" word and a \\ sign"', [r'a "quoted" word and a \ sign']),
        ('199 - "not for people"', []),
        ('299 - "never ends', []),
    ],
    ids=["none", "one", "two", "escaped", "another code", "broken"],
)
def test_warnings_are_read(header: str, texts: list[str]) -> None:
    assert warnings_in({"warning": header}) == texts


def test_answer_without_warnings_says_nothing() -> None:
    assert warnings_in({}) == []


def test_memory_of_warnings_is_bounded() -> None:
    warnings = ServerWarnings()
    with capture_logs() as logs:
        for number in range(1000):
            warnings.log({"warning": f'299 - "{number}"'}, "GET widgets")
    assert len(logs) == 1000
    assert len(warnings._known) <= 256
