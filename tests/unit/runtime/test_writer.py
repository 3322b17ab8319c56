"""From what a reconciler wants to what is sent: pure, and so tested without a server."""

from __future__ import annotations

from copy import deepcopy
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.errors import Conflict, PassError, Retry, Stall, Wait
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import ApplyWrite, MetadataWrite, StatusWrite, Write
from edgekeeper.kube.errors import (
    ApiError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ServerError,
    StaleError,
    ThrottledError,
    UnreachableError,
)
from edgekeeper.runtime.writer import as_pass_error, means_same, merge_difference, plan_write, read_for

READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
SYNCED = {"type": "Synced", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def an_object(**more: Any) -> JsonObject:
    metadata = {"name": "one", "uid": "u-1", "resourceVersion": "10", **more.pop("metadata", {})}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, **more}


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386, in the words of the RFC."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


scalars = st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


@given(objects, objects)
def test_merge_difference_turns_one_into_the_other(present: JsonObject, wanted: JsonObject) -> None:
    patched = merged(present, merge_difference(present, wanted))
    assert means_same(patched, wanted)


@given(objects)
def test_merge_difference_of_equal_trees_is_empty(tree: JsonObject) -> None:
    assert merge_difference(tree, deepcopy(tree)) == {}


@given(objects, objects)
def test_merge_difference_is_empty_only_for_trees_that_mean_the_same(
    left: JsonObject, right: JsonObject
) -> None:
    assert (merge_difference(left, right) == {}) == means_same(left, right)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        pytest.param([READY, SYNCED], [SYNCED, READY], True, id="conditions have no order"),
        pytest.param([READY], [READY, SYNCED], False, id="a condition more"),
        pytest.param([READY, READY], [READY, READY], True, id="a type twice is no map, but equal"),
        pytest.param([1, 2], [2, 1], False, id="other lists have an order"),
        pytest.param({"a": None}, {}, True, id="none is absent"),
        pytest.param(1, True, False, id="a number is no truth"),
        pytest.param(1, 1.0, True, id="a number is a number"),
        pytest.param("", None, False, id="empty is not absent"),
        pytest.param({}, None, False, id="an empty object is not absent"),
    ],
)
def test_means_same_compares_as_kubernetes_does(left: Any, right: Any, same: bool) -> None:
    assert means_same(left, right) is same
    assert means_same(right, left) is same


def test_status_write_sends_what_differs_with_the_version_that_was_read() -> None:
    obj = an_object(status={"old": 1, "kept": {"a": 1, "b": 2}, "conditions": [READY]})
    patch = plan_write(
        obj, StatusWrite({"kept": {"a": 1, "b": 3}, "conditions": [READY], "new": {"x": None, "y": 1}})
    )
    assert patch is not None
    assert patch.subresource == "status"
    assert patch.body == {
        "metadata": {"resourceVersion": "10"},
        "status": {"old": None, "kept": {"b": 3}, "new": {"y": 1}},
    }


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(None, id="nothing wanted"),
        pytest.param(StatusWrite({"size": 1, "conditions": [SYNCED, READY]}), id="same status, other order"),
        pytest.param(MetadataWrite(), id="no metadata wanted"),
        pytest.param(
            MetadataWrite(add_finalizers=("mine",), remove_finalizers=("gone",)), id="finalizers as they are"
        ),
        pytest.param(
            MetadataWrite(labels={"a": "b", "no": None}, annotations={"no": None}), id="labels as they are"
        ),
        pytest.param(
            ApplyWrite({"spec": {"size": 1, "gone": None}}, "manager"), id="applied fields as they are"
        ),
    ],
)
def test_write_that_would_change_nothing_is_not_sent(write: Any) -> None:
    obj = an_object(
        metadata={"finalizers": ["mine"], "labels": {"a": "b", "c": "d"}},
        spec={"size": 1, "colour": "red"},
        status={"size": 1, "conditions": [READY, SYNCED]},
    )
    assert plan_write(obj, write) is None


@pytest.mark.parametrize(
    "write",
    [
        StatusWrite({"size": 2}),
        MetadataWrite(add_finalizers=("new",), labels={"a": "c"}),
        ApplyWrite({"spec": {"size": 2}}, "manager"),
    ],
    ids=["status", "metadata", "apply"],
)
def test_what_is_read_for_a_write_plans_it_as_the_whole_object_would(write: Write) -> None:
    obj = an_object(metadata={"labels": {"a": "b"}}, spec={"size": 1}, status={"size": 1, "old": True})
    patch = plan_write(read_for(write, msgspec.json.encode(obj)), write)
    assert patch is not None
    assert patch == plan_write(obj, write)


def test_metadata_write_changes_only_what_it_names() -> None:
    obj = an_object(metadata={"finalizers": ["theirs", "mine"], "labels": {"a": "b"}})
    write = MetadataWrite(
        add_finalizers=("new",),
        remove_finalizers=("mine",),
        labels={"a": None, "c": "d"},
        annotations={"e": "f"},
    )
    patch = plan_write(obj, write)
    assert patch is not None
    assert patch.body["metadata"] == {
        "resourceVersion": "10",
        "finalizers": ["theirs", "new"],
        "labels": {"a": None, "c": "d"},
        "annotations": {"e": "f"},
    }


def test_metadata_write_adds_no_finalizer_to_an_object_that_is_being_deleted() -> None:
    obj = an_object(metadata={"finalizers": ["mine"], "deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert plan_write(obj, MetadataWrite(add_finalizers=("new",))) is None
    patch = plan_write(obj, MetadataWrite(add_finalizers=("new",), remove_finalizers=("mine",)))
    assert patch is not None
    assert patch.body["metadata"]["finalizers"] == []


def test_apply_names_the_very_object_so_that_it_can_create_none() -> None:
    write = ApplyWrite({"metadata": {"labels": {"a": "b"}}, "spec": {"size": 2}}, "sizer", force=False)
    patch = plan_write(an_object(spec={"size": 1}), write)
    assert patch is not None
    assert (patch.manager, patch.force) == ("sizer", False)
    assert patch.body == {
        "metadata": {"labels": {"a": "b"}, "resourceVersion": "10", "uid": "u-1"},
        "spec": {"size": 2},
    }


def test_apply_gives_up_fields_of_none_by_leaving_them_out() -> None:
    patch = plan_write(an_object(spec={"size": 1}), ApplyWrite({"spec": {"size": None}}, "sizer"))
    assert patch is not None
    assert patch.body["spec"] == {}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (StaleError(409, "Conflict", "modified"), Conflict),
        (InvalidError(422, "Invalid", "no such field"), Stall),
        (ThrottledError(429, "TooManyRequests", "busy"), Wait),
        (ForbiddenError(403, "Forbidden", "no"), Retry),
        (NotFoundError(404, "NotFound", "gone"), Retry),
        (ServerError(500, "InternalError", "oops"), Retry),
        (UnreachableError("no route"), Retry),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ApiError) else None,
)
def test_refusals_of_the_server_are_one_of_four_errors(error: ApiError, expected: type[PassError]) -> None:
    assert type(as_pass_error(error)) is expected


def test_throttling_waits_as_long_as_the_server_asks() -> None:
    error = as_pass_error(ThrottledError(429, "TooManyRequests", "busy", retry_after=timedelta(seconds=17)))
    assert isinstance(error, Wait)
    assert error.after == timedelta(seconds=17)
