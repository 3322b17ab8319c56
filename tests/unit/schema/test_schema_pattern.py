"""Patterns are RE2, as in Go: linear, without look-around, and refused in Go's words."""

from __future__ import annotations

import pytest

from edgekeeper.schema.pattern import PatternError, compile_pattern

COMPLAINTS = {
    "(": "missing closing ): `(`",
    "a)": "unexpected ): `a)`",
    "[a": "missing closing ]: `[a`",
    "*": "missing argument to repetition operator: `*`",
    "a**": "invalid nested repetition operator: `**`",
    "a{2000}": "invalid repeat count: `{2000}`",
    "(?=a)": "invalid or unsupported Perl syntax: `(?=`",
    "\\": "trailing backslash at end of expression: ``",
    "[b-a]": "invalid character class range: `b-a`",
    "\\8": "invalid escape sequence: `\\8`",
}


@pytest.mark.parametrize("pattern", COMPLAINTS)
def test_pattern_is_refused_in_the_words_of_go(pattern: str) -> None:
    with pytest.raises(PatternError) as refusal:
        compile_pattern(pattern)
    assert str(refusal.value) == f"error parsing regexp: {COMPLAINTS[pattern]}"


def test_pattern_matches_anywhere_in_the_text() -> None:
    assert compile_pattern("b+")("abbc")


def test_pattern_anchors_hold_the_whole_text() -> None:
    assert not compile_pattern("^a$")("a\n")


def test_pattern_gives_the_same_verdict_again() -> None:
    contains_a = compile_pattern("a")
    assert [contains_a(text) for text in ("a", "b", "a", "b")] == [True, False, True, False]


def test_pattern_judges_texts_too_long_to_remember() -> None:
    assert compile_pattern("^(x+x+)+y$")("x" * 100_000) is False


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (r"^[\p{L}\p{S}]{0,126}$", "éü", "é ü"),
        ("(a|b)*a(a|b){200}$", "ab" * 4000 + "a", "b" * 8000),
    ],
    ids=["long program", "many states"],
)
def test_pattern_that_takes_much_memory_is_judged_all_the_same(pattern: str, good: str, bad: str) -> None:
    contains = compile_pattern(pattern)
    assert contains(good)
    assert not contains(bad)


def test_pattern_counts_characters_not_bytes() -> None:
    assert compile_pattern("^.{2}$")("éü")
