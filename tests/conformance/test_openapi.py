"""OpenAPI documents: what kubectl explains and validates from."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject, dig
from tests.conformance.client import Client, eventually
from tests.conformance.definitions import define, define_afresh, version
from tests.conformance.kinds import Kind
from tests.conformance.samples import ANSWERED, STORED

UNION: list[JsonObject] = [{"type": "integer"}, {"type": "string"}]
DESCRIBED: JsonObject = {
    "type": "object",
    "description": "A widget of the conformance suite.",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "description": "What is wanted.",
            "properties": {
                "size": {"type": "integer", "minimum": 1, "default": 3, "description": "How large."},
                "target": {"x-kubernetes-int-or-string": True},
                "percentage": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"pattern": "%$"}, {"minimum": 1}],
                },
                "share": {"x-kubernetes-int-or-string": True, "anyOf": UNION},
                "part": {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": UNION}, {"minimum": 1}]},
                "not": {"type": "string"},
            },
        }
    },
}
INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
UNTYPED = {
    f"{EXTENSIONS}.{name}"
    for name in ("JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray")
}
"""Definitions whose values may be of any type."""


def schema_of(document: JsonObject, group: str, kind: str) -> JsonObject | None:
    """The schema that a document declares for this group and kind, wherever it is named."""
    schemas = dig(document, "components", "schemas") or document.get("definitions", {})
    for schema in schemas.values():
        for declared in schema.get("x-kubernetes-group-version-kind", []):
            if (declared["group"], declared["kind"]) == (group, kind):
                found: JsonObject = schema
                return found
    return None


async def test_v3_index_points_at_one_document_per_group_version(api: Client) -> None:
    paths = (await api.get("/openapi/v3")).expect(200)["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1"} <= set(paths)
    assert paths["apis/apps/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/apps/v1?hash=")


async def test_v3_document_describes_a_built_in_kind(api: Client) -> None:
    document = (await api.get("/openapi/v3/apis/apps/v1")).expect(200)
    assert document["openapi"].startswith("3.0")
    assert document["info"]["title"] == "Kubernetes"
    deployment = document["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"]
    assert {"apiVersion", "kind", "metadata", "spec", "status"} == set(deployment["properties"])
    spec = document["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"]
    assert {"selector", "template"} <= set(spec["required"])
    assert spec["properties"]["replicas"]["type"] == "integer"


def undescribed(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key != "description"}


def referred_to(node: Any) -> set[str]:
    """The definitions that a schema names."""
    if isinstance(node, list):
        return set().union(*map(referred_to, node))
    if not isinstance(node, dict):
        return set()
    reference = node.get("$ref")
    own = {reference.rpartition("/")[2]} if isinstance(reference, str) else set()
    return own.union(*map(referred_to, node.values()))


def untyped_properties(name: str, schema: JsonObject) -> list[str]:
    """The properties of a definition about whose type a client learns nothing."""
    telling = {"type", "$ref", "allOf", "oneOf"}
    properties = schema.get("properties", {})
    return [f"{name}.{key}" for key, child in properties.items() if not telling & child.keys()]


@pytest.mark.parametrize("kind", [*STORED, *ANSWERED], ids=lambda kind: f"{kind.api_version}/{kind.kind}")
async def test_v3_document_tells_the_type_of_every_field_of_a_built_in_kind(api: Client, kind: Kind) -> None:
    document = (await api.get(f"/openapi/v3{kind.root}")).expect(200)
    schemas = document["components"]["schemas"]
    schema = schema_of(document, kind.group, kind.kind)
    assert schema is not None
    reached: set[str] = set()
    pending = referred_to(schema)
    while pending:
        reached |= pending
        pending = referred_to([schemas[name] for name in pending]) - reached
    assert [
        name for name in reached if name not in UNTYPED and not {"type", "oneOf"} & schemas[name].keys()
    ] == []
    assert [path for name in reached for path in untyped_properties(name, schemas[name])] == []
    assert untyped_properties(kind.kind, schema) == []


@pytest.mark.parametrize("place", ["api/v1", "apis/apps/v1", "apis/batch/v1", "apis/policy/v1"])
async def test_v3_document_says_that_ports_and_shares_are_numbers_or_names(api: Client, place: str) -> None:
    """Clients that build types from these documents refuse a definition without any."""
    schemas = (await api.get(f"/openapi/v3/{place}")).expect(200)["components"]["schemas"]
    assert undescribed(schemas[INT_OR_STRING]) == {
        "format": "int-or-string",
        "oneOf": UNION,
    }


async def test_v3_document_says_that_amounts_are_texts_or_numbers(api: Client) -> None:
    schemas = (await api.get("/openapi/v3/api/v1")).expect(200)["components"]["schemas"]
    assert undescribed(schemas[QUANTITY]) == {"oneOf": [{"type": "string"}, {"type": "number"}]}


async def test_v2_document_calls_unions_texts(api: Client) -> None:
    definitions = (await api.get("/openapi/v2")).expect(200)["definitions"]
    assert undescribed(definitions[INT_OR_STRING]) == {"format": "int-or-string", "type": "string"}
    assert undescribed(definitions[QUANTITY]) == {"type": "string"}


async def test_v2_document_holds_properties_named_like_keywords(api: Client) -> None:
    definitions = (await api.get("/openapi/v2")).expect(200)["definitions"]
    assert "default" in definitions["io.k8s.api.core.v1.LimitRangeItem"]["properties"]
    schema = definitions[f"{EXTENSIONS}.JSONSchemaProps"]["properties"]
    assert {"oneOf", "anyOf", "not", "nullable", "default", "x-kubernetes-validations"} <= schema.keys()


async def test_v3_document_is_addressable_by_its_hash(api: Client) -> None:
    paths = (await api.get("/openapi/v3")).expect(200)["paths"]
    answer = await api.request("GET", paths["apis/apps/v1"]["serverRelativeURL"])
    assert schema_of(answer.expect(200), "apps", "Deployment") is not None


async def test_v3_document_that_is_asked_for_by_another_hash_is_redirected_to_as_it_is(api: Client) -> None:
    current = (await api.get("/openapi/v3")).expect(200)["paths"]["apis/apps/v1"]["serverRelativeURL"]
    answer = await api.get("/openapi/v3/apis/apps/v1", hash="0123")
    assert (answer.status, answer.headers["Location"]) == (301, current)
    assert (await api.get("/openapi/v3/apis/apps/v1")).status == 200, "and without one it is there"


@pytest.mark.parametrize("patch_type", ["application/json-patch+json", "application/apply-patch+yaml"])
async def test_v3_document_lists_patch_types_of_each_path(api: Client, patch_type: str) -> None:
    document = (await api.get("/openapi/v3/api/v1")).expect(200)
    operation = document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"]
    assert patch_type in operation["requestBody"]["content"]
    assert operation["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}


async def test_v3_document_of_a_custom_kind_appears_with_its_schema(api: Client) -> None:
    kind = await define(api, version(schema=DESCRIBED))

    async def published() -> JsonObject | None:
        answer = await api.get(f"/openapi/v3{kind.root}")
        return schema_of(answer.body, kind.group, "Widget") if answer.status == 200 else None

    schema = await eventually(published, what="the document is published")
    assert schema["description"] == "A widget of the conformance suite."
    assert schema["required"] == ["spec"]
    size = schema["properties"]["spec"]["properties"]["size"]
    assert size == {"type": "integer", "minimum": 1, "default": 3, "description": "How large."}
    assert schema["properties"]["apiVersion"]["type"] == "string"
    assert "metadata" in schema["properties"]


async def test_v3_document_says_which_types_an_int_or_string_of_a_custom_kind_has(api: Client) -> None:
    kind = await define(api, version(schema=DESCRIBED))

    async def published() -> JsonObject | None:
        answer = await api.get(f"/openapi/v3{kind.root}")
        return schema_of(answer.body, kind.group, "Widget") if answer.status == 200 else None

    schema = await eventually(published, what="the document is published")
    spec = schema["properties"]["spec"]["properties"]
    marked = {"x-kubernetes-int-or-string": True}
    assert spec["target"] == {**marked, "anyOf": UNION}
    assert spec["share"] == {**marked, "anyOf": UNION}
    assert spec["part"] == {**marked, "allOf": [{"anyOf": UNION}, {"minimum": 1}]}
    assert spec["percentage"] == {
        **marked,
        "allOf": [{"anyOf": UNION}],
        "anyOf": [{"pattern": "%$"}, {"minimum": 1}],
    }


async def test_v3_document_follows_the_definition_away(api: Client) -> None:
    kind = await define_afresh(api)

    async def index_has() -> bool:
        paths = (await api.get("/openapi/v3")).expect(200)["paths"]
        return kind.root.removeprefix("/") in paths

    async def present() -> bool | None:
        return await index_has() or None

    async def absent() -> bool | None:
        return not await index_has() or None

    await eventually(present, what="the document is published")
    await api.delete(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{kind.group}")
    await eventually(absent, what="the document is gone")


async def test_v2_document_holds_all_built_in_kinds(api: Client) -> None:
    document = (await api.get("/openapi/v2")).expect(200)
    assert document["swagger"] == "2.0"
    config_map = document["definitions"]["io.k8s.api.core.v1.ConfigMap"]
    assert config_map["properties"]["data"]["additionalProperties"] == {"type": "string"}
    assert config_map["x-kubernetes-group-version-kind"] == [
        {"group": "", "kind": "ConfigMap", "version": "v1"}
    ]


async def test_v2_document_holds_custom_kinds(api: Client) -> None:
    kind = await define(api, version(schema=DESCRIBED))

    async def published() -> JsonObject | None:
        return schema_of((await api.get("/openapi/v2")).expect(200), kind.group, "Widget")

    schema = await eventually(published, what="the kind is in the document")
    spec = schema["properties"]["spec"]["properties"]
    assert spec["size"]["description"] == "How large."
    unions = [spec[name] for name in ("target", "percentage", "share", "part")]
    assert unions == [{"x-kubernetes-int-or-string": True}] * 4
    assert spec["not"] == {"type": "string"}
    assert schema["required"] == ["spec"]


async def test_v2_document_is_not_sent_again_while_its_tag_holds(api: Client) -> None:
    first = await api.get("/openapi/v2")
    again = await api.request("GET", "/openapi/v2", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status == 304 or again.headers["ETag"] != first.headers["ETag"]


async def test_unknown_group_has_no_document(api: Client) -> None:
    assert (await api.get("/openapi/v3/apis/nowhere.example/v1")).status == 404
