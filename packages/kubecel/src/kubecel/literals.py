"""The values that literals of the source text stand for."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isinf
from typing import Any, Final

from kubecel import lexer
from kubecel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_MAX_DIGITS: Final = 4000
"""Python refuses to read more digits than that; they are far beyond 64 bits anyway."""


class LiteralError(ValueError):
    """A literal spells something that has no value."""


def read_literal(kind: str, text: str, sign: str = "") -> Any:
    """The value of a token of a literal kind; a sign belongs to numbers only."""
    return _READERS[kind](sign + text)


def _read_int(text: str) -> int:
    value = _integer(text)
    if not INT_MIN <= value <= INT_MAX:
        raise LiteralError("invalid int literal")
    return value


def _read_uint(text: str) -> Uint:
    value = _integer(text[:-1])
    if value > UINT_MAX:
        raise LiteralError("invalid uint literal")
    return Uint(value)


def _integer(text: str) -> int:
    if "x" in text:
        return int(text, 16)
    return int(text) if len(text) < _MAX_DIGITS else UINT_MAX + 1


def _read_float(text: str) -> float:
    value = float(text)
    if isinf(value):
        raise LiteralError("invalid double literal")
    return value


_SIMPLE_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    '"': '"',
    "'": "'",
    "\\": "\\",
    "?": "?",
    "`": "`",
}
_ESCAPE_SEQUENCE = re.compile(r"\\(?:[xX](..)|u(....)|U(........)|([0-3][0-7]{2})|(.))", re.DOTALL)


def _read_string(literal: str) -> str:
    text, is_raw = _strip_quotes(literal)
    if is_raw or "\\" not in text:
        return text
    return _ESCAPE_SEQUENCE.sub(_text_escape, text)


def _read_bytes(literal: str) -> bytes:
    """Text becomes UTF-8; hexadecimal and octal escapes are single bytes."""
    text, is_raw = _strip_quotes(literal[1:])
    if is_raw or "\\" not in text:
        return _encode(text)
    parts: list[bytes] = []
    position = 0
    for found in _ESCAPE_SEQUENCE.finditer(text):
        parts.append(_encode(text[position : found.start()]))
        parts.append(_byte_escape(found))
        position = found.end()
    parts.append(_encode(text[position:]))
    return b"".join(parts)


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise LiteralError("invalid unicode code point") from None


def _strip_quotes(literal: str) -> tuple[str, bool]:
    is_raw = literal[0] in "rR"
    quoted = literal[1:] if is_raw else literal
    width = 3 if quoted[:3] in ('"""', "'''") and len(quoted) >= 6 else 1
    # A carriage return in the source reads as the end of line that it is part of.
    return quoted[width:-width].replace("\r\n", "\n").replace("\r", "\n"), is_raw


def _text_escape(found: re.Match[str]) -> str:
    hexadecimal, short, long, octal, simple = found.groups()
    if simple is not None:
        return _SIMPLE_ESCAPES[simple]
    code = int(octal, 8) if octal else int(hexadecimal or short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _byte_escape(found: re.Match[str]) -> bytes:
    hexadecimal, short, long, octal, _ = found.groups()
    if short or long:
        raise LiteralError("unable to unescape string")
    if hexadecimal or octal:
        return bytes([int(octal, 8) if octal else int(hexadecimal, 16)])
    return _text_escape(found).encode()


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    lexer.INT: _read_int,
    lexer.UINT: _read_uint,
    lexer.FLOAT: _read_float,
    lexer.STRING: _read_string,
    lexer.BYTES: _read_bytes,
}
