"""`anyOf`, `oneOf`, `allOf` and `not`, and what is said when they fail."""

from __future__ import annotations

import pytest

from edgekeeper.schema import compile_schema

STRING = {"type": "string"}
INT_OR_STRING = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
AB = {"a": STRING, "b": STRING}
EITHER = {"type": "object", "properties": AB, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
ONE_OF = '<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). '
ANY_OF = '<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)'
ALL_OF = '<nil>: Invalid value: "": "spec.x" must validate all the schemas (allOf)'

CASES = {
    "int-or-string takes an integer": (INT_OR_STRING, 1, []),
    "int-or-string takes text": (INT_OR_STRING, "a", []),
    "int-or-string takes no list": (
        INT_OR_STRING,
        [],
        [
            'spec.x: Invalid value: "array": spec.x in body must be of type integer,string: "array"',
            ANY_OF,
            'spec.x: Invalid value: "array": spec.x in body must be of type integer: "array"',
        ],
    ),
    "anyOf is content with one": ({**STRING, "anyOf": [{"minLength": 9}, {"pattern": "^a"}]}, "ab", []),
    "anyOf shows the first of equal failures": (
        {**STRING, "anyOf": [{"minLength": 9}, {"pattern": "^a"}]},
        "b",
        [ANY_OF, 'spec.x: Invalid value: "b": spec.x in body should be at least 9 chars long'],
    ),
    "anyOf shows the failure that looked deepest": (
        {
            "type": "object",
            "properties": AB,
            "anyOf": [{"required": ["a"]}, {"properties": {"b": {"enum": ["y"]}}, "required": ["b"]}],
        },
        {"b": "z"},
        [ANY_OF, 'spec.x.b: Unsupported value: "z": supported values: "y"'],
    ),
    "oneOf is content with exactly one": (EITHER, {"a": "1"}, []),
    "oneOf refuses none": (EITHER, {}, [ONE_OF + "Found none valid", "spec.x.a: Required value"]),
    "oneOf refuses two": (EITHER, {"a": "1", "b": "2"}, [ONE_OF + "Found 2 valid alternatives"]),
    "allOf demands every one": (
        {**STRING, "allOf": [{"minLength": 2}, {"maxLength": 9}]},
        "a",
        ['spec.x: Invalid value: "a": spec.x in body should be at least 2 chars long', ALL_OF],
    ),
    "allOf says when none is satisfied": (
        {**STRING, "allOf": [{"minLength": 2}, {"pattern": "b"}]},
        "a",
        [
            'spec.x: Invalid value: "a": spec.x in body should be at least 2 chars long',
            "spec.x: Invalid value: \"a\": spec.x in body should match 'b'",
            ALL_OF + ". None validated",
        ],
    ),
    "not refuses what fits": (
        {**STRING, "not": {"pattern": "^a"}},
        "ab",
        ['<nil>: Invalid value: "": "spec.x" must not validate the schema (not)'],
    ),
    "not accepts what does not fit": ({**STRING, "not": {"pattern": "^a"}}, "b", []),
    "the same problem in two places is told once": (
        {**STRING, "minLength": 2, "allOf": [{"minLength": 2}]},
        "a",
        [
            'spec.x: Invalid value: "a": spec.x in body should be at least 2 chars long',
            ALL_OF + ". None validated",
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_junctor(case: str) -> None:
    field, value, expected = CASES[case]
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": field}}}}
    errors = [str(error) for error in compile_schema(schema).validate({"spec": {"x": value}})]
    assert sorted(errors) == sorted(expected)
