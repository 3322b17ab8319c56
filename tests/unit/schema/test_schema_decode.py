"""Built-in kinds: references, free-form parts, and wrong types in the words of Go's decoder."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.schema import CompiledSchema, Definitions, compile_schema

CORE, META = "io.k8s.api.core.v1", "io.k8s.apimachinery.pkg.apis.meta.v1"


def ref(name: str) -> JsonObject:
    return {"$ref": f"#/definitions/{name}"}


DEFINITIONS: dict[str, JsonObject] = {
    f"{CORE}.Pod": {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [ref(f"{META}.ObjectMeta")], "default": {}},
            "spec": {"allOf": [ref(f"{CORE}.PodSpec")], "default": {}},
        },
    },
    f"{META}.ObjectMeta": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
            "creationTimestamp": ref(f"{META}.Time"),
        },
    },
    f"{META}.Time": {"type": "string", "format": "date-time"},
    f"{CORE}.PodSpec": {
        "type": "object",
        "required": ["containers"],
        "properties": {
            "containers": {"type": "array", "items": {"allOf": [ref(f"{CORE}.Container")], "default": {}}},
            "priority": {"type": "integer", "format": "int32"},
            "deadline": {"type": "integer", "format": "int64"},
            "hostNetwork": {"type": "boolean"},
            "secret": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
            "overhead": {
                "type": "object",
                "additionalProperties": ref("io.k8s.apimachinery.pkg.api.resource.Quantity"),
            },
            "raw": ref("io.k8s.apimachinery.pkg.runtime.RawExtension"),
        },
    },
    f"{CORE}.Container": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": ""},
            "protocol": {"type": "string", "default": "TCP"},
            "port": ref("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
            "command": {"type": "array", "items": {"type": "string", "default": ""}},
        },
    },
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"},
    "io.example.v1.CustomKind": {
        "type": "object",
        "properties": {"schema": ref("io.example.v1.JSONSchemaProps")},
    },
    "io.example.v1.JSONSchemaProps": {
        "type": "object",
        "properties": {
            "exclusiveMaximum": {"type": "boolean"},
            "items": ref("io.example.v1.JSONSchemaPropsOrArray"),
            "properties": {"type": "object", "additionalProperties": ref("io.example.v1.JSONSchemaProps")},
        },
    },
    "io.example.v1.JSONSchemaPropsOrArray": {"description": "a schema or a list of schemas"},
    "io.example.Tree": {
        "type": "object",
        "properties": {
            "value": {"type": "integer", "format": "int32", "default": 7},
            "children": {"type": "array", "items": ref("io.example.Tree")},
        },
    },
}


@pytest.fixture(scope="module")
def pod() -> CompiledSchema:
    return compile_schema(ref(f"{CORE}.Pod"), definitions=DEFINITIONS)


FIELD = "json: cannot unmarshal {} into Go struct field {} of type {}"

MISMATCHES: dict[str, tuple[Any, str, str]] = {
    "text for an int32": (
        {"spec": {"priority": "high"}},
        "spec.priority",
        FIELD.format("string", "PodSpec.spec.priority", "int32"),
    ),
    "a number for text": (
        {"metadata": {"name": 3}},
        "metadata.name",
        FIELD.format("number", "ObjectMeta.metadata.name", "string"),
    ),
    "a number for a label": (
        {"metadata": {"labels": {"a": 3}}},
        "metadata.labels.a",
        FIELD.format("number", "ObjectMeta.metadata.labels", "string"),
    ),
    "a boolean for an item": (
        {"spec": {"containers": [{"command": ["a", True]}]}},
        "spec.containers[0].command[1]",
        FIELD.format("bool", "Container.spec.containers.command", "string"),
    ),
    "an object for a list": (
        {"spec": {"containers": {}}},
        "spec.containers",
        FIELD.format("object", "PodSpec.spec.containers", "[]v1.Container"),
    ),
    "a list for an object": ({"spec": []}, "spec", FIELD.format("array", "Pod.spec", "v1.PodSpec")),
    "text for a boolean": (
        {"spec": {"hostNetwork": "yes"}},
        "spec.hostNetwork",
        FIELD.format("string", "PodSpec.spec.hostNetwork", "bool"),
    ),
    "a fraction for an integer": (
        {"spec": {"priority": 1.5}},
        "spec.priority",
        FIELD.format("number 1.5", "PodSpec.spec.priority", "int32"),
    ),
    "a number beyond int32": (
        {"spec": {"priority": 2147483648}},
        "spec.priority",
        FIELD.format("number 2147483648", "PodSpec.spec.priority", "int32"),
    ),
    "a number beyond int64": (
        {"spec": {"deadline": 2**63}},
        "spec.deadline",
        FIELD.format("number 9223372036854775808", "PodSpec.spec.deadline", "int64"),
    ),
    "text that is no base64": (
        {"spec": {"secret": {"k": "a!"}}},
        "spec.secret.k",
        "illegal base64 data at input byte 1",
    ),
    "text that is no time": (
        {"metadata": {"creationTimestamp": "soon"}},
        "metadata.creationTimestamp",
        'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"',
    ),
    "text that is no quantity": (
        {"spec": {"overhead": {"cpu": "much"}}},
        "spec.overhead.cpu",
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    "a boolean for int-or-string": (
        {"spec": {"containers": [{"port": True}]}},
        "spec.containers[0].port",
        "json: cannot unmarshal bool into Go value of type int32",
    ),
}


@pytest.mark.parametrize("case", MISMATCHES)
def test_decoder_stumbles_over(case: str, pod: CompiledSchema) -> None:
    value, path, message = MISMATCHES[case]
    [mismatch] = pod.type_errors(value)
    assert (mismatch.path, mismatch.message) == (path, message)


def test_decoder_takes_what_fits(pod: CompiledSchema) -> None:
    value = {
        "metadata": {"name": "n", "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {
            "containers": [{"name": "c", "port": 80}, {"port": "http"}],
            "overhead": {"cpu": "100m", "memory": 1, "disk": "1.5Gi", "io": "1e3", "net": "-2Ki"},
            "secret": {"k": "YQ=="},
            "raw": {"any": [{"thing": 1}]},
        },
    }
    assert pod.type_errors(value) == []


def test_decoder_takes_null_for_absent(pod: CompiledSchema) -> None:
    value: JsonObject = {
        "metadata": {"name": None, "labels": None},
        "spec": {"containers": [None], "priority": None},
    }
    assert pod.type_errors(value) == []


def test_decoder_reports_every_mismatch(pod: CompiledSchema) -> None:
    mismatches = pod.type_errors({"metadata": {"name": 3}, "spec": {"priority": "high"}})
    assert [(found.path, found.expected, found.found) for found in mismatches] == [
        ("metadata.name", "string", "number"),
        ("spec.priority", "int32", "string"),
    ]


def test_unknown_fields_of_built_in_kinds_are_pruned_through_references(pod: CompiledSchema) -> None:
    tree: JsonObject = {"spec": {"containers": [{"name": "c", "image_": "x"}], "Priority": 1}}
    assert pod.prune(tree) == ["spec.Priority", "spec.containers[0].image_"]
    assert tree == {"spec": {"containers": [{"name": "c"}]}}


def test_parts_without_declared_fields_hold_anything(pod: CompiledSchema) -> None:
    tree: JsonObject = {"spec": {"raw": {"any": {"thing": None}}}}
    assert pod.prune(tree) == []
    assert tree == {"spec": {"raw": {"any": {"thing": None}}}}


def test_defaults_of_built_in_kinds_leave_out_zero_values(pod: CompiledSchema) -> None:
    tree: JsonObject = {"spec": {"containers": [{}]}}
    pod.default(tree)
    assert tree == {"spec": {"containers": [{"protocol": "TCP"}]}}


def test_required_fields_of_built_in_kinds_are_demanded(pod: CompiledSchema) -> None:
    assert [str(error) for error in pod.validate({"metadata": {"name": 3}, "spec": {}})] == [
        "spec.containers: Required value"
    ]


def test_recursive_definitions_reach_any_depth() -> None:
    schema = compile_schema(ref("io.example.Tree"), definitions=DEFINITIONS)
    tree: JsonObject = {"children": [{"children": [{"value": 1, "odd": 1}]}]}
    assert schema.prune(tree) == ["children[0].children[0].odd"]
    schema.default(tree)
    assert tree == {"value": 7, "children": [{"value": 7, "children": [{"value": 1}]}]}
    wrong = {"children": [{"children": [{"value": "x"}]}]}
    assert [found.path for found in schema.type_errors(wrong)] == ["children[0].children[0].value"]
    assert [error.field for error in schema.validate(wrong)] == ["children[0].children[0].value"]


def test_schemas_in_custom_kinds_are_decoded_too() -> None:
    kind = compile_schema(ref("io.example.v1.CustomKind"), definitions=DEFINITIONS)
    wrong = {"exclusiveMaximum": 5}
    [declared] = kind.type_errors({"schema": {"properties": {"spec": wrong}}})
    assert declared.message == FIELD.format(
        "number", "JSONSchemaProps.schema.properties.exclusiveMaximum", "bool"
    )
    [in_items] = kind.type_errors({"schema": {"properties": {"spec": {"items": wrong}}}})
    assert in_items.message == FIELD.format("number", "JSONSchemaProps.exclusiveMaximum", "bool")
    assert in_items.path == "schema.properties.spec.items.exclusiveMaximum"
    assert kind.type_errors({"schema": {"items": [wrong]}}) == []


def test_kinds_share_what_is_compiled_of_shared_definitions() -> None:
    definitions = Definitions(DEFINITIONS)
    first = definitions.node(f"{CORE}.PodSpec")
    compile_schema(ref(f"{CORE}.Pod"), definitions=definitions).validate({"spec": {"containers": []}})
    assert definitions.node(f"{CORE}.PodSpec") is first
    assert first.passes


def test_definitions_are_a_mapping() -> None:
    definitions = Definitions(DEFINITIONS)
    assert dict(definitions) == DEFINITIONS
    assert len(definitions) == len(DEFINITIONS)
