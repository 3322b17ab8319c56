"""The values of literals."""

from __future__ import annotations

import pytest

from kubecel import lexer
from kubecel.literals import LiteralError, read_literal
from kubecel.values import INT_MAX, UINT_MAX, Uint


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"'a\tb\n'", "a\tb\n"),
        (r"'\\ \' \" \` \?'", "\\ ' \" ` ?"),
        (r"'\a\b\f\r\v'", "\a\b\f\r\v"),
        (r"'\x41\X42'", "AB"),
        (r"'\303\277'", "\u00c3\u00bf"),
        (r"'é\U0001f600'", "é😀"),
        (r"r'\n'", r"\n"),
        ("'''a'b'''", "a'b"),
        ('"""a\r\nb\rc"""', "a\nb\nc"),
        ("''", ""),
        ("''''''", ""),
    ],
)
def test_strings_are_unescaped(text: str, value: str) -> None:
    assert read_literal(lexer.STRING, text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("b'abc'", b"abc"),
        ("b'ÿ'", b"\xc3\xbf"),
        (r"b'\xff\377'", b"\xff\xff"),
        (r"b'a\nb'", b"a\nb"),
        (r"br'\n'", b"\\n"),
    ],
)
def test_bytes_are_utf8_but_for_escaped_bytes(text: str, value: bytes) -> None:
    assert read_literal(lexer.BYTES, text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [(lexer.STRING, r"'\ud800'"), (lexer.STRING, r"'\U00110000'"), (lexer.BYTES, "b'\\u0041'")],
)
def test_code_points_that_cannot_be_are_refused(kind: str, text: str) -> None:
    with pytest.raises(LiteralError):
        read_literal(kind, text)


def test_numbers_may_use_their_whole_range_and_no_more() -> None:
    assert read_literal(lexer.INT, str(INT_MAX)) == INT_MAX
    assert read_literal(lexer.INT, str(INT_MAX + 1), "-") == -INT_MAX - 1
    assert read_literal(lexer.INT, "0xff", "-") == -255
    assert read_literal(lexer.UINT, f"{UINT_MAX}u") == UINT_MAX
    assert type(read_literal(lexer.UINT, "0x1u")) is Uint
    for kind, text in [
        (lexer.INT, str(INT_MAX + 1)),
        (lexer.UINT, f"{UINT_MAX + 1}u"),
        (lexer.FLOAT, "1e999"),
    ]:
        with pytest.raises(LiteralError):
            read_literal(kind, text)


def test_endless_numbers_are_refused_instead_of_read() -> None:
    with pytest.raises(LiteralError):
        read_literal(lexer.INT, "9" * 90_000)
