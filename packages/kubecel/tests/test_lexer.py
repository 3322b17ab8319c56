"""Tokens: what they are, where they stand, and that no text takes longer than it is long."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel import lexer
from kubecel.errors import CompileError
from kubecel.lexer import tokenize


def kinds(text: str) -> list[str]:
    return [token.kind for token in tokenize(text)]


def test_lexer_tells_words_from_names() -> None:
    assert kinds("in true inner _x9") == ["in", "true", lexer.IDENTIFIER, lexer.IDENTIFIER, lexer.END]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("0", lexer.INT),
        ("0xAf", lexer.INT),
        ("12u", lexer.UINT),
        ("0x1U", lexer.UINT),
        ("1.5", lexer.FLOAT),
        (".5e-3", lexer.FLOAT),
        ("1E9", lexer.FLOAT),
        ("'a'", lexer.STRING),
        ('"""a\n"b"""', lexer.STRING),
        (r"r'\d'", lexer.STRING),
        ("b'a'", lexer.BYTES),
        ("Br'''a'''", lexer.BYTES),
        ("`a-b/c.d e`", lexer.ESCAPED),
    ],
)
def test_lexer_reads_literals_whole(text: str, kind: str) -> None:
    (token, end) = tokenize(text)
    assert token.kind == kind
    assert end.kind == lexer.END


def test_lexer_prefers_long_operators() -> None:
    assert kinds("a<=b&&!c||d!=e")[1::2] == ["<=", "&&", lexer.IDENTIFIER, lexer.IDENTIFIER, lexer.IDENTIFIER]
    assert "||" in kinds("a||b")


def test_lexer_skips_blanks_and_comments_and_keeps_offsets() -> None:
    tokens = tokenize(" \t// first\n  a // second\n+ b")
    assert [(token.text, token.offset) for token in tokens] == [("a", 13), ("+", 25), ("b", 27), ("", 28)]


@pytest.mark.parametrize(
    "text", ["'a", '"a\nb"', r"'\q'", r"'\400'", r"'\u12'", "a # b", "`a$b`", "''' a", "ä"]
)
def test_lexer_refuses_what_is_no_token(text: str) -> None:
    with pytest.raises(CompileError) as caught:
        tokenize(text)
    assert caught.value.position is not None


@pytest.mark.parametrize(
    "text",
    [
        '"' * 60_001,
        "'''" + r"\'''" * 20_000,
        " " * 100_000,
        "/" * 100_000,
        "1" * 100_000,
        "'a'" * 30_000,
        "(" * 90_000,
    ],
    ids=["quotes", "escaped ends", "blanks", "slashes", "digits", "strings", "brackets"],
)
def test_lexer_takes_time_in_proportion_to_the_text(text: str) -> None:
    started = time.process_time()
    with contextlib.suppress(CompileError):
        tokenize(text)
    assert time.process_time() - started < 2


@given(st.text(alphabet="ab1.'\"\\ \nrbu{}[]()?:&|=!<>+-*/%,`/", max_size=40))
def test_lexer_covers_a_text_or_refuses_it(text: str) -> None:
    try:
        tokens = tokenize(text)
    except CompileError:
        return
    assert all(text[token.offset :].lstrip("`").startswith(token.text) for token in tokens)
    assert [token.offset for token in tokens] == sorted(token.offset for token in tokens)
