"""How schemas are seen: which parts merge field by field, item by item, or as a whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from kubesim.plane.apply import FieldTypes
from kubesim.plane.apply.footprint import claimed, covered
from kubesim.plane.apply.types import Node

STRING: JsonObject = {"type": "string"}


def node_of(schema: JsonObject, definitions: dict[str, JsonObject] | None = None) -> Node:
    """The node of a property `x` with this schema."""
    root = {"type": "object", "properties": {"x": schema}}
    types = FieldTypes.of(root, {"Unused": {}, **definitions} if definitions else None)
    return types.root.below("f:x")


def shape(node: Node, value: Any) -> str:
    return json.dumps(covered(node, value), separators=(",", ":"))


LIST_MAP = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "protocol"],
    "items": {
        "type": "object",
        "properties": {
            "port": {"type": "integer"},
            "protocol": {"type": "string", "default": "TCP"},
            "v": STRING,
        },
    },
}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        pytest.param(STRING, "a", "{}", id="a scalar is a leaf"),
        pytest.param(
            {"type": "object", "properties": {"a": STRING}},
            {"a": "1"},
            '{".":{},"f:a":{}}',
            id="a struct is granular",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": STRING},
            {"b": "1", "a": "2"},
            '{".":{},"f:a":{},"f:b":{}}',
            id="a map is granular",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": STRING, "x-kubernetes-map-type": "atomic"},
            {"a": "1"},
            "{}",
            id="a map can be atomic",
        ),
        pytest.param({"type": "array", "items": STRING}, ["a"], "{}", id="a list is atomic"),
        pytest.param(
            {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
            ["b", "a"],
            '{".":{},"v:\\"a\\"":{},"v:\\"b\\"":{}}',
            id="a set has values",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
            [10, 9],
            '{".":{},"v:9":{},"v:10":{}}',
            id="a set of numbers is in their order",
        ),
        pytest.param(
            LIST_MAP,
            [{"port": 80, "protocol": "UDP"}, {"port": 80, "v": "x"}],
            '{".":{},"k:{\\"port\\":80,\\"protocol\\":\\"TCP\\"}":{".":{},"f:port":{},"f:v":{}},'
            '"k:{\\"port\\":80,\\"protocol\\":\\"UDP\\"}":{".":{},"f:port":{},"f:protocol":{}}}',
            id="a list map has keys, defaulted where absent",
        ),
        pytest.param(
            LIST_MAP,
            [{"port": 1, "v": "a"}, {"port": 1, "v": "b"}],
            '{".":{},"k:{\\"port\\":1,\\"protocol\\":\\"TCP\\"}":{}}',
            id="items with the same key are one group",
        ),
        pytest.param(
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            {"a": {"b": [{"c": 1}]}},
            '{".":{},"f:a":{".":{},"f:b":{}}}',
            id="unknown content: maps granular, lists atomic",
        ),
        pytest.param({}, {"a": 1}, '{".":{},"f:a":{}}', id="no schema at all is unknown content"),
        pytest.param({"x-kubernetes-int-or-string": True}, 80, "{}", id="int or string is a leaf"),
        pytest.param({"type": "object"}, {}, "{}", id="an empty map is a leaf"),
        pytest.param(
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
            {
                "metadata": {"finalizers": ["a"], "ownerReferences": [{"uid": "u", "name": "n"}]},
                "spec": {"a": 1},
            },
            '{".":{},"f:metadata":{".":{},"f:finalizers":{".":{},"v:\\"a\\"":{}},'
            '"f:ownerReferences":{".":{},"k:{\\"uid\\":\\"u\\"}":{}}},"f:spec":{".":{},"f:a":{}}}',
            id="an embedded object has typed metadata",
        ),
    ],
)
def test_covered_follows_the_schema(schema: JsonObject, value: Any, expected: str) -> None:
    assert shape(node_of(schema), value) == expected


def test_metadata_is_typed_whatever_the_schema_says() -> None:
    types = FieldTypes.of({"type": "object", "properties": {"metadata": {"type": "object"}}})
    metadata = {"labels": {"a": "1"}, "finalizers": ["x/y"]}
    expected = '{".":{},"f:finalizers":{".":{},"v:\\"x/y\\"":{}},"f:labels":{".":{},"f:a":{}}}'
    assert shape(types.root.below("f:metadata"), metadata) == expected


DEFINITIONS: dict[str, JsonObject] = {
    "Tree": {
        "type": "object",
        "properties": {
            "name": STRING,
            "children": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"$ref": "#/definitions/Tree"},
            },
        },
    },
    "Selector": {"type": "object", "properties": {"a": STRING}, "x-kubernetes-map-type": "atomic"},
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"},
}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        pytest.param(
            {"$ref": "#/definitions/Tree"},
            {"children": [{"name": "a", "children": [{"name": "b"}]}]},
            '{".":{},"f:children":{".":{},"k:{\\"name\\":\\"a\\"}":{".":{},"f:children":{".":{},'
            '"k:{\\"name\\":\\"b\\"}":{".":{},"f:name":{}}},"f:name":{}}}}',
            id="definitions may be recursive",
        ),
        pytest.param(
            {"allOf": [{"$ref": "#/definitions/Selector"}]}, {"a": "1"}, "{}", id="a reference in allOf"
        ),
        pytest.param(
            {"$ref": "#/definitions/Selector", "x-kubernetes-map-type": "granular"},
            {"a": "1"},
            '{".":{},"f:a":{}}',
            id="a reference overrides the map type",
        ),
        pytest.param(
            {"$ref": "#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity"},
            1,
            "{}",
            id="a quantity is a leaf",
        ),
        pytest.param(
            {"$ref": "#/definitions/io.k8s.apimachinery.pkg.runtime.RawExtension"},
            {"a": 1},
            "{}",
            id="an extension is owned as a whole",
        ),
    ],
)
def test_references_are_followed(schema: JsonObject, value: Any, expected: str) -> None:
    assert shape(node_of(schema, DEFINITIONS), value) == expected


def test_claims_name_leaves_items_and_keys_but_not_the_structs_around_them() -> None:
    schema = {
        "type": "object",
        "properties": {
            "struct": {"type": "object", "properties": {"a": STRING}},
            "empty": {"type": "object", "properties": {"a": STRING}},
            "map": {
                "type": "object",
                "additionalProperties": {"type": "object", "properties": {"a": STRING}},
            },
            "set": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
            "list": {"type": "array", "items": STRING},
            "none": {"type": "object"},
        },
    }
    value = {
        "struct": {"a": "1"},
        "empty": {},
        "map": {"k": {"a": "1"}},
        "set": [],
        "list": [],
        "none": None,
    }
    assert json.dumps(claimed(node_of(schema), value), separators=(",", ":")) == (
        '{"f:empty":{},"f:list":{},"f:map":{"f:k":{".":{},"f:a":{}}},"f:none":{},"f:struct":{"f:a":{}}}'
    )


def test_unset_builtin_has_structs_held_by_value_and_null_lists() -> None:
    definitions = {
        "Root": {
            "type": "object",
            "properties": {
                "metadata": {"$ref": "#/definitions/Meta", "default": {}},
                "spec": {"allOf": [{"$ref": "#/definitions/Spec"}], "default": {}},
                "pointer": {"$ref": "#/definitions/Spec"},
            },
        },
        "Meta": {"type": "object", "properties": {"name": STRING}},
        "Spec": {
            "type": "object",
            "required": ["items", "name"],
            "properties": {"items": {"type": "array", "items": STRING}, "name": {**STRING, "default": ""}},
        },
    }
    types = FieldTypes.of({"$ref": "#/definitions/Root"}, definitions)
    assert types.unset == {"metadata": {}, "spec": {"items": None}}
    assert FieldTypes.of(definitions["Root"]).unset == {}
