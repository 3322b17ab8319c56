"""The life of a namespace: active, terminating, empty, gone."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client, eventually
from tests.conformance.definitions import condition, define
from tests.conformance.kinds import CONFIG_MAPS, NAMESPACES, SECRETS, config_map

GUARD = "conformance.example/guard"


async def gone(api: Client, path: str) -> None:
    async def attempt() -> bool | None:
        return (await api.get(path)).status == 404 or None

    await eventually(attempt, what=f"{path} is gone")


async def terminating(api: Client, namespace: str) -> JsonObject:
    """Delete a namespace which an object with a finalizer keeps from going."""
    body = CONFIG_MAPS.new("guarded", metadata={"finalizers": [GUARD]})
    (await api.create(CONFIG_MAPS.path(namespace), body)).expect(201)
    return (await api.delete(NAMESPACES.path(name=namespace))).expect(200)


async def release(api: Client, namespace: str) -> None:
    await api.patch(CONFIG_MAPS.path(namespace, "guarded"), {"metadata": {"finalizers": None}})
    await gone(api, NAMESPACES.path(name=namespace))


async def test_deleted_namespace_terminates_first(api: Client, namespace: str) -> None:
    deleting = await terminating(api, namespace)
    assert deleting["kind"] == "Namespace"
    assert deleting["metadata"]["deletionTimestamp"]
    assert deleting["status"]["phase"] == "Terminating"
    assert deleting["spec"]["finalizers"] == ["kubernetes"]


async def test_deleted_namespace_takes_its_content_along(api: Client, namespace: str) -> None:
    kind = await define(api)
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    await api.create(SECRETS.path(namespace), SECRETS.new("two"))
    await api.create(kind.path(namespace), kind.new("three"))
    await api.delete(NAMESPACES.path(name=namespace))
    await gone(api, NAMESPACES.path(name=namespace))
    for collection in (CONFIG_MAPS, SECRETS, kind):
        assert (await api.get(collection.path(namespace))).expect(200)["items"] == []


async def test_nothing_new_is_created_while_terminating(api: Client, namespace: str) -> None:
    await terminating(api, namespace)
    status = (await api.create(CONFIG_MAPS.path(namespace), config_map("late"))).refuse(
        403,
        "Forbidden",
        f'configmaps "late" is forbidden: unable to create new content in namespace {namespace} '
        "because it is being terminated",
    )
    assert status["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]


async def test_what_is_there_can_change_while_terminating(api: Client, namespace: str) -> None:
    await terminating(api, namespace)
    patched = await api.patch(CONFIG_MAPS.path(namespace, "guarded"), {"data": {"a": "b"}})
    assert patched.expect(200)["data"] == {"a": "b"}


async def test_namespace_says_what_it_waits_for(api: Client, namespace: str) -> None:
    await terminating(api, namespace)

    async def told() -> JsonObject | None:
        found = (await api.get(NAMESPACES.path(name=namespace))).expect(200)
        remaining = condition(found, "NamespaceFinalizersRemaining")
        return remaining if remaining and remaining["status"] == "True" else None

    remaining = await eventually(told, what="the namespace tells what remains")
    assert remaining["reason"] == "SomeFinalizersRemain"
    assert remaining["message"] == (
        f"Some content in the namespace has finalizers remaining: {GUARD} in 1 resource instances"
    )
    await release(api, namespace)


async def test_namespace_can_be_deleted_twice(api: Client, namespace: str) -> None:
    first = await terminating(api, namespace)
    again = (await api.delete(NAMESPACES.path(name=namespace))).expect(200)
    assert again["metadata"]["deletionTimestamp"] == first["metadata"]["deletionTimestamp"]


async def test_spec_finalizer_can_only_go_through_finalize(api: Client, namespace: str) -> None:
    path = NAMESPACES.path(name=namespace)
    patched = (await api.patch(path, {"spec": {"finalizers": []}})).expect(200)
    assert patched["spec"]["finalizers"] == ["kubernetes"]
    body = {**patched, "spec": {"finalizers": []}}
    finalized = (await api.put(f"{path}/finalize", body)).expect(200)
    assert finalized["spec"] == {}


async def test_finalized_namespace_goes_at_once(api: Client, namespace: str) -> None:
    deleting = await terminating(api, namespace)
    path = NAMESPACES.path(name=namespace)

    async def finalized() -> bool | None:
        current = await api.get(path)
        if current.status == 404:
            return True
        body = {**current.body, "spec": {"finalizers": []}}
        return (await api.put(f"{path}/finalize", body)).status == 200 or None

    await eventually(finalized, what="the namespace can be finalized")
    await gone(api, path)
    assert deleting["metadata"]["name"] == namespace


async def test_default_namespaces_exist(api: Client) -> None:
    items = (await api.get(NAMESPACES.path())).expect(200)["items"]
    names = {item["metadata"]["name"] for item in items}
    assert {"default", "kube-system", "kube-public", "kube-node-lease"} <= names


async def test_default_namespace_cannot_be_deleted(api: Client) -> None:
    status = (await api.delete(NAMESPACES.path(name="default"))).refuse(403, "Forbidden")
    assert status["message"] == 'namespaces "default" is forbidden: this namespace may not be deleted'
