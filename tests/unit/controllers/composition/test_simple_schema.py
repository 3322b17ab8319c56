"""SimpleSchema becomes OpenAPI as kro makes it."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.controllers.composition.simple_schema import to_openapi
from edgekeeper.core.json import JsonObject
from edgekeeper.schema import check_structural
from edgekeeper.schema.expressions.engine import RuleEngine

FREE: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("written", "schema"),
    [
        ("string", {"type": "string"}),
        ("integer", {"type": "integer"}),
        ("boolean", {"type": "boolean"}),
        ("float", {"type": "number"}),
        ("object", FREE),
        ("[]string", {"type": "array", "items": {"type": "string"}}),
        ("map[string]integer", {"type": "object", "additionalProperties": {"type": "integer"}}),
        (
            "[]map[string][]float",
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": {"type": "array", "items": {"type": "number"}},
                },
            },
        ),
        ("[]object", {"type": "array", "items": FREE}),
        ({"a": "string"}, {"type": "object", "properties": {"a": {"type": "string"}}}),
        ('string | default="x"', {"type": "string", "default": "x"}),
        ("string | default=5", {"type": "string", "default": "5"}),
        ("integer | default=5 minimum=1 maximum=9", {"type": "integer", "default": 5, "minimum": 1, "maximum": 9}),
        ("float | default=0.5 minimum=0.1", {"type": "number", "default": 0.5, "minimum": 0.1}),
        ("boolean | default=true", {"type": "boolean", "default": True}),
        ("[]integer | default=[1,2]", {"type": "array", "items": {"type": "integer"}, "default": [1, 2]}),
        ('map[string]string | default={"a":"b"}',
         {"type": "object", "additionalProperties": {"type": "string"}, "default": {"a": "b"}}),
        ("object | default={}", {**FREE, "default": {}}),
        ('string | description="what it is"', {"type": "string", "description": "what it is"}),
        ('string | enum="a, b"', {"type": "string", "enum": ["a", "b"]}),
        ('integer | enum="1,2"', {"type": "integer", "enum": [1, 2]}),
        ('string | pattern="^a+$" minLength=1 maxLength=3',
         {"type": "string", "pattern": "^a+$", "minLength": 1, "maxLength": 3}),
        ("[]string | minItems=1 maxItems=3 uniqueItems=true",
         {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3,
          "x-kubernetes-list-type": "set"}),
        ("[]string | uniqueItems=false", {"type": "array", "items": {"type": "string"}}),
        ("[]object | listType=map listMapKey=name listMapKey=port",
         {"type": "array", "items": FREE, "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name", "port"]}),
        ('integer | validation="self > 0" immutable=true',
         {"type": "integer", "x-kubernetes-validations": [
             {"rule": "self > 0", "message": "validation failed"},
             {"rule": "self == oldSelf", "message": "field is immutable"}]}),
        ("string | immutable=false", {"type": "string"}),
        (" string  |  required=false ", {"type": "string"}),
    ],
)  # fmt: skip
def test_field_becomes_a_schema(written: Any, schema: JsonObject) -> None:
    assert to_openapi({"field": written})["properties"] == {"field": schema}


def test_required_fields_are_sorted() -> None:
    schema = to_openapi({"b": "string | required=true", "a": "string | required=T", "c": "string"})
    assert schema["required"] == ["a", "b"]


@pytest.mark.parametrize(
    ("fields", "has_default"),
    [
        ({"a": "string | default=x"}, True),
        ({"a": "string | default=x", "b": "string"}, True),
        ({"a": "string | default=x", "b": "string | required=true"}, False),
        ({"a": "string"}, False),
        ({"a": {"b": "string | default=x"}}, True),
        ({"a": {"b": "string | default=x", "c": "string | required=true"}}, False),
    ],
)
def test_object_is_defaulted_if_something_in_it_is_and_nothing_is_required(
    fields: JsonObject, has_default: bool
) -> None:
    schema = to_openapi({"object": fields})["properties"]["object"]
    assert (schema.get("default") == {}) is has_default


def test_own_types_are_put_in_where_they_are_used() -> None:
    types = {
        "Server": {"host": "Host", "port": "Port"},
        "Host": 'string | required=true pattern="^[a-z.]+$"',
        "Port": "integer | default=80 minimum=1",
    }
    schema = to_openapi({"main": "Server", "more": "[]Server", "port": "Port | maximum=99"}, types)
    server = {
        "type": "object",
        "properties": {
            "host": {"type": "string", "pattern": "^[a-z.]+$"},
            "port": {"type": "integer", "default": 80, "minimum": 1},
        },
        "required": ["host"],
    }
    assert schema["properties"] == {
        "main": server,
        "more": {"type": "array", "items": server},
        "port": {"type": "integer", "default": 80, "minimum": 1, "maximum": 99},
    }
    assert schema["default"] == {}


def test_markers_of_a_use_leave_the_own_type_alone() -> None:
    schema = to_openapi({"a": "Name | default=x", "b": "Name"}, {"Name": "string"})
    assert schema["properties"]["b"] == {"type": "string"}


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("text", "unknown type: text"),
        ("[]", "empty slice element type"),
        ("map[integer]string", "map key must be string"),
        ("map[string]", "map value type is required"),
        ("| default=1", "empty type"),
        ("[]" * 17 + "string", 'type nesting too deep (max 16): "string"'),
        (["string"], "unexpected type: list"),
        (5, "unexpected type: integer"),
        (True, "unexpected type: boolean"),
        (None, "unexpected type: null"),
        ("string | required=yes",
         'failed to parse required marker value: strconv.ParseBool: parsing "yes": invalid syntax'),
        ("string | immutable=no",
         'failed to parse immutable marker value: strconv.ParseBool: parsing "no": invalid syntax'),
        ("integer | minimum=x", 'failed to parse minimum enum value: strconv.ParseFloat: parsing "x": invalid syntax'),
        ("integer | maximum=inf",
         'failed to parse maximum enum value: strconv.ParseFloat: parsing "inf": invalid syntax'),
        ("string | minLength=x", 'failed to parse minLength value: strconv.ParseInt: parsing "x": invalid syntax'),
        ("string | maxLength=9223372036854775808",
         'failed to parse maxLength value: strconv.ParseInt: parsing "9223372036854775808": value out of range'),
        ("integer | minLength=1", "minLength marker is only valid for string types, got type: integer"),
        ("string | minItems=1", "minItems marker is only valid for array types, got type: string"),
        ("string | uniqueItems=true", "uniqueItems marker is only valid for array types, got type: string"),
        ('integer | pattern="a"', "pattern marker is only valid for string types, got type: integer"),
        ('string | pattern=""', "pattern marker value cannot be empty"),
        ('boolean | enum="true"', "enum values only supported for string and integer types, got type: boolean"),
        ('string | enum="a,,b"', "empty enum values are not allowed"),
        ('integer | enum="a"', 'failed to parse integer enum value: strconv.ParseInt: parsing "a": invalid syntax'),
        ('string | validation=" "', "validation failed"),
        ("[]string | listType=bag", 'invalid listType "bag": must be one of atomic, set, map'),
        ("[]string | uniqueItems=true listType=atomic", 'listType "atomic" conflicts with "set"'),
        ("[]object | listMapKey=name", "listMapKey marker requires listType=map"),
        ("integer | default=x", "invalid default value x: "),
        ("integer | default=1.5", "default value 1.5 is not a valid integer"),
        ("boolean | default=1", "default value 1 is not a valid boolean"),
        ("float | default=NaN", "invalid default value NaN: NaN is not JSON"),
        ("[]string | default={}", "default value {} is not a valid array"),
    ],
)  # fmt: skip
def test_field_that_is_none_is_refused_with_its_path(written: Any, complaint: str) -> None:
    with pytest.raises(RejectedError) as refused:
        to_openapi({"outer": {"inner": written}})
    assert refused.value.path == "spec.outer.inner"
    assert refused.value.message.startswith(f"field outer: field inner: {complaint}")


def test_pattern_that_does_not_compile_is_refused() -> None:
    with pytest.raises(RejectedError, match=r"invalid pattern regex: .*missing closing"):
        to_openapi({"a": 'string | pattern="[a"'})


@pytest.mark.parametrize(
    ("types", "complaint"),
    [
        ({"A": "[]B", "B": {"a": "A"}}, "cyclic dependency in type A: graph contains a cycle: A -> B -> A"),
        ({"A": "map[string]A"}, "cyclic dependency in type A: graph contains a cycle: A -> A"),
        ({"A": {"x": "Missing"}}, "building schema for A: unknown type: Missing"),
        ({"A": 5}, "parsing type A: unexpected type: integer"),
        ({"A": {"x": ["string"]}}, "parsing type A: field x: unexpected type: list"),
        ({"A": "string | nonsense=1"}, 'building schema for A: invalid marker key "nonsense": unknown marker: nonsense'),
    ],
)  # fmt: skip
def test_own_type_that_is_none_is_refused(types: JsonObject, complaint: str) -> None:
    with pytest.raises(RejectedError) as refused:
        to_openapi({}, types)
    assert refused.value.message == complaint
    assert refused.value.path.startswith("types.A")


def test_schemas_are_structural() -> None:
    schema = to_openapi(
        {
            "a": 'string | required=true enum="x,y" default=x',
            "b": {"c": "[]Item | minItems=1 listType=map listMapKey=name", "d": "map[string]object"},
            "e": 'integer | validation="self < 10"',
        },
        {"Item": {"name": "string | required=true", "n": "float | default=1"}},
    )
    whole = {"type": "object", "properties": {"spec": schema}}
    assert check_structural(whole, "schema", rules=RuleEngine()) == []


def test_types_of_types_cannot_add_up_to_any_size() -> None:
    types = {"T0": {"a": "string"}} | {f"T{n}": {"a": f"T{n - 1}", "b": f"[]T{n - 1}"} for n in range(1, 40)}
    with pytest.raises(RejectedError, match="the schema has more than 10000 fields"):
        to_openapi({"a": "T39"}, types)
    with pytest.raises(RejectedError, match="the schema has more than 10000 fields"):
        to_openapi({f"f{number}": "T3" for number in range(1_000)}, dict(list(types.items())[:4]))
    assert len(to_openapi({f"f{number}": "T3" for number in range(100)}, dict(list(types.items())[:4]))) == 2


def test_schema_that_is_nested_too_deeply_is_refused() -> None:
    fields: Any = "string"
    for _ in range(5_000):
        fields = {"a": fields}
    with pytest.raises(RejectedError, match="nested too deeply"):
        to_openapi({"a": fields})
