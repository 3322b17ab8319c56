"""The dialect of the CEL specification: no locale, and lists and maps written without quotes."""

from __future__ import annotations

from math import isfinite
from typing import Any, Final

from kubecel.library.formatting.clauses import Clause
from kubecel.library.formatting.dialect import STRING_COMPLAINT, STRING_KINDS, Dialect, Verb, refusal
from kubecel.library.formatting.values import Writer, binary, hexadecimal, is_integer, octal
from kubecel.library.notation import plain_double
from kubecel.limits import check_size
from kubecel.standard.times import format_duration, format_timestamp
from kubecel.types import Kind, Type
from kubecel.values import Duration, Timestamp, type_of_value

_INTEGERS: Final = frozenset({Kind.INT, Kind.UINT})
_NUMBERS: Final = _INTEGERS | {Kind.DOUBLE}


def _string(value: Any, _: Clause) -> str:
    return Writer(_scalar, _scalar, ": ").write(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return plain_double(value)
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, Duration):
        return format_duration(value)
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Type):
        return value.name
    raise refusal(STRING_COMPLAINT, type_of_value(value).name)


def _decimal(value: Any, _: Clause) -> str | None:
    if is_integer(value):
        return str(int(value))
    return plain_double(value) if isinstance(value, float) else None


def _fixed(value: Any, clause: Clause) -> str | None:
    return _double(value, clause.precision, "f")


def _scientific(value: Any, clause: Clause) -> str | None:
    return _double(value, clause.precision, "e")


def _double(value: Any, precision: int, form: str) -> str | None:
    if not is_integer(value) and not isinstance(value, float):
        return None
    number = float(value)
    if not isfinite(number):
        return plain_double(number)
    check_size(precision)
    return format(number, f".{precision}{form}")


_HEX: Final = Verb(
    hexadecimal,
    _INTEGERS | {Kind.STRING, Kind.BYTES},
    "only ints, uints, bytes, and strings can be formatted as hex",
)

PLAIN: Final[Dialect] = {
    "s": Verb(_string, STRING_KINDS, STRING_COMPLAINT),
    "d": Verb(_decimal, _NUMBERS, "decimal clause can only be used on ints, uints, and doubles"),
    "f": Verb(_fixed, _NUMBERS, "fixed-point clause can only be used on ints, uints, and doubles"),
    "e": Verb(_scientific, _NUMBERS, "scientific clause can only be used on ints, uints, and doubles"),
    "b": Verb(binary, _INTEGERS | {Kind.BOOL}, "only ints, uints, and bools can be formatted as binary"),
    "o": Verb(octal, _INTEGERS, "octal clause can only be used on ints and uints"),
    "x": _HEX,
    "X": _HEX,
}
