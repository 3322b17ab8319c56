"""managedFields: who set which field, through creates, updates and patches."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from tests.conformance.client import JSON_PATCH, Client
from tests.conformance.definitions import define, version
from tests.conformance.kinds import CONFIG_MAPS, DEPLOYMENTS, config_map, deployment


def entries(obj: JsonObject) -> dict[tuple[str, str, str], JsonObject]:
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): entry["fieldsV1"]
        for entry in obj["metadata"]["managedFields"]
    }


async def test_create_owns_what_it_sent(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new("one", metadata={"labels": {"app": "web"}}, data={"a": "1"})
    created = (await api.create(CONFIG_MAPS.path(namespace), body, fieldManager="maker")).expect(201)
    (entry,) = created["metadata"]["managedFields"]
    assert entry == {
        "manager": "maker",
        "operation": "Update",
        "apiVersion": "v1",
        "time": created["metadata"]["creationTimestamp"],
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:data": {".": {}, "f:a": {}},
            "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
        },
    }


async def test_manager_is_named_after_the_user_agent(api: Client, namespace: str) -> None:
    answer = await api.request(
        "POST",
        CONFIG_MAPS.path(namespace),
        config_map("one"),
        headers={"User-Agent": "gardener/v1.2 (linux/amd64)"},
    )
    assert set(entries(answer.expect(201))) == {("gardener", "Update", "")}


async def test_update_owns_what_it_changes(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one", a="1", b="1"), fieldManager="maker")
    body = config_map("one", a="1", b="2", c="3")
    updated = (await api.put(CONFIG_MAPS.path(namespace, "one"), body, fieldManager="editor")).expect(200)
    assert entries(updated) == {
        ("maker", "Update", ""): {"f:data": {".": {}, "f:a": {}}},
        ("editor", "Update", ""): {"f:data": {"f:b": {}, "f:c": {}}},
    }


async def test_removed_field_has_no_owner(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one", a="1", b="1"), fieldManager="maker")
    updated = (await api.patch(CONFIG_MAPS.path(namespace, "one"), {"data": {"b": None}})).expect(200)
    assert entries(updated) == {("maker", "Update", ""): {"f:data": {".": {}, "f:a": {}}}}


async def test_json_patch_counts_as_update(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one", a="1"), fieldManager="maker")
    operations = [{"op": "add", "path": "/data/b", "value": "2"}]
    path = CONFIG_MAPS.path(namespace, "one")
    updated = (await api.patch(path, operations, content_type=JSON_PATCH, fieldManager="editor")).expect(200)
    assert entries(updated)["editor", "Update", ""] == {"f:data": {"f:b": {}}}


async def test_status_is_owned_under_its_subresource(api: Client, namespace: str) -> None:
    kind = await define(api, version(subresources={"status": {}}))
    await api.create(kind.path(namespace), kind.new("one", spec={"size": 1}), fieldManager="maker")
    path = kind.path(namespace, "one", "status")
    updated = (await api.patch(path, {"status": {"ready": True}}, fieldManager="operator")).expect(200)
    assert entries(updated) == {
        ("maker", "Update", ""): {"f:spec": {".": {}, "f:size": {}}},
        ("operator", "Update", "status"): {"f:status": {".": {}, "f:ready": {}}},
    }


async def test_server_side_metadata_is_not_managed(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new("one", metadata={"annotations": {"a": "b"}, "generateName": "x-"})
    created = (await api.create(CONFIG_MAPS.path(namespace), body, fieldManager="maker")).expect(201)
    assert entries(created) == {
        ("maker", "Update", ""): {"f:metadata": {"f:annotations": {".": {}, "f:a": {}}, "f:generateName": {}}}
    }


async def test_defaults_belong_to_the_creator(api: Client, namespace: str) -> None:
    created = (await api.create(DEPLOYMENTS.path(namespace), deployment(), fieldManager="maker")).expect(201)
    spec = entries(created)["maker", "Update", ""]["f:spec"]
    assert {"f:replicas", "f:progressDeadlineSeconds", "f:strategy", "f:template"} <= set(spec)
    container = spec["f:template"]["f:spec"]["f:containers"]['k:{"name":"main"}']
    assert {".", "f:name", "f:image", "f:imagePullPolicy", "f:terminationMessagePath"} <= set(container)


async def test_unchanged_update_leaves_the_account_alone(api: Client, namespace: str) -> None:
    created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"), fieldManager="maker")).expect(
        201
    )
    path = CONFIG_MAPS.path(namespace, "one")
    updated = (await api.put(path, config_map("one"), fieldManager="editor")).expect(200)
    assert updated["metadata"]["managedFields"] == created["metadata"]["managedFields"]


async def test_account_can_be_wiped(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"), fieldManager="maker")
    path = CONFIG_MAPS.path(namespace, "one")
    wiped = (await api.patch(path, {"metadata": {"managedFields": [{}]}})).expect(200)
    assert "managedFields" not in wiped["metadata"]


async def test_two_updates_of_one_manager_share_an_entry(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one", a="1"), fieldManager="maker")
    path = CONFIG_MAPS.path(namespace, "one")
    updated = (await api.patch(path, {"data": {"b": "2"}}, fieldManager="maker")).expect(200)
    assert entries(updated) == {("maker", "Update", ""): {"f:data": {".": {}, "f:a": {}, "f:b": {}}}}
