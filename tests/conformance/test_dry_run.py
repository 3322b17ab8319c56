"""Dry run: the whole way through validation, and no trace afterwards."""

from __future__ import annotations

from tests.conformance.client import Client
from tests.conformance.definitions import define
from tests.conformance.kinds import CONFIG_MAPS, DEPLOYMENTS, config_map, deployment


async def test_create_shows_what_would_be(api: Client, namespace: str) -> None:
    shown = (await api.create(DEPLOYMENTS.path(namespace), deployment(), dryRun="All")).expect(201)
    assert shown["metadata"]["uid"]
    assert "resourceVersion" not in shown["metadata"]
    assert shown["spec"]["replicas"] == 1
    (await api.get(DEPLOYMENTS.path(namespace, "web"))).refuse(404, "NotFound")


async def test_create_is_validated(api: Client, namespace: str) -> None:
    answer = await api.create(CONFIG_MAPS.path(namespace), config_map("Bad_Name"), dryRun="All")
    answer.refuse(422, "Invalid")


async def test_name_taken_is_refused(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    answer = await api.create(CONFIG_MAPS.path(namespace), config_map("one"), dryRun="All")
    answer.refuse(409, "AlreadyExists")


async def test_replace_leaves_the_object_alone(api: Client, namespace: str) -> None:
    before = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    path = CONFIG_MAPS.path(namespace, "one")
    shown = (await api.put(path, config_map("one", colour="red"), dryRun="All")).expect(200)
    assert shown["data"] == {"colour": "red"}
    assert shown["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert (await api.get(path)).expect(200) == before


async def test_patch_leaves_the_object_alone(api: Client, namespace: str) -> None:
    kind = await define(api)
    before = (await api.create(kind.path(namespace), kind.new("one", spec={"size": 1}))).expect(201)
    path = kind.path(namespace, "one")
    shown = (await api.patch(path, {"spec": {"size": 2}}, dryRun="All")).expect(200)
    assert (shown["spec"], shown["metadata"]["generation"]) == ({"size": 2}, 2)
    assert (await api.get(path)).expect(200) == before


async def test_delete_leaves_the_object_alone(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    path = CONFIG_MAPS.path(namespace, "one")
    assert (await api.delete(path, dryRun="All")).expect(200)["status"] == "Success"
    assert (await api.delete(path, {"dryRun": ["All"]})).expect(200)["status"] == "Success"
    (await api.get(path)).expect(200)


async def test_collection_stays(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    (await api.delete(CONFIG_MAPS.path(namespace), dryRun="All")).expect(200)
    assert len((await api.get(CONFIG_MAPS.path(namespace))).expect(200)["items"]) == 1


async def test_unknown_mode_is_refused(api: Client, namespace: str) -> None:
    (await api.create(CONFIG_MAPS.path(namespace), config_map("one"), dryRun="Some")).refuse(
        422,
        "Invalid",
        'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
    )


async def test_generated_name_is_shown(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new(metadata={"generateName": "job-"})
    shown = (await api.create(CONFIG_MAPS.path(namespace), body, dryRun="All")).expect(201)
    assert shown["metadata"]["name"].startswith("job-")
