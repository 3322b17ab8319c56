"""`find` and `findAll`, with Go's rules for empty matches and RE2's guarantees."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.environment import Environment
from kubecel.environments import kro, kubernetes
from kubecel.errors import CompileError
from kubecel.library.kubernetes.regex import find, find_all
from packages.kubecel.tests.library.evaluating import failure, in_kro, in_kubernetes


@pytest.mark.parametrize(
    ("text", "pattern", "matches"),
    [
        ("123 abc 456", "[0-9]+", ["123", "456"]),
        ("123 abc 456", "[0-9]*", ["123", "", "", "", "", "456"]),
        ("x", "x*", ["x"]),
        ("aéa", "", ["", "", "", ""]),
        ("éé", "é", ["é", "é"]),
        ("abcabc", "^abc", ["abc"]),
        ("foo bar", r"\b", ["", "", "", ""]),
        ("aaa", "a*?", ["", "", "", ""]),
        ("abc", "x", []),
        ("", "", [""]),
        ("a\nb", "(?m)^.", ["a", "b"]),
        ("key=value", "(key)=(value)", ["key=value"]),
    ],
)
def test_matches_are_the_ones_that_go_finds(text: str, pattern: str, matches: list[str]) -> None:
    assert find_all(text, pattern) == matches
    assert find_all(text, pattern, 1) == matches[:1]
    assert find_all(text, pattern, 0) == []
    assert find(text, pattern) == (matches[0] if matches else "")


@given(st.text(alphabet="ab é", max_size=20), st.sampled_from(["a+", "b", "[ab]+", "é", " +a"]))
def test_matches_that_are_not_empty_are_pythons(text: str, pattern: str) -> None:
    assert find_all(text, pattern) == re.findall(pattern, text)


@pytest.mark.parametrize("environment", [kro(), kubernetes()], ids=["kro", "kubernetes"])
def test_broken_pattern_is_found_early_if_written_out_and_late_otherwise(environment: Environment) -> None:
    for call in ("find('(')", "findAll('(')", "findAll('(', 1)"):
        with pytest.raises(CompileError, match="error parsing regexp"):
            environment.compile(f"'abc'.{call}")
    assert "error parsing regexp" in failure("'a'.find(x)", environment=environment, x="(").message


def test_expressions_find_texts() -> None:
    assert in_kro("'abc 123'.find('[0-9]+')") == in_kubernetes("'abc 123'.find('[0-9]+')") == "123"
    assert in_kro("'1 2 3'.findAll('[0-9]', 2)") == ["1", "2"]


def test_pattern_that_ruins_others_is_harmless() -> None:
    assert find_all("a" * 50_000 + "!", "(a+)+$") == []
    assert len(find_all("a" * 20_000, "a?")) == 20_000


def test_half_a_surrogate_pair_does_not_stop_a_search() -> None:
    assert find_all("a\ud800b", "[ab]") == ["a", "b"]
