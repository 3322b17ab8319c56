"""What a dry run imagines is what the embedded server would have made of the same write."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.json import JsonObject
from edgekeeper.kube.dryrun import simulate_apply, simulate_create, simulate_merge, simulate_patch
from edgekeeper.kube.errors import InvalidError, NotFoundError, StaleError
from kubesim.plane.errors import StatusError
from kubesim.plane.patch.json_patch import json_patch
from kubesim.plane.patch.merge import merge_patch
from tests.unit.kube.scripted import KEY, OK, WIDGET, ScriptedTransport, client_of, refusal, widget

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LIVE: JsonObject = {
    "metadata": {"name": "one", "resourceVersion": "5", "finalizers": ["a", "b"]},
    "spec": {"size": 1, "a/b": "x", "m~n": "y"},
}

_SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3)
_VALUES = st.recursive(
    _SCALARS | st.lists(_SCALARS, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
_TREES = st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3)
_POINTERS = st.lists(
    st.sampled_from(["a", "b", "c", "0", "1", "2", "-", "-1", "x"]), min_size=1, max_size=3
).map(lambda steps: "/" + "/".join(steps))
_OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "test"]),
            "path": _POINTERS,
            "value": st.integers(0, 2) | st.just({"a": 1}),
        }
    )
    | st.fixed_dictionaries({"op": st.sampled_from(["move", "copy"]), "path": _POINTERS, "from": _POINTERS}),
    max_size=4,
)


@given(live=_TREES, patch=_TREES)
def test_merge_patch_is_imagined_as_the_server_does_it(live: JsonObject, patch: JsonObject) -> None:
    assert simulate_merge(live, patch) == merge_patch(deepcopy(live), deepcopy(patch))


@given(live=_TREES, operations=_OPERATIONS)
def test_json_patch_is_imagined_as_the_server_does_it(live: JsonObject, operations: list[JsonObject]) -> None:
    try:
        expected: JsonObject | None = json_patch(deepcopy(live), deepcopy(operations))
    except StatusError:
        expected = None
    try:
        imagined: JsonObject | None = simulate_patch(live, operations)
    except InvalidError:
        imagined = None
    # The server may refuse a little more, or less; where both have an answer it is the same.
    if expected is not None and imagined is not None:
        assert imagined == expected


@pytest.mark.parametrize(
    ("operation", "path", "expected"),
    [
        ({"op": "add", "path": "/metadata/finalizers/-", "value": "c"}, "finalizers", ["a", "b", "c"]),
        ({"op": "add", "path": "/metadata/finalizers/0", "value": "c"}, "finalizers", ["c", "a", "b"]),
        ({"op": "remove", "path": "/metadata/finalizers/0"}, "finalizers", ["b"]),
        ({"op": "replace", "path": "/metadata/finalizers/1", "value": "c"}, "finalizers", ["a", "c"]),
        ({"op": "copy", "from": "/metadata/name", "path": "/metadata/labels", "value": ""}, "labels", "one"),
        ({"op": "move", "from": "/spec/a~1b", "path": "/metadata/labels"}, "labels", "x"),
        ({"op": "copy", "from": "/spec/m~0n", "path": "/metadata/labels"}, "labels", "y"),
        ({"op": "test", "path": "/metadata/finalizers/0", "value": "a"}, "finalizers", ["a", "b"]),
    ],
    ids=["append", "insert", "remove", "replace", "copy", "move", "escaped", "test"],
)
def test_json_patch_operation_changes_what_it_says(operation: JsonObject, path: str, expected: Any) -> None:
    assert simulate_patch(LIVE, [operation])["metadata"][path] == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/metadata/finalizers/0", "value": "b"},
        {"op": "remove", "path": "/metadata/labels"},
        {"op": "remove", "path": "/metadata/finalizers/2"},
        {"op": "remove", "path": "/metadata/finalizers/-1"},
        {"op": "add", "path": "/metadata/finalizers/9", "value": "c"},
        {"op": "add", "path": "metadata/name", "value": "c"},
        {"op": "replace", "path": "/spec/color", "value": "c"},
        {"op": "add", "path": "/spec/size/deep", "value": "c"},
        {"op": "increase", "path": "/spec/size"},
        {"path": "/spec/size"},
        {"op": "test", "path": "/spec/size"},
    ],
    ids=lambda operation: f"{operation.get('op')} {operation['path']}",
)
def test_json_patch_that_does_not_apply_is_refused_as_a_whole(operation: JsonObject) -> None:
    live = deepcopy(LIVE)
    with pytest.raises(InvalidError):
        simulate_patch(live, [{"op": "add", "path": "/spec/new", "value": 1}, operation])
    assert live == LIVE


def test_merge_patch_with_a_stale_resource_version_is_refused() -> None:
    with pytest.raises(StaleError):
        simulate_merge(LIVE, {"metadata": {"resourceVersion": "4"}})
    assert (
        simulate_merge(LIVE, {"metadata": {"resourceVersion": "5"}, "spec": {"size": 2}})["spec"]["size"] == 2
    )


def test_created_object_has_all_that_a_server_adds() -> None:
    tree = widget("a", size=1)
    created = simulate_create(WIDGET, tree, "default", 7, NOW)
    assert created == {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "uid": "00000000-0000-0000-0000-000000000007",
            "resourceVersion": "7",
            "generation": 1,
            "creationTimestamp": "2026-05-01T00:00:00Z",
        },
        "spec": {"size": 1},
    }
    assert tree == widget("a", size=1)


def test_created_object_gets_a_name_where_it_only_has_the_beginning_of_one() -> None:
    created = simulate_create(WIDGET, {"metadata": {"generateName": "w-"}}, "default", 7, NOW)
    assert created["metadata"]["name"] == "w-00007"


def test_applied_object_is_made_where_it_is_missing() -> None:
    applied = simulate_apply(WIDGET, KEY, None, {"spec": {"size": 2}}, 7, NOW)
    assert (applied["metadata"]["name"], applied["metadata"]["namespace"]) == ("one", "default")
    assert applied["spec"] == {"size": 2}


def test_applied_fields_are_added_to_what_is_there() -> None:
    applied = simulate_apply(WIDGET, KEY, LIVE, {"spec": {"color": "red"}}, 7, NOW)
    assert applied["spec"] == LIVE["spec"] | {"color": "red"}


async def test_client_answers_writes_from_the_live_object() -> None:
    client = client_of(ScriptedTransport(OK), dry_run=True)
    patched = await client.merge_patch(WIDGET, KEY, {"status": {"ready": True}}, subresource="status")
    assert patched["status"] == {"ready": True}
    assert patched["spec"] == {"size": 1}
    assert patched["metadata"]["resourceVersion"] == "5"


async def test_client_imagines_no_new_version() -> None:
    client = client_of(ScriptedTransport(OK), dry_run=True)
    assert await client.merge_patch_version(WIDGET, KEY, {"status": {"ready": True}}) == "5"


async def test_client_refuses_to_patch_what_is_not_there() -> None:
    client = client_of(ScriptedTransport(refusal(404, "NotFound")), dry_run=True)
    with pytest.raises(NotFoundError):
        await client.merge_patch(WIDGET, KEY, {})


async def test_client_imagines_an_applied_object_that_is_not_there() -> None:
    client = client_of(ScriptedTransport(refusal(404, "NotFound")), dry_run=True)
    applied = await client.apply(WIDGET, KEY, {"spec": {"size": 2}}, manager="m")
    assert applied["spec"] == {"size": 2}


async def test_client_deletes_nothing() -> None:
    transport = ScriptedTransport(OK)
    await client_of(transport, dry_run=True).delete(WIDGET, KEY, uid="u")
    assert transport.sent == []


async def test_client_returns_a_copy_of_what_would_replace() -> None:
    tree = widget(size=3)
    tree["metadata"]["resourceVersion"] = "4"
    replaced = await client_of(ScriptedTransport(OK), dry_run=True).replace(WIDGET, KEY, tree)
    replaced["spec"]["size"] = 4
    assert tree["spec"]["size"] == 3
