"""Templates against the schemas of kinds: what may stand where, beside expressions."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.controllers.composition.rejection import RejectedError
from edgekeeper.controllers.composition.template import find_variables, spell
from edgekeeper.core.json import JsonObject

NUMBER_OR_STRING: JsonObject = {"oneOf": [{"type": "string"}, {"type": "number"}]}
EITHER: JsonObject = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}}
SCHEMAS: list[tuple[JsonObject, list[Any], list[Any]]] = [
    ({"type": "string"}, ["x", "${a}", "x${a}", None], [1, True, [], {}]),
    ({"type": "integer"}, [1, 2.0, "${a}", None], ["x", "1${a}", True, 1.5, []]),
    ({"type": "number"}, [1, 1.5, "${a}"], ["x", False]),
    ({"type": "boolean"}, [True, "${a}"], ["true", 1]),
    ({"type": "array", "items": {"type": "integer"}}, [[1, "${a}"], [], "${a}"], [["x"], {}, "x"]),
    ({"type": "array"}, [[1, "x", {}]], [5]),
    (
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        [{"a": 1}, {}],
        [{"b": 1}, {"a": "x"}, []],
    ),
    ({"type": "object", "additionalProperties": {"type": "string"}}, [{"b": "x"}], [{"b": 1}]),
    ({"type": "object", "additionalProperties": True}, [{"b": 1}], [[]]),
    ({"x-kubernetes-int-or-string": True}, [1, "x", "x${a}"], [True, 1.5, {}]),
    ({"x-kubernetes-preserve-unknown-fields": True}, [1, "x", {"a": [1]}], []),
    ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, [{"a": [1]}], []),
    ({"properties": {"a": {"type": "integer"}}}, [{"a": 1}, 5], [{"a": "x"}]),
    ({}, [1, "x", {"a": 1}, [1]], []),
    (NUMBER_OR_STRING, [1, 1.5, "x"], [True, []]),
    (EITHER, [{"a": 1}], ["x", 1]),
]


@pytest.mark.parametrize(
    ("schema", "value"), [(schema, value) for schema, fitting, _ in SCHEMAS for value in fitting]
)
def test_value_that_fits_its_schema_is_accepted(schema: JsonObject, value: Any) -> None:
    find_variables({"field": value}, {"type": "object", "properties": {"field": schema}})


@pytest.mark.parametrize(
    ("schema", "value"), [(schema, value) for schema, _, wrong in SCHEMAS for value in wrong]
)
def test_value_that_does_not_fit_is_refused_with_its_path(schema: JsonObject, value: Any) -> None:
    with pytest.raises(RejectedError) as refused:
        find_variables({"field": value}, {"type": "object", "properties": {"field": schema}})
    assert refused.value.path.startswith("field")


def test_alternatives_are_named() -> None:
    schema = {"type": "object", "properties": {"field": NUMBER_OR_STRING}}
    with pytest.raises(RejectedError, match="expected string or number type for path field, got boolean"):
        find_variables({"field": True}, schema)


def test_ways_are_spelled_as_people_write_them() -> None:
    assert spell(("spec", "ports", 0, "name")) == "spec.ports[0].name"
    assert spell(("metadata", "labels", "a.b/c")) == 'metadata.labels["a.b/c"]'
    assert spell(("data", "", 1)) == 'data[""][1]'


def test_expressions_are_found_in_the_order_of_the_template() -> None:
    found = find_variables({"b": ["${x}", {"a": "-${y}"}], "a": "${z}", "n": None})
    assert [(one.path, one.expression.written) for one in found] == [
        ("b[0]", "x"),
        ("b[1].a", "-${y}"),
        ("a", "z"),
    ]
