"""JSON values as their schema means them.

JSON has no bytes and no times: a Secret's data is a string, though its schema says `format: byte`. Expressions see such
values as what they are (bytes, timestamps, durations, doubles that happen to be whole), fields that are null as absent,
and lists of type `set` or `map` as collections without order. `converter_for` turns a schema into a function that makes
such a value of a JSON value; parts which need nothing are shared with the original, never copied.

A value that is not what its schema says stays as it is: whoever does not look at it is not disturbed.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from kubecel.errors import EvaluationError
from kubecel.standard.times import parse_duration, parse_timestamp
from kubecel.values import INT_MAX, INT_MIN, Duration, Timestamp, UnorderedList, map_key

Schema: TypeAlias = Mapping[str, Any]

Converter: TypeAlias = Callable[[Any], Any]
"""From a JSON value to a value of expressions; returns the same object if there is nothing to do."""


class TypedMap(dict[str, Any]):
    """An object with values that JSON does not have."""

    __slots__ = ("raw",)

    def __init__(self, content: Mapping[str, Any], raw: dict[str, Any]) -> None:
        super().__init__(content)
        self.raw = raw
        """The JSON object it was made of: what a template gets when it asks for the object as a whole."""


class SetList(UnorderedList):
    """A list of type `set`: the order does not count, and adding leaves out what is already there."""

    __slots__ = ()

    def matching_parts(self, other: Sequence[Any]) -> Iterable[tuple[Any, Any]] | None:
        """Sets hold each thing once, so it is enough that everything in the other is in this one."""
        return () if len(self) == len(other) and _keys(self) >= _keys(other) else None

    def plus(self, other: Iterable[Any]) -> SetList:
        known = _keys(self)
        added = [item for item in other if _is_new(_scalar_key(item), known)]
        return SetList([*self, *added])


class MapList(UnorderedList):
    """A list of type `map`: its objects are known by some of their fields, and the order does not count."""

    __slots__ = ("_fields",)

    def __init__(self, items: Iterable[Any], fields: tuple[str, ...]) -> None:
        super().__init__(items)
        self._fields = fields

    def key_of(self, item: Any) -> tuple[Any, ...]:
        """What tells an object from the others."""
        return tuple([_scalar_key(item.get(name)) for name in self._fields]) if isinstance(item, dict) else ()

    def matching_parts(self, other: Sequence[Any]) -> Iterable[tuple[Any, Any]] | None:
        """The objects with the same keys, if the keys are the same."""
        mine = {self.key_of(item): item for item in self}
        theirs = [(self.key_of(item), item) for item in other]
        if len(self) != len(other) or any(key not in mine for key, _ in theirs):
            return None
        return [(mine[key], item) for key, item in theirs]

    def plus(self, other: Iterable[Any]) -> MapList:
        """Objects of the other take the places of those with the same key; new ones come last."""
        merged = {self.key_of(item): item for item in self}
        for item in other:
            merged[self.key_of(item)] = item
        return MapList(merged.values(), self._fields)


def raw(value: Any) -> Any:
    """A value as JSON had it, if it is an object that was converted; otherwise the value."""
    return value.raw if isinstance(value, TypedMap) else value


def converter_for(schema: Schema) -> Converter:
    """Prepare the conversion of values of a schema."""
    return _converter(schema) or _same


def _same(value: Any) -> Any:
    return value


def _converter(schema: Schema) -> Converter | None:
    """None where values need no conversion whatever they are."""
    if schema.get("x-kubernetes-int-or-string"):
        return None
    match schema.get("type"):
        case "string":
            return _STRINGS.get(schema.get("format") or "")
        case "number":
            return _double
        case "integer":
            return _integer
        case "array":
            return _list_converter(schema)
        case "object":
            return _object_converter(schema)
    return None


def _object_converter(schema: Schema) -> Converter | None:
    properties = schema.get("properties")
    if properties:
        return _fields_converter(properties)
    additional = schema.get("additionalProperties")
    convert = _converter(additional) if isinstance(additional, Mapping) else None
    if convert is None:
        return None

    def convert_map(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        changed = {key: new for key, item in value.items() if (new := convert(item)) is not item}
        return TypedMap({**value, **changed}, value) if changed else value

    return convert_map


def _fields_converter(properties: Schema) -> Converter:
    waiting = dict(properties)
    prepared: dict[str, Converter | None] = {}

    def convert_field(key: str, item: Any) -> Any:
        # Prepared when first seen: of a large schema only what objects use, and recursive ones end.
        if key in waiting:
            prepared[key] = _converter(waiting.pop(key))
        convert = prepared.get(key)
        return item if convert is None else convert(item)

    def convert_object(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        changed = {key: new for key, item in value.items() if (new := convert_field(key, item)) is not item}
        if not changed and None not in value.values():
            return value
        return TypedMap({key: item for key, item in {**value, **changed}.items() if item is not None}, value)

    return convert_object


def _list_converter(schema: Schema) -> Converter | None:
    convert = _converter(schema.get("items") or {})
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return _list_of(convert, SetList)
        case "map":
            fields = tuple(schema.get("x-kubernetes-list-map-keys") or ())
            return _list_of(convert, lambda items: MapList(items, fields))
    return None if convert is None else _list_of(convert, None)


def _list_of(convert: Converter | None, build: Callable[[list[Any]], list[Any]] | None) -> Converter:
    def convert_list(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        items = value if convert is None else [convert(item) for item in value]
        if build is not None:
            return build(items)
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value

    return convert_list


def _double(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _integer(value: Any) -> Any:
    """Whole numbers may arrive with a fraction of zero."""
    is_whole = type(value) is float and value.is_integer() and INT_MIN <= value <= INT_MAX
    return int(value) if is_whole else value


def _bytes(value: Any) -> Any:
    try:
        return base64.b64decode(value.translate(_URL_ALPHABET), validate=True)
    except (AttributeError, ValueError, binascii.Error):
        return value


def _timestamp(value: Any) -> Any:
    if value == "":
        return Timestamp(0)
    return _parsed(lambda text: parse_timestamp(f"{text}Z" if _LOCAL_TIME.fullmatch(text) else text), value)


def _date(value: Any) -> Any:
    return _parsed(lambda text: parse_timestamp(f"{text}T00:00:00Z"), value)


def _duration(value: Any) -> Any:
    found = _parsed(parse_duration, value)
    return found if found is not value or not isinstance(value, str) else _spelled_duration(value)


def _parsed(parse: Callable[[str], Any], value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except EvaluationError:
        return value


def _spelled_duration(text: str) -> Any:
    """Durations such as `2 days 3 hrs`, which schemas allow beside Go's notation."""
    parts = [(int(number), _unit(unit.lower())) for number, unit in _SPELLED_PART.findall(text)]
    nanos = sum(number * unit for number, unit in parts)
    return Duration(nanos) if any(unit for _, unit in parts) and nanos <= INT_MAX else text


def _unit(name: str) -> int:
    for names, nanos in _UNITS.items():
        if name in names or name.startswith(names[-1]):
            return nanos
    return 0


def _scalar_key(item: Any) -> Any:
    return map_key(item) if item.__hash__ is not None else repr(item)


def _keys(items: Iterable[Any]) -> set[Any]:
    return {_scalar_key(item) for item in items}


def _is_new(key: Any, known: set[Any]) -> bool:
    if key in known:
        return False
    known.add(key)
    return True


_URL_ALPHABET: Final = str.maketrans({"-": "+", "_": "/", "\n": None, "\r": None})
_LOCAL_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?")
_SPELLED_PART: Final = re.compile(r"([0-9]{1,18})\s*([A-Za-zµ]+)")
_HOUR: Final = 3_600_000_000_000
_UNITS: Final = {
    ("ns", "nano"): 1,
    ("us", "µs", "micro"): 1_000,
    ("ms", "milli"): 1_000_000,
    ("s", "sec"): 1_000_000_000,
    ("m", "min"): 60_000_000_000,
    ("h", "hr", "hour"): _HOUR,
    ("d", "day"): 24 * _HOUR,
    ("w", "wk", "week"): 168 * _HOUR,
}

_STRINGS: Final[dict[str, Converter]] = {
    "byte": _bytes,
    "date": _date,
    "date-time": _timestamp,
    "duration": _duration,
}
