"""Owners and their dependents: what goes, what stays, and in which order."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client, eventually
from tests.conformance.kinds import CONFIG_MAPS, SECRETS, config_map

GUARD = "conformance.example/guard"
GONE_UID = "11111111-2222-4333-8444-555555555555"


def owned_by(owner: JsonObject, name: str, *, blocking: bool = False) -> JsonObject:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        **({"blockOwnerDeletion": True} if blocking else {}),
    }
    return SECRETS.new(name, metadata={"ownerReferences": [reference]})


async def owner_and_dependent(api: Client, namespace: str, *, blocking: bool = False) -> JsonObject:
    owner = (await api.create(CONFIG_MAPS.path(namespace), config_map("owner"))).expect(201)
    body = owned_by(owner, "dependent", blocking=blocking)
    (await api.create(SECRETS.path(namespace), body)).expect(201)
    return owner


async def gone(api: Client, path: str) -> None:
    async def attempt() -> bool | None:
        return (await api.get(path)).status == 404 or None

    await eventually(attempt, what=f"{path} is gone")


async def test_dependents_follow_in_the_background(api: Client, namespace: str) -> None:
    await owner_and_dependent(api, namespace)
    owner_path = CONFIG_MAPS.path(namespace, "owner")
    (await api.delete(owner_path, {"propagationPolicy": "Background"})).expect(200)
    (await api.get(owner_path)).refuse(404, "NotFound")
    await gone(api, SECRETS.path(namespace, "dependent"))


async def test_background_is_the_default(api: Client, namespace: str) -> None:
    await owner_and_dependent(api, namespace)
    await api.delete(CONFIG_MAPS.path(namespace, "owner"))
    await gone(api, SECRETS.path(namespace, "dependent"))


async def test_owner_waits_for_dependents_that_block_it(api: Client, namespace: str) -> None:
    owner = (await api.create(CONFIG_MAPS.path(namespace), config_map("owner"))).expect(201)
    body = owned_by(owner, "dependent", blocking=True)
    body["metadata"]["finalizers"] = [GUARD]
    await api.create(SECRETS.path(namespace), body)
    owner_path, path = CONFIG_MAPS.path(namespace, "owner"), SECRETS.path(namespace, "dependent")
    deleting = (await api.delete(owner_path, {"propagationPolicy": "Foreground"})).expect(200)
    assert deleting["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert deleting["metadata"]["deletionTimestamp"]

    async def dependent_is_deleting() -> bool | None:
        return "deletionTimestamp" in (await api.get(path)).expect(200)["metadata"] or None

    await eventually(dependent_is_deleting, what="the dependent is being deleted")
    assert (await api.get(owner_path)).status == 200
    await api.patch(path, {"metadata": {"finalizers": None}})
    await gone(api, path)
    await gone(api, owner_path)


async def test_orphans_lose_their_owner_and_stay(api: Client, namespace: str) -> None:
    await owner_and_dependent(api, namespace)
    owner_path = CONFIG_MAPS.path(namespace, "owner")
    deleting = (await api.delete(owner_path, {"propagationPolicy": "Orphan"})).expect(200)
    assert deleting["metadata"]["finalizers"] == ["orphan"]
    await gone(api, owner_path)
    dependent = (await api.get(SECRETS.path(namespace, "dependent"))).expect(200)
    assert "ownerReferences" not in dependent["metadata"]


async def test_dependent_of_an_absent_owner_is_collected(api: Client, namespace: str) -> None:
    owner = CONFIG_MAPS.new("owner", metadata={"uid": GONE_UID})
    await api.create(SECRETS.path(namespace), owned_by(owner, "dependent"))
    await gone(api, SECRETS.path(namespace, "dependent"))


async def test_dependent_stays_while_one_owner_lives(api: Client, namespace: str) -> None:
    owners = [
        (await api.create(CONFIG_MAPS.path(namespace), config_map(name))).expect(201)
        for name in ("first", "second")
    ]
    body = owned_by(owners[0], "dependent")
    body["metadata"]["ownerReferences"] += owned_by(owners[1], "x")["metadata"]["ownerReferences"]
    await api.create(SECRETS.path(namespace), body)
    path = SECRETS.path(namespace, "dependent")
    await api.delete(CONFIG_MAPS.path(namespace, "first"))

    async def one_owner_left() -> JsonObject | None:
        metadata: JsonObject = (await api.get(path)).expect(200)["metadata"]
        return metadata if len(metadata["ownerReferences"]) == 1 else None

    left = await eventually(one_owner_left, what="the absent owner is forgotten")
    assert left["ownerReferences"][0]["name"] == "second"
    await api.delete(CONFIG_MAPS.path(namespace, "second"))
    await gone(api, path)


async def test_whole_families_go(api: Client, namespace: str) -> None:
    parent = (await api.create(CONFIG_MAPS.path(namespace), config_map("owner"))).expect(201)
    child = (await api.create(SECRETS.path(namespace), owned_by(parent, "child"))).expect(201)
    await api.create(SECRETS.path(namespace), owned_by(child, "grandchild"))
    await api.delete(CONFIG_MAPS.path(namespace, "owner"))
    await gone(api, SECRETS.path(namespace, "child"))
    await gone(api, SECRETS.path(namespace, "grandchild"))


async def test_recreated_owner_does_not_save_the_dependents_of_the_former_one(
    api: Client, namespace: str
) -> None:
    await owner_and_dependent(api, namespace)
    await api.delete(CONFIG_MAPS.path(namespace, "owner"))
    (await api.create(CONFIG_MAPS.path(namespace), config_map("owner"))).expect(201)
    await gone(api, SECRETS.path(namespace, "dependent"))
    (await api.get(CONFIG_MAPS.path(namespace, "owner"))).expect(200)


async def test_only_one_owner_may_be_the_controller(api: Client, namespace: str) -> None:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "controller": True}
    references = [{**reference, "name": name, "uid": f"uid-{name}"} for name in "ab"]
    body = SECRETS.new("one", metadata={"ownerReferences": references})
    status = (await api.create(SECRETS.path(namespace), body)).refuse(422, "Invalid")
    assert status["message"].endswith(
        'Only one reference can have Controller set to true. Found "true" in references for ConfigMap/a and ConfigMap/b'
    )


async def test_event_cannot_be_an_owner(api: Client, namespace: str) -> None:
    reference = {"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "y"}
    body = SECRETS.new("one", metadata={"ownerReferences": [reference]})
    status = (await api.create(SECRETS.path(namespace), body)).refuse(422, "Invalid")
    assert status["message"] == (
        'Secret "one" is invalid: metadata.ownerReferences: Invalid value: '
        '{"apiVersion":"v1","kind":"Event","name":"x","uid":"y"}: /v1, Kind=Event is disallowed from being an owner'
    )
