"""Deletion: preconditions, finalizers, grace, and whole collections."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.definitions import define
from tests.conformance.kinds import CONFIG_MAPS, DEPLOYMENTS, PODS, config_map, deployment, labelled, pod

GUARD = "conformance.example/guard"


async def created(api: Client, namespace: str, **metadata: object) -> JsonObject:
    body = CONFIG_MAPS.new("one", metadata=metadata)
    return (await api.create(CONFIG_MAPS.path(namespace), body)).expect(201)


async def test_deleted_object_is_gone(api: Client, namespace: str) -> None:
    before = await created(api, namespace)
    path = CONFIG_MAPS.path(namespace, "one")
    assert (await api.delete(path)).expect(200) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "one", "kind": "configmaps", "uid": before["metadata"]["uid"]},
    }
    (await api.get(path)).refuse(404, "NotFound")
    (await api.delete(path)).refuse(404, "NotFound", 'configmaps "one" not found')


async def test_name_is_free_again(api: Client, namespace: str) -> None:
    before = await created(api, namespace)
    await api.delete(CONFIG_MAPS.path(namespace, "one"))
    again = await created(api, namespace)
    assert again["metadata"]["uid"] != before["metadata"]["uid"]


async def test_deleted_custom_object_is_reported_with_its_group(api: Client, namespace: str) -> None:
    kind = await define(api)
    before = (await api.create(kind.path(namespace), kind.new("one"))).expect(201)
    details = (await api.delete(kind.path(namespace, "one"))).expect(200)["details"]
    expected = {"name": "one", "group": kind.group, "kind": "widgets", "uid": before["metadata"]["uid"]}
    assert details == expected


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
async def test_precondition_must_hold(api: Client, namespace: str, field: str) -> None:
    before = await created(api, namespace)
    path = CONFIG_MAPS.path(namespace, "one")
    wrong = {"uid": "11111111-2222-4333-8444-555555555555", "resourceVersion": "1"}[field]
    shown, suspicion = {
        "uid": ("UID", "deleted and then recreated"),
        "resourceVersion": ("ResourceVersion", "modified"),
    }[field]
    (await api.delete(path, {"preconditions": {field: wrong}})).refuse(
        409,
        "Conflict",
        f'Operation cannot be fulfilled on ConfigMap "one": the {shown} in the precondition ({wrong}) does not match '
        f"the {shown} in record ({before['metadata'][field]}). The object might have been {suspicion}",
    )
    (await api.delete(path, {"preconditions": {field: before["metadata"][field]}})).expect(200)


async def test_finalizer_holds_the_object_back(api: Client, namespace: str) -> None:
    await created(api, namespace, finalizers=[GUARD])
    path = CONFIG_MAPS.path(namespace, "one")
    deleting = (await api.delete(path)).expect(200)
    assert deleting["kind"] == "ConfigMap"
    assert deleting["metadata"]["deletionTimestamp"].endswith("Z")
    assert deleting["metadata"]["deletionGracePeriodSeconds"] == 0
    again = (await api.delete(path)).expect(200)
    assert again["metadata"]["deletionTimestamp"] == deleting["metadata"]["deletionTimestamp"]
    gone = (await api.patch(path, {"metadata": {"finalizers": None}})).expect(200)
    assert "finalizers" not in gone["metadata"]
    (await api.get(path)).refuse(404, "NotFound")


async def test_object_leaves_with_its_last_finalizer(api: Client, namespace: str) -> None:
    await created(api, namespace, finalizers=[GUARD, f"{GUARD}-too"])
    path = CONFIG_MAPS.path(namespace, "one")
    await api.delete(path)
    await api.patch(path, {"metadata": {"finalizers": [GUARD]}})
    assert (await api.get(path)).expect(200)["metadata"]["finalizers"] == [GUARD]
    await api.patch(path, {"metadata": {"finalizers": []}})
    (await api.get(path)).refuse(404, "NotFound")


async def test_deletion_starts_a_new_generation(api: Client, namespace: str) -> None:
    kind = await define(api)
    await api.create(kind.path(namespace), kind.new("one", metadata={"finalizers": [GUARD]}))
    assert (await api.delete(kind.path(namespace, "one"))).expect(200)["metadata"]["generation"] == 2


async def test_no_finalizer_joins_during_deletion(api: Client, namespace: str) -> None:
    await created(api, namespace, finalizers=[GUARD])
    path = CONFIG_MAPS.path(namespace, "one")
    await api.delete(path)
    status = (await api.patch(path, {"metadata": {"finalizers": [GUARD, f"{GUARD}-too"]}})).refuse(
        422, "Invalid"
    )
    assert status["message"] == (
        'ConfigMap "one" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object '
        f'is being deleted, found new finalizers []string{{"{GUARD}-too"}}'
    )


async def test_deletion_cannot_be_taken_back(api: Client, namespace: str) -> None:
    await created(api, namespace, finalizers=[GUARD])
    path = CONFIG_MAPS.path(namespace, "one")
    await api.delete(path)
    patched = (await api.patch(path, {"metadata": {"deletionTimestamp": None}})).expect(200)
    assert patched["metadata"]["deletionTimestamp"]


async def test_object_under_deletion_can_still_change(api: Client, namespace: str) -> None:
    await created(api, namespace, finalizers=[GUARD])
    path = CONFIG_MAPS.path(namespace, "one")
    await api.delete(path)
    assert (await api.patch(path, {"data": {"a": "b"}})).expect(200)["data"] == {"a": "b"}


async def test_pod_that_runs_nowhere_goes_at_once(api: Client, namespace: str) -> None:
    await api.create(PODS.path(namespace), pod())
    deleted = (await api.delete(PODS.path(namespace, "web"))).expect(200)
    assert (deleted["kind"], deleted["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    (await api.get(PODS.path(namespace, "web"))).refuse(404, "NotFound")


async def test_running_pod_gets_its_grace(api: Client, namespace: str) -> None:
    spec = {"nodeName": "n1", "containers": [{"name": "main", "image": "example/web:1"}]}
    await api.create(PODS.path(namespace), pod(spec=spec))
    path = PODS.path(namespace, "web")
    assert (await api.delete(path)).expect(200)["metadata"]["deletionGracePeriodSeconds"] == 30
    shorter = (await api.delete(path, {"gracePeriodSeconds": 7})).expect(200)
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 7
    await api.delete(path, {"gracePeriodSeconds": 0})
    (await api.get(path)).refuse(404, "NotFound")


async def test_negative_grace_means_almost_none(api: Client, namespace: str) -> None:
    await created(api, namespace)
    (await api.delete(CONFIG_MAPS.path(namespace, "one"), {"gracePeriodSeconds": -1})).expect(200)


async def test_options_in_the_body_replace_those_of_the_query(api: Client, namespace: str) -> None:
    await created(api, namespace)
    path = CONFIG_MAPS.path(namespace, "one")
    body = {"kind": "DeleteOptions", "apiVersion": "v1"}
    (await api.delete(path, body, dryRun="All")).expect(200)
    (await api.get(path)).refuse(404, "NotFound")


async def test_body_must_be_delete_options(api: Client, namespace: str) -> None:
    await created(api, namespace)
    path = CONFIG_MAPS.path(namespace, "one")
    (await api.delete(path, {"kind": "Nonsense", "apiVersion": "v1"})).refuse(400, "BadRequest")
    (await api.get(path)).expect(200)


async def test_options_can_be_query_parameters(api: Client, namespace: str) -> None:
    await api.create(DEPLOYMENTS.path(namespace), deployment())
    path = DEPLOYMENTS.path(namespace, "web")
    deleting = (await api.delete(path, propagationPolicy="Foreground")).expect(200)
    assert deleting["metadata"]["finalizers"] == ["foregroundDeletion"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"propagationPolicy": "Sideways"},
            'propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"',
        ),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
        ),
        ({"dryRun": ["Some"]}, 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
    ],
    ids=["policy", "two-policies", "dry-run"],
)
async def test_impossible_options_are_refused(
    api: Client, namespace: str, options: JsonObject, problem: str
) -> None:
    await created(api, namespace)
    path = CONFIG_MAPS.path(namespace, "one")
    message = f'DeleteOptions.meta.k8s.io "" is invalid: {problem}'
    (await api.delete(path, options)).refuse(422, "Invalid", message)
    (await api.get(path)).expect(200)


async def test_collection_is_deleted_in_one_call(api: Client, namespace: str) -> None:
    for name in "abc":
        await api.create(CONFIG_MAPS.path(namespace), config_map(name))
    body = (await api.delete(CONFIG_MAPS.path(namespace))).expect(200)
    assert body["kind"] == "ConfigMapList"
    assert [item["metadata"]["name"] for item in body["items"]] == ["a", "b", "c"]
    assert (await api.get(CONFIG_MAPS.path(namespace))).expect(200)["items"] == []


async def test_collection_deletion_honours_selectors(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), labelled("a", app="web"))
    await api.create(CONFIG_MAPS.path(namespace), labelled("b", app="db"))
    await api.create(CONFIG_MAPS.path(namespace), labelled("c", app="web"))
    await api.delete(CONFIG_MAPS.path(namespace), labelSelector="app=web", fieldSelector="metadata.name!=c")
    left = (await api.get(CONFIG_MAPS.path(namespace))).expect(200)["items"]
    assert [item["metadata"]["name"] for item in left] == ["b", "c"]


async def test_collection_deletion_honours_finalizers(api: Client, namespace: str) -> None:
    await created(api, namespace, finalizers=[GUARD])
    await api.create(CONFIG_MAPS.path(namespace), config_map("two"))
    await api.delete(CONFIG_MAPS.path(namespace))
    (left,) = (await api.get(CONFIG_MAPS.path(namespace))).expect(200)["items"]
    assert left["metadata"]["name"] == "one"
    assert left["metadata"]["deletionTimestamp"]


async def test_collection_of_custom_objects_is_deleted_too(api: Client, namespace: str) -> None:
    kind = await define(api)
    for name in "ab":
        await api.create(kind.path(namespace), kind.new(name))
    assert len((await api.delete(kind.path(namespace))).expect(200)["items"]) == 2
    assert (await api.get(kind.path(namespace))).expect(200)["items"] == []
