"""The older dialect, which kube-apiserver has: American numbers, and lists and maps as literals of the language.

Its quirks are kept, since rules are written against them: `%e` takes its precision for a width, minus zero has no sign,
and doubles are rounded to six digits inside of lists and maps, but not outside.
"""

from __future__ import annotations

from math import inf, isfinite, isnan
from typing import Any, Final

from kubecel.library.formatting.clauses import DEFAULT_PRECISION, Clause, FormatError
from kubecel.library.formatting.dialect import STRING_COMPLAINT, STRING_KINDS, Dialect, Verb
from kubecel.library.formatting.values import Writer, binary, hexadecimal, is_integer, octal
from kubecel.library.notation import quote
from kubecel.limits import check_size
from kubecel.standard.numbers import format_double
from kubecel.standard.times import format_duration, format_timestamp
from kubecel.types import Kind, Type
from kubecel.values import Duration, Timestamp, type_of_value

_INTEGERS: Final = frozenset({Kind.INT, Kind.UINT})
_DOUBLES: Final = frozenset({Kind.DOUBLE, Kind.STRING})
"""Strings too: there are words for what is not a number."""
_WORDS: Final = {"NaN": float("nan"), "Infinity": inf, "-Infinity": -inf}
_SUPERSCRIPTS: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_CONVERTIBLE: Final = (str, bytes, int, float, Timestamp, Duration, Type)


def _string(value: Any, _: Clause) -> str | None:
    if isinstance(value, list | tuple | dict):
        return Writer(_literal, _key, ":").write(value)
    return "null" if value is None else _converted(value) if isinstance(value, _CONVERTIBLE) else None


def _converted(value: Any) -> str:
    """As `string(value)` would have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format_double(value)
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Duration):
        return format_duration(value)
    if isinstance(value, Type):
        return value.name
    return _decoded(value) if isinstance(value, bytes) else str(value)


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        reason = "invalid UTF-8 in bytes, cannot convert to string"
        raise _failure(f'could not convert argument "{reason}" to string') from error


def _failure(reason: str) -> FormatError:
    return FormatError(f"error during formatting: {reason}")


def _key(key: Any) -> str:
    if not isinstance(key, str | int):
        raise _failure(f"no formatting function for map key of type {type_of_value(key).name}")
    return _literal(key)


def _literal(value: Any) -> str:
    """As it would be written in an expression."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bytes):
        return f"b{quote(_converted(value))}"
    if isinstance(value, float):
        return format(value, f".{DEFAULT_PRECISION}f") if isfinite(value) else quote(_word(value))
    if isinstance(value, Timestamp):
        return f"timestamp({quote(_converted(value))})"
    if isinstance(value, Duration):
        return f"duration({quote(_converted(value))})"
    if value is None:
        return "null"
    if isinstance(value, int | Type):
        return _converted(value)
    raise _failure(f"no formatting function for {type_of_value(value).name}")


def _word(value: float) -> str:
    return "NaN" if isnan(value) else "+Inf" if value > 0 else "-Inf"


def _decimal(value: Any, _: Clause) -> str | None:
    return str(int(value)) if is_integer(value) else None


def _fixed(value: Any, clause: Clause) -> str | None:
    number = _number(value)
    if number is None:
        return None
    check_size(clause.precision)
    return _symbol(number) or f"{number:,.{clause.precision}f}"


def _scientific(value: Any, clause: Clause) -> str | None:
    number = _number(value)
    if number is None:
        return None
    check_size(clause.precision)
    return (_symbol(number) or _power_of_ten(number)).rjust(clause.precision)


def _number(value: Any) -> float | None:
    """A double without the sign of minus zero, also from a word; None for anything else."""
    if isinstance(value, str):
        return _WORDS.get(value)
    return value + 0.0 if isinstance(value, float) else None


def _symbol(number: float) -> str:
    """For what has no digits; nothing for other numbers."""
    if isfinite(number):
        return ""
    return "NaN" if isnan(number) else "∞" if number > 0 else "-∞"


def _power_of_ten(number: float) -> str:
    mantissa, _, exponent = format(number, f".{DEFAULT_PRECISION}e").partition("e")
    return f"{mantissa}×10{exponent.removeprefix('+').translate(_SUPERSCRIPTS)}"


_HEX: Final = Verb(
    hexadecimal,
    _INTEGERS | {Kind.STRING, Kind.BYTES},
    "only integers, byte buffers, and strings can be formatted as hex",
)

LOCALIZED: Final[Dialect] = {
    "s": Verb(_string, STRING_KINDS, STRING_COMPLAINT),
    "d": Verb(_decimal, _INTEGERS, "decimal clause can only be used on integers"),
    "f": Verb(_fixed, _DOUBLES, "fixed-point clause can only be used on doubles"),
    "e": Verb(_scientific, _DOUBLES, "scientific clause can only be used on doubles"),
    "b": Verb(binary, _INTEGERS | {Kind.BOOL}, "only integers and bools can be formatted as binary"),
    "o": Verb(octal, _INTEGERS, "octal clause can only be used on integers"),
    "x": _HEX,
    "X": _HEX,
}
