"""Several versions of one kind: one is stored, each is served as itself."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client, eventually
from tests.conformance.definitions import (
    SIZED,
    define,
    define_afresh,
    definition_name,
    established,
    version,
    widget,
)
from tests.conformance.kinds import DEFINITIONS, Kind

NEWER: JsonObject = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "colour": {"type": "string"},
                "weight": {"type": "integer", "default": 5},
            },
        }
    },
}


def in_version(kind: Kind, name: str) -> Kind:
    return Kind(kind.group, name, kind.plural, kind.kind)


async def two_versions(api: Client) -> tuple[Kind, Kind]:
    kind = await define(api, version("v1", SIZED), version("v2", NEWER, storage=False))
    return kind, in_version(kind, "v2")


async def test_object_is_served_in_every_version(api: Client, namespace: str) -> None:
    v1, v2 = await two_versions(api)
    created = (await api.create(v1.path(namespace), v1.new("one", spec={"size": 1}))).expect(201)
    other = (await api.get(v2.path(namespace, "one"))).expect(200)
    assert other["apiVersion"] == v2.api_version
    assert other["metadata"]["uid"] == created["metadata"]["uid"]
    assert other["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    # Defaults come from the schema of the stored version, which knows no weight.
    assert other["spec"] == {"size": 1}


async def test_list_and_watch_speak_the_version_of_the_path(api: Client, namespace: str) -> None:
    v1, v2 = await two_versions(api)
    await api.create(v1.path(namespace), v1.new("one"))
    listed = (await api.get(v2.path(namespace))).expect(200)
    assert {item["apiVersion"] for item in listed["items"]} == {v2.api_version}
    async with api.watch(v2.path(namespace)) as watch:
        assert (await watch.next())["object"]["apiVersion"] == v2.api_version


async def test_write_in_another_version_reaches_the_same_object(api: Client, namespace: str) -> None:
    v1, v2 = await two_versions(api)
    await api.create(v1.path(namespace), v1.new("one", spec={"size": 1}))
    (await api.patch(v2.path(namespace, "one"), {"spec": {"size": 2}})).expect(200)
    assert (await api.get(v1.path(namespace, "one"))).expect(200)["spec"] == {"size": 2}
    (await api.delete(v2.path(namespace, "one"))).expect(200)
    (await api.get(v1.path(namespace, "one"))).refuse(404, "NotFound")


async def test_field_that_the_stored_version_does_not_know_is_lost(api: Client, namespace: str) -> None:
    v1, v2 = await two_versions(api)
    created = (await api.create(v2.path(namespace), v2.new("one", spec={"size": 1, "weight": 9}))).expect(201)
    assert (created["apiVersion"], created["spec"]) == (v2.api_version, {"size": 1})
    assert (await api.get(v1.path(namespace, "one"))).expect(200)["spec"] == {"size": 1}


async def test_managed_fields_remember_the_version(api: Client, namespace: str) -> None:
    v1, v2 = await two_versions(api)
    await api.apply(v1.path(namespace, "one"), v1.new("one", spec={"size": 1}), "old")
    both = (await api.apply(v2.path(namespace, "one"), v2.new("one", spec={"colour": "red"}), "new")).expect(
        200
    )
    versions = {entry["manager"]: entry["apiVersion"] for entry in both["metadata"]["managedFields"]}
    assert versions == {"old": v1.api_version, "new": v2.api_version}


async def test_deprecated_version_warns(api: Client, namespace: str) -> None:
    kind = await define(
        api,
        version("v1"),
        version("v1beta1", storage=False, deprecated=True),
        version("v1alpha1", storage=False, deprecated=True, deprecationWarning="use v1, please"),
    )
    beta, alpha = in_version(kind, "v1beta1"), in_version(kind, "v1alpha1")
    assert (await api.get(kind.path(namespace))).warnings == ()
    assert (await api.get(beta.path(namespace))).warnings == (
        f'299 - "{beta.api_version} Widget is deprecated; use {kind.api_version} Widget"',
    )
    created = await api.create(alpha.path(namespace), alpha.new("one"))
    created.expect(201)
    assert created.warnings == ('299 - "use v1, please"',)


async def test_version_that_is_not_served_is_not_found(api: Client, namespace: str) -> None:
    kind = await define(api, version("v1"), version("v2", storage=False, served=False))
    assert (await api.get(in_version(kind, "v2").path(namespace))).status == 404


@pytest.mark.parametrize(
    ("names", "preferred"),
    [
        (["v1", "v2", "v1beta1"], "v2"),
        (["v1beta1", "v1alpha2", "v1beta2"], "v1beta2"),
        (["foo1", "v1alpha1"], "v1alpha1"),
    ],
)
async def test_group_prefers_its_most_stable_version(api: Client, names: list[str], preferred: str) -> None:
    versions = [version(name, storage=index == 0) for index, name in enumerate(names)]
    kind = await define_afresh(api, *versions, kind=in_version(widget(), names[0]))

    async def listed() -> JsonObject | None:
        answer = await api.get(f"/apis/{kind.group}")
        return answer.body if answer.status == 200 else None

    group = await eventually(listed, what="the group is discoverable")
    assert group["preferredVersion"]["version"] == preferred
    assert {entry["version"] for entry in group["versions"]} == set(names)
    assert group["versions"][0]["version"] == preferred


async def test_stored_versions_remember_every_storage_version(api: Client) -> None:
    kind = await define_afresh(api, version("v1"), version("v2", storage=False))
    path = DEFINITIONS.path(name=definition_name(kind))
    patch = {"spec": {"versions": [version("v1", storage=False), version("v2")]}}
    changed = (await api.patch(path, patch)).expect(200)
    assert changed["status"]["storedVersions"] == ["v1", "v2"]


async def test_stored_version_cannot_be_dropped(api: Client) -> None:
    kind = await define_afresh(api, version("v1"), version("v2", storage=False))
    path = DEFINITIONS.path(name=definition_name(kind))
    status = (await api.patch(path, {"spec": {"versions": [version("v2")]}})).refuse(422, "Invalid")
    assert status["message"].endswith(
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage '
        "version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 "
        "and removes v1 from status.storedVersions"
    )


async def test_added_version_is_served(api: Client, namespace: str) -> None:
    kind = await define_afresh(api)
    await api.create(kind.path(namespace), kind.new("one"))
    path = DEFINITIONS.path(name=definition_name(kind))
    await api.patch(path, {"spec": {"versions": [version("v1"), version("v2", storage=False)]}})
    await established(api, in_version(kind, "v2"))
    found = (await api.get(in_version(kind, "v2").path(namespace, "one"))).expect(200)
    assert found["apiVersion"] == f"{kind.group}/v2"
