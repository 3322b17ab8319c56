"""JSON patch: what each operation does, and the server's two ways to refuse one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import StatusError
from kubesim.plane.patch import json_patch, json_patch_complaints

DOCUMENT: JsonObject = {
    "data": {"a": "1", "b": "2"},
    "list": ["x", "y", "z"],
    "n": 1,
    "null": None,
    "x/y~z": 7,
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def operation(op: str, path: str, **rest: Any) -> JsonObject:
    return {"op": op, "path": path, **rest}


@pytest.mark.parametrize(
    ("operations", "changed"),
    [
        ([operation("add", "/data/c", value="3")], {"data": {"a": "1", "b": "2", "c": "3"}}),
        ([operation("add", "/data/a", value="9")], {"data": {"a": "9", "b": "2"}}),
        ([operation("add", "/data/c")], {"data": {"a": "1", "b": "2", "c": None}}),
        ([operation("add", "/list/1", value="n")], {"list": ["x", "n", "y", "z"]}),
        ([operation("add", "/list/3", value="n")], {"list": ["x", "y", "z", "n"]}),
        ([operation("add", "/list/-", value="n")], {"list": ["x", "y", "z", "n"]}),
        ([operation("add", "/list/-1", value="n")], {"list": ["x", "y", "z", "n"]}),
        ([operation("remove", "/data/a")], {"data": {"b": "2"}}),
        ([operation("remove", "/list/0")], {"list": ["y", "z"]}),
        ([operation("remove", "/list/-1")], {"list": ["x", "y"]}),
        ([operation("remove", "/null")], {"null": ...}),
        ([operation("replace", "/data/a", value={"deep": [1]})], {"data": {"a": {"deep": [1]}, "b": "2"}}),
        ([operation("replace", "/data/new", value="3")], {"data": {"a": "1", "b": "2", "new": "3"}}),
        ([operation("replace", "/list/1", value="n")], {"list": ["x", "n", "z"]}),
        ([operation("move", "/data/c", **{"from": "/data/a"})], {"data": {"b": "2", "c": "1"}}),
        ([operation("move", "/list/2", **{"from": "/list/0"})], {"list": ["y", "z", "x"]}),
        ([operation("copy", "/data/c", **{"from": "/data/a"})], {"data": {"a": "1", "b": "2", "c": "1"}}),
        ([operation("copy", "/data/c", **{"from": "/data/none"})], {"data": {"a": "1", "b": "2", "c": None}}),
        ([operation("copy", "/list/-", **{"from": "/list/0"})], {"list": ["x", "y", "z", "x"]}),
        ([operation("replace", "/x~1y~0z", value=8)], {"x/y~z": 8}),
        ([operation("add", "/~01", value=8)], {"~1": 8}),
        ([operation("add", "/", value=8)], {"": 8}),
        ([operation("test", "/n", value=1), operation("remove", "/n")], {"n": ...}),
        ([], {}),
        (None, {}),
    ],
)
def test_json_patch_changes_what_the_operations_name(operations: Any, changed: JsonObject) -> None:
    expected = {key: value for key, value in (DOCUMENT | changed).items() if value is not ...}
    assert json_patch(DOCUMENT, operations) == expected


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/data/a", "1"),
        ("/data", {"b": "2", "a": "1"}),
        ("/list", ["x", "y", "z"]),
        ("/list/-1", "z"),
        ("/null", None),
        ("/missing", None),
        ("", DOCUMENT),
    ],
)
def test_json_patch_test_passes_on_equal_values_and_takes_absence_for_null(path: str, value: Any) -> None:
    assert json_patch(DOCUMENT, [operation("test", path, value=value)]) == DOCUMENT


@pytest.mark.parametrize(
    "operations",
    [
        [operation("test", "/data/a", value="9")],
        [operation("test", "/data/missing", value="9")],
        [operation("test", "/data/a")],
        [operation("test", "/n", value=1.0)],
        [operation("test", "/n", value=True)],
        [operation("test", "/list", value=["x", "y"])],
        [operation("test", "/list/7", value="x")],
        [operation("test", "/nothing/here", value=None)],
        [operation("test", "", value={})],
        [operation("remove", "/data/missing")],
        [operation("remove", "/list/3")],
        [operation("remove", "/list/-4")],
        [operation("remove", "/list/-")],
        [operation("remove", "")],
        [operation("add", "/nothing/here", value=1)],
        [operation("add", "/n/deeper", value=1)],
        [operation("add", "/list/5", value=1)],
        [operation("add", "/list/one", value=1)],
        [operation("add", "/list/1e0", value=1)],
        [operation("add", "", value={})],
        [operation("add", "data", value={})],
        [operation("replace", "/list/3", value=1)],
        [operation("replace", "/list/-", value=1)],
        [operation("replace", "/nothing/here", value=1)],
        [operation("replace", "", value="text")],
        [operation("replace", "")],
        [operation("move", "/data/c", **{"from": "/data/missing"})],
        [operation("move", "/nothing/here", **{"from": "/data/a"})],
        [operation("move", "/data/inner", **{"from": "/data"})],
        [operation("copy", "/data/c", **{"from": "/list/9"})],
        [{"op": "move", "path": "/a"}],
        [{"op": "copy", "from": "/data"}],
        [{"op": "add", "value": 1}],
        [{"path": "/data"}],
        [operation("bogus", "/data")],
        [None],
    ],
    ids=str,
)
def test_json_patch_that_does_not_apply_is_rejected_without_details(operations: Any) -> None:
    with pytest.raises(StatusError) as refusal:
        json_patch(DOCUMENT, operations)
    assert (refusal.value.code, refusal.value.reason) == (422, "Invalid")
    assert refusal.value.message == "the server rejected our request due to an error in our request"
    assert refusal.value.details == {}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({}, "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ("x", "cannot unmarshal string into Go value of type []handlers.jsonPatchOp"),
        ([3], "cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ([{"op": 3}], "cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        ([{"path": True}], "cannot unmarshal bool into Go struct field jsonPatchOp.path of type string"),
        ([{"from": []}], "cannot unmarshal array into Go struct field jsonPatchOp.from of type string"),
    ],
)
def test_json_patch_of_the_wrong_shape_is_a_bad_request(patch: Any, message: str) -> None:
    with pytest.raises(StatusError) as refusal:
        json_patch(DOCUMENT, patch)
    assert (refusal.value.code, refusal.value.reason) == (400, "BadRequest")
    assert refusal.value.message == f"error decoding patch: json: {message}"


def test_json_patch_is_limited_to_ten_thousand_operations() -> None:
    passing = operation("test", "/n", value=1)
    assert json_patch(DOCUMENT, [passing] * 10_000) == DOCUMENT
    with pytest.raises(StatusError) as refusal:
        json_patch(DOCUMENT, [passing] * 10_001)
    assert (refusal.value.code, refusal.value.reason) == (413, "RequestEntityTooLarge")
    assert refusal.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


def test_json_patch_cannot_fill_the_memory_by_doubling_the_document() -> None:
    doubling = operation("copy", "/list/-", **{"from": "/list"})
    with pytest.raises(StatusError) as refusal:
        json_patch({"list": ["x" * 100]}, [doubling] * 60)
    assert refusal.value.code == 422


@pytest.mark.parametrize("times", [260, 900, 5000])
def test_json_patch_cannot_nest_the_document_beyond_the_limit(times: int) -> None:
    deeper = operation("copy", "/a/a", **{"from": "/a"})
    assert json_patch({"a": {}}, [deeper] * 200)["a"]["a"]["a"]
    with pytest.raises(StatusError) as refusal:
        json_patch({"a": {}}, [deeper] * times)
    assert refusal.value.code == 422


def test_json_patch_can_replace_the_document_by_an_object_only() -> None:
    assert json_patch(DOCUMENT, [operation("replace", "", value={"a": 1})]) == {"a": 1}
    with pytest.raises(StatusError) as refusal:
        json_patch(DOCUMENT, [operation("replace", "", value=[])])
    assert refusal.value.code == 422
    assert refusal.value.message.startswith(
        ' "" is invalid: patch: Invalid value: "[]": couldn\'t get version/kind'
    )


def test_json_patch_copies_are_independent_of_their_source() -> None:
    patched = json_patch(
        {"a": {"list": [1]}},
        [operation("copy", "/b", **{"from": "/a"}), operation("add", "/a/list/-", value=2)],
    )
    assert patched == {"a": {"list": [1, 2]}, "b": {"list": [1]}}


def test_json_patch_shares_nothing_with_its_inputs() -> None:
    document, patch = deepcopy(DOCUMENT), [operation("add", "/new", value={"list": [1]})]
    patched = json_patch(document, patch)
    patched["new"]["list"].append(2)
    patched["data"]["a"] = "changed"
    assert document == DOCUMENT
    assert patch == [operation("add", "/new", value={"list": [1]})]


@given(VALUES)
def test_json_patch_added_value_passes_its_own_test(value: Any) -> None:
    operations = [operation("add", "/v", value=value), operation("test", "/v", value=deepcopy(value))]
    assert json_patch(DOCUMENT, operations)["v"] == value


@given(VALUES, VALUES)
def test_json_patch_add_then_remove_restores_the_document(first: Any, second: Any) -> None:
    document = {"list": [first, second]}
    operations = [operation("add", "/list/1", value="inserted"), operation("remove", "/list/1")]
    assert json_patch(document, operations) == document


def test_json_patch_complaints_name_members_that_mean_nothing() -> None:
    patch = [operation("add", "/a", value=1), operation("remove", "/b", extra=1, other=2)]
    assert json_patch_complaints(patch) == [
        'json patch unknown field "[1].extra"',
        'json patch unknown field "[1].other"',
    ]
