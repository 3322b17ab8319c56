"""Values are compared with their schema, and errors read as kube-apiserver words them."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.schema import compile_schema

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
OBJECT = {"type": "object"}


def schema_of(field: JsonObject, **around: Any) -> JsonObject:
    """A kind whose `spec` has the field `x`."""
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"x": field}, **around}},
    }


def errors_of(schema: JsonObject, value: JsonObject, old: JsonObject | None = None) -> list[str]:
    return [str(error) for error in compile_schema(schema).validate(value, old)]


ACCEPTED: dict[str, tuple[JsonObject, Any]] = {
    "text for a string": (STRING, "a"),
    "empty text": (STRING, ""),
    "a whole number for an integer": (INTEGER, 3),
    "a float without fraction for an integer": (INTEGER, 3.0),
    "an integer for a number": (NUMBER, 3),
    "a float for a number": (NUMBER, 3.5),
    "false for a boolean": ({"type": "boolean"}, False),
    "an empty object": (OBJECT, {}),
    "null where null is a value": ({"type": "string", "nullable": True}, None),
    "anything without a type": ({"x-kubernetes-preserve-unknown-fields": True}, {"a": [1]}),
    "an integer for int-or-string": ({"x-kubernetes-int-or-string": True}, 80),
    "text for int-or-string": ({"x-kubernetes-int-or-string": True}, "http"),
    "text at the length limits": ({**STRING, "minLength": 2, "maxLength": 2}, "éé"),
    "text that matches somewhere": ({**STRING, "pattern": "b+"}, "abba"),
    "a number at both limits": ({**INTEGER, "minimum": 5, "maximum": 5}, 5),
    "a number above an exclusive minimum": ({**NUMBER, "minimum": 1, "exclusiveMinimum": True}, 1.0001),
    "a multiple": ({**INTEGER, "multipleOf": 5}, -10),
    "a multiple of a fraction": ({**NUMBER, "multipleOf": 0.1}, 0.3),
    "an int32": ({**INTEGER, "format": "int32"}, 2147483647),
    "an int64": ({**INTEGER, "format": "int64"}, 9223372036854775807),
    "a member of an enumeration": ({**STRING, "enum": ["a", "b"]}, "b"),
    "an equal number in an enumeration": ({**NUMBER, "enum": [1, 2]}, 1.0),
    "a fraction for its whole part in an enumeration, which Go cuts off": ({**NUMBER, "enum": [1, 2]}, 1.5),
    "an equal object in an enumeration": (
        {**OBJECT, "properties": {"a": INTEGER}, "enum": [{"a": 1}]},
        {"a": 1},
    ),
    "a list within its limits": (
        {"type": "array", "items": STRING, "minItems": 1, "maxItems": 2},
        ["a", "b"],
    ),
    "a map of texts": ({"type": "object", "additionalProperties": STRING}, {"a": "b"}),
    "an unknown format": ({**STRING, "format": "colour"}, "x"),
    "a format of another type": ({**INTEGER, "format": "date"}, 1),
    "a list for a formatted string, which nobody checks": ({**STRING, "format": "date"}, ["x"]),
}

REFUSED: dict[str, tuple[JsonObject, Any, list[str]]] = {
    "a number for a string": (
        STRING,
        7,
        ['spec.x: Invalid value: "integer": spec.x in body must be of type string: "integer"'],
    ),
    "text for an integer": (
        INTEGER,
        "7",
        ['spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"'],
    ),
    "a fraction for an integer": (
        INTEGER,
        1.5,
        [
            'spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"',
            '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x',
        ],
    ),
    "a boolean for an integer": (
        INTEGER,
        True,
        ['spec.x: Invalid value: "boolean": spec.x in body must be of type integer: "boolean"'],
    ),
    "a boolean for an int32 names the format": (
        {**INTEGER, "format": "int32"},
        True,
        ['spec.x: Invalid value: "": spec.x in body must be of type int32: ""'],
    ),
    "a fraction for an int32 names the format": (
        {**INTEGER, "format": "int32"},
        1.5,
        [
            'spec.x: Invalid value: "float64": spec.x in body must be of type int32: "float64"',
            '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x',
        ],
    ),
    "a number for a date names the format": (
        {**STRING, "format": "date"},
        5,
        ['spec.x: Invalid value: "int64": spec.x in body must be of type date: "int64"'],
    ),
    "an object for a string": (
        STRING,
        {},
        ['spec.x: Invalid value: "object": spec.x in body must be of type string: "object"'],
    ),
    "a list for an object": (
        OBJECT,
        [],
        ['spec.x: Invalid value: "array": spec.x in body must be of type object: "array"'],
    ),
    "a boolean for int-or-string": (
        {"x-kubernetes-int-or-string": True},
        True,
        ['spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"'],
    ),
    "text that is too long": (
        {**STRING, "maxLength": 2},
        "ééé",
        ["spec.x: Too long: may not be more than 2 bytes"],
    ),
    "text that is longer than one": (
        {**STRING, "maxLength": 1},
        "ab",
        ["spec.x: Too long: may not be more than 1 byte"],
    ),
    "text that is too short": (
        {**STRING, "minLength": 2},
        "é",
        ['spec.x: Invalid value: "é": spec.x in body should be at least 2 chars long'],
    ),
    "text that does not match": (
        {**STRING, "pattern": "^[a-z]+$"},
        "A'\"",
        ["spec.x: Invalid value: \"A'\\\"\": spec.x in body should match '^[a-z]+$'"],
    ),
    "text with a final newline": (
        {**STRING, "pattern": "^a$"},
        "a\n",
        ["spec.x: Invalid value: \"a\\n\": spec.x in body should match '^a$'"],
    ),
    "only the first complaint about a text": (
        {**STRING, "minLength": 3, "pattern": "^[a-z]+$"},
        "A",
        ['spec.x: Invalid value: "A": spec.x in body should be at least 3 chars long'],
    ),
    "text that breaks its format": (
        {**STRING, "format": "date-time"},
        "soon",
        ['spec.x: Invalid value: "soon": spec.x in body must be of type date-time: "soon"'],
    ),
    "a number below the minimum": (
        {**INTEGER, "minimum": 1},
        0,
        ["spec.x: Invalid value: 0: spec.x in body should be greater than or equal to 1"],
    ),
    "a number above the maximum": (
        {**NUMBER, "maximum": 2.5},
        2.75,
        ["spec.x: Invalid value: 2.75: spec.x in body should be less than or equal to 2.5"],
    ),
    "a number at an exclusive maximum": (
        {**INTEGER, "maximum": 3, "exclusiveMaximum": True},
        3,
        ["spec.x: Invalid value: 3: spec.x in body should be less than 3"],
    ),
    "a float at an exclusive minimum": (
        {**NUMBER, "minimum": 1, "exclusiveMinimum": True},
        1.0,
        ["spec.x: Invalid value: 1: spec.x in body should be greater than 1"],
    ),
    "a large limit with an exponent": (
        {**NUMBER, "maximum": 1000000},
        1000000.5,
        ["spec.x: Invalid value: 1.0000005e+06: spec.x in body should be less than or equal to 1e+06"],
    ),
    "no multiple": (
        {**INTEGER, "multipleOf": 5},
        7,
        ["spec.x: Invalid value: 7: spec.x in body should be a multiple of 5"],
    ),
    "no multiple of a fraction": (
        {**NUMBER, "multipleOf": 0.25},
        0.3,
        ["spec.x: Invalid value: 0.3: spec.x in body should be a multiple of 0.25"],
    ),
    "a number beyond int32": (
        {**INTEGER, "format": "int32"},
        2147483648,
        ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x'],
    ),
    "a value outside an enumeration": (
        {**STRING, "enum": ["a", "b"]},
        "c",
        ['spec.x: Unsupported value: "c": supported values: "a", "b"'],
    ),
    "a number outside an enumeration": (
        {**INTEGER, "enum": [1, 2]},
        3,
        ['spec.x: Unsupported value: 3: supported values: "1", "2"'],
    ),
    "true where 1 is allowed": (
        {"x-kubernetes-preserve-unknown-fields": True, "enum": [1]},
        True,
        ['spec.x: Unsupported value: true: supported values: "1"'],
    ),
    "null in an enumeration, even where null is a value": (
        {**STRING, "nullable": True, "enum": ["a", None]},
        None,
        ['spec.x: Unsupported value: null: supported values: "a", "null"'],
    ),
    "the type and the enumeration": (
        {**STRING, "enum": ["a"]},
        1,
        [
            'spec.x: Invalid value: "integer": spec.x in body must be of type string: "integer"',
            'spec.x: Unsupported value: 1: supported values: "a"',
        ],
    ),
    "too few items": (
        {"type": "array", "items": STRING, "minItems": 1},
        [],
        ["spec.x: Invalid value: 0: spec.x in body should have at least 1 items"],
    ),
    "too many items": (
        {"type": "array", "items": STRING, "maxItems": 1},
        ["a", "b"],
        ["spec.x: Too many: 2: must have at most 1 item"],
    ),
    "an item twice": (
        {"type": "array", "items": STRING, "uniqueItems": True},
        ["a", "b", "a"],
        ['spec.x: Invalid value: "": spec.x in body shouldn\'t contain duplicates'],
    ),
    "a factor that divides nothing": (
        {**INTEGER, "multipleOf": 0},
        3,
        ["spec.x: Invalid value: 0: factor MultipleOf declared for spec.x must be positive: 0"],
    ),
    "an item of the wrong type": (
        {"type": "array", "items": STRING},
        ["a", 1],
        ['spec.x[1]: Invalid value: "integer": spec.x[1] in body must be of type string: "integer"'],
    ),
    "a null item": (
        {"type": "array", "items": STRING},
        [None],
        ['spec.x[0]: Invalid value: "null": spec.x[0] in body must be of type string: "null"'],
    ),
    "a field of an item": (
        {"type": "array", "items": {**OBJECT, "properties": {"name": STRING}, "required": ["name"]}},
        [{"name": "a"}, {}, {"name": 3}],
        [
            "spec.x[1].name: Required value",
            'spec.x[2].name: Invalid value: "integer": spec.x[2].name in body must be of type string: "integer"',
        ],
    ),
    "a map value of the wrong type": (
        {"type": "object", "additionalProperties": INTEGER},
        {"a.b/c": "d"},
        ['spec.x.a.b/c: Invalid value: "string": spec.x.a.b/c in body must be of type integer: "string"'],
    ),
    "too few properties": (
        {"type": "object", "additionalProperties": STRING, "minProperties": 1},
        {},
        ["spec.x: Invalid value: 0: spec.x in body should have at least 1 properties"],
    ),
    "too many properties": (
        {"type": "object", "additionalProperties": STRING, "maxProperties": 1},
        {"a": "b", "c": "d"},
        ["spec.x: Too many: 2: must have at most 1 item"],
    ),
    "missing fields in the order of the schema": (
        {**OBJECT, "properties": {"a": STRING, "b": STRING}, "required": ["b", "a"]},
        {},
        ["spec.x.b: Required value", "spec.x.a: Required value"],
    ),
    "a key that is forbidden": (
        {**OBJECT, "additionalProperties": False},
        {"a": 1},
        ['spec.x: Invalid value: "a": spec.x.a in body is a forbidden property'],
    ),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_check_accepts(case: str) -> None:
    field, value = ACCEPTED[case]
    assert errors_of(schema_of(field), {"spec": {"x": value}}) == []


@pytest.mark.parametrize("case", REFUSED)
def test_check_refuses(case: str) -> None:
    field, value, expected = REFUSED[case]
    assert errors_of(schema_of(field), {"spec": {"x": value}}) == expected


def test_check_reports_a_missing_field_at_the_root() -> None:
    assert errors_of({"type": "object", "required": ["spec"]}, {"kind": "A"}) == ["spec: Required value"]


def test_check_reports_whole_numbers_beyond_64_bits_as_other_numbers() -> None:
    assert errors_of(schema_of(INTEGER), {"spec": {"x": 2**63}}) == [
        'spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"',
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x',
    ]


def test_check_gives_wrong_types_their_own_reason() -> None:
    errors = compile_schema(schema_of(STRING)).validate({"spec": {"x": 1}})
    assert [error.reason for error in errors] == ["FieldValueTypeInvalid"]


def test_check_restricts_names_when_the_schema_does() -> None:
    name = {"type": "string", "maxLength": 3}
    schema = {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"name": name}}}}
    assert errors_of(schema, {"metadata": {"name": "long"}}) == [
        "metadata.name: Too long: may not be more than 3 bytes"
    ]


def test_check_fails_every_text_when_the_pattern_is_none() -> None:
    [error] = errors_of(schema_of({**STRING, "pattern": "("}), {"spec": {"x": "a"}})
    assert error.endswith(
        "should match '(, but pattern is invalid: error parsing regexp: missing closing ): `(`'"
    )


def test_status_is_validated_alone_with_paths_of_its_own() -> None:
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}}, "required": ["phase"]}
    schema = schema_of(STRING)
    schema["properties"]["status"] = status
    compiled = compile_schema(schema)
    errors = compiled.validate_status({"spec": {"x": 1}, "status": {"ready": "yes"}})
    assert [str(error) for error in errors] == [
        'status.ready: Invalid value: "string": ready in body must be of type boolean: "string"',
        "status.phase: Required value",
    ]
    assert compiled.validate_status({"spec": {"x": 1}}) == []
