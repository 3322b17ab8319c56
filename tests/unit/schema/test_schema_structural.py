"""Schemas that kube-apiserver would refuse are refused, in its words."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from edgekeeper.schema import check_structural

ROOT = "spec.versions[0].schema.openAPIV3Schema"
X = f"{ROOT}.properties[spec].properties[x]"
STRING = {"type": "string"}
NAMED = {"type": "object", "required": ["name"], "properties": {"name": STRING}}
KEYED = {
    "type": "array",
    "items": NAMED,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
EMBEDDED = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}


def kind_of(field: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": field}}}}


ACCEPTED: dict[str, JsonObject] = {
    "text": {
        "type": "string",
        "format": "password",
        "pattern": "^a",
        "enum": ["a"],
        "default": "a",
        "maxLength": 1,
    },
    "an unknown format": {"type": "string", "format": "colour"},
    "int-or-string": {"x-kubernetes-int-or-string": True},
    "int-or-string as generated": {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": "^a",
    },
    "int-or-string with another junctor": {
        "x-kubernetes-int-or-string": True,
        "allOf": [
            {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            {"anyOf": [{"minimum": 1}, {"minLength": 1}]},
        ],
    },
    "anything": {"x-kubernetes-preserve-unknown-fields": True},
    "an embedded object": EMBEDDED,
    "a keyed list": KEYED,
    "a set of atomic objects": {
        "type": "array",
        "x-kubernetes-list-type": "set",
        "items": {**NAMED, "x-kubernetes-map-type": "atomic"},
    },
    "a map with a default": {"type": "object", "additionalProperties": STRING, "default": {"a": "b"}},
    "declared fields and true": {"type": "object", "properties": {"a": STRING}, "additionalProperties": True},
    "branches about declared fields": {
        **NAMED,
        "oneOf": [{"required": ["name"]}, {"properties": {"name": {"minLength": 1}}}],
    },
    "a rule": {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''", "message": "m"}]},
}

REFUSED: dict[str, tuple[JsonObject, list[str]]] = {
    "no type": ({}, [f"{X}.type: Required value: must not be empty for specified object fields"]),
    "a type that is none": (
        {"type": "text"},
        [
            (
                f'{X}.type: Unsupported value: "text": '
                'supported values: "array", "boolean", "integer", "number", "object", "string"'
            )
        ],
    ),
    "the type null": (
        {"type": "null"},
        [
            (
                f'{X}.type: Unsupported value: "null": '
                'supported values: "array", "boolean", "integer", "number", "object", "string"'
            ),
            f"{X}.type: Forbidden: type cannot be set to null, use nullable as an alternative",
        ],
    ),
    "items without type": (
        {"type": "array", "items": {}},
        [f"{X}.items.type: Required value: must not be empty for specified array items"],
    ),
    "a list without items": ({"type": "array"}, [f"{X}.items: Required value: must be specified"]),
    "several schemas for items": (
        {"type": "array", "items": [STRING]},
        [f"{X}.items: Forbidden: items must be a schema object and not an array"],
    ),
    "map values without type": (
        {"type": "object", "additionalProperties": {}},
        [f"{X}.additionalProperties.type: Required value: must not be empty for specified object fields"],
    ),
    "fields and a map": (
        {"type": "object", "properties": {"a": STRING}, "additionalProperties": STRING},
        [f"{X}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ),
    "a reference": ({"$ref": "#/definitions/a"}, [f"{X}.$ref: Forbidden: $ref is not supported"]),
    "definitions": (
        {**STRING, "definitions": {"a": STRING}},
        [f"{X}.definitions: Forbidden: definitions is not supported"],
    ),
    "pattern properties": (
        {"type": "object", "patternProperties": {"a": STRING}},
        [f"{X}.patternProperties: Forbidden: patternProperties is not supported"],
    ),
    "an id": ({**STRING, "id": "a"}, [f"{X}.id: Forbidden: id is not supported"]),
    "unique items": (
        {"type": "array", "items": STRING, "uniqueItems": True},
        [
            f"{X}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        ],
    ),
    "preserving nothing": (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
        [f"{X}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
    ),
    "int-or-string that preserves": (
        {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True},
        [
            (
                f"{X}.x-kubernetes-preserve-unknown-fields: Invalid value: true: "
                "must be false if x-kubernetes-int-or-string is true"
            )
        ],
    ),
    "an embedded text": (
        {
            "type": "string",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        [f'{X}.type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true'],
    ),
    "an embedded object without fields": (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        [
            (
                f"{X}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true "
                "without x-kubernetes-preserve-unknown-fields"
            )
        ],
    ),
    "an embedded object with a kind of another type": (
        {**EMBEDDED, "properties": {"kind": {"type": "integer"}}},
        [f'{X}.properties[kind].type: Invalid value: "integer": must be string'],
    ),
    "types in a branch": (
        {**STRING, "anyOf": [{"type": "string"}]},
        [f"{X}.anyOf[0].type: Forbidden: must be empty to be structural"],
    ),
    "descriptions, defaults and more in a branch": (
        {**STRING, "allOf": [{"description": "d", "default": "a", "title": "t", "nullable": True}]},
        [
            f"{X}.allOf[0].default: Forbidden: must be undefined to be structural",
            f"{X}.allOf[0].description: Forbidden: must be empty to be structural",
            f"{X}.allOf[0].nullable: Forbidden: must be false to be structural",
            f"{X}.allOf[0].title: Forbidden: must be empty to be structural",
        ],
    ),
    "extensions in a branch": (
        {
            **NAMED,
            "not": {"x-kubernetes-preserve-unknown-fields": True, "additionalProperties": {"minLength": 1}},
        },
        [
            f"{X}.not.additionalProperties: Forbidden: must be undefined to be structural",
            f"{X}.not.x-kubernetes-preserve-unknown-fields: Forbidden: must be false to be structural",
        ],
    ),
    "rules in a branch": (
        {**STRING, "anyOf": [{"x-kubernetes-validations": [{"rule": "true"}]}]},
        [f"{X}.anyOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural"],
    ),
    "metadata in a branch": (
        {**NAMED, "oneOf": [{"properties": {"metadata": {"required": ["a"]}}}]},
        [f"{X}.oneOf[0].properties[metadata]: Forbidden: must not be specified in a nested context"],
    ),
    "a pattern that is none": (
        {**STRING, "pattern": "("},
        [
            (
                f'{X}.pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: '
                "error parsing regexp: missing closing ): `(`"
            )
        ],
    ),
    "a default of the wrong type": (
        {**STRING, "default": 1},
        [f'{X}.default: Invalid value: "integer":  in body must be of type string: "integer"'],
    ),
    "a default with an unknown field": (
        {**NAMED, "default": {"name": "a", "b": 1}},
        [f'{X}.default: Invalid value: {{"b":1,"name":"a"}}: must not have unknown fields'],
    ),
    "a default without a required field": ({**NAMED, "default": {}}, [f"{X}.default.name: Required value"]),
    "a default below": (
        {
            "type": "array",
            "items": {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1, "default": 0}}},
        },
        [f"{X}.items.properties[a].default: Invalid value: 0:  in body should be greater than or equal to 1"],
    ),
    "a list type of something else": (
        {**STRING, "x-kubernetes-list-type": "atomic"},
        [f'{X}.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified'],
    ),
    "a list type that is none": (
        {"type": "array", "items": STRING, "x-kubernetes-list-type": "bag"},
        [f'{X}.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"'],
    ),
    "a set of objects that merge": (
        {"type": "array", "items": NAMED, "x-kubernetes-list-type": "set"},
        [
            (
                f"{X}.items.x-kubernetes-map-type: Invalid value: null: "
                "must be atomic as item of a list with x-kubernetes-list-type=set"
            )
        ],
    ),
    "a set of nulls": (
        {"type": "array", "items": {**STRING, "nullable": True}, "x-kubernetes-list-type": "set"},
        [f"{X}.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"],
    ),
    "keys without a keyed list": (
        {"type": "array", "items": NAMED, "x-kubernetes-list-map-keys": ["name"]},
        [
            f"{X}.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty"
        ],
    ),
    "a keyed list without keys": (
        {"type": "array", "items": NAMED, "x-kubernetes-list-type": "map"},
        [
            f"{X}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"
        ],
    ),
    "a keyed list of texts": (
        {**KEYED, "items": STRING},
        [
            f'{X}.items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map'
        ],
    ),
    "a key that is no field": (
        {**KEYED, "x-kubernetes-list-map-keys": ["id"]},
        [
            f'{X}.x-kubernetes-list-map-keys: Invalid value: ["id"]: entries must all be names of item properties'
        ],
    ),
    "a key twice": (
        {**KEYED, "x-kubernetes-list-map-keys": ["name", "name"]},
        [
            f'{X}.x-kubernetes-list-map-keys: Invalid value: ["name","name"]: must not contain duplicate entries'
        ],
    ),
    "a key that is an object": (
        {**KEYED, "items": {**NAMED, "properties": {"name": {"type": "object"}}}},
        [
            (
                f'{X}.items.properties[name].type: Invalid value: "object": '
                "must be a scalar type if parent array's x-kubernetes-list-type is map"
            )
        ],
    ),
    "a key that may be missing": (
        {**KEYED, "items": {"type": "object", "properties": {"name": STRING}}},
        [
            (
                f"{X}.items.properties[name].default: Required value: this property is in x-kubernetes-list-map-keys, "
                "so it must have a default or be a required property"
            )
        ],
    ),
    "a key that may be null": (
        {**KEYED, "items": {**NAMED, "properties": {"name": {**STRING, "nullable": True}}}},
        [
            (
                f"{X}.items.properties[name].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, "
                "so it cannot be nullable"
            )
        ],
    ),
    "a set of sets": (
        {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        },
        [
            (
                f'{X}.items.x-kubernetes-list-type: Invalid value: "set": '
                "must be atomic as item of a list with x-kubernetes-list-type=set"
            )
        ],
    ),
    "a keyed list without items": (
        {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        [
            f"{X}.items: Required value: must be specified",
            f"{X}.items: Required value: must have a schema if x-kubernetes-list-type is map",
        ],
    ),
    "keys of a set": (
        {**KEYED, "items": STRING, "x-kubernetes-list-type": "set"},
        [
            (
                f'{X}.x-kubernetes-list-type: Invalid value: "set": '
                "must be map if x-kubernetes-list-map-keys is non-empty"
            )
        ],
    ),
    "a list type without a type": (
        {"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-list-type": "atomic"},
        [f"{X}.type: Required value: must be array if x-kubernetes-list-type is specified"],
    ),
    "an embedded object of no type": (
        {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        [f"{X}.type: Required value: must be object if x-kubernetes-embedded-resource is true"],
    ),
    "an embedded map": (
        {**EMBEDDED, "additionalProperties": STRING},
        [f"{X}.additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set"],
    ),
    "an embedded object in the metadata of another": (
        {**EMBEDDED, "properties": {"metadata": EMBEDDED}},
        [
            (
                f"{X}.properties[metadata].x-kubernetes-embedded-resource: "
                "Forbidden: must not be used inside of resource meta"
            )
        ],
    ),
    "a default among embedded labels": (
        {
            **EMBEDDED,
            "properties": {
                "metadata": {"type": "object", "additionalProperties": {**STRING, "default": "a"}}
            },
        },
        [
            (
                f"{X}.properties[metadata].additionalProperties.default: Forbidden: "
                "must not be set inside additionalProperties applying to object metadata"
            )
        ],
    ),
    "items in a branch": (
        {"type": "array", "items": STRING, "anyOf": [{"items": {"title": "t"}}]},
        [f"{X}.anyOf[0].items.title: Forbidden: must be empty to be structural"],
    ),
    "a rule with a message of two lines": (
        {**STRING, "x-kubernetes-validations": [{"rule": "true", "message": "a\nb"}]},
        [f'{X}.x-kubernetes-validations[0].message: Invalid value: "a\\nb": must not contain line breaks'],
    ),
    "a map type of something else": (
        {**STRING, "x-kubernetes-map-type": "atomic"},
        [f'{X}.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified'],
    ),
    "a map type that is none": (
        {"type": "object", "x-kubernetes-map-type": "set"},
        [f'{X}.x-kubernetes-map-type: Unsupported value: "set": supported values: "atomic", "granular"'],
    ),
    "a rule without text": (
        {**STRING, "x-kubernetes-validations": [{"rule": " "}]},
        [f"{X}.x-kubernetes-validations[0].rule: Required value: rule is not specified"],
    ),
    "a rule with an empty message": (
        {**STRING, "x-kubernetes-validations": [{"rule": "true", "message": " "}]},
        [f'{X}.x-kubernetes-validations[0].message: Invalid value: " ": must be non-empty if specified'],
    ),
    "a rule of several lines without a message": (
        {**STRING, "x-kubernetes-validations": [{"rule": "true\n&& true"}]},
        [
            (
                f"{X}.x-kubernetes-validations[0].message: Required value: "
                "message must be specified if rule contains line breaks"
            )
        ],
    ),
    "a rule with an unknown reason": (
        {**STRING, "x-kubernetes-validations": [{"rule": "true", "reason": "Odd"}]},
        [
            (
                f'{X}.x-kubernetes-validations[0].reason: Unsupported value: "Odd": supported values: '
                '"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'
            )
        ],
    ),
}

ROOTS: dict[str, tuple[JsonObject, list[str]]] = {
    "a plain object": ({"type": "object"}, []),
    "no type": ({}, [f"{ROOT}.type: Required value: must not be empty at the root"]),
    "another type": (
        {"type": "string"},
        [f'{ROOT}.type: Invalid value: "string": must be object at the root'],
    ),
    "a map": (
        {"type": "object", "additionalProperties": STRING},
        [f"{ROOT}.additionalProperties: Forbidden: must not be used at the root"],
    ),
    "null": (
        {"type": "object", "nullable": True},
        [f"{ROOT}.nullable: Forbidden: nullable cannot be true at the root"],
    ),
    "restricted names": (
        {
            "type": "object",
            "properties": {
                "metadata": {"type": "object", "properties": {"name": {**STRING, "maxLength": 9}}}
            },
        },
        [],
    ),
    "restricted labels": (
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
        },
        [
            (
                f"{ROOT}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, "
                "but metadata is implicitly specified"
            )
        ],
    ),
    "metadata of another type": (
        {"type": "object", "properties": {"metadata": STRING}},
        [f'{ROOT}.properties[metadata].type: Invalid value: "string": must be object'],
    ),
    "a default kind": (
        {"type": "object", "properties": {"kind": {**STRING, "default": "A"}}},
        [f"{ROOT}.properties[kind].default: Forbidden: must not be set in top-level kind"],
    ),
    "a branch about an undeclared field": (
        {"type": "object", "anyOf": [{"properties": {"spec": {"required": ["a"]}}}]},
        [
            (
                f"{ROOT}.properties[spec]: Required value: "
                f"because it is defined in {ROOT}.anyOf[0].properties[spec]"
            )
        ],
    ),
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_structural_accepts(case: str) -> None:
    assert check_structural(kind_of(ACCEPTED[case]), ROOT) == []


@pytest.mark.parametrize("case", REFUSED)
def test_structural_refuses(case: str) -> None:
    field, expected = REFUSED[case]
    assert [str(error) for error in check_structural(kind_of(field), ROOT)] == expected


@pytest.mark.parametrize("case", ROOTS)
def test_structural_root(case: str) -> None:
    schema, expected = ROOTS[case]
    assert [str(error) for error in check_structural(schema, ROOT)] == expected


def test_structural_root_beside_a_status_restricts_nothing_but_fields() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "oneOf": [{"required": ["spec"]}],
        "properties": {"spec": STRING},
    }
    [error] = check_structural(schema, ROOT, status=True)
    assert str(error).startswith(f"{ROOT}: Invalid value: ")
    assert str(error).endswith(
        "fields are allowed at the root of the schema if the status subresource is enabled"
    )
    assert check_structural({"type": "object", "properties": {"spec": STRING}}, ROOT, status=True) == []


def test_structural_root_beside_a_status_is_an_object() -> None:
    assert str(check_structural({"type": "string"}, ROOT, status=True)[0]) == (
        f'{ROOT}.type: Invalid value: "string": '
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
    )


@pytest.mark.parametrize(
    "junk",
    [None, 3, "text", [], {"properties": None}, {"properties": {"a": None}}, {"items": 3}, {"anyOf": [3]}],
)
def test_structural_survives_junk(junk: Any) -> None:
    assert isinstance(check_structural({"type": "object", "properties": {"spec": junk}}, ROOT), list)
