"""JSON patches and merge patches, and how they fail."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import JSON_PATCH, Answer, Client
from tests.conformance.definitions import define, define_schema
from tests.conformance.kinds import CONFIG_MAPS, config_map

FREE_FORM: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
START: JsonObject = {"a": "1", "list": ["x", "y", "z"], "deep": {"er": True}, "a/b": "slash", "m~n": "tilde"}


async def patched(api: Client, namespace: str, operations: list[JsonObject]) -> Answer:
    """Apply JSON patch operations to a free-form object."""
    kind = await define_schema(api, FREE_FORM)
    await api.create(kind.path(namespace), kind.new("one", spec=START))
    return await api.patch(kind.path(namespace, "one"), operations, content_type=JSON_PATCH)


@pytest.mark.parametrize(
    ("operation", "changed"),
    [
        ({"op": "add", "path": "/spec/b", "value": 2}, {"b": 2}),
        ({"op": "add", "path": "/spec/a", "value": 2}, {"a": 2}),
        ({"op": "add", "path": "/spec/list/1", "value": "new"}, {"list": ["x", "new", "y", "z"]}),
        ({"op": "add", "path": "/spec/list/-", "value": "end"}, {"list": ["x", "y", "z", "end"]}),
        ({"op": "replace", "path": "/spec/deep", "value": [1]}, {"deep": [1]}),
        ({"op": "replace", "path": "/spec/list/0", "value": "w"}, {"list": ["w", "y", "z"]}),
        ({"op": "replace", "path": "/spec/a~1b", "value": "s"}, {"a/b": "s"}),
        ({"op": "replace", "path": "/spec/m~0n", "value": "t"}, {"m~n": "t"}),
        ({"op": "replace", "path": "/spec/absent", "value": 1}, {"absent": 1}),
        ({"op": "remove", "path": "/spec/a"}, {"a": None}),
        ({"op": "remove", "path": "/spec/list/1"}, {"list": ["x", "z"]}),
        ({"op": "move", "from": "/spec/a", "path": "/spec/moved"}, {"a": None, "moved": "1"}),
        ({"op": "copy", "from": "/spec/deep", "path": "/spec/copied"}, {"copied": {"er": True}}),
        ({"op": "test", "path": "/spec/deep/er", "value": True}, {}),
    ],
    ids=lambda value: f"{value['op']}{value['path'].replace('/', '.')}" if "op" in value else "",
)
async def test_json_patch_operation(
    api: Client, namespace: str, operation: JsonObject, changed: JsonObject
) -> None:
    spec = (await patched(api, namespace, [operation])).expect(200)["spec"]
    expected = {key: value for key, value in {**START, **changed}.items() if value is not None}
    assert spec == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/spec/a", "value": "2"},
        {"op": "remove", "path": "/spec/absent"},
        {"op": "add", "path": "/spec/absent/deeper", "value": 1},
        {"op": "add", "path": "/spec/list/9", "value": 1},
        {"op": "move", "from": "/spec/absent", "path": "/spec/b"},
        {"op": "fly", "path": "/spec/a"},
    ],
    ids=["test", "remove", "add", "index", "move", "unknown"],
)
async def test_json_patch_that_does_not_fit_is_unprocessable(
    api: Client, namespace: str, operation: JsonObject
) -> None:
    status = (await patched(api, namespace, [operation])).refuse(422, "Invalid")
    assert status["message"].startswith("the server rejected our request due to an error in our request")


async def test_json_patch_is_all_or_nothing(api: Client, namespace: str) -> None:
    operations: list[JsonObject] = [
        {"op": "add", "path": "/spec/b", "value": 2},
        {"op": "test", "path": "/spec/a", "value": "other"},
    ]
    (await patched(api, namespace, operations)).refuse(422, "Invalid")
    kind = await define_schema(api, FREE_FORM)
    assert (await api.get(kind.path(namespace, "one"))).expect(200)["spec"] == START


@pytest.mark.parametrize(
    "body", [b"{", b'{"op": "add"}', b'"text"'], ids=["malformed", "not-a-list", "string"]
)
async def test_json_patch_must_be_a_list_of_operations(api: Client, namespace: str, body: bytes) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    answer = await api.patch(CONFIG_MAPS.path(namespace, "one"), body, content_type=JSON_PATCH)
    answer.refuse(400, "BadRequest")


async def test_json_patch_has_a_limit_of_operations(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    operations: list[Any] = [{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 10_001
    answer = await api.patch(CONFIG_MAPS.path(namespace, "one"), operations, content_type=JSON_PATCH)
    answer.refuse(
        413,
        "RequestEntityTooLarge",
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
    )


@pytest.mark.parametrize(
    ("patch", "changed"),
    [
        ({"b": 2}, {"b": 2}),
        ({"a": None}, {"a": None}),
        ({"deep": {"wide": 1}}, {"deep": {"er": True, "wide": 1}}),
        ({"deep": {"er": None}}, {"deep": {}}),
        ({"list": ["only"]}, {"list": ["only"]}),
        ({"deep": "flat"}, {"deep": "flat"}),
        ({"new": {"made": {"up": None, "kept": 1}}}, {"new": {"made": {"kept": 1}}}),
        ({"absent": None}, {}),
    ],
    ids=["add", "remove", "merge", "remove-deep", "list", "retype", "null-in-new", "remove-absent"],
)
async def test_merge_patch(api: Client, namespace: str, patch: JsonObject, changed: JsonObject) -> None:
    kind = await define_schema(api, FREE_FORM)
    await api.create(kind.path(namespace), kind.new("one", spec=START))
    spec = (await api.patch(kind.path(namespace, "one"), {"spec": patch})).expect(200)["spec"]
    assert spec == {key: value for key, value in {**START, **changed}.items() if value is not None}


@pytest.mark.parametrize("body", [b"{", b"[]", b'"text"', b""], ids=["malformed", "list", "string", "empty"])
async def test_merge_patch_must_be_an_object(api: Client, namespace: str, body: bytes) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    (await api.patch(CONFIG_MAPS.path(namespace, "one"), body)).refuse(400, "BadRequest")


async def test_patch_that_changes_nothing_keeps_the_version(api: Client, namespace: str) -> None:
    before = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    after = (await api.patch(CONFIG_MAPS.path(namespace, "one"), {"data": {"colour": "green"}})).expect(200)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


async def test_patch_of_a_missing_object_is_not_found(api: Client, namespace: str) -> None:
    (await api.patch(CONFIG_MAPS.path(namespace, "absent"), {})).refuse(
        404, "NotFound", 'configmaps "absent" not found'
    )


async def test_patch_with_a_stale_version_is_a_conflict(api: Client, namespace: str) -> None:
    before = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    path = CONFIG_MAPS.path(namespace, "one")
    version = before["metadata"]["resourceVersion"]
    (await api.patch(path, {"metadata": {"resourceVersion": version}, "data": {"a": "b"}})).expect(200)
    (await api.patch(path, {"metadata": {"resourceVersion": version}, "data": {"a": "c"}})).refuse(
        409, "Conflict"
    )


async def test_patch_cannot_change_the_uid(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    uid = "11111111-2222-4333-8444-555555555555"
    (await api.patch(CONFIG_MAPS.path(namespace, "one"), {"metadata": {"uid": uid}})).refuse(
        422,
        "Invalid",
        f'ConfigMap "one" is invalid: metadata.uid: Invalid value: "{uid}": field is immutable',
    )


@pytest.mark.parametrize(
    ("patch", "status", "reason"),
    [
        ({"metadata": {"name": "other"}}, 400, "BadRequest"),
        ({"metadata": {"namespace": "other"}}, 400, "BadRequest"),
        ({"kind": "Secret"}, 422, "Invalid"),
        ({"data": {"a": 1}}, 422, "Invalid"),
        ({"data": {"bad key": "x"}}, 422, "Invalid"),
    ],
    ids=["name", "namespace", "kind", "type", "value"],
)
async def test_patch_must_lead_to_a_valid_object(
    api: Client, namespace: str, patch: JsonObject, status: int, reason: str
) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    (await api.patch(CONFIG_MAPS.path(namespace, "one"), patch)).refuse(status, reason)
    assert (await api.get(CONFIG_MAPS.path(namespace, "one"))).expect(200)["data"] == {"colour": "green"}


async def test_patch_of_a_custom_object_is_validated(api: Client, namespace: str) -> None:
    kind = await define(api)
    await api.create(kind.path(namespace), kind.new("one", spec={"size": 1}))
    (await api.patch(kind.path(namespace, "one"), {"spec": {"size": "big"}})).refuse(
        422,
        "Invalid",
        f'Widget.{kind.group} "one" is invalid: spec.size: Invalid value: "string": '
        'spec.size in body must be of type integer: "string"',
    )


@pytest.mark.parametrize("custom", [False, True], ids=["built-in", "custom"])
async def test_patch_cannot_move_an_object(api: Client, namespace: str, custom: bool) -> None:
    kind = await define(api) if custom else CONFIG_MAPS
    await api.create(kind.path(namespace), kind.new("one"))
    (await api.patch(kind.path(namespace, "one"), {"metadata": {"namespace": "other"}})).refuse(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
    )
