"""Bodies: encodings, malformed input, wrong types, too much of it, and methods that make no sense.

Every refusal is a `Status` that says what is wrong; the words of the JSON parser itself are the server's own business.
"""

from __future__ import annotations

import pytest

from tests.conformance.client import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, YAML, Client
from tests.conformance.definitions import define
from tests.conformance.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    Kind,
    config_map,
    deployment,
    without_volatile,
)

REVIEWS = Kind("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False)


async def test_yaml_body_is_understood(api: Client, namespace: str) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  colour: green\n"
    created = (await api.create(CONFIG_MAPS.path(namespace), body, content_type=YAML)).expect(201)
    assert without_volatile(created)["data"] == {"colour": "green"}


async def test_yaml_body_of_a_custom_kind_is_understood(api: Client, namespace: str) -> None:
    kind = await define(api)
    body = f"apiVersion: {kind.api_version}\nkind: Widget\nmetadata: {{name: one}}\nspec: {{size: 3}}\n"
    created = (await api.create(kind.path(namespace), body.encode(), content_type=YAML)).expect(201)
    assert created["spec"] == {"size": 3}


async def test_built_in_kind_may_leave_out_what_the_path_says(api: Client, namespace: str) -> None:
    created = (await api.create(CONFIG_MAPS.path(namespace), {"metadata": {"name": "one"}})).expect(201)
    assert (created["kind"], created["apiVersion"]) == ("ConfigMap", "v1")


async def test_custom_kind_must_name_itself(api: Client, namespace: str) -> None:
    kind = await define(api)
    status = (await api.create(kind.path(namespace), {"metadata": {"name": "one"}})).refuse(400, "BadRequest")
    assert status["message"].startswith(
        "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in"
    )


@pytest.mark.parametrize(
    "body",
    [b"{", b"", b"[]", b'"text"', b"nonsense", b'{"kind": 1}', b'{"metadata": {}} trailing'],
    ids=["unclosed", "empty", "list", "string", "no-json", "wrong-kind-type", "trailing"],
)
@pytest.mark.parametrize("custom", [False, True], ids=["built-in", "custom"])
async def test_malformed_body_is_unrecognized(api: Client, namespace: str, body: bytes, custom: bool) -> None:
    kind = await define(api) if custom else CONFIG_MAPS
    status = (await api.create(kind.path(namespace), body)).refuse(400, "BadRequest")
    assert status["message"].startswith(
        f"the object provided is unrecognized (must be of type {kind.kind}): "
    )


async def test_malformed_yaml_is_unrecognized(api: Client, namespace: str) -> None:
    answer = await api.create(CONFIG_MAPS.path(namespace), b"a: b: c", content_type=YAML)
    status = answer.refuse(400, "BadRequest")
    assert status["message"].startswith(
        "the object provided is unrecognized (must be of type ConfigMap): yaml: "
    )


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (CONFIG_MAPS, {"data": {"a": 1}}, "number into Go struct field ConfigMap.data of type string"),
        (CONFIG_MAPS, {"data": "x"}, "string into Go struct field ConfigMap.data of type map[string]string"),
        (
            DEPLOYMENTS,
            {"spec": {"replicas": "three"}},
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            DEPLOYMENTS,
            {"spec": {"replicas": 1.5}},
            "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (DEPLOYMENTS, {"spec": []}, "array into Go struct field Deployment.spec of type v1.DeploymentSpec"),
    ],
    ids=["map-value", "map", "string-for-int", "fraction-for-int", "list-for-object"],
)
async def test_wrong_type_cannot_be_handled(
    api: Client, namespace: str, kind: Kind, content: dict[str, object], message: str
) -> None:
    (await api.create(kind.path(namespace), kind.new("one", **content))).refuse(
        400,
        "BadRequest",
        f'{kind.kind} in version "v1" cannot be handled as a {kind.kind}: json: cannot unmarshal {message}',
    )


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"name": 7}, "number into Go struct field ObjectMeta.name of type string"),
        ({"labels": []}, "array into Go struct field ObjectMeta.labels of type map[string]string"),
        ({"labels": {"a": 1}}, "number into Go struct field ObjectMeta.labels of type string"),
    ],
    ids=["name", "labels", "label"],
)
async def test_wrong_type_in_the_metadata_of_a_custom_kind_cannot_be_handled(
    api: Client, namespace: str, metadata: dict[str, object], message: str
) -> None:
    kind = await define(api)
    (await api.create(kind.path(namespace), kind.new("one", metadata=metadata))).refuse(
        400,
        "BadRequest",
        f'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal {message}',
    )


@pytest.mark.parametrize("custom", [False, True], ids=["built-in", "custom"])
async def test_unknown_encoding_is_unsupported(api: Client, namespace: str, custom: bool) -> None:
    kind = await define(api) if custom else CONFIG_MAPS
    answer = await api.create(kind.path(namespace), b"{}", content_type="text/plain")
    status = answer.refuse(415, "UnsupportedMediaType")
    assert status["message"].startswith(
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml"
    )
    assert "details" not in status


@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
async def test_patch_needs_a_patch_type(api: Client, namespace: str, content_type: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    answer = await api.patch(CONFIG_MAPS.path(namespace, "one"), {}, content_type=content_type)
    answer.refuse(415, "UnsupportedMediaType", "415: Unsupported Media Type")


async def test_custom_kind_has_no_strategic_patch(api: Client, namespace: str) -> None:
    kind = await define(api)
    await api.create(kind.path(namespace), kind.new("one"))
    answer = await api.patch(kind.path(namespace, "one"), {}, content_type=STRATEGIC_PATCH)
    answer.refuse(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY_PATCH}",
    )


@pytest.mark.parametrize("custom", [False, True], ids=["built-in", "custom"])
async def test_body_of_three_mebibytes_is_too_large(api: Client, namespace: str, custom: bool) -> None:
    kind = await define(api) if custom else CONFIG_MAPS
    body = kind.new("one", metadata={"annotations": {"big": "x" * 3 * 2**20}})
    (await api.create(kind.path(namespace), body)).refuse(
        413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"
    )


async def test_patch_of_three_mebibytes_is_too_large(api: Client, namespace: str) -> None:
    await api.create(CONFIG_MAPS.path(namespace), config_map("one"))
    patch = {"data": {"big": "x" * 3 * 2**20}}
    (await api.patch(CONFIG_MAPS.path(namespace, "one"), patch)).refuse(413, "RequestEntityTooLarge")


async def test_config_map_of_a_mebibyte_is_too_long(api: Client, namespace: str) -> None:
    (await api.create(CONFIG_MAPS.path(namespace), config_map("one", big="x" * 2**20 + "x"))).refuse(
        422, "Invalid", 'ConfigMap "one" is invalid: []: Too long: may not be more than 1048576 bytes'
    )


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", CONFIG_MAPS.path("default")),
        ("PATCH", CONFIG_MAPS.path("default")),
        ("POST", CONFIG_MAPS.path("default", "one")),
        ("POST", CONFIG_MAPS.path()),
        ("DELETE", CONFIG_MAPS.path()),
        ("DELETE", NAMESPACES.path()),
        ("GET", REVIEWS.path()),
        ("POST", "/api/v1"),
        ("PROPFIND", CONFIG_MAPS.path("default")),
    ],
)
async def test_method_that_makes_no_sense_is_not_allowed(api: Client, method: str, path: str) -> None:
    status = (await api.request(method, path, {})).refuse(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )
    assert status["details"] == {}


async def test_collection_of_a_custom_kind_cannot_be_replaced(api: Client, namespace: str) -> None:
    kind = await define(api)
    (await api.put(kind.path(namespace), {})).refuse(400, "BadRequest", "name must be provided")


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_custom_objects_of_all_namespaces_can_only_be_read(api: Client, method: str) -> None:
    kind = await define(api)
    answer = await api.request(method, kind.path(), {})
    assert (answer.status, answer.text) == (404, "404 page not found\n")


async def test_headers_alone_cannot_be_had(api: Client) -> None:
    answer = await api.request("HEAD", CONFIG_MAPS.path("default"))
    assert (answer.status, answer.raw) == (405, b"")


async def test_numbers_keep_their_kind(api: Client, namespace: str) -> None:
    schema = {"type": "object", "properties": {"spec": {"x-kubernetes-preserve-unknown-fields": True}}}
    kind = await define(
        api, {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    )
    spec = {
        "whole": 9007199254740993,
        "fraction": 0.5,
        "negative": -1,
        "text": "1",
        "none": None,
        "yes": True,
    }
    await api.create(kind.path(namespace), kind.new("one", spec=spec))
    assert (await api.get(kind.path(namespace, "one"))).expect(200)["spec"] == spec


async def test_text_survives_in_any_script(api: Client, namespace: str) -> None:
    data = {"greek": "Ελληνικά", "emoji": "🚀", "escapes": 'quote " back \\ tab \t line \n', "html": "<a&b>"}
    await api.create(CONFIG_MAPS.path(namespace), CONFIG_MAPS.new("one", data=data))
    assert (await api.get(CONFIG_MAPS.path(namespace, "one"))).expect(200)["data"] == data


async def test_refused_body_leaves_the_connection_usable(api: Client, namespace: str) -> None:
    for _ in range(3):
        (await api.create(CONFIG_MAPS.path(namespace), b"{")).refuse(400, "BadRequest")
    (await api.create(CONFIG_MAPS.path(namespace), config_map("one"))).expect(201)


async def test_deployment_without_spec_is_invalid_not_malformed(api: Client, namespace: str) -> None:
    """An empty object decodes well; that it says nothing is for validation to find."""
    body = DEPLOYMENTS.new("one")
    causes = (await api.create(DEPLOYMENTS.path(namespace), body)).refuse(422, "Invalid")["details"]["causes"]
    assert {cause["field"] for cause in causes} >= {"spec.selector", "spec.template.spec.containers"}
    (await api.create(DEPLOYMENTS.path(namespace), deployment("one"))).expect(201)
