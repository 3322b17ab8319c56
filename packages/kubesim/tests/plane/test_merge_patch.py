"""Merge patch: the examples of RFC 7386, the server's deviations, and its refusals."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.plane.patch import merge_patch

SCALARS = st.booleans() | st.integers() | st.text(max_size=3)
OBJECTS = st.dictionaries(
    st.sampled_from("abcd"),
    st.recursive(
        SCALARS | st.lists(SCALARS, max_size=2),
        lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({}, {"a": None}, {}),
        ({}, {"a": [None, {"b": None, "c": 1}]}, {"a": [None, {"c": 1}]}),
        ({"a": None}, {"a": {"b": None}}, {"a": {}}),
        ({"a": "text"}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({"a": {"b": 1}}, {"a": [{"c": None}]}, {"a": [{"c": None}]}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": 1}}),
    ],
    ids=str,
)
def test_merge_patch_merges_objects_and_replaces_the_rest(
    document: JsonObject, patch: JsonObject, expected: JsonObject
) -> None:
    assert merge_patch(document, patch) == expected


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (None, "Invalid JSON Patch"),
        (
            [],
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            3,
            "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}",
        ),
        (
            "x",
            "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}",
        ),
    ],
)
def test_merge_patch_must_be_an_object(patch: Any, message: str) -> None:
    with pytest.raises(StatusError) as refusal:
        merge_patch({"a": 1}, patch)
    assert (refusal.value.code, refusal.value.message) == (400, message)


def test_merge_patch_leaves_fields_in_their_order() -> None:
    assert list(merge_patch({"a": 1, "b": 2, "c": 3}, {"d": 4, "b": 5})) == ["a", "b", "c", "d"]


def test_merge_patch_shares_nothing_with_its_inputs() -> None:
    document: JsonObject = {"kept": {"list": [1]}, "changed": {"x": 1}}
    patch: JsonObject = {"changed": {"y": {"list": [2]}}, "new": {"list": [3]}}
    before = deepcopy((document, patch))
    patched = merge_patch(document, patch)
    patched["kept"]["list"].append(9)
    patched["changed"]["y"]["list"].append(9)
    patched["new"]["list"].append(9)
    assert (document, patch) == before


@given(OBJECTS, OBJECTS)
def test_merge_patch_applied_twice_changes_nothing_more(document: JsonObject, patch: JsonObject) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


@given(OBJECTS)
def test_merge_patch_of_nothing_is_the_document(document: JsonObject) -> None:
    assert merge_patch(document, {}) == document
    assert merge_patch({}, document) == document
