"""Replacing objects: optimistic locking, generations, and what an update may not touch."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.definitions import define, version
from tests.conformance.kinds import CONFIG_MAPS, DEPLOYMENTS, LEASES, config_map, deployment

STALE = (
    'Operation cannot be fulfilled on configmaps "one": the object has been modified; '
    "please apply your changes to the latest version and try again"
)
OTHER_UID = "11111111-2222-4333-8444-555555555555"


async def created(api: Client, namespace: str) -> JsonObject:
    return (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)


async def test_replaced_object_gets_a_new_version_and_keeps_its_identity(api: Client, namespace: str) -> None:
    before = await created(api, namespace)
    body = {**before, "data": {"colour": "red"}}
    after = (await api.put(CONFIG_MAPS.path(namespace, "one"), body)).expect(200)
    assert after["data"] == {"colour": "red"}
    assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
    for kept in ("uid", "creationTimestamp"):
        assert after["metadata"][kept] == before["metadata"][kept]


async def test_what_the_new_object_lacks_is_gone(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new("one", metadata={"labels": {"a": "b"}}, data={"x": "1"}, binaryData={"y": "AA=="})
    before = (await api.create(CONFIG_MAPS.path(namespace), body)).expect(201)
    bare = CONFIG_MAPS.new("one", metadata={"resourceVersion": before["metadata"]["resourceVersion"]})
    after = (await api.put(CONFIG_MAPS.path(namespace, "one"), bare)).expect(200)
    assert not {"data", "binaryData"} & set(after)
    assert "labels" not in after["metadata"]


async def test_stale_version_is_a_conflict(api: Client, namespace: str) -> None:
    before = await created(api, namespace)
    path = CONFIG_MAPS.path(namespace, "one")
    await api.put(path, {**before, "data": {"colour": "red"}})
    status = (await api.put(path, {**before, "data": {"colour": "blue"}})).refuse(409, "Conflict", STALE)
    assert status["details"] == {"name": "one", "kind": "configmaps"}
    assert (await api.get(path)).expect(200)["data"] == {"colour": "red"}


async def test_version_may_be_left_out_to_overwrite(api: Client, namespace: str) -> None:
    await created(api, namespace)
    path = CONFIG_MAPS.path(namespace, "one")
    assert (await api.put(path, config_map("one", colour="blue"))).expect(200)["data"] == {"colour": "blue"}


async def test_custom_kind_needs_the_version(api: Client, namespace: str) -> None:
    kind = await define(api)
    await api.create(kind.path(namespace), kind.new("one"))
    (await api.put(kind.path(namespace, "one"), kind.new("one", spec={"size": 2}))).refuse(
        422,
        "Invalid",
        f'widgets.{kind.group} "one" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    )


async def test_missing_lease_is_created_by_replacing(api: Client, namespace: str) -> None:
    """Leases are among the few kinds that allow it; leader election relies on that."""
    created = (await api.put(LEASES.path(namespace, "leader"), LEASES.new("leader"))).expect(201)
    assert created["metadata"]["uid"]


async def test_malformed_version_is_refused(api: Client, namespace: str) -> None:
    before = await created(api, namespace)
    body = {**before, "metadata": {**before["metadata"], "resourceVersion": "abc"}}
    answer = await api.put(CONFIG_MAPS.path(namespace, "one"), body)
    answer.refuse(500, "", 'strconv.ParseUint: parsing "abc": invalid syntax')


async def test_missing_object_is_not_created_by_replacing(api: Client, namespace: str) -> None:
    (await api.put(CONFIG_MAPS.path(namespace, "one"), config_map("one"))).refuse(
        404, "NotFound", 'configmaps "one" not found'
    )


async def test_uid_is_a_precondition(api: Client, namespace: str) -> None:
    await created(api, namespace)
    body = CONFIG_MAPS.new("one", metadata={"uid": OTHER_UID})
    status = (await api.put(CONFIG_MAPS.path(namespace, "one"), body)).refuse(409, "Conflict")
    assert f"Precondition failed: UID in precondition: {OTHER_UID}, UID in object meta: " in status["message"]


async def test_name_in_the_body_must_be_the_one_of_the_path(api: Client, namespace: str) -> None:
    await created(api, namespace)
    (await api.put(CONFIG_MAPS.path(namespace, "one"), config_map("two"))).refuse(
        400,
        "BadRequest",
        "the name of the object (two) does not match the name on the URL (one)",
    )


async def test_unchanged_object_keeps_its_version(api: Client, namespace: str) -> None:
    before = await created(api, namespace)
    assert (await api.put(CONFIG_MAPS.path(namespace, "one"), before)).expect(200) == before


async def test_generation_counts_changes_of_the_desired_state(api: Client, namespace: str) -> None:
    path = DEPLOYMENTS.path(namespace, "web")
    await api.create(DEPLOYMENTS.path(namespace), deployment(replicas=1))

    async def generation_after(patch: JsonObject) -> int:
        count: int = (await api.patch(path, patch)).expect(200)["metadata"]["generation"]
        return count

    assert await generation_after({"metadata": {"labels": {"a": "b"}}}) == 1
    assert await generation_after({"spec": {"replicas": 2}}) == 2
    assert await generation_after({"spec": {"replicas": 2}}) == 2
    assert await generation_after({"status": {"replicas": 9}}) == 2


async def test_generation_of_a_custom_kind_without_status_counts_every_field(
    api: Client, namespace: str
) -> None:
    kind = await define(api)
    path = kind.path(namespace, "one")
    await api.create(kind.path(namespace), kind.new("one", spec={"size": 1}))
    labelled = (await api.patch(path, {"metadata": {"labels": {"a": "b"}}})).expect(200)
    assert labelled["metadata"]["generation"] == 1
    ready = (await api.patch(path, {"status": {"ready": True}})).expect(200)
    assert (ready["metadata"]["generation"], ready["status"]) == (2, {"ready": True})


async def test_generation_of_a_custom_kind_with_status_leaves_status_out(api: Client, namespace: str) -> None:
    kind = await define(api, version(subresources={"status": {}}))
    path = kind.path(namespace, "one")
    await api.create(kind.path(namespace), kind.new("one", spec={"size": 1}))
    ready = (await api.patch(f"{path}/status", {"status": {"ready": True}})).expect(200)
    assert (ready["metadata"]["generation"], ready["status"]) == (1, {"ready": True})
    resized = (await api.patch(path, {"spec": {"size": 2}})).expect(200)
    assert (resized["metadata"]["generation"], resized["status"]) == (2, {"ready": True})


async def test_client_cannot_set_the_generation(api: Client, namespace: str) -> None:
    kind = await define(api)
    before = (await api.create(kind.path(namespace), kind.new("one", spec={"size": 1}))).expect(201)
    body = {**before, "metadata": {**before["metadata"], "generation": 40}}
    assert (await api.put(kind.path(namespace, "one"), body)).expect(200)["metadata"]["generation"] == 1
