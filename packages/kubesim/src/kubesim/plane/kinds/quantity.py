"""Quantities: `500m`, `1.5Gi`, `2e3`. Reading them, comparing them, and the one way the server writes them.

The server keeps the family of the suffix (binary, decimal, exponent) and chooses the largest suffix of that family
which needs no fraction: `1024Mi` becomes `1Gi`, `0.5` becomes `500m`.
"""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Any

_PATTERN = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,2})?", re.ASCII)
_LONGEST = 40
"""Longer texts, and exponents of more digits, are no amounts of anything."""
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_SMALLEST = Decimal("1e-9")
MILLI = Decimal("0.001")
_WIDE = Context(prec=100, rounding=ROUND_UP)
"""Room for every digit between the largest suffix and the smallest precision."""

PATTERN_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def parse_quantity(quantity: Any) -> Decimal | None:
    """Return the amount, or `None` where the text is no quantity. A bare JSON number is one too."""
    parts = _split(quantity)
    return None if parts is None else parts[0]


@lru_cache(maxsize=4096)
def canonical_quantity(quantity: str | float, precision: Decimal = _SMALLEST) -> str | None:
    """Return the server's spelling, or `None` where the text is no quantity. Digits beyond `precision` round up."""
    parts = _split(quantity)
    if parts is None:
        return None
    amount, suffix = parts
    amount = _WIDE.quantize(amount, precision) if _WIDE.remainder(amount, precision) else amount
    if suffix.endswith("i") and abs(amount) >= 1024:
        return _binary(amount)
    return _decimal(amount, exponent_form=suffix[:1] in ("e", "E") and suffix != "E")


def _split(quantity: Any) -> tuple[Decimal, str] | None:
    if isinstance(quantity, bool) or not isinstance(quantity, str | int | float):
        return None
    text = str(quantity)
    match = _PATTERN.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    number, suffix = Decimal(match[1]), match[2] or ""
    if suffix in _BINARY:
        return _WIDE.multiply(number, Decimal(1024 ** _BINARY.index(suffix))), suffix
    if suffix in _DECIMAL:
        return number.scaleb(_DECIMAL[suffix]), suffix
    return number.scaleb(int(suffix[1:])), suffix


def _binary(amount: Decimal) -> str:
    whole = int(amount.to_integral_value(rounding=ROUND_UP))
    power = 0
    while whole % 1024 == 0 and power < len(_BINARY) - 1:
        whole //= 1024
        power += 1
    return f"{whole}{_BINARY[power]}"


def _decimal(amount: Decimal, *, exponent_form: bool) -> str:
    sign, digits, exponent = amount.normalize(_WIDE).as_tuple()
    if not any(digits) or not isinstance(exponent, int):
        return "0"
    thousands = min(max(exponent // 3 * 3, -9), 18)
    mantissa = int("".join(map(str, digits))) * 10 ** (exponent - thousands)
    text = f"{'-' if sign else ''}{mantissa}"
    if exponent_form:
        return f"{text}e{thousands}" if thousands else text
    return f"{text}{_DECIMAL_SUFFIX[thousands]}"
