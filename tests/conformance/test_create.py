"""Creation: what the server adds, and what it refuses."""

from __future__ import annotations

import re

import pytest

from tests.conformance.client import Client
from tests.conformance.definitions import SIZED, define, version
from tests.conformance.kinds import (
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    NAMESPACES,
    SECRETS,
    config_map,
    deployment,
    unique,
    without_volatile,
)

RFC_3339_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


async def test_created_object_gets_an_identity(api: Client, namespace: str) -> None:
    created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    metadata = created["metadata"]
    assert UUID.fullmatch(metadata["uid"])
    assert RFC_3339_SECONDS.fullmatch(metadata["creationTimestamp"])
    assert metadata["resourceVersion"].isdigit()
    assert metadata["namespace"] == namespace
    assert without_volatile(created) == config_map("one") | {
        "metadata": {"name": "one", "namespace": namespace}
    }


async def test_created_object_is_what_reads_return(api: Client, namespace: str) -> None:
    created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    assert (await api.get(CONFIG_MAPS.path(namespace, "one"))).expect(200) == created


async def test_client_cannot_choose_the_identity(api: Client, namespace: str) -> None:
    body = config_map("one")
    body["metadata"] |= {
        "uid": "11111111-2222-4333-8444-555555555555",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "generation": 42,
        "selfLink": "/elsewhere",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
    }
    metadata = (await api.create(CONFIG_MAPS.path(namespace), body)).expect(201)["metadata"]
    assert metadata["uid"] != "11111111-2222-4333-8444-555555555555"
    assert not metadata["creationTimestamp"].startswith("2001")
    assert not {"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"} & set(metadata)


async def test_kind_without_desired_state_has_no_generation(api: Client, namespace: str) -> None:
    created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    assert "generation" not in created["metadata"]


async def test_kind_with_desired_state_starts_at_generation_one(api: Client, namespace: str) -> None:
    kind = await define(api)
    for collection, body in (
        (DEPLOYMENTS, deployment()),
        (kind, kind.new("one", metadata={"generation": 7}, spec={"size": 1})),
    ):
        created = (await api.create(collection.path(namespace), body)).expect(201)
        assert created["metadata"]["generation"] == 1


async def test_resource_versions_grow(api: Client, namespace: str) -> None:
    created = [
        (await api.create(CONFIG_MAPS.path(namespace), config_map(name))).expect(201) for name in "abc"
    ]
    versions = [int(item["metadata"]["resourceVersion"]) for item in created]
    assert versions == sorted(set(versions))


async def test_name_taken_is_refused(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    status = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).refuse(
        409, "AlreadyExists", 'configmaps "one" already exists'
    )
    assert status["details"] == {"name": "one", "kind": "configmaps"}


async def test_names_are_free_per_namespace(api: Client, namespace: str) -> None:
    other = unique("other")
    await api.create(NAMESPACES.path(), NAMESPACES.new(other))
    for place in (namespace, other):
        (await api.create(CONFIG_MAPS.path(place), config_map("one"))).expect(201)


async def test_generated_name_extends_its_prefix(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new(metadata={"generateName": "job-"})
    names = set()
    for _ in range(3):
        metadata = (await api.create(CONFIG_MAPS.path(namespace), body)).expect(201)["metadata"]
        assert metadata["generateName"] == "job-"
        assert re.fullmatch(r"job-[bcdfghjklmnpqrstvwxz2456789]{5}", metadata["name"])
        names.add(metadata["name"])
    assert len(names) == 3


async def test_given_name_wins_over_a_generated_one(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new("one", metadata={"generateName": "job-"})
    assert (await api.create(CONFIG_MAPS.path(namespace), body)).expect(201)["metadata"]["name"] == "one"


async def test_long_prefix_is_cut_to_make_room(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new(metadata={"generateName": "x" * 80})
    name = (await api.create(CONFIG_MAPS.path(namespace), body)).expect(201)["metadata"]["name"]
    assert len(name) == 63
    assert name.startswith("x" * 58)


async def test_name_is_required(api: Client, namespace: str) -> None:
    status = (await api.create(CONFIG_MAPS.path(namespace), CONFIG_MAPS.new())).refuse(
        422,
        "Invalid",
        'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    )
    assert status["details"] == {
        "kind": "ConfigMap",
        "causes": [
            {
                "reason": "FieldValueRequired",
                "message": "Required value: name or generateName is required",
                "field": "metadata.name",
            }
        ],
    }


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", "dot.", "blank space", "x" * 254])
async def test_name_must_be_a_subdomain(api: Client, namespace: str, name: str) -> None:
    status = (await api.create(CONFIG_MAPS.path(namespace), config_map(name))).refuse(422, "Invalid")
    (cause,) = status["details"]["causes"]
    assert (cause["field"], cause["reason"]) == ("metadata.name", "FieldValueInvalid")
    expected = (
        "must be no more than 253 characters"
        if len(name) > 253
        else "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
        "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )
    assert cause["message"] == f'Invalid value: "{name}": {expected}'


async def test_namespace_name_must_be_a_label(api: Client) -> None:
    status = (await api.create(NAMESPACES.path(), NAMESPACES.new("has.dot"))).refuse(422, "Invalid")
    assert status["message"] == (
        'Namespace "has.dot" is invalid: metadata.name: Invalid value: "has.dot": must not contain dots'
    )


async def test_body_of_another_namespace_is_refused(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new("one", metadata={"namespace": "elsewhere"})
    (await api.create(CONFIG_MAPS.path(namespace), body)).refuse(
        400,
        "BadRequest",
        "the namespace of the provided object does not match the namespace sent on the request",
    )


async def test_namespace_must_exist(api: Client) -> None:
    status = (await api.create(CONFIG_MAPS.path("nowhere"), config_map("one"))).refuse(
        404, "NotFound", 'namespaces "nowhere" not found'
    )
    assert status["details"] == {"name": "nowhere", "kind": "namespaces"}


async def test_body_of_another_kind_is_refused(api: Client, namespace: str) -> None:
    why = "converting (v1.Secret) to (core.ConfigMap): unknown conversion"
    (await api.create(CONFIG_MAPS.path(namespace), SECRETS.new("one"))).refuse(
        400, "BadRequest", f'Secret in version "v1" cannot be handled as a ConfigMap: {why}'
    )


async def test_body_of_another_kind_is_no_definition(api: Client) -> None:
    why = 'no kind "Secret" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'
    (await api.create(DEFINITIONS.path(), SECRETS.new("one"))).refuse(
        400, "BadRequest", f'Secret in version "v1" cannot be handled as a CustomResourceDefinition: {why}'
    )


async def test_body_of_an_unknown_version_is_refused(api: Client, namespace: str) -> None:
    body = {**config_map("one"), "apiVersion": "v7"}
    why = 'no kind "ConfigMap" is registered for version "v7" in scheme "pkg/runtime/scheme.go:111"'
    (await api.create(CONFIG_MAPS.path(namespace), body)).refuse(
        400, "BadRequest", f'ConfigMap in version "v7" cannot be handled as a ConfigMap: {why}'
    )


async def test_body_of_another_custom_kind_is_refused(api: Client, namespace: str) -> None:
    kind = await define(api)
    (await api.create(kind.path(namespace), {**kind.new("one"), "kind": "Gadget"})).refuse(
        422, "Invalid", f'Gadget.{kind.group} "one" is invalid: kind: Invalid value: "Gadget": must be Widget'
    )


async def test_body_of_another_version_is_refused(api: Client, namespace: str) -> None:
    kind = await define(api)
    body = {**kind.new("one"), "apiVersion": f"{kind.group}/v2"}
    (await api.create(kind.path(namespace), body)).refuse(
        400,
        "BadRequest",
        f"the API version in the data ({kind.group}/v2) does not match the expected API version ({kind.group}/v1)",
    )


async def test_resource_version_must_not_be_set(api: Client, namespace: str) -> None:
    body = CONFIG_MAPS.new("one", metadata={"resourceVersion": "5"})
    status = (await api.create(CONFIG_MAPS.path(namespace), body)).refuse(500, "")
    assert status["message"] == "resourceVersion should not be set on objects to be created"


@pytest.mark.parametrize(
    ("metadata", "field", "message"),
    [
        (
            {"labels": {"bad key!": "x"}},
            "metadata.labels",
            (
                "Invalid value: \"bad key!\": name part must consist of alphanumeric characters, '-', '_' or '.', and must "
                "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used "
                "for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
            ),
        ),
        (
            {"labels": {"key": "x" * 64}},
            "metadata.labels",
            f'Invalid value: "{"x" * 64}": must be no more than 63 bytes',
        ),
        (
            {"finalizers": ["no-slash"]},
            "metadata.finalizers[0]",
            'Invalid value: "no-slash": name is neither a standard finalizer name nor is it fully qualified',
        ),
        (
            {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "", "uid": "u"}]},
            "metadata.ownerReferences.name",
            'Invalid value: "": must not be empty',
        ),
        (
            {"annotations": {"big": "x" * (256 * 1024)}},
            "metadata.annotations",
            "Too long: may not be more than 262144 bytes",
        ),
    ],
    ids=["label-key", "label-value", "finalizer", "owner", "annotations-size"],
)
async def test_metadata_is_validated(
    api: Client, namespace: str, metadata: dict[str, object], field: str, message: str
) -> None:
    body = CONFIG_MAPS.new("one", metadata=metadata)
    causes = (await api.create(CONFIG_MAPS.path(namespace), body)).refuse(422, "Invalid")["details"]["causes"]
    assert (field, message) in [(cause["field"], cause["message"]) for cause in causes]


async def test_metadata_of_custom_kinds_is_validated_too(api: Client, namespace: str) -> None:
    kind = await define(api)
    status = (await api.create(kind.path(namespace), kind.new("Bad_Name"))).refuse(422, "Invalid")
    assert status["message"].startswith(
        f'Widget.{kind.group} "Bad_Name" is invalid: metadata.name: Invalid value'
    )
    assert status["details"]["group"] == kind.group


async def test_cluster_scoped_object_has_no_namespace(api: Client) -> None:
    name = unique("made")
    created = (await api.create(NAMESPACES.path(), NAMESPACES.new(name))).expect(201)
    assert "namespace" not in created["metadata"]
    assert created["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}
    assert created["spec"] == {"finalizers": ["kubernetes"]}
    assert created["status"] == {"phase": "Active"}


async def test_custom_kind_keeps_status_only_without_the_subresource(api: Client, namespace: str) -> None:
    plain = await define(api)
    separate = await define(api, version(schema=SIZED, subresources={"status": {}}))
    for kind, expected in ((plain, {"ready": True}), (separate, None)):
        body = kind.new("one", spec={"size": 1}, status={"ready": True})
        assert (await api.create(kind.path(namespace), body)).expect(201).get("status") == expected
