"""Protobuf bodies: what client-go sends of built-in kinds means what the same object means in JSON."""

from __future__ import annotations

import json

import pytest

from edgekeeper.core.json import JsonObject, dig
from kubesim.plane.protobuf import encode_protobuf
from tests.conformance.client import JSON, Client, eventually
from tests.conformance.definitions import definition, definition_name, established, version, widget
from tests.conformance.kinds import CONFIG_MAPS, DEFINITIONS, Kind, config_map, deployment, without_volatile
from tests.conformance.protobuf import PROTOBUF, create, decoded, meaning
from tests.conformance.samples import ANSWERED, STORED, fullest, samples

SCHEMA: JsonObject = {
    "type": "object",
    "description": "Every way in which a schema can be written.",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "x-kubernetes-validations": [
                {"rule": "self.size >= 1", "message": "too small", "reason": "FieldValueInvalid"},
                {
                    "rule": "self.size >= oldSelf.size",
                    "messageExpression": "'never less than %d'.format([oldSelf.size])",
                    "fieldPath": ".size",
                    "optionalOldSelf": False,
                },
            ],
            "properties": {
                "size": {"type": "integer", "format": "int32", "minimum": 0, "default": 3},
                "ratio": {"type": "number", "minimum": -0.5, "maximum": 1e30, "exclusiveMaximum": True},
                "step": {"type": "number", "multipleOf": 0.25},
                "on": {"type": "boolean", "default": False},
                "none": {"type": "integer", "default": 0},
                "text": {"type": "string", "default": "", "maxLength": 0, "pattern": "^$"},
                "colour": {"type": "string", "enum": ["red", "green"]},
                "list": {
                    "type": "array",
                    "items": {"type": "string"},
                    "default": [],
                    "maxItems": 5,
                    "x-kubernetes-list-type": "set",
                },
                "entries": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["key"],
                        "properties": {"key": {"type": "string"}},
                    },
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["key"],
                },
                "closed": {
                    "type": "object",
                    "default": {},
                    "nullable": True,
                    "x-kubernetes-map-type": "atomic",
                },
                "sizes": {"type": "object", "additionalProperties": {"type": "integer"}},
                "open": {"type": "object", "additionalProperties": True},
                "target": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                },
                "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
                "mode": {"type": "string", "not": {"enum": ["never"]}, "example": {"a": [1, None]}},
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}


def without_allocations(obj: JsonObject) -> JsonObject:
    """The object without what the server makes up anew for each of its kind."""
    kept = without_volatile(obj)
    if kept["kind"] == "Service" and dig(kept, "spec", "clusterIP") not in (None, "None"):
        kept["spec"] = {key: value for key, value in kept["spec"].items() if not key.startswith("clusterIP")}
    for port in dig(kept, "spec", "ports") or []:
        port.pop("nodePort", None)
    if dig(kept, "spec", "healthCheckNodePort"):
        del kept["spec"]["healthCheckNodePort"]
    return kept


def under_name_of(other: JsonObject, obj: JsonObject) -> JsonObject:
    """The object with the name and uid of another, wherever it repeats its own."""
    text = json.dumps(obj)
    for key in ("name", "uid"):
        text = text.replace(obj["metadata"][key], other["metadata"][key])
    renamed: JsonObject = json.loads(text)
    return renamed


def named(kind: Kind) -> str:
    return f"{kind.api_version}/{kind.kind}"


def place(kind: Kind, namespace: str, name: str = "") -> str:
    return kind.path(namespace if kind.namespaced else "", name)


@pytest.mark.parametrize("kind", STORED, ids=named)
async def test_protobuf_body_of_a_built_in_kind_means_what_json_means(
    api: Client, namespace: str, kind: Kind
) -> None:
    for sample in samples(kind, namespace):
        path = place(kind, namespace)
        plain = (await api.create(path, sample, dryRun="All")).expect(201)
        answer = (await create(api, path, sample, JSON, dryRun="All")).expect(201)
        assert without_allocations(answer) == without_allocations(under_name_of(answer, plain))


@pytest.mark.parametrize("kind", STORED, ids=named)
async def test_built_in_kind_is_created_and_read_in_protobuf(api: Client, namespace: str, kind: Kind) -> None:
    sample = fullest(kind, namespace)
    created = decoded(await create(api, place(kind, namespace), sample), 201)
    path = place(kind, namespace, created["metadata"]["name"])

    async def both() -> tuple[JsonObject, JsonObject] | None:
        plain = (await api.get(path)).expect(200)
        binary = decoded(await api.get(path, accept=PROTOBUF))
        same = plain["metadata"]["resourceVersion"] == binary["metadata"]["resourceVersion"]
        return (plain, binary) if same else None

    plain, binary = await eventually(both, what="nobody changes the object between two reads")
    for template in dig(plain, "spec", "volumeClaimTemplates") or []:
        del template["apiVersion"], template["kind"]  # messages within messages do not name their types
    assert meaning(binary) == meaning(plain)
    assert without_volatile(created)["metadata"] == without_volatile(binary)["metadata"]
    if not kind.namespaced:
        assert (await api.delete(path)).status == 200


@pytest.mark.parametrize("kind", ANSWERED, ids=named)
async def test_question_is_put_and_answered_in_protobuf(api: Client, namespace: str, kind: Kind) -> None:
    (sample,) = samples(kind, namespace)
    path = place(kind, namespace)
    plain = (await api.create(path, sample)).expect(201)
    binary = decoded(await create(api, path, sample), 201)
    for answer in (plain, binary):
        for rules in ("resourceRules", "nonResourceRules"):
            (dig(answer, "status", rules) or []).sort(key=str)
    assert meaning(without_volatile(binary)) == meaning(without_volatile(plain))


async def test_definition_sent_in_protobuf_defines_a_kind(api: Client, namespace: str) -> None:
    """client-go's client for CustomResourceDefinitions sends and asks for protobuf."""
    kind = widget()
    columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1}]
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    body = definition(
        kind,
        version(
            schema=SCHEMA,
            additionalPrinterColumns=columns,
            subresources={"status": {}, "scale": scale},
            selectableFields=[{"jsonPath": ".spec.colour"}],
        ),
        version("v2", storage=False, served=False, deprecated=True, deprecationWarning="old"),
        names={"shortNames": ["wi"], "categories": ["all"]},
    )
    plain = (await api.create(DEFINITIONS.path(), body, dryRun="All")).expect(201)
    created = decoded(await create(api, DEFINITIONS.path(), body), 201)
    assert created["spec"] == plain["spec"]
    assert created["spec"]["versions"][0]["schema"] == {"openAPIV3Schema": SCHEMA}
    await established(api, kind)
    one = (await api.create(kind.path(namespace), kind.new("one", spec={"open": {"a": 1}}))).expect(201)
    assert one["spec"] == {
        "size": 3,
        "on": False,
        "none": 0,
        "text": "",
        "list": [],
        "closed": {},
        "open": {"a": 1},
    }
    small = await api.create(kind.path(namespace), kind.new("two", spec={"size": 0}))
    assert "spec: Invalid value: too small" in small.refuse(422, "Invalid")["message"]


async def test_definition_is_replaced_in_protobuf(api: Client) -> None:
    kind = widget()
    (await api.create(DEFINITIONS.path(), definition(kind))).expect(201)
    await established(api, kind)
    path = DEFINITIONS.path(name=definition_name(kind))
    read = decoded(await api.get(path, accept=PROTOBUF))
    read["spec"]["names"]["categories"] = ["all"]
    answer = await api.request("PUT", path, encode_protobuf(read), content_type=PROTOBUF, accept=PROTOBUF)
    assert decoded(answer)["spec"] == read["spec"]
    assert (await api.get(path)).expect(200)["spec"] == read["spec"]


def test_samples_cover_every_built_in_kind() -> None:
    assert len(STORED) + len(ANSWERED) >= 40
    assert [named(kind) for kind in (*STORED, *ANSWERED) if not samples(kind, "default")] == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\x00", "empty body"),
        (b"", "empty data"),
    ],
    ids=["json", "magic-alone", "nothing"],
)
async def test_body_that_is_no_protobuf_is_unrecognized(
    api: Client, namespace: str, body: bytes, message: str
) -> None:
    answer = await api.create(CONFIG_MAPS.path(namespace), body, content_type=PROTOBUF)
    status = answer.refuse(400, "BadRequest")
    assert message in status["message"]


async def test_protobuf_of_another_kind_is_refused(api: Client, namespace: str) -> None:
    answer = await create(api, CONFIG_MAPS.path(namespace), deployment("one"), JSON)
    answer.refuse(
        400,
        "BadRequest",
        'Deployment in version "v1" cannot be handled as a ConfigMap: '
        "converting (v1.Deployment) to (core.ConfigMap): unknown conversion",
    )


async def test_protobuf_of_an_unknown_version_is_refused(api: Client, namespace: str) -> None:
    body = encode_protobuf(config_map("one")).replace(b"\x02v1", b"\x02v7", 1)
    why = 'no kind "ConfigMap" is registered for version "v7" in scheme "pkg/runtime/scheme.go:111"'
    (await api.create(CONFIG_MAPS.path(namespace), body, content_type=PROTOBUF)).refuse(
        400, "BadRequest", f'ConfigMap in version "v7" cannot be handled as a ConfigMap: {why}'
    )


async def test_protobuf_may_leave_out_what_the_path_says(api: Client, namespace: str) -> None:
    body = encode_protobuf(config_map("one"))
    envelope = b"\x0a\x0f\x0a\x02v1\x12\x09ConfigMap"
    assert envelope in body
    created = await api.create(
        CONFIG_MAPS.path(namespace), body.replace(envelope, b"\x0a\x00"), content_type=PROTOBUF
    )
    assert created.expect(201)["data"] == {"colour": "green"}
