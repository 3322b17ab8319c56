"""Values as JSON, for people and programs that look at results.

JSON lacks most of the language's types, so this is a one-way street: the type of the expression says what a text stands
for. Numbers look as they do in objects (a double without a fraction is written without one), times and durations as
`string` writes them, bytes in base64. An absent optional is null, a present one is its value. Keys become strings.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final

from kubecel.errors import EvaluationError, conversion_error
from kubecel.library.kro.omission import Omission
from kubecel.library.nesting import check_depth
from kubecel.library.notation import plain_double
from kubecel.standard.times import format_duration, format_timestamp
from kubecel.values import Duration, Optional, Timestamp, Uint, Value, key_value

_EXACT: Final = 2.0**53
"""Below this, every whole double is an integer."""


def as_json(value: Value) -> Any:
    """A value in terms of JSON; raises `EvaluationError` if it is nested too deeply, or if two keys look alike."""
    return _shown(value, 0)


def _shown(value: Value, depth: int) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    check_depth(depth)
    if isinstance(value, list | tuple):
        return [_shown(element, depth + 1) for element in value]
    if isinstance(value, dict):
        return _shown_map(value, depth)
    if isinstance(value, Optional):
        return _shown(value.value, depth + 1) if value.present else None
    show = _SCALARS.get(type(value))
    return str(value) if show is None else show(value)


def _shown_map(entries: Mapping[Any, Value], depth: int) -> dict[str, Any]:
    shown = {_shown_key(key): _shown(element, depth + 1) for key, element in entries.items()}
    if len(shown) < len(entries):
        raise _ambiguous()
    return shown


def _shown_key(key: Any) -> str:
    if isinstance(key, str):
        return key
    value = key_value(key)
    return str(value).lower() if isinstance(value, bool) else str(_shown(value, 0))


def _ambiguous() -> EvaluationError:
    return conversion_error("two keys of the map would be the same in JSON")


def _shown_double(value: float) -> int | float | str:
    if not isfinite(value):
        return plain_double(value)
    return int(value) if abs(value) < _EXACT and value.is_integer() else value


_SCALARS: Final[dict[type, Callable[[Any], Any]]] = {
    int: int,
    Uint: int,
    float: _shown_double,
    bytes: lambda value: b64encode(value).decode(),
    Timestamp: format_timestamp,
    Duration: format_duration,
    Omission: lambda _: {},
}
"""By class. What is missing here (addresses, quantities, types …) has a text of its own."""
