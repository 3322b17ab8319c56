"""Structural schemas, as they follow from typed structs."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct

from edgekeeper.api.schema import Rule, UnstructuralTypeError, schema_of


class Colour(StrEnum):
    """What it looks like."""

    RED = "red"
    BLUE = "blue"


class Inner(Struct, rename="camel"):
    """An inner thing."""

    __rules__ = (Rule("self.twoWords != ''", "twoWords must not be empty"),)

    two_words: str


class Thing(Struct, rename="camel"):
    """A thing."""

    name: Annotated[str, Meta(min_length=1, max_length=9, pattern="^a", description="What it is called.")]
    size: Annotated[int, Meta(ge=1, le=5, extra_json_schema={"default": 3})] = 3
    on: bool = True
    mode: Literal["b", "a"] = "a"
    inner: Inner | None = None
    items: Annotated[list[Inner], Meta(max_length=4)] = []
    since: datetime | None = None
    ratio: Annotated[float, Meta(gt=0, le=1)] | None = None
    steps: Annotated[int, Meta(ge=0, lt=9, multiple_of=2)] = 0
    level: Literal[2, 1] = 1
    colour: Colour | None = None
    labels: Annotated[dict[str, Annotated[str, Meta(max_length=63)]], Meta(max_length=8)] = {}
    parts: dict[str, Inner] = {}
    values: Annotated[dict[str, Any], Meta(description="Whatever.")] = {}
    anything: Any = None


def _property(name: str) -> dict[str, Any]:
    found: dict[str, Any] = schema_of(Thing)["properties"][name]
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "name",
            {
                "type": "string",
                "minLength": 1,
                "maxLength": 9,
                "pattern": "^a",
                "description": "What it is called.",
            },
        ),
        ("size", {"type": "integer", "format": "int64", "minimum": 1, "maximum": 5, "default": 3}),
        ("on", {"type": "boolean"}),
        ("mode", {"type": "string", "enum": ["a", "b"]}),
        ("since", {"type": "string", "format": "date-time"}),
        (
            "ratio",
            {"type": "number", "format": "double", "minimum": 0, "exclusiveMinimum": True, "maximum": 1},
        ),
        (
            "steps",
            {
                "type": "integer",
                "format": "int64",
                "minimum": 0,
                "maximum": 9,
                "exclusiveMaximum": True,
                "multipleOf": 2,
            },
        ),
        ("level", {"type": "integer", "enum": [1, 2]}),
        ("colour", {"type": "string", "enum": ["blue", "red"]}),
        (
            "labels",
            {
                "type": "object",
                "additionalProperties": {"type": "string", "maxLength": 63},
                "maxProperties": 8,
            },
        ),
        (
            "values",
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "description": "Whatever."},
        ),
        ("anything", {"x-kubernetes-preserve-unknown-fields": True}),
    ],
)
def test_field_becomes_a_property_with_its_limits(name: str, expected: dict[str, Any]) -> None:
    assert _property(name) == expected


def test_only_fields_without_a_default_are_required() -> None:
    assert schema_of(Thing)["required"] == ["name"]


def test_optional_field_is_absent_and_never_null() -> None:
    inner = _property("inner")
    assert inner["type"] == "object"
    assert "nullable" not in inner


def test_list_has_the_schema_of_its_items_and_its_bounds() -> None:
    items = _property("items")
    assert (items["type"], items["maxItems"]) == ("array", 4)
    assert items["items"]["properties"] == {"twoWords": {"type": "string"}}


def test_map_has_the_schema_of_its_values() -> None:
    parts = _property("parts")
    assert parts["type"] == "object"
    assert parts["additionalProperties"]["properties"] == {"twoWords": {"type": "string"}}
    assert "properties" not in parts


def test_rules_and_descriptions_come_from_the_struct() -> None:
    inner = _property("inner")
    assert inner["description"] == "An inner thing."
    assert inner["x-kubernetes-validations"] == [
        {"message": "twoWords must not be empty", "rule": "self.twoWords != ''"}
    ]


class OfTwoTypes(Struct):
    """Kubernetes has no such fields."""

    value: int | str


class OfBytes(Struct):
    """Nor such."""

    value: bytes


class OfNumberedKeys(Struct):
    """Keys of JSON are strings."""

    value: dict[int, str]


class OfMixedValues(Struct):
    """An enum is of one type."""

    value: Literal["a", 1]


class OfItself(Struct):
    """A schema ends somewhere."""

    value: OfItself | None = None


@pytest.mark.parametrize("struct", [OfTwoTypes, OfBytes, OfNumberedKeys, OfMixedValues, OfItself])
def test_type_without_a_structural_schema_is_refused(struct: type[Struct]) -> None:
    with pytest.raises(UnstructuralTypeError):
        schema_of(struct)
