"""What each marker of a SimpleSchema field does to the field's schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from edgekeeper.controllers.composition.markers import Marker
from edgekeeper.controllers.composition.rejection import RejectedError, quoted
from edgekeeper.core.json import JsonObject
from edgekeeper.schema.pattern import PatternError, compile_pattern

RULES: Final = "x-kubernetes-validations"
LIST_TYPE: Final = "x-kubernetes-list-type"
LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_LIST_TYPES: Final = ("atomic", "set", "map")
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?")
_LARGEST: Final = 2**63


def apply_markers(schema: JsonObject, markers: Iterable[Marker]) -> bool | None:
    """Change the schema of a field by its markers; return what `required` says, None if it says nothing."""
    required: bool | None = None
    for marker in markers:
        if marker.key == "required":
            required = bool(required) or _parse_bool(marker)
        else:
            _EFFECTS[marker.key](schema, marker)
    if schema.get(LIST_KEYS) and schema.get(LIST_TYPE) != "map":
        raise RejectedError("listMapKey marker requires listType=map")
    return required


def _parse_bool(marker: Marker) -> bool:
    if marker.value in _TRUE | _FALSE:
        return marker.value in _TRUE
    raise RejectedError(
        f"failed to parse {marker.key} marker value: {_bad_syntax('ParseBool', marker.value)}"
    )


def _parse_int(text: str, what: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise RejectedError(f"failed to parse {what}: {_bad_syntax('ParseInt', text)}")
    number = int(text)
    if not -_LARGEST <= number < _LARGEST:
        raise RejectedError(
            f"failed to parse {what}: strconv.ParseInt: parsing {quoted(text)}: value out of range"
        )
    return number


def _parse_float(marker: Marker) -> int | float:
    if not _NUMBER.fullmatch(marker.value):
        problem = _bad_syntax("ParseFloat", marker.value)
        raise RejectedError(f"failed to parse {marker.key} enum value: {problem}")
    number = float(marker.value)
    return int(number) if number.is_integer() else number


def _bad_syntax(function: str, text: str) -> str:
    return f"strconv.{function}: parsing {quoted(text)}: invalid syntax"


def _only_for(marker: Marker, schema: JsonObject, kind: str) -> None:
    if schema.get("type") != kind:
        found = schema.get("type", "")
        raise RejectedError(f"{marker.key} marker is only valid for {kind} types, got type: {found}")


def _default(schema: JsonObject, marker: Marker) -> None:
    """Strings are put between quotes as they are, everything else is JSON."""
    raw = f'"{marker.value}"' if schema.get("type") == "string" else marker.value
    try:
        value = json.loads(raw, strict=False, parse_constant=_refuse_constant)
    except ValueError as error:
        raise RejectedError(f"invalid default value {raw}: {error}") from error
    if not _fits(value, schema.get("type")):
        raise RejectedError(f"default value {raw} is not a valid {schema.get('type')}")
    schema["default"] = value


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _fits(value: Any, kind: str | None) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
    return True


def _description(schema: JsonObject, marker: Marker) -> None:
    schema["description"] = marker.value


def _bound(schema: JsonObject, marker: Marker) -> None:
    schema[marker.key] = _parse_float(marker)


def _string_size(schema: JsonObject, marker: Marker) -> None:
    _only_for(marker, schema, "string")
    schema[marker.key] = _parse_int(marker.value, f"{marker.key} value")


def _list_size(schema: JsonObject, marker: Marker) -> None:
    _only_for(marker, schema, "array")
    schema[marker.key] = _parse_int(marker.value, f"{marker.key} value")


def _pattern(schema: JsonObject, marker: Marker) -> None:
    if not marker.value:
        raise RejectedError("pattern marker value cannot be empty")
    _only_for(marker, schema, "string")
    try:
        compile_pattern(marker.value)
    except PatternError as error:
        raise RejectedError(f"invalid pattern regex: {error}") from error
    schema["pattern"] = marker.value


def _enum(schema: JsonObject, marker: Marker) -> None:
    values: list[str | int] = []
    for part in marker.value.split(","):
        value = part.strip()
        if not value:
            raise RejectedError("empty enum values are not allowed")
        values.append(_enum_value(value, schema.get("type", "")))
    schema["enum"] = values


def _enum_value(text: str, kind: str) -> str | int:
    if kind == "string":
        return text
    if kind == "integer":
        return _parse_int(text, "integer enum value")
    raise RejectedError(f"enum values only supported for string and integer types, got type: {kind}")


def _unique(schema: JsonObject, marker: Marker) -> None:
    unique = _parse_bool(marker)
    _only_for(marker, schema, "array")
    if unique:
        _set_list_type(schema, "set")


def _list_type(schema: JsonObject, marker: Marker) -> None:
    _only_for(marker, schema, "array")
    if marker.value not in _LIST_TYPES:
        raise RejectedError(
            f"invalid listType {quoted(marker.value)}: must be one of {', '.join(_LIST_TYPES)}"
        )
    _set_list_type(schema, marker.value)


def _set_list_type(schema: JsonObject, kind: str) -> None:
    present = schema.setdefault(LIST_TYPE, kind)
    if present != kind:
        raise RejectedError(f"listType {quoted(kind)} conflicts with {quoted(present)}")


def _list_key(schema: JsonObject, marker: Marker) -> None:
    _only_for(marker, schema, "array")
    if not marker.value:
        raise RejectedError("listMapKey marker value cannot be empty")
    schema.setdefault(LIST_KEYS, []).append(marker.value)


def _validation(schema: JsonObject, marker: Marker) -> None:
    if not marker.value.strip():
        raise RejectedError("validation failed")
    schema.setdefault(RULES, []).append({"rule": marker.value, "message": "validation failed"})


def _immutable(schema: JsonObject, marker: Marker) -> None:
    if _parse_bool(marker):
        schema.setdefault(RULES, []).append({"rule": "self == oldSelf", "message": "field is immutable"})


_EFFECTS: Final[dict[str, Callable[[JsonObject, Marker], None]]] = {
    "default": _default,
    "description": _description,
    "minimum": _bound,
    "maximum": _bound,
    "enum": _enum,
    "pattern": _pattern,
    "minLength": _string_size,
    "maxLength": _string_size,
    "minItems": _list_size,
    "maxItems": _list_size,
    "uniqueItems": _unique,
    "listType": _list_type,
    "listMapKey": _list_key,
    "validation": _validation,
    "immutable": _immutable,
}
