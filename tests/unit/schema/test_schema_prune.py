"""Unknown fields and meaningless nulls are removed, and the unknown fields reported."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from edgekeeper.schema import compile_schema

STRING = {"type": "string"}
A = {"type": "object", "properties": {"a": STRING}}
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
EMBEDDED = {**A, "x-kubernetes-embedded-resource": True}
OBJECT = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n", "odd": 1}}

CASES: dict[str, tuple[JsonObject, Any, Any, list[str]]] = {
    "a known field stays": (A, {"a": "1"}, {"a": "1"}, []),
    "an unknown field goes": (A, {"a": "1", "b": {"c": 1}}, {"a": "1"}, ["spec.x.b"]),
    "names are case-sensitive": (A, {"A": "1"}, {}, ["spec.x.A"]),
    "an unknown field of an item goes": (
        {"type": "array", "items": A},
        [{"a": "1"}, {"b": 2}],
        [{"a": "1"}, {}],
        ["spec.x[1].b"],
    ),
    "an unknown field of a list in a list goes": (
        {"type": "array", "items": {"type": "array", "items": A}},
        [[{"b": 1}]],
        [[{}]],
        ["spec.x[0][0].b"],
    ),
    "any key of a map stays": (
        {"type": "object", "additionalProperties": A},
        {"k": {"a": "1", "b": 2}},
        {"k": {"a": "1"}},
        ["spec.x.k.b"],
    ),
    "an object without declared fields is emptied": ({"type": "object"}, {"b": 1}, {}, ["spec.x.b"]),
    "values of an unspecified map are emptied": (
        {"type": "object", "additionalProperties": True},
        {"a": 1, "b": {"c": 1}, "d": [{"e": 1}]},
        {"a": 1, "b": {}, "d": [{}]},
        ["spec.x.b.c", "spec.x.d[0].e"],
    ),
    "an object in the place of a scalar is emptied": (STRING, {"a": 1}, {}, ["spec.x.a"]),
    "preserved fields stay": (OPEN, {"b": {"c": 1}}, {"b": {"c": 1}}, []),
    "declared fields of a preserving object are pruned": (
        {**OPEN, "properties": {"p": A}},
        {"b": 1, "p": {"c": 1}},
        {"b": 1, "p": {}},
        ["spec.x.p.c"],
    ),
    "items of a preserving list keep their fields": (
        {"type": "array", "items": A, "x-kubernetes-preserve-unknown-fields": True},
        [{"b": 1}],
        [{"b": 1}],
        [],
    ),
    "an embedded object keeps its identity": (
        EMBEDDED,
        {**OBJECT, "a": "1", "b": 2},
        {**OBJECT, "metadata": {"name": "n"}, "a": "1"},
        ["spec.x.b", "spec.x.metadata.odd"],
    ),
    "a null goes": (A, {"a": None}, {}, []),
    "a null stays where it is a value": (
        {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}},
        {"a": None},
        {"a": None},
        [],
    ),
    "a null stays where a default will replace it": (
        {"type": "object", "properties": {"a": {"type": "string", "default": "d"}}},
        {"a": None},
        {"a": "d"},
        [],
    ),
    "a null in a map goes": (
        {"type": "object", "additionalProperties": STRING},
        {"a": None, "b": "c"},
        {"b": "c"},
        [],
    ),
    "a null stays in a map of nullable values": (
        {"type": "object", "additionalProperties": {"type": "string", "nullable": True}},
        {"a": None},
        {"a": None},
        [],
    ),
    "a null stays among preserved fields": (OPEN, {"a": None}, {"a": None}, []),
    "a null item stays": ({"type": "array", "items": STRING}, [None], [None], []),
}


def kind_of(field: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": field}}}}


@pytest.mark.parametrize("case", CASES)
def test_prune(case: str) -> None:
    field, value, expected, unknown = CASES[case]
    schema, tree = compile_schema(kind_of(field)), {"spec": {"x": _copy(value)}}
    assert schema.prune(tree) == unknown
    schema.default(tree)
    assert tree == {"spec": {"x": expected}}


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(child) for key, child in value.items()}
    return [_copy(child) for child in value] if isinstance(value, list) else value


def test_prune_leaves_the_head_of_an_object_alone() -> None:
    tree: JsonObject = {"apiVersion": "a/v1", "kind": "K", "metadata": {"odd": None}, "spec": {}, "extra": 1}
    assert compile_schema(kind_of(STRING)).prune(tree) == ["extra"]
    assert tree == {"apiVersion": "a/v1", "kind": "K", "metadata": {"odd": None}, "spec": {}}


def test_prune_reports_paths_in_alphabetical_order() -> None:
    assert compile_schema(kind_of(A)).prune({"z": 1, "spec": {"x": {"c": 1, "b": 1}}, "b": 1}) == [
        "b",
        "spec.x.b",
        "spec.x.c",
        "z",
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abckx"), inner, max_size=4),
    max_leaves=12,
)


@given(value=JSON)
def test_prune_has_nothing_to_do_the_second_time(value: Any) -> None:
    fields = {
        "a": A,
        "b": {"type": "array", "items": A},
        "c": {"type": "object", "additionalProperties": A},
        "k": OPEN,
    }
    schema, tree = compile_schema(kind_of({"type": "object", "properties": fields})), {"spec": {"x": value}}
    schema.prune(tree)
    once = _copy(tree)
    assert schema.prune(tree) == []
    assert tree == once
