"""Defaults appear where fields are missing, at every depth, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.schema import compile_schema

D = {"type": "string", "default": "d"}
HAS_D = {"type": "object", "properties": {"d": D}}

CASES: dict[str, tuple[JsonObject, Any, Any]] = {
    "a missing field": (HAS_D, {}, {"d": "d"}),
    "a given field stays": (HAS_D, {"d": "given"}, {"d": "given"}),
    "an empty text is given": (HAS_D, {"d": ""}, {"d": ""}),
    "a null is replaced": (HAS_D, {"d": None}, {"d": "d"}),
    "a null stays where it is a value": (
        {"type": "object", "properties": {"d": {**D, "nullable": True}}},
        {"d": None},
        {"d": None},
    ),
    "false and zero are defaults": (
        {
            "type": "object",
            "properties": {
                "f": {"type": "boolean", "default": False},
                "z": {"type": "integer", "default": 0},
            },
        },
        {},
        {"f": False, "z": 0},
    ),
    "inside items": ({"type": "array", "items": HAS_D}, [{}, {"d": "e"}], [{"d": "d"}, {"d": "e"}]),
    "inside map values": ({"type": "object", "additionalProperties": HAS_D}, {"k": {}}, {"k": {"d": "d"}}),
    "not inside objects that are missing": ({"type": "object", "properties": {"o": HAS_D}}, {}, {}),
    "inside a default": (
        {"type": "object", "properties": {"o": {**HAS_D, "default": {}}}},
        {},
        {"o": {"d": "d"}},
    ),
    "beside what a default gives": (
        {
            "type": "object",
            "properties": {
                "o": {
                    "type": "object",
                    "properties": {"d": D, "e": {"type": "string"}},
                    "default": {"e": "1"},
                }
            },
        },
        {},
        {"o": {"e": "1", "d": "d"}},
    ),
    "in the place of a null item": ({"type": "array", "items": D}, [None, "a"], ["d", "a"]),
    "in the place of a null map value": (
        {"type": "object", "additionalProperties": D},
        {"k": None},
        {"k": "d"},
    ),
    "not in a value of another type": (HAS_D, "text", "text"),
}


@pytest.mark.parametrize("case", CASES)
def test_default(case: str) -> None:
    field, value, expected = CASES[case]
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": field}}}}
    tree = {"spec": {"x": value}}
    compile_schema(schema).default(tree)
    assert tree == {"spec": {"x": expected}}


def test_default_at_the_root() -> None:
    tree: JsonObject = {"kind": "K"}
    compile_schema({"type": "object", "properties": {"spec": {**HAS_D, "default": {}}}}).default(tree)
    assert tree == {"kind": "K", "spec": {"d": "d"}}


def test_default_values_are_never_shared() -> None:
    schema = compile_schema(
        {"type": "object", "properties": {"spec": {"type": "object", "default": {"l": [1]}}}}
    )
    first: JsonObject = {}
    second: JsonObject = {}
    schema.default(first)
    first["spec"]["l"].append(2)
    schema.default(second)
    assert second == {"spec": {"l": [1]}}


def test_default_is_idempotent() -> None:
    schema = compile_schema({"type": "object", "properties": {"spec": {**HAS_D, "default": {}}}})
    tree: JsonObject = {}
    schema.default(tree)
    schema.default(tree)
    assert tree == {"spec": {"d": "d"}}
