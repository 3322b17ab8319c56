"""Quantities, `500m`, `1.5Gi`, `2e3`, with the arithmetic of the API server's own type.

A quantity is a whole number times a power of ten, and a notation: `binary` (`Ki`), `decimal` (`k`) or `exponent`
(`e3`). The API server keeps small amounts in 64 bits and everything else in decimals of any length, and lets expressions
notice: only amounts of the first sort can be integers (`1000m` and `1.5Ki` are not). `wide` says which sort an amount is.

Texts come from strangers. Digits and exponents are therefore limited before any number is built, and comparing never
writes out an exponent: `1e2000000000` is larger than one without anybody computing it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import total_ordering
from typing import ClassVar, Final

from kubecel import types
from kubecel.errors import ErrorKind, EvaluationError, invalid_argument
from kubecel.types import Type
from kubecel.values import INT_MAX, INT_MIN

FORMAT_WRONG: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_NUMBER_WRONG: Final = "unable to parse numeric part of quantity"
_SUFFIX_WRONG: Final = "unable to parse quantity's suffix"

_SHAPE: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?P<suffix>[eEinumkKMGTP]*[-+]?[0-9]*)"
)
_MAX_DIGITS: Final = 1000
"""Nobody counts anything with more digits, and Python's way with long numbers is quadratic."""
_FAST_DIGITS: Final = 18
_NANO: Final = -9
"""The smallest unit: smaller parts are rounded up."""
_MAX_EXPONENT: Final = 2**31 - 1

_BINARY_POWERS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIXES: Final = {0: ""} | {power: suffix for suffix, power in _BINARY_POWERS.items()}
_DECIMAL_POWERS: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_DECIMAL_SUFFIXES: Final = {power: suffix for suffix, power in _DECIMAL_POWERS.items()}


class Notation(Enum):
    """How a quantity likes to be written."""

    BINARY = "BinarySI"
    DECIMAL = "DecimalSI"
    EXPONENT = "DecimalExponent"


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """`digits` × 10^`exponent`."""

    digits: int
    exponent: int = 0
    notation: Notation = Notation.DECIMAL
    wide: bool = False
    """Held in decimals of any length rather than in 64 bits."""
    cel_type: ClassVar[Type] = types.opaque("kubernetes.Quantity")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __hash__(self) -> int:
        return hash(_without_zeros(self.digits, self.exponent))

    def __str__(self) -> str:
        return canonical(self)

    @property
    def sign(self) -> int:
        return (self.digits > 0) - (self.digits < 0)

    @property
    def magnitude(self) -> int:
        """How many digits it has before the decimal point, if it is not zero."""
        return len(str(abs(self.digits))) + self.exponent

    def compare(self, other: Quantity) -> int:
        """-1, 0 or 1. Exponents are written out only where the numbers are of about the same magnitude."""
        if self.sign != other.sign or not self.digits:
            return (self.sign > other.sign) - (self.sign < other.sign)
        difference = self.magnitude - other.magnitude
        if abs(difference) > 1:
            return self.sign if difference > 0 else -self.sign
        mine, theirs, _ = _aligned(self, other)
        return (mine > theirs) - (mine < theirs)

    def plus(self, other: Quantity) -> Quantity:
        """The sum, in the notation of the first amount unless that is zero."""
        notation = self.notation if self.digits else other.notation
        wide = self.wide or other.wide
        if not self.digits or not other.digits:
            kept = other if other.digits else self
            return Quantity(kept.digits, kept.exponent, notation, wide=wide)
        _refuse_distance(self, other)
        mine, theirs, exponent = _aligned(self, other)
        fits = _fits(mine) and _fits(theirs) and _fits(mine + theirs)
        return Quantity(mine + theirs, exponent, notation, wide=wide or not fits)

    def minus(self, other: Quantity) -> Quantity:
        return self.plus(Quantity(-other.digits, other.exponent, other.notation, wide=other.wide))

    def as_integer(self) -> int | None:
        """The amount if it is held as an integer of 64 bits, otherwise None."""
        if self.wide or self.exponent < 0 or (self.digits and self.exponent > _FAST_DIGITS):
            return None
        value = self.digits * 10 ** min(self.exponent, _FAST_DIGITS)
        return value if _fits(value) else None

    def as_float(self) -> float:
        """The nearest double, give or take the last bit; infinite if it is too large."""
        try:
            base = float(self.digits)
        except OverflowError:
            base = float("inf") * self.sign
        return base if self.exponent == 0 else base * _power_of_ten(self.exponent)


def parse_quantity(text: str) -> Quantity:
    """Read a quantity. Raise `EvaluationError` if the text is none."""
    match = _SHAPE.fullmatch(text) if text else None
    if match is None:
        raise invalid_argument(FORMAT_WRONG)
    whole, part = match["whole"].lstrip("0") or "0", match["part"] or ""
    power, notation = _read_suffix(match["suffix"])
    if len(whole) + len(part) > _MAX_DIGITS:
        raise invalid_argument(_NUMBER_WRONG)
    negative = match["sign"] == "-"
    digits = int(whole + part)
    if notation is Notation.BINARY:
        quantity = _binary_amount(digits, whole, part, power)
    else:
        quantity = _decimal_amount(digits, len(whole) + len(part), power - len(part), notation)
    if quantity.wide and not match["whole"] and not part:
        raise invalid_argument(_NUMBER_WRONG)
    return quantity if not negative else _negated(quantity)


def is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except EvaluationError:
        return False
    return True


def from_integer(value: int) -> Quantity:
    """A plain number as the second operand of an addition."""
    return Quantity(value, 0, Notation.EXPONENT)


def canonical(quantity: Quantity) -> str:
    """The API server's spelling: the largest suffix that needs no fraction."""
    if not quantity.digits:
        return "0"
    if (
        quantity.notation is Notation.BINARY
        and (whole := _whole(quantity)) is not None
        and abs(whole) >= 1024
    ):
        power = 0
        while whole % 1024 == 0 and power < 60:
            whole, power = whole // 1024, power + 10
        return f"{whole}{_BINARY_SUFFIXES[power]}"
    digits, exponent = _without_zeros(quantity.digits, quantity.exponent)
    digits, exponent = digits * 10 ** (exponent % 3), exponent - exponent % 3
    if quantity.notation is Notation.EXPONENT:
        return f"{digits}e{exponent}" if exponent else str(digits)
    shown = min(exponent, 18)
    return f"{digits * 10 ** (exponent - shown)}{_DECIMAL_SUFFIXES[shown]}"


def _read_suffix(suffix: str) -> tuple[int, Notation]:
    """The power (of two for binary suffixes, of ten otherwise) and the notation."""
    if suffix in _DECIMAL_POWERS:
        return _DECIMAL_POWERS[suffix], Notation.DECIMAL
    if suffix in _BINARY_POWERS:
        return _BINARY_POWERS[suffix], Notation.BINARY
    if re.fullmatch("[eE][+-]?[0-9]{1,19}", suffix) and abs(int(suffix[1:])) <= _MAX_EXPONENT:
        return int(suffix[1:]), Notation.EXPONENT
    raise invalid_argument(_SUFFIX_WRONG)


def _decimal_amount(digits: int, count: int, exponent: int, notation: Notation) -> Quantity:
    if count <= _FAST_DIGITS and exponent >= _NANO:
        return Quantity(digits, exponent, notation)
    return Quantity(*_at_nano(digits, exponent), notation, wide=True)


def _binary_amount(digits: int, whole: str, part: str, power: int) -> Quantity:
    """Like the API server: whole numbers that surely fit stay small, all others are capped at 64 bits."""
    value = digits << power
    if not part and 14 - len(whole) - power * 3 // 10 >= 0 and _fits(value):
        return Quantity(value, 0, Notation.BINARY)
    nanos, exponent = _at_nano(value, -len(part))
    nanos = min(nanos, INT_MAX * 10**9)
    notation = Notation.DECIMAL if 0 < nanos < 10**9 else Notation.BINARY
    return Quantity(nanos, exponent, notation, wide=True)


def _at_nano(digits: int, exponent: int) -> tuple[int, int]:
    """Write the amount in nanos, rounding up what is smaller."""
    if exponent >= _NANO:
        if exponent > _MAX_DIGITS:
            raise invalid_argument(_NUMBER_WRONG)
        return digits * 10 ** (exponent - _NANO), _NANO
    if not digits:
        return 0, _NANO
    dropped = min(_NANO - exponent, _MAX_DIGITS + 1)
    return -(-digits // 10**dropped), _NANO


def _aligned(first: Quantity, second: Quantity) -> tuple[int, int, int]:
    """Both amounts in the same unit, and its exponent. For amounts that are not too far apart."""
    exponent = min(first.exponent, second.exponent)
    return (
        first.digits * 10 ** (first.exponent - exponent),
        second.digits * 10 ** (second.exponent - exponent),
        exponent,
    )


def _refuse_distance(first: Quantity, second: Quantity) -> None:
    if abs(first.magnitude - second.magnitude) > _MAX_DIGITS:
        raise EvaluationError(ErrorKind.TOO_LARGE, "quantities are too far apart to be added")


def _negated(quantity: Quantity) -> Quantity:
    return Quantity(-quantity.digits, quantity.exponent, quantity.notation, wide=quantity.wide)


def _fits(value: int) -> bool:
    return INT_MIN <= value <= INT_MAX


def _whole(quantity: Quantity) -> int | None:
    """The amount as a whole number, None if it has a fraction or is absurd."""
    digits, exponent = _without_zeros(quantity.digits, quantity.exponent)
    return digits * 10**exponent if 0 <= exponent <= _MAX_DIGITS else None


def _without_zeros(digits: int, exponent: int) -> tuple[int, int]:
    if not digits:
        return 0, 0
    written = str(digits)
    kept = written.rstrip("0")
    return int(kept), exponent + len(written) - len(kept)


def _power_of_ten(exponent: int) -> float:
    """As the API server computes it, in two steps, which shows in the last bit."""
    if exponent > 308:
        return float("inf")
    if exponent < -323:
        return 0.0
    if exponent >= 0:
        return float(f"1e{exponent // 32 * 32}") * float(f"1e{exponent % 32}")
    return float(f"1e-{-exponent // 32 * 32}") / float(f"1e{-exponent % 32}")
