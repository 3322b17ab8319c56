"""JSON values as their schema means them."""

from __future__ import annotations

from typing import Any

import pytest

from kubecel.equality import equals
from kubecel.native import MapList, SetList, TypedMap, converter_for, raw
from kubecel.values import Duration, Timestamp

SECOND = 1_000_000_000
DAY = 86_400 * SECOND


def string(format_name: str) -> dict[str, Any]:
    return {"type": "string", "format": format_name}


def converted(schema: dict[str, Any], value: Any) -> Any:
    return converter_for(schema)(value)


@pytest.mark.parametrize(
    ("schema", "value", "meaning"),
    [
        (string("byte"), "aGVsbG8=", b"hello"),
        (string("byte"), "_-8=", b"\xff\xef"),
        (string("byte"), "/+8=", b"\xff\xef"),
        (string("byte"), "", b""),
        (string("date-time"), "1970-01-02T00:00:01Z", Timestamp(DAY + SECOND)),
        (string("date-time"), "1970-01-01T01:00:00.5+01:00", Timestamp(SECOND // 2)),
        (string("date-time"), "1970-01-02T00:00:00", Timestamp(DAY)),
        (string("date-time"), "", Timestamp(0)),
        (string("date"), "1970-01-03", Timestamp(2 * DAY)),
        (string("duration"), "1m30s", Duration(90 * SECOND)),
        (string("duration"), "2 days 1 hr", Duration(2 * DAY + 3600 * SECOND)),
        (string("duration"), "1 week", Duration(7 * DAY)),
        ({"type": "number"}, 2, 2.0),
        ({"type": "integer"}, 2.0, 2),
    ],
)
def test_value_becomes_what_its_schema_says(schema: dict[str, Any], value: Any, meaning: Any) -> None:
    result = converted(schema, value)
    assert result == meaning
    assert type(result) is type(meaning)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (string("byte"), "no base64!"),
        (string("byte"), 3),
        (string("date-time"), "yesterday"),
        (string("date-time"), None),
        (string("date"), "2020-13-01"),
        (string("duration"), "soon"),
        (string("duration"), 5),
        (string("hostname"), "example.com"),
        ({"type": "string"}, "text"),
        ({"type": "integer"}, 2.5),
        ({"type": "integer"}, True),
        ({"type": "number"}, "2"),
        ({"type": "number"}, True),
        ({"type": "boolean"}, True),
        ({"x-kubernetes-int-or-string": True, "type": "number"}, 3),
        ({"type": "object", "properties": {"a": string("byte")}}, "no object"),
        ({"type": "object", "additionalProperties": string("byte")}, []),
        ({"type": "array", "items": string("byte")}, {}),
        ({"x-kubernetes-preserve-unknown-fields": True}, {"a": None}),
        ({}, [1]),
    ],
)
def test_value_that_needs_nothing_or_does_not_fit_stays_as_it_is(schema: dict[str, Any], value: Any) -> None:
    assert converted(schema, value) is value


SECRET = {
    "type": "object",
    "properties": {
        "data": {"type": "object", "additionalProperties": string("byte")},
        "metadata": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "created": string("date-time")},
        },
        "times": {"type": "array", "items": string("date")},
    },
}


def test_conversion_reaches_into_objects_maps_and_lists() -> None:
    value = {
        "data": {"key": "aGk="},
        "metadata": {"name": "s", "created": "1970-01-02T00:00:00Z"},
        "times": ["1970-01-02"],
    }
    assert converted(SECRET, value) == {
        "data": {"key": b"hi"},
        "metadata": {"name": "s", "created": Timestamp(DAY)},
        "times": [Timestamp(DAY)],
    }


def test_original_is_never_changed_and_remains_at_hand() -> None:
    value = {"data": {"key": "aGk="}, "metadata": {"name": "s"}}
    result = converted(SECRET, value)
    assert value == {"data": {"key": "aGk="}, "metadata": {"name": "s"}}
    assert isinstance(result, TypedMap)
    assert raw(result) is value
    assert raw(result["data"]) is value["data"]
    assert raw("text") == "text"


def test_parts_that_need_nothing_are_shared() -> None:
    value = {"data": {"key": "aGk="}, "metadata": {"name": "s"}, "unknown": {"deep": [None]}}
    result = converted(SECRET, value)
    assert result["metadata"] is value["metadata"]
    assert result["unknown"] is value["unknown"]
    plain = {"metadata": {"name": "s"}, "times": []}
    assert converted(SECRET, plain) is plain


def test_null_fields_of_objects_are_absent_but_null_entries_of_maps_are_not() -> None:
    result = converted(
        SECRET, {"metadata": {"name": "s", "created": None}, "data": {"key": None}, "times": None}
    )
    assert result == {"metadata": {"name": "s"}, "data": {"key": None}}


def test_recursive_schema_ends() -> None:
    node: dict[str, Any] = {"type": "object", "properties": {"value": string("byte")}}
    node["properties"]["next"] = node
    assert converted(node, {"next": {"next": {"value": "aGk="}}}) == {"next": {"next": {"value": b"hi"}}}


SET = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
MAP = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "at": string("date")}},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}


def test_sets_are_equal_whatever_their_order() -> None:
    one = converted(SET, ["a", "b"])
    assert isinstance(one, SetList)
    assert equals(one, ["b", "a"])
    assert not equals(one, ["a", "c"])
    assert not equals(one, ["a"])
    assert one == ["a", "b"]


def test_sets_tell_true_from_one() -> None:
    assert not equals(SetList([True]), [1])
    assert equals(SetList([1]), [1.0])


def test_adding_to_a_set_leaves_out_what_is_there() -> None:
    result = converted(SET, ["a", "b"]).plus(["c", "b", "c", "d"])
    assert result == ["a", "b", "c", "d"]
    assert isinstance(result, SetList)


def test_lists_with_keys_are_equal_whatever_their_order() -> None:
    one = converted(MAP, [{"name": "a", "at": "1970-01-02"}, {"name": "b"}])
    assert isinstance(one, MapList)
    assert equals(one, [{"name": "b"}, {"name": "a", "at": Timestamp(DAY)}])
    assert not equals(one, [{"name": "b"}, {"name": "a"}])
    assert not equals(one, [{"name": "b"}, {"name": "c"}])
    assert not equals(one, [{"name": "a", "at": Timestamp(DAY)}])


def test_adding_to_a_list_with_keys_replaces_in_place_and_appends() -> None:
    result = converted(MAP, [{"name": "a"}, {"name": "b"}]).plus([{"name": "c"}, {"name": "a", "x": 1}])
    assert result == [{"name": "a", "x": 1}, {"name": "b"}, {"name": "c"}]
    assert isinstance(result, MapList)


def test_atomic_lists_are_plain_lists() -> None:
    value = ["a"]
    assert converted({**SET, "x-kubernetes-list-type": "atomic"}, value) is value
