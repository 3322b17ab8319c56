"""JSON in strings: `json.unmarshal` and `json.marshal`.

Reading makes a double of every number, and writing spells numbers and escapes as Go does, because the texts end up in
objects that kro may have written before.
"""

from __future__ import annotations

import json
from base64 import b64encode
from math import isfinite
from typing import Any, Final

from kubecel.errors import EvaluationError, invalid_argument
from kubecel.functions import Library
from kubecel.library import costs
from kubecel.library.declaring import function, on_call
from kubecel.library.formatting.values import Text
from kubecel.library.kro.omission import Omission
from kubecel.library.nesting import check_depth
from kubecel.library.notation import json_double, span_of_time, utf8
from kubecel.standard.times import format_timestamp
from kubecel.types import DYN, STRING
from kubecel.values import NANOS, Duration, Optional, Timestamp, Uint, key_value, type_of_value

_SURROGATE: Final = "\\ud"
_HTML: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029", "\x7f": "\x7f"}
)
"""Go escapes what could end a script in a web page."""


def unmarshal(text: str) -> Any:
    try:
        return json.loads(
            _whole_characters(text), parse_int=_number, parse_float=_number, parse_constant=_refuse
        )
    except (ValueError, RecursionError) as error:
        raise invalid_argument(f"json.unmarshal failed to parse JSON: {error}") from error


def _whole_characters(text: str) -> str:
    """Halves of surrogate pairs would become strings that cannot be written anywhere."""
    if _SURROGATE not in text and "\\uD" not in text:
        return text
    decoded = json.dumps(json.loads(text), ensure_ascii=False)
    return utf8(decoded).decode()


def _number(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"cannot unmarshal number {digits[:40]} into Go value of type float64")
    return number


def _refuse(constant: str) -> float:
    raise ValueError(f"invalid character '{constant[0]}' looking for beginning of value")


def marshal(value: Any) -> str:
    text = Text()
    _write(text, value, 0)
    return str(text)


def _write(text: Text, value: Any, depth: int) -> None:
    check_depth(depth)
    if isinstance(value, list | tuple):
        _write_list(text, value, depth)
    elif isinstance(value, dict):
        _write_map(text, value, depth)
    elif isinstance(value, Optional):
        _write(text, value.value if value.present else None, depth + 1)
    else:
        text.add(_scalar(value))


def _write_list(text: Text, elements: Any, depth: int) -> None:
    text.add("[")
    for index, element in enumerate(elements):
        if index:
            text.add(",")
        _write(text, element, depth + 1)
    text.add("]")


def _write_map(text: Text, entries: dict[Any, Any], depth: int) -> None:
    for key in entries:
        if not isinstance(key, str):
            raise _unmarshalable(f"map key must be string, got {type_of_value(key_value(key)).name}")
    text.add("{")
    for index, key in enumerate(sorted(entries)):
        text.add(f"{',' if index else ''}{_string(key)}:")
        _write(text, entries[key], depth + 1)
    text.add("}")


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _string(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | Uint):
        return str(int(value))
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, bytes):
        return f'"{b64encode(value).decode()}"'
    if isinstance(value, Timestamp):
        return f'"{format_timestamp(Timestamp(value.nanos // NANOS * NANOS))}"'
    if isinstance(value, Duration):
        return f'"{span_of_time(value.nanos)}"'
    if isinstance(value, Omission):
        return "{}"
    raise _unmarshalable(f"unsupported type: {type_of_value(value).name}")


def _double(value: float) -> str:
    if not isfinite(value):
        raise invalid_argument(f"json.marshal failed to encode value: json: unsupported value: {value}")
    return json_double(value)


def _string(text: str) -> str:
    return json.dumps(utf8(text).decode(), ensure_ascii=False).translate(_HTML)


def _unmarshalable(reason: str) -> EvaluationError:
    return invalid_argument(f"json.marshal failed to convert value: {reason}")


JSON: Final = Library(
    "json",
    (
        function(
            "json.unmarshal",
            on_call("json.unmarshal_string", (STRING,), DYN, unmarshal, costs.at_least_one),
        ),
        function("json.marshal", on_call("json.marshal_dyn", (DYN,), STRING, marshal, costs.writing)),
    ),
)
