"""Syntax errors in the words of Go's JSON decoder."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.json_syntax import MOST_NESTED, syntax_error

END = "unexpected end of JSON input"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", END),
        (b" \t\r\n", END),
        (b"{", END),
        (b"[", END),
        (b"[1,", END),
        (b'{"a"', END),
        (b'{"a":', END),
        (b'{"a":1', END),
        (b'"abc', END),
        (b'"ab\\', END),
        (b'"\\u12', END),
        (b"tru", END),
        (b"-", END),
        (b"1.", END),
        (b"1e", END),
        (b"1e+", END),
        (b"x", "invalid character 'x' looking for beginning of value"),
        (b"\xff\xfe", "invalid character 'ÿ' looking for beginning of value"),
        (b"\xef\xbb\xbf{}", "invalid character 'ï' looking for beginning of value"),
        (b"]", "invalid character ']' looking for beginning of value"),
        (b'{"a":}', "invalid character '}' looking for beginning of value"),
        (b"[1,]", "invalid character ']' looking for beginning of value"),
        (b"[NaN]", "invalid character 'N' looking for beginning of value"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b"{'a':1}", r"invalid character '\'' looking for beginning of object key string"),
        (b'{1:"a"}', "invalid character '1' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":01}', "invalid character '1' after object key:value pair"),
        (b'{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b'[[1}, "a"]', "invalid character '}' after array element"),
        (b"{} x", "invalid character 'x' after top-level value"),
        (b"{}{}", "invalid character '{' after top-level value"),
        (b'"a\nb"', r"invalid character '\n' in string literal"),
        (b'"a\x00b"', r"invalid character '\x00' in string literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u12g4"', r"invalid character 'g' in \u hexadecimal character escape"),
        (b'{"a":tru}', "invalid character '}' in literal true (expecting 'e')"),
        (b"[nil]", "invalid character 'i' in literal null (expecting 'u')"),
        (b"[falsy]", "invalid character 'y' in literal false (expecting 'e')"),
        (b"[-]", "invalid character ']' in numeric literal"),
        (b"[1.]", "invalid character ']' after decimal point in numeric literal"),
        (b"[1e]", "invalid character ']' in exponent of numeric literal"),
        (b"[1e+x]", "invalid character 'x' in exponent of numeric literal"),
    ],
)
def test_syntax_error_says_what_was_met_and_where(text: bytes, problem: str) -> None:
    assert syntax_error(text) == problem


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b" [ ] ",
        b"null",
        b"-0.5e-7",
        b"0",
        b'"\\ud800 \\" \\u00e9"',
        b'{"a":[{"b":null},[],{}]}',
        b'"\xff"',
    ],
)
def test_syntax_error_finds_none_in_what_go_accepts(text: bytes) -> None:
    assert syntax_error(text) is None


def test_syntax_error_stops_at_the_deepest_allowed_nesting() -> None:
    assert syntax_error(b"[" * MOST_NESTED + b"]" * MOST_NESTED) is None
    assert syntax_error(b"[" * 3_000_000) == "invalid character '[' exceeded max depth"


@given(st.text(alphabet='{}[]":,\\ \n0123e.-+truefalsn\tué', max_size=25))
def test_syntax_error_agrees_with_a_strict_parser(text: str) -> None:
    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        assert syntax_error(text.encode()) is not None
    else:
        assert syntax_error(text.encode()) is None
