"""Updates are not blamed for what they leave as it was; lists that are sets or maps hold nothing twice."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.schema import compile_schema

SHORT = {"type": "string", "maxLength": 2}
NAMED = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "v": SHORT}}
ATOMIC = {"type": "array", "items": NAMED, "maxItems": 2}
KEYED = {**ATOMIC, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
TOO_LONG = "Too long: may not be more than 2 bytes"


def kind_of(**fields: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}


def errors_of(schema: JsonObject, value: JsonObject, old: JsonObject | None = None) -> list[str]:
    return [str(error) for error in compile_schema(schema).validate(value, old)]


UPDATES: dict[str, tuple[JsonObject, Any, Any, list[str]]] = {
    "an unchanged value is forgiven": ({"a": SHORT, "b": SHORT}, {"a": "long"}, {"a": "long", "b": "x"}, []),
    "a changed value is not": ({"a": SHORT}, {"a": "long"}, {"a": "longer"}, [f"spec.a: {TOO_LONG}"]),
    "a new value is not": ({"a": SHORT}, {}, {"a": "long"}, [f"spec.a: {TOO_LONG}"]),
    "a missing field of an unchanged object is forgiven": (
        {"a": NAMED, "b": SHORT},
        {"a": {"v": "x"}},
        {"a": {"v": "x"}, "b": "x"},
        [],
    ),
    "a missing field of a changed object is not": (
        {"a": NAMED},
        {"a": {"v": "x"}},
        {"a": {"v": "y"}},
        ["spec.a.name: Required value"],
    ),
    "a map value is known by its key": (
        {"m": {"type": "object", "additionalProperties": SHORT}},
        {"m": {"k": "long"}},
        {"m": {"k": "long", "l": "long"}},
        [f"spec.m.l: {TOO_LONG}"],
    ),
    "an item of a keyed list is known by its key": (
        {"l": KEYED},
        {"l": [{"name": "a", "v": "long"}]},
        {"l": [{"name": "b"}, {"name": "a", "v": "long"}]},
        [],
    ),
    "an item of a plain list is not known": (
        {"l": ATOMIC},
        {"l": [{"name": "a", "v": "long"}]},
        {"l": [{"name": "a", "v": "long"}, {"name": "b"}]},
        [f"spec.l[0].v: {TOO_LONG}"],
    ),
    "an unchanged plain list is forgiven": (
        {"l": ATOMIC, "b": SHORT},
        {"l": [{"v": "long"}]},
        {"l": [{"v": "long"}], "b": "x"},
        [],
    ),
    "a list that stays too long is not forgiven when it changes": (
        {"l": KEYED},
        {"l": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
        {"l": [{"name": "a"}, {"name": "b"}, {"name": "d"}]},
        ["spec.l: Too many: 3: must have at most 2 items"],
    ),
    "an unchanged field is not forgiven to a branch of a changed object": (
        {"j": {**NAMED, "allOf": [{"properties": {"name": {"minLength": 3}}}]}},
        {"j": {"name": "a"}},
        {"j": {"name": "a", "v": "x"}},
        [
            'spec.j.name: Invalid value: "a": spec.j.name in body should be at least 3 chars long',
            '<nil>: Invalid value: "": "spec.j" must validate all the schemas (allOf). None validated',
        ],
    ),
    "an object with undescribed fields never counts as unchanged": (
        {
            "o": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "minProperties": 2},
            "b": SHORT,
        },
        {"o": {"free": 1}},
        {"o": {"free": 1}, "b": "x"},
        ["spec.o: Invalid value: 1: spec.o in body should have at least 2 properties"],
    ),
    "a keyed list in another order counts as unchanged": (
        {"l": {**KEYED, "maxItems": 1}, "b": SHORT},
        {"l": [{"name": "a"}, {"name": "b"}]},
        {"l": [{"name": "b"}, {"name": "a"}], "b": "x"},
        [],
    ),
    "an unchanged junctor is forgiven": (
        {"j": {**NAMED, "anyOf": [{"required": ["v"]}]}, "b": SHORT},
        {"j": {"name": "a"}},
        {"j": {"name": "a"}, "b": "x"},
        [],
    ),
}


@pytest.mark.parametrize("case", UPDATES)
def test_update(case: str) -> None:
    fields, old, new, expected = UPDATES[case]
    assert errors_of(kind_of(**fields), {"spec": new}, {"spec": old}) == expected


def test_status_update_forgives_too() -> None:
    schema = {
        "type": "object",
        "properties": {"status": {"type": "object", "properties": {"a": SHORT, "b": SHORT}}},
    }
    new, old = {"status": {"a": "long", "b": "longer"}}, {"status": {"a": "long"}}
    assert [str(error) for error in compile_schema(schema).validate_status(new, old)] == [
        f"status.b: {TOO_LONG}"
    ]


SET = {
    "type": "array",
    "x-kubernetes-list-type": "set",
    "items": {"x-kubernetes-preserve-unknown-fields": True},
}
TWO_KEYS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["p", "q"],
    "items": {"type": "object", "properties": {"p": {"type": "integer"}, "q": {"type": "string"}}},
}
KEYED_FREELY = {**KEYED, "maxItems": 9, "items": {"type": "object", "properties": NAMED["properties"]}}

LISTS: dict[str, tuple[JsonObject, Any, list[str]]] = {
    "a set of different items": (SET, ["a", "b"], []),
    "a set of values that only look alike": (SET, [1, True, "1", 1.5, None], []),
    "an item twice": (SET, ["a", "b", "a"], ['spec.l[2]: Duplicate value: "a"']),
    "an item three times is told once": (SET, ["a", "a", "a"], ['spec.l[1]: Duplicate value: "a"']),
    "an object twice, its keys in any order": (
        SET,
        [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
        ['spec.l[1]: Duplicate value: {"a":1,"b":2}'],
    ),
    "a key twice": (
        KEYED_FREELY,
        [{"name": "a", "v": "1"}, {"name": "a", "v": "2"}],
        ['spec.l[1]: Duplicate value: {"name":"a"}'],
    ),
    "no key twice": (KEYED_FREELY, [{}, {"v": "1"}], ["spec.l[1]: Duplicate value: {}"]),
    "keys that differ in one part": (TWO_KEYS, [{"p": 1, "q": "a"}, {"p": 1, "q": "b"}], []),
    "keys that agree in every part": (
        TWO_KEYS,
        [{"p": 1, "q": "a"}, {"p": 1, "q": "a"}],
        ['spec.l[1]: Duplicate value: {"p":1,"q":"a"}'],
    ),
    "sets in a map": (
        {"type": "object", "additionalProperties": SET},
        {"k": ["a", "a"]},
        ['spec.l[k][1]: Duplicate value: "a"'],
    ),
}


@pytest.mark.parametrize("case", LISTS)
def test_list_holds_nothing_twice(case: str) -> None:
    field, value, expected = LISTS[case]
    assert errors_of(kind_of(l=field), {"spec": {"l": value}}) == expected


def test_list_map_of_something_else_is_refused() -> None:
    errors = errors_of(kind_of(l=KEYED), {"spec": {"l": ["a"]}})
    assert errors[-1] == 'spec.l[0]: Invalid value: "a": must be an object for an array of list-type map'


def test_duplicates_are_forgiven_when_there_were_some_before() -> None:
    schema, old, new = kind_of(l=SET), {"spec": {"l": ["a", "a"]}}, {"spec": {"l": ["b", "b"]}}
    assert errors_of(schema, new, old) == []
    assert errors_of(schema, new, {"spec": {"l": []}}) == ['spec.l[1]: Duplicate value: "b"']


EMBEDDED = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
NO_KIND = (
    'spec.o.kind: Invalid value: "no kind": may have mixed case, but should otherwise match: a DNS-1035 label '
    "must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    "with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
WHOLE = {"apiVersion": "apps/v1", "kind": "Deployment"}

OBJECTS: dict[str, tuple[Any, list[str]]] = {
    "a whole object": ({**WHOLE, "metadata": {"name": "n"}, "spec": {}}, []),
    "a nameless object": (WHOLE, []),
    "an object without identity": ({}, ["spec.o.apiVersion: Required value", "spec.o.kind: Required value"]),
    "an empty version": (
        {**WHOLE, "apiVersion": ""},
        ['spec.o.apiVersion: Invalid value: "": must not be empty'],
    ),
    "a version with too many parts": (
        {**WHOLE, "apiVersion": "a/b/c"},
        ['spec.o.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
    ),
    "an empty kind": ({**WHOLE, "kind": ""}, ['spec.o.kind: Invalid value: "": must not be empty']),
    "a kind that could not be one": (
        {**WHOLE, "kind": "no kind"},
        [NO_KIND],
    ),
    "a name with a slash": (
        {**WHOLE, "metadata": {"name": "a/b"}},
        ["spec.o.metadata.name: Invalid value: \"a/b\": may not contain '/'"],
    ),
}


@pytest.mark.parametrize("case", OBJECTS)
def test_embedded_object(case: str) -> None:
    value, expected = OBJECTS[case]
    assert errors_of(kind_of(o=EMBEDDED), {"spec": {"o": value}}) == expected


def test_embedded_objects_in_lists_have_paths_of_their_own() -> None:
    schema = kind_of(o={"type": "array", "items": EMBEDDED})
    assert errors_of(schema, {"spec": {"o": [WHOLE, {"kind": "A"}]}}) == [
        "spec.o[1].apiVersion: Required value"
    ]
