"""Server-side apply: ownership of single fields, conflicts, and taking part in an object with others."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import APPLY_PATCH, Client
from tests.conformance.definitions import define, version
from tests.conformance.kinds import CONFIG_MAPS, DEPLOYMENTS, config_map, deployment


def owned(obj: JsonObject, manager: str, subresource: str = "") -> JsonObject | None:
    """What `manager` owns by apply, as the object's own account says."""
    for entry in obj["metadata"].get("managedFields", []):
        same = (entry["manager"], entry["operation"], entry.get("subresource", "")) == (
            manager,
            "Apply",
            subresource,
        )
        if same:
            fields: JsonObject = entry["fieldsV1"]
            return fields
    return None


def conflict(status: JsonObject) -> list[tuple[str, str, str]]:
    return [(cause["reason"], cause["message"], cause["field"]) for cause in status["details"]["causes"]]


async def test_apply_creates_what_is_not_there(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    created = (await api.apply(path, config_map("one", a="1"), "first")).expect(201)
    (entry,) = created["metadata"]["managedFields"]
    assert entry == {
        "manager": "first",
        "operation": "Apply",
        "apiVersion": "v1",
        "time": created["metadata"]["creationTimestamp"],
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }


async def test_apply_updates_what_is_there(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    await api.apply(path, config_map("one", a="1"), "first")
    updated = (await api.apply(path, config_map("one", a="2"), "first")).expect(200)
    assert updated["data"] == {"a": "2"}


async def test_apply_of_the_same_changes_nothing(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    first = (await api.apply(path, config_map("one", a="1"), "first")).expect(201)
    assert (await api.apply(path, config_map("one", a="1"), "first")).expect(200) == first


async def test_field_left_out_is_removed(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    await api.apply(path, config_map("one", a="1", b="2"), "first")
    updated = (await api.apply(path, config_map("one", a="1"), "first")).expect(200)
    assert updated["data"] == {"a": "1"}
    assert owned(updated, "first") == {"f:data": {"f:a": {}}}


async def test_field_of_another_manager_is_a_conflict(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    await api.apply(path, config_map("one", a="1"), "first")
    status = (await api.apply(path, config_map("one", a="2"), "second")).refuse(
        409, "Conflict", 'Apply failed with 1 conflict: conflict with "first": .data.a'
    )
    assert conflict(status) == [("FieldManagerConflict", 'conflict with "first"', ".data.a")]
    assert (await api.get(path)).expect(200)["data"] == {"a": "1"}


async def test_several_conflicts_are_listed_by_manager(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    await api.apply(path, config_map("one", a="1", b="1"), "first")
    await api.apply(path, config_map("one", c="1"), "second")
    status = (await api.apply(path, config_map("one", a="2", b="2", c="2"), "third")).refuse(409, "Conflict")
    assert status["message"] == (
        'Apply failed with 3 conflicts: conflicts with "first":\n- .data.a\n- .data.b\nconflicts with "second":\n- .data.c'
    )
    assert sorted(field for _, _, field in conflict(status)) == [".data.a", ".data.b", ".data.c"]


async def test_conflict_with_an_update_names_its_version_and_time(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    await api.create(CONFIG_MAPS.path(namespace), config_map("one", a="1"), fieldManager="editor")
    (cause,) = conflict((await api.apply(path, config_map("one", a="2"), "first")).refuse(409, "Conflict"))
    assert cause[0] == "FieldManagerConflict"
    assert cause[1].startswith('conflict with "editor" using v1')


async def test_force_takes_the_field_over(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    await api.apply(path, config_map("one", a="1", b="1"), "first")
    taken = (await api.apply(path, config_map("one", a="2"), "second", force=True)).expect(200)
    assert taken["data"] == {"a": "2", "b": "1"}
    assert owned(taken, "first") == {"f:data": {"f:b": {}}}
    assert owned(taken, "second") == {"f:data": {"f:a": {}}}


async def test_same_value_is_shared(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    await api.apply(path, config_map("one", a="1"), "first")
    shared = (await api.apply(path, config_map("one", a="1"), "second")).expect(200)
    assert owned(shared, "first") == owned(shared, "second") == {"f:data": {"f:a": {}}}


async def test_shared_field_stays_until_its_last_owner_leaves_it(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    for manager in ("first", "second"):
        await api.apply(path, config_map("one", a="1"), manager)
    kept = (await api.apply(path, config_map("one", b="1"), "first")).expect(200)
    assert kept["data"] == {"a": "1", "b": "1"}
    gone = (await api.apply(path, config_map("one", c="1"), "second")).expect(200)
    assert gone["data"] == {"b": "1", "c": "1"}


async def test_update_takes_changed_fields_over(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    await api.apply(path, config_map("one", a="1", b="1"), "first")
    updated = (await api.patch(path, {"data": {"a": "2"}}, fieldManager="editor")).expect(200)
    assert owned(updated, "first") == {"f:data": {"f:b": {}}}
    managers = {(entry["manager"], entry["operation"]) for entry in updated["metadata"]["managedFields"]}
    assert managers == {("first", "Apply"), ("editor", "Update")}


async def test_manager_must_be_named(api: Client, namespace: str) -> None:
    answer = await api.patch(CONFIG_MAPS.path(namespace, "one"), config_map("one"), content_type=APPLY_PATCH)
    answer.refuse(
        422,
        "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    )


async def test_force_is_for_apply_only(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    (await api.patch(CONFIG_MAPS.path(namespace, "one"), {}, force=True)).refuse(
        422,
        "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
    )


@pytest.mark.parametrize("manager", ["x" * 129, "bell\u0007"], ids=["too-long", "unprintable"])
async def test_manager_name_must_be_printable_and_short(api: Client, namespace: str, manager: str) -> None:
    status = (await api.apply(CONFIG_MAPS.path(namespace, "one"), config_map("one"), manager)).refuse(
        422, "Invalid"
    )
    assert status["details"]["causes"][0]["field"] == "fieldManager"


async def test_managed_fields_must_not_be_applied(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new("one", metadata={"managedFields": [{"manager": "x", "operation": "Apply"}]})
    (await api.apply(CONFIG_MAPS.path(namespace, "one"), body, "first")).refuse(
        400, "BadRequest", "metadata.managedFields must be nil"
    )


async def test_uid_keeps_apply_from_creating(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new("one", metadata={"uid": "11111111-2222-4333-8444-555555555555"})
    (await api.apply(CONFIG_MAPS.path(namespace, "one"), body, "first")).refuse(
        409,
        "Conflict",
        'Operation cannot be fulfilled on configmaps "one": uid mismatch: the provided object specified uid '
        "11111111-2222-4333-8444-555555555555, and no existing object was found",
    )


async def test_resource_version_makes_apply_conditional(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    first = (await api.apply(path, config_map("one", a="1"), "first")).expect(201)
    body = config_map("one", a="2")
    body["metadata"]["resourceVersion"] = first["metadata"]["resourceVersion"]
    (await api.apply(path, body, "first")).expect(200)
    body["data"]["a"] = "3"
    (await api.apply(path, body, "first")).refuse(409, "Conflict")


async def test_name_in_the_body_must_be_the_one_of_the_path(api: Client, namespace: str) -> None:
    status = (await api.apply(CONFIG_MAPS.path(namespace, "one"), config_map("two"), "first")).refuse(
        400, "BadRequest"
    )
    assert status["message"].endswith("the name of the object (two) does not match the name on the URL (one)")


async def test_body_must_name_its_kind(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    (await api.apply(path, {"metadata": {"name": "one"}}, "first")).refuse(400, "BadRequest")


@pytest.mark.parametrize("body", [b"", b"null", b"{}"], ids=["empty", "null", "object"])
async def test_body_must_say_something(api: Client, namespace: str, body: bytes) -> None:
    answer = await api.patch(
        CONFIG_MAPS.path(namespace, "one"), body, content_type=APPLY_PATCH, fieldManager="first"
    )
    answer.refuse(400, "BadRequest", "invalid object type: /, Kind=")


async def test_yaml_can_be_applied(api: Client, namespace: str) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  a: '1'\n"
    answer = await api.patch(
        CONFIG_MAPS.path(namespace, "one"), body, content_type=APPLY_PATCH, fieldManager="first"
    )
    assert answer.expect(201)["data"] == {"a": "1"}


async def test_unknown_field_cannot_be_applied(api: Client, namespace: str) -> None:
    body = {**config_map("one"), "nonsense": 1}
    status = (
        await api.apply(CONFIG_MAPS.path(namespace, "one"), body, "first", fieldValidation="Strict")
    ).refuse(500, "")
    assert ".nonsense: field not declared in schema" in status["message"]


async def test_dry_run_applies_nothing(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    shown = (await api.apply(path, config_map("one", a="1"), "first", dryRun="All")).expect(201)
    assert shown["data"] == {"a": "1"}
    (await api.get(path)).refuse(404, "NotFound")


async def test_status_has_owners_of_its_own(api: Client, namespace: str) -> None:
    kind = await define(api, version(subresources={"status": {}}))
    path = kind.path(namespace, "one")
    await api.apply(path, kind.new("one", spec={"size": 1}), "user")
    status_path = kind.path(namespace, "one", "status")
    reported = (await api.apply(status_path, kind.new("one", status={"ready": True}), "operator")).expect(200)
    assert owned(reported, "user") == {"f:spec": {"f:size": {}}}
    assert owned(reported, "operator", "status") == {"f:status": {"f:ready": {}}}
    again = (await api.apply(path, kind.new("one", spec={"size": 2}), "user")).expect(200)
    assert again["status"] == {"ready": True}


async def test_status_cannot_be_applied_through_the_object(api: Client, namespace: str) -> None:
    kind = await define(api, version(subresources={"status": {}}))
    body = kind.new("one", spec={"size": 1}, status={"ready": True})
    created = (await api.apply(kind.path(namespace, "one"), body, "user")).expect(201)
    assert "status" not in created
    assert owned(created, "user") == {"f:spec": {"f:size": {}}}


async def test_status_of_a_missing_object_cannot_be_applied(api: Client, namespace: str) -> None:
    kind = await define(api, version(subresources={"status": {}}))
    body = kind.new("absent", status={"ready": True})
    (await api.apply(kind.path(namespace, "absent", "status"), body, "operator")).refuse(404, "NotFound")


async def test_applied_defaults_belong_to_nobody(api: Client, namespace: str) -> None:
    path = DEPLOYMENTS.path(namespace, "web")
    created = (await api.apply(path, deployment(), "first")).expect(201)
    fields = owned(created, "first")
    assert created["spec"]["replicas"] == 1
    assert fields is not None
    assert "f:replicas" not in fields["f:spec"]


async def test_managers_can_split_a_deployment(api: Client, namespace: str) -> None:
    path = DEPLOYMENTS.path(namespace, "web")
    await api.apply(path, deployment(), "owner")
    scale = DEPLOYMENTS.new("web", spec={"replicas": 4})
    scaled = (await api.apply(path, scale, "autoscaler")).expect(200)
    assert scaled["spec"]["replicas"] == 4
    assert owned(scaled, "autoscaler") == {"f:spec": {"f:replicas": {}}}
    again = (await api.apply(path, deployment(), "owner")).expect(200)
    assert again["spec"]["replicas"] == 4
