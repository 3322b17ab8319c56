"""Protobuf answers: objects, lists, events, refusals and metadata, for clients that prefer them."""

from __future__ import annotations

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.protobuf import encode_protobuf
from tests.conformance.client import JSON, MERGE_PATCH, YAML, Answer, Client
from tests.conformance.definitions import define, version
from tests.conformance.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    SERVICE_ACCOUNTS,
    config_map,
    deployment,
)
from tests.conformance.protobuf import PROTOBUF, create, decoded, decoded_event, meaning

PARTIAL = "as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


async def test_list_can_be_had_in_protobuf(api: Client, namespace: str) -> None:
    for name in ("one", "two"):
        (await api.create(CONFIG_MAPS.path(namespace), config_map(name))).expect(201)
    path = CONFIG_MAPS.path(namespace)
    plain = (await api.get(path, limit=1)).expect(200)
    binary = decoded(await api.get(path, accept=PROTOBUF, limit=1))
    assert (binary["kind"], binary["apiVersion"]) == ("ConfigMapList", "v1")
    assert binary["items"] == plain["items"]
    assert set(binary["metadata"]) == set(plain["metadata"])


async def test_list_without_objects_can_be_had_in_protobuf(api: Client, namespace: str) -> None:
    binary = decoded(await api.get(DEPLOYMENTS.path(namespace), accept=PROTOBUF))
    assert (binary["kind"], binary["apiVersion"]) == ("DeploymentList", "apps/v1")
    assert not binary.get("items")
    assert binary["metadata"]["resourceVersion"]


async def test_watch_can_be_had_in_protobuf(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace)
    start = (await api.get(path)).expect(200)["metadata"]["resourceVersion"]
    created = (await api.create(path, config_map("one"))).expect(201)
    async with api.watch(path, accept=PROTOBUF, resourceVersion=start) as watch:
        assert watch.content_type == f"{PROTOBUF};stream=watch"
        added = decoded_event(await watch.next_frame())
        (await api.delete(f"{path}/one")).expect(200)
        deleted = decoded_event(await watch.next_frame())
    assert added == {"type": "ADDED", "object": created}
    assert (deleted["type"], deleted["object"]["data"]) == ("DELETED", created["data"])


async def test_watch_from_a_version_that_is_too_old_says_so_in_protobuf(api: Client, namespace: str) -> None:
    kind = await define(api)
    accept = f"{PROTOBUF};{PARTIAL}"
    async with api.watch(kind.path(namespace), accept=accept, resourceVersion="1") as watch:
        error = decoded_event(await watch.next_frame())
    assert (error["type"], error["object"]["kind"]) == ("ERROR", "Status")
    assert (error["object"]["code"], error["object"]["reason"]) == (410, "Expired")


async def test_refusal_comes_in_protobuf(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "none")
    plain = (await api.get(path)).refuse(404, "NotFound")
    assert decoded(await api.get(path, accept=PROTOBUF), 404) == plain


async def test_refusal_of_a_protobuf_body_names_the_fields(api: Client, namespace: str) -> None:
    body = deployment("one", replicas=-1)
    plain = (await api.create(DEPLOYMENTS.path(namespace), body)).refuse(422, "Invalid")
    assert decoded(await create(api, DEPLOYMENTS.path(namespace), body), 422) == plain


async def test_deletion_is_asked_for_and_answered_in_protobuf(api: Client, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace, "one")
    created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    options: JsonObject = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "somebody-else"},
    }

    async def delete() -> Answer:
        return await api.request(
            "DELETE", path, encode_protobuf(options), content_type=PROTOBUF, accept=PROTOBUF
        )

    assert decoded(await delete(), 409)["reason"] == "Conflict"
    options["preconditions"] = {"uid": created["metadata"]["uid"]}
    status = decoded(await delete())
    assert (status["kind"], status["status"]) == ("Status", "Success")
    assert status["details"] == {"name": "one", "kind": "configmaps", "uid": created["metadata"]["uid"]}
    assert (await api.get(path)).status == 404


async def test_collection_is_deleted_and_shown_in_protobuf(api: Client, namespace: str) -> None:
    (await api.create(DEPLOYMENTS.path(namespace), deployment("one"))).expect(201)
    gone = decoded(await api.request("DELETE", DEPLOYMENTS.path(namespace), accept=PROTOBUF))
    assert [item["metadata"]["name"] for item in gone["items"]] == ["one"]


async def test_patch_is_answered_in_protobuf(api: Client, namespace: str) -> None:
    (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    patch = {"data": {"size": "3"}}
    answer = await api.request(
        "PATCH",
        CONFIG_MAPS.path(namespace, "one"),
        patch,
        content_type=MERGE_PATCH,
        accept=PROTOBUF,
    )
    assert decoded(answer)["data"] == {"colour": "green", "size": "3"}


async def test_scale_is_read_and_written_in_protobuf(api: Client, namespace: str) -> None:
    (await api.create(DEPLOYMENTS.path(namespace), deployment("web", replicas=2))).expect(201)
    path = DEPLOYMENTS.path(namespace, "web", "scale")
    scale = decoded(await api.get(path, accept=PROTOBUF))
    assert scale["spec"] == {"replicas": 2}
    assert meaning(scale) == meaning((await api.get(path)).expect(200))
    scale["spec"]["replicas"] = 5
    answer = await api.request("PUT", path, encode_protobuf(scale), content_type=PROTOBUF, accept=PROTOBUF)
    assert decoded(answer)["spec"] == {"replicas": 5}
    assert (await api.get(DEPLOYMENTS.path(namespace, "web"))).expect(200)["spec"]["replicas"] == 5


async def test_scale_of_a_custom_kind_has_no_protobuf_form(api: Client, namespace: str) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    kind = await define(api, version(subresources={"scale": scale}))
    (await api.create(kind.path(namespace), kind.new("one", spec={"size": 4}))).expect(201)
    answer = await api.get(kind.path(namespace, "one", "scale"), accept=PROTOBUF)
    assert decoded(answer, 406)["reason"] == "NotAcceptable"


async def test_token_is_asked_for_in_protobuf(api: Client, namespace: str) -> None:
    (await api.create(SERVICE_ACCOUNTS.path(namespace), SERVICE_ACCOUNTS.new("robot"))).expect(201)
    request: JsonObject = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": ["https://kubernetes.default.svc"], "expirationSeconds": 1200},
    }
    answer = decoded(await create(api, SERVICE_ACCOUNTS.path(namespace, "robot", "token"), request), 201)
    assert answer["spec"]["expirationSeconds"] == 1200
    assert answer["status"]["token"].count(".") == 2


async def test_metadata_alone_can_be_had_in_protobuf(api: Client, namespace: str) -> None:
    created = (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)
    answer = decoded(await api.get(CONFIG_MAPS.path(namespace, "one"), accept=f"{PROTOBUF};{PARTIAL}"))
    assert answer == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": created["metadata"],
    }


@pytest.mark.parametrize("meta_version", ["v1", "v1beta1"])
async def test_metadata_of_custom_kinds_can_be_had_in_protobuf(
    api: Client, namespace: str, meta_version: str
) -> None:
    kind = await define(api)
    created = (await api.create(kind.path(namespace), kind.new("one", spec={"size": 1}))).expect(201)
    accept = f"{PROTOBUF};as=PartialObjectMetadataList;v={meta_version};g=meta.k8s.io"
    answer = decoded(await api.get(kind.path(namespace), accept=accept))
    shape = (answer["kind"], answer["apiVersion"])
    assert shape == ("PartialObjectMetadataList", f"meta.k8s.io/{meta_version}")
    assert answer["items"] == [{"metadata": created["metadata"]}]


async def test_custom_kind_has_no_protobuf_form(api: Client, namespace: str) -> None:
    kind = await define(api)
    (await api.create(kind.path(namespace), kind.new("one"))).expect(201)
    path = kind.path(namespace, "one")
    refused = decoded(await api.get(path, accept=PROTOBUF), 406)
    assert refused["reason"] == "NotAcceptable"
    alternative = await api.get(path, accept=f"{PROTOBUF},{JSON}")
    assert (alternative.status, alternative.content_type) == (200, JSON)


async def test_table_has_no_protobuf_form(api: Client, namespace: str) -> None:
    table = "as=Table;v=v1;g=meta.k8s.io"
    path = CONFIG_MAPS.path(namespace)
    (await api.get(path, accept=f"{PROTOBUF};{table}")).refuse(406, "NotAcceptable")
    answer = await api.get(path, accept=f"{PROTOBUF};{table},{JSON};{table}")
    assert (answer.content_type, answer.expect(200)["kind"]) == (JSON, "Table")


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (f"{PROTOBUF},{JSON}", PROTOBUF),
        (f"{JSON},{PROTOBUF}", JSON),
        (f"{PROTOBUF};q=0.5,{JSON}", JSON),
        (f"*/*,{PROTOBUF}", PROTOBUF),
        (f"application/cbor,{PROTOBUF}", PROTOBUF),
    ],
    ids=["first", "second", "less-wanted", "rather-than-anything", "rather-than-unknown"],
)
async def test_first_form_that_can_be_had_is_chosen(
    api: Client, namespace: str, accept: str, content_type: str
) -> None:
    answer = await api.get(NAMESPACES.path(name=namespace), accept=accept)
    assert (answer.status, answer.content_type) == (200, content_type)


async def test_object_is_not_created_when_its_answer_cannot_be_had(api: Client, namespace: str) -> None:
    answer = await api.request(
        "POST", CONFIG_MAPS.path(namespace), config_map("one"), accept="application/cbor"
    )
    status = answer.refuse(406, "NotAcceptable")
    assert f"{JSON}, {YAML}, {PROTOBUF}" in status["message"]
    assert (await api.get(CONFIG_MAPS.path(namespace, "one"))).status == 404


async def test_watch_has_no_yaml_form(api: Client, namespace: str) -> None:
    answer = await api.get(CONFIG_MAPS.path(namespace), accept=YAML, watch="1", timeoutSeconds=1)
    assert (answer.status, answer.content_type) == (406, YAML)
    assert f"{JSON};stream=watch" in answer.text


async def test_refusal_comes_in_yaml(api: Client, namespace: str) -> None:
    answer = await api.get(CONFIG_MAPS.path(namespace, "none"), accept=YAML)
    assert (answer.status, answer.content_type) == (404, YAML)
    assert "\nreason: NotFound\n" in answer.text
