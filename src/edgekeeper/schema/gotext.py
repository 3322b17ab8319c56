"""Texts and numbers as Go prints and reads them, which is how they stand in the messages of kube-apiserver."""

from __future__ import annotations

import math
import re

_LETTERS = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v", '"': '"', "\\": "\\"}
"""What stands after the backslash for characters that have a short escape."""
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 40
"""No number of 64 bits is longer, and Python reads numbers of thousands of digits slowly or not at all."""


def quote(text: str) -> str:
    """A text as `%q` prints it: quoted, and everything that does not print escaped."""
    return f'"{"".join(_escape(mark) for mark in text)}"'


def _escape(mark: str) -> str:
    if mark in _LETTERS:
        return f"\\{_LETTERS[mark]}"
    if mark.isprintable():
        return mark
    code = ord(mark)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def parse_integer(text: str, *, signed: bool = True) -> int:
    """Read a number of 64 bits as `strconv` does; the ValueError has its words."""
    function = "ParseInt" if signed else "ParseUint"
    if not _INTEGER.fullmatch(text) or (not signed and text[0] in "+-"):
        raise ValueError(f'strconv.{function}: parsing "{text}": invalid syntax')
    lowest, highest = (-(2**63), 2**63 - 1) if signed else (0, 2**64 - 1)
    if len(text) > _MOST_DIGITS or not lowest <= int(text) <= highest:
        raise ValueError(f'strconv.{function}: parsing "{text}": value out of range')
    return int(text)


def show_number(value: float) -> str:
    """A number as `%v` prints it: floats from a million on have an exponent."""
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return repr(value).removesuffix(".0")
    return next(text for digits in range(17) if float(text := f"{value:.{digits}e}") == value)
