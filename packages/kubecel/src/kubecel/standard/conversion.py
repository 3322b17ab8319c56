"""Conversions between types: `int("5")`, `string(1.5)`, `timestamp("…")`, and `type` and `dyn`, which look like them."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any, Final

from kubecel import types
from kubecel.errors import conversion_error, invalid_argument, overflow
from kubecel.functions import Function, Overload, traversal_cost
from kubecel.standard.arithmetic import checked_int, checked_timestamp, checked_uint
from kubecel.standard.declaring import A, function, overload
from kubecel.standard.numbers import format_double, parse_double, parse_int, parse_uint
from kubecel.standard.times import format_duration, format_timestamp, parse_duration, parse_timestamp
from kubecel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
)
from kubecel.values import INT_MIN, NANOS, Timestamp, Uint, type_of_value

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def _identity(value: Any) -> Any:
    return value


def _double_to_int(number: float) -> int:
    """Cuts off the fraction. The smallest integer is refused, because many doubles are rounded to it."""
    if isnan(number) or not INT_MIN < number < -float(INT_MIN):
        raise overflow("integer")
    return int(number)


def _double_to_uint(number: float) -> Uint:
    if isnan(number) or not 0 <= number < 2.0**64:
        raise overflow("unsigned integer")
    return Uint(int(number))


def _string_to_bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise conversion_error("type conversion error from 'string' to 'bool'")


def _string_to_bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise invalid_argument("string is not valid unicode, cannot convert to bytes") from None


def _bytes_to_string(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise conversion_error("invalid UTF-8 in bytes, cannot convert to string") from None


def _int_to_timestamp(seconds: int) -> Timestamp:
    return checked_timestamp(seconds * NANOS)


def _int_to_duration(_: int) -> Any:
    """Declared, so that it checks, but it has never had a meaning."""
    raise conversion_error("type conversion error from 'int' to 'google.protobuf.Duration'")


def _text_cost(text: str | bytes) -> int:
    return traversal_cost(len(text))


_NAMES: Final = {UINT: "uint64", INT: "int64"}


def _name(subject: Type) -> str:
    return _NAMES.get(subject) or str(subject)


Conversions = tuple[tuple[Type, Callable[[Any], Any]], ...]


def _conversion(name: str, result: Type, *conversions: tuple[Type, Callable[[Any], Any]]) -> Function:
    return Function(name, tuple([_convert(source, result, apply) for source, apply in conversions]))


def _convert(source: Type, result: Type, apply: Callable[[Any], Any]) -> Overload:
    costs_by_length = {source, result} == {STRING, BYTES}
    cost = _text_cost if costs_by_length else None
    return overload(f"{_name(source)}_to_{_name(result)}", (source,), result, apply, cost)


CONVERSIONS: Final[tuple[Function, ...]] = (
    function("type", overload("type", (A,), types.type_of(A), type_of_value)),
    function("dyn", overload("to_dyn", (A,), DYN, _identity)),
    _conversion("bool", BOOL, (BOOL, _identity), (STRING, _string_to_bool)),
    _conversion("bytes", BYTES, (BYTES, _identity), (STRING, _string_to_bytes)),
    _conversion("double", DOUBLE, (DOUBLE, _identity), (INT, float), (STRING, parse_double), (UINT, float)),
    _conversion(
        "duration", DURATION, (DURATION, _identity), (INT, _int_to_duration), (STRING, parse_duration)
    ),
    _conversion(
        "int",
        INT,
        (INT, _identity),
        (DOUBLE, _double_to_int),
        (DURATION, lambda span: span.nanos),
        (STRING, parse_int),
        (TIMESTAMP, lambda moment: moment.nanos // NANOS),
        (UINT, lambda number: checked_int(int(number))),
    ),
    _conversion(
        "string",
        STRING,
        (STRING, _identity),
        (BOOL, lambda truth: "true" if truth else "false"),
        (BYTES, _bytes_to_string),
        (DOUBLE, format_double),
        (DURATION, format_duration),
        (INT, str),
        (TIMESTAMP, format_timestamp),
        (UINT, str),
    ),
    _conversion(
        "timestamp", TIMESTAMP, (TIMESTAMP, _identity), (INT, _int_to_timestamp), (STRING, parse_timestamp)
    ),
    _conversion(
        "uint",
        UINT,
        (UINT, _identity),
        (DOUBLE, _double_to_uint),
        (INT, checked_uint),
        (STRING, parse_uint),
    ),
)

_DENOTED: Final = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "int": INT,
    "list": types.list_of(DYN),
    "map": types.map_of(DYN, DYN),
    "null_type": NULL,
    "string": STRING,
    "type": TYPE,
    "uint": UINT,
    "google.protobuf.Duration": DURATION,
    "google.protobuf.Timestamp": TIMESTAMP,
}
TYPE_CONSTANTS: Final[dict[str, tuple[Type, Any]]] = {
    name: (types.type_of(denoted), denoted) for name, denoted in _DENOTED.items()
}
"""The names that denote types."""
