"""Types and sizes from schemas, as API servers and as compositions read them."""

from __future__ import annotations

from typing import Any

import pytest

from kubecel.schema import MAX_REQUEST, Declaration, composition_type, declare
from kubecel.sizes import Estimate
from kubecel.types import DYN, INT, STRING, ObjectType, Type, list_of, map_of

STRING_SCHEMA = {"type": "string"}
INT_OR_STRING = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
UNTYPED = {"x-kubernetes-preserve-unknown-fields": True}


def fields_of(subject: Type) -> dict[str, str]:
    assert isinstance(subject, ObjectType)
    return {name: str(found) for name, found in subject.fields.items()}


def known(schema: dict[str, Any], *, resource: bool = False) -> Declaration:
    found = declare(schema, "self", resource=resource)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        (STRING_SCHEMA, "string"),
        ({"type": "boolean"}, "bool"),
        ({"type": "integer"}, "int"),
        ({"type": "number"}, "double"),
        ({"type": "string", "format": "byte"}, "bytes"),
        ({"type": "string", "format": "date"}, "timestamp"),
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"type": "string", "format": "duration"}, "duration"),
        ({"type": "string", "format": "hostname"}, "string"),
        (INT_OR_STRING, "dyn"),
        ({"type": "array", "items": STRING_SCHEMA}, "list(string)"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map(string, int)"),
        ({"type": "array", "items": {"type": "array", "items": INT_OR_STRING}}, "list(list(dyn))"),
        ({"type": "object"}, "self"),
    ],
)
def test_schema_has_the_type(schema: dict[str, Any], written: str) -> None:
    assert str(known(schema).type) == written
    assert str(composition_type(schema, "app")) == written.replace("self", "__type_app")


def test_objects_are_named_by_their_place() -> None:
    schema = {
        "type": "object",
        "properties": {
            "ports": {"type": "array", "items": {"type": "object", "properties": {"name": STRING_SCHEMA}}},
            "env": {"type": "object", "additionalProperties": {"type": "object"}},
        },
    }
    assert fields_of(known(schema).type) == {
        "ports": "list(self.ports.@idx)",
        "env": "map(string, self.env.@elem)",
    }


@pytest.mark.parametrize(
    "schema",
    [
        {},
        UNTYPED,
        {"type": "array"},
        {"type": "array", "items": UNTYPED},
        {"type": "object", "additionalProperties": UNTYPED},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    ],
    ids=str,
)
def test_rules_cannot_see_what_has_no_type(schema: dict[str, Any]) -> None:
    assert declare(schema, "self") is None
    holder = known({"type": "object", "properties": {"odd": schema, "plain": STRING_SCHEMA}})
    assert fields_of(holder.type) == {"plain": "string"}


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({}, "dyn"),
        (UNTYPED, "dyn"),
        ({"type": "array"}, "list(dyn)"),
        ({"type": "array", "items": UNTYPED}, "list(dyn)"),
        ({"type": "object", "additionalProperties": UNTYPED}, "map(string, dyn)"),
        ({"type": "object", "additionalProperties": True}, "map(string, dyn)"),
        ({"oneOf": [{"type": "string"}, {"type": "number"}]}, "dyn"),
    ],
    ids=str,
)
def test_compositions_take_what_has_no_type_for_dynamic(schema: dict[str, Any], written: str) -> None:
    assert str(composition_type(schema, "app")) == written


def test_unknown_fields_are_visible_to_compositions_only() -> None:
    schema = {"type": "object", "properties": {"a": STRING_SCHEMA}, **UNTYPED}
    strict, lenient = known(schema).type, composition_type(schema, "app")
    assert isinstance(strict, ObjectType)
    assert isinstance(lenient, ObjectType)
    assert (strict.field("b"), lenient.field("b"), lenient.field("a")) == (None, DYN, STRING)


def test_fields_with_unusual_names_are_spelled_out() -> None:
    schema = {
        "type": "object",
        "properties": {"my-port": {"type": "integer"}, "namespace": STRING_SCHEMA, "größe": STRING_SCHEMA},
    }
    found = known(schema).type
    assert isinstance(found, ObjectType)
    assert fields_of(found) == {"my__dash__port": "int", "namespace": "string", "__namespace__": "string"}
    assert found.keys == {"my__dash__port": "my-port", "__namespace__": "namespace"}


def test_resources_always_have_an_identity() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object"}, "metadata": {"type": "object"}}}
    resource = known(schema, resource=True)
    assert fields_of(resource.type) == {
        "spec": "self.spec",
        "metadata": "self.metadata",
        "kind": "string",
        "apiVersion": "string",
    }
    assert fields_of(resource.fields["metadata"].type) == {"name": "string", "generateName": "string"}


def test_resource_that_describes_its_identity_keeps_its_description() -> None:
    names = {"name": STRING_SCHEMA, "generateName": STRING_SCHEMA, "labels": {"type": "object"}}
    schema = {
        "type": "object",
        "properties": {
            "kind": STRING_SCHEMA,
            "apiVersion": STRING_SCHEMA,
            "metadata": {"type": "object", "properties": names},
        },
    }
    assert "labels" in known(schema, resource=True).fields["metadata"].fields


def test_embedded_resources_have_an_identity_too() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True}
    schema = {
        "type": "object",
        "properties": {"template": embedded, "all": {"type": "array", "items": embedded}},
    }
    found = known(schema)
    assert set(found.fields["template"].fields) == {"kind", "apiVersion", "metadata"}
    assert found.fields["all"].element is not None
    assert "kind" in found.fields["all"].element.fields


@pytest.mark.parametrize(
    ("schema", "most"),
    [
        ({"type": "string", "maxLength": 10}, 40),
        ({"type": "string"}, MAX_REQUEST - 2),
        ({"type": "string", "maxLength": -1}, 0),
        ({"type": "string", "enum": ["a", "größe", 3]}, 7),
        ({"type": "string", "enum": ["a"], "maxLength": 3}, 12),
        ({"type": "string", "format": "byte", "maxLength": 10}, 10),
        ({"type": "string", "format": "date-time"}, 32),
        ({"type": "string", "format": "date"}, 12),
        ({"type": "string", "format": "duration", "maxLength": 3}, 32),
        ({**INT_OR_STRING, "maxLength": 5}, 20),
        (INT_OR_STRING, MAX_REQUEST - 2),
        ({"type": "integer"}, 0),
        ({"type": "array", "items": STRING_SCHEMA, "maxItems": 5}, 5),
        ({"type": "array", "items": STRING_SCHEMA}, (MAX_REQUEST - 2) // 3),
        ({"type": "object", "additionalProperties": STRING_SCHEMA, "maxProperties": 5}, 5),
        ({"type": "object", "additionalProperties": STRING_SCHEMA}, (MAX_REQUEST - 2) // 8),
    ],
)
def test_schema_bounds_the_number_of_elements(schema: dict[str, Any], most: int) -> None:
    assert known(schema).max_elements == most


def test_smallest_object_holds_what_is_required_and_has_no_default() -> None:
    schema = {
        "type": "object",
        "required": ["name", "count", "ghost"],
        "properties": {
            "name": STRING_SCHEMA,
            "count": {"type": "integer", "default": 1},
            "free": STRING_SCHEMA,
        },
    }
    found = known(schema)
    assert found.min_size == 2 + len("name") + 2 + 4
    assert found.cardinality == MAX_REQUEST // (found.min_size + 1)
    listed = known({"type": "array", "items": schema})
    assert listed.max_elements == (MAX_REQUEST - 2) // (found.min_size + 1)


def test_sizes_are_found_by_path() -> None:
    item = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}
    schema = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "maxItems": 3, "items": item},
            "map": {"type": "object", "maxProperties": 4, "additionalProperties": item},
        },
    }
    found = known(schema)
    assert found.size_at(("self", "list")) == Estimate(0, 3)
    assert found.size_at(("self", "list", "@items", "name")) == Estimate(0, 20)
    assert found.size_at(("oldSelf", "map", "@values", "name")) == Estimate(0, 20)
    assert found.size_at(("self", "map", "@keys")) == Estimate(0, 0)
    assert found.size_at(("self",)) == Estimate(0, 0)


@pytest.mark.parametrize(
    "path", [(), ("self", "ghost"), ("self", "ghost", "@items"), ("self", "@items", "x")]
)
def test_size_off_the_schema_is_unknown(path: tuple[str, ...]) -> None:
    assert known({"type": "object", "properties": {"a": STRING_SCHEMA}}).size_at(path) is None


def test_lists_and_maps_hold_the_types_of_their_elements() -> None:
    found = known({"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}})
    assert found.type == map_of(STRING, list_of(INT))
    assert found.element is not None
    assert found.element.type == list_of(INT)
