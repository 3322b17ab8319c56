"""Numbers as text, the way Go reads and writes them."""

from __future__ import annotations

import re
from decimal import Decimal
from math import isinf, isnan
from typing import Final

from kubecel.errors import EvaluationError, conversion_error
from kubecel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_MAX_DIGITS: Final = 1000
_SIGNED: Final = re.compile(r"[+-]?[0-9]+")
_UNSIGNED: Final = re.compile(r"[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEXADECIMAL: Final = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_SPECIAL: Final = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE)

_SMALLEST_PLAIN: Final = -4
_LARGEST_PLAIN: Final = 6
"""Numbers from the first power of ten up to the second are written without an exponent."""


def parse_int(text: str) -> int:
    if _SIGNED.fullmatch(text) and len(text) <= _MAX_DIGITS and INT_MIN <= (number := int(text)) <= INT_MAX:
        return number
    raise _no_number("int")


def parse_uint(text: str) -> Uint:
    if _UNSIGNED.fullmatch(text) and len(text) <= _MAX_DIGITS and (number := int(text)) <= UINT_MAX:
        return Uint(number)
    raise _no_number("uint")


def parse_double(text: str) -> float:
    """Decimal or hexadecimal; words for infinity and NaN. A number too large for a double is an error."""
    if _SPECIAL.fullmatch(text):
        return float(text)
    if _HEXADECIMAL.fullmatch(text):
        number = _from_hexadecimal(text)
    elif _DECIMAL.fullmatch(text):
        number = float(text)
    else:
        raise _no_number("double")
    if isinf(number):
        raise _no_number("double")
    return number


def _from_hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        raise _no_number("double") from None


def format_double(number: float) -> str:
    """The shortest digits that stand for the number; very large and very small ones with an exponent."""
    if isnan(number):
        return "NaN"
    if isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    exact = Decimal(repr(number)).normalize()
    exponent = exact.adjusted() if number else 0
    if _SMALLEST_PLAIN <= exponent < _LARGEST_PLAIN:
        return format(exact, "f")
    digits = "".join(map(str, exact.as_tuple().digits))
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return (
        f"{'-' if number < 0 else ''}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    )


def plain_double(number: float) -> str:
    """The shortest digits that stand for a finite number, never with an exponent."""
    return format(Decimal(repr(number)).normalize(), "f")


def _no_number(kind: str) -> EvaluationError:
    return conversion_error(f"type conversion error from 'string' to '{kind}'")
