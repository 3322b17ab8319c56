"""Custom objects under their schema: what is validated, defaulted, pruned and kept."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.definitions import define, define_schema, version
from tests.conformance.kinds import Kind

KEYED: JsonObject = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
}

VALUES: JsonObject = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "open": {
            "type": "integer",
            "minimum": 1,
            "exclusiveMinimum": True,
            "maximum": 9,
            "exclusiveMaximum": True,
        },
        "even": {"type": "integer", "multipleOf": 2},
        "int32": {"type": "integer", "format": "int32"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "colour": {"type": "string", "enum": ["red", "green"]},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "short": {"type": "string", "minLength": 2, "maxLength": 4},
        "items": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        "map": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 2,
            "additionalProperties": {"type": "integer"},
        },
        "nested": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "list": {"type": "array", "items": {"type": "integer"}},
            },
        },
        "maybe": {"type": "string", "nullable": True},
        "target": {"x-kubernetes-int-or-string": True},
        "when": {"type": "string", "format": "date-time"},
        "address": {"type": "string", "format": "ipv4"},
        "keyed": KEYED,
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "either": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        "any": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        "unlike": {"type": "string", "not": {"enum": ["forbidden"]}},
    },
}


async def kind_of_values(api: Client) -> Kind:
    return await define_schema(api, VALUES)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("count", 0, "Invalid value: 0: spec.count in body should be greater than or equal to 1"),
        ("count", 10, "Invalid value: 10: spec.count in body should be less than or equal to 9"),
        ("count", "3", 'Invalid value: "string": spec.count in body must be of type integer: "string"'),
        ("count", 1.5, 'Invalid value: "number": spec.count in body must be of type integer: "number"'),
        ("open", 1, "Invalid value: 1: spec.open in body should be greater than 1"),
        ("open", 9, "Invalid value: 9: spec.open in body should be less than 9"),
        ("even", 3, "Invalid value: 3: spec.even in body should be a multiple of 2"),
        ("ratio", "x", 'Invalid value: "string": spec.ratio in body must be of type number: "string"'),
        ("flag", "yes", 'Invalid value: "string": spec.flag in body must be of type boolean: "string"'),
        ("flag", 1, 'Invalid value: "integer": spec.flag in body must be of type boolean: "integer"'),
        ("colour", "blue", 'Unsupported value: "blue": supported values: "red", "green"'),
        ("colour", 7, 'Invalid value: "integer": spec.colour in body must be of type string: "integer"'),
        ("code", "abc", "Invalid value: \"abc\": spec.code in body should match '^[A-Z]{3}$'"),
        ("short", "x", 'Invalid value: "x": spec.short in body should be at least 2 chars long'),
        ("short", "long one", "Too long: may not be more than 4 bytes"),
        ("items", [], "Invalid value: 0: spec.items in body should have at least 1 items"),
        ("items", ["a", "b", "c"], "Too many: 3: must have at most 2 items"),
        ("map", {}, "Invalid value: 0: spec.map in body should have at least 1 properties"),
        ("map", {"a": 1, "b": 2, "c": 3}, "Too many: 3: must have at most 2 items"),
        ("nested", [], 'Invalid value: "array": spec.nested in body must be of type object: "array"'),
        (
            "target",
            True,
            'Invalid value: "boolean": spec.target in body must be of type integer,string: "boolean"',
        ),
        ("when", "soon", 'Invalid value: "soon": spec.when in body must be of type date-time: "soon"'),
        ("address", "1.2.3", 'Invalid value: "1.2.3": spec.address in body must be of type ipv4: "1.2.3"'),
    ],
)
async def test_value_is_validated(
    api: Client, namespace: str, field: str, value: object, message: str
) -> None:
    kind = await kind_of_values(api)
    body = kind.new("one", spec={field: value})
    status = (await api.create(kind.path(namespace), body)).refuse(422, "Invalid")
    assert (f"spec.{field}", message) in [
        (cause["field"], cause["message"]) for cause in status["details"]["causes"]
    ]
    assert status["message"].startswith(f'Widget.{kind.group} "one" is invalid: ')


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"nested": {}}, "spec.nested.name", "Required value"),
        (
            {"nested": {"name": "a", "list": [1, "x"]}},
            "spec.nested.list[1]",
            'Invalid value: "string": spec.nested.list[1] in body must be of type integer: "string"',
        ),
        (
            {"map": {"k": "v"}},
            "spec.map.k",
            'Invalid value: "string": spec.map.k in body must be of type integer: "string"',
        ),
        ({"keyed": [{"name": "a"}, {"name": "a"}]}, "spec.keyed[1]", 'Duplicate value: {"name":"a"}'),
        ({"tags": ["a", "b", "a"]}, "spec.tags[2]", 'Duplicate value: "a"'),
        ({"keyed": [{}]}, "spec.keyed[0].name", "Required value"),
    ],
    ids=["required", "list-item", "map-value", "map-key-twice", "set-twice", "key-missing"],
)
async def test_value_below_is_validated(
    api: Client, namespace: str, spec: JsonObject, field: str, message: str
) -> None:
    kind = await kind_of_values(api)
    status = (await api.create(kind.path(namespace), kind.new("one", spec=spec))).refuse(422, "Invalid")
    assert (field, message) in [(cause["field"], cause["message"]) for cause in status["details"]["causes"]]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"either": {"a": "1", "b": "2"}},
            '"spec.either" must validate one and only one schema (oneOf). Found 2 valid alternatives',
        ),
        ({"any": {}}, '"spec.any" must validate at least one schema (anyOf)'),
        ({"unlike": "forbidden"}, '"spec.unlike" must not validate the schema (not)'),
    ],
    ids=["one-of", "any-of", "not"],
)
async def test_combination_is_validated(api: Client, namespace: str, spec: JsonObject, problem: str) -> None:
    kind = await kind_of_values(api)
    status = (await api.create(kind.path(namespace), kind.new("one", spec=spec))).refuse(422, "Invalid")
    messages = [cause["message"] for cause in status["details"]["causes"]]
    assert f'Invalid value: "": {problem}' in messages


async def test_null_that_is_not_allowed_counts_as_absent(api: Client, namespace: str) -> None:
    kind = await kind_of_values(api)
    created = (await api.create(kind.path(namespace), kind.new("one", spec={"count": None}))).expect(201)
    assert created["spec"] == {}


@pytest.mark.parametrize(
    "spec",
    [
        {"count": 9, "open": 8, "even": 4, "ratio": 2, "flag": False},
        {"ratio": 2.5, "colour": "red", "code": "ABC", "short": "abc"},
        {"maybe": None},
        {"target": 80},
        {"target": "80%"},
        {"when": "2020-01-02T03:04:05Z", "address": "10.0.0.1"},
        {"items": ["a"], "map": {"a": 1}, "either": {"b": "x"}, "any": {"a": "1", "b": "2"}},
    ],
)
async def test_valid_values_are_kept_as_they_are(api: Client, namespace: str, spec: JsonObject) -> None:
    kind = await kind_of_values(api)
    assert (await api.create(kind.path(namespace), kind.new("one", spec=spec))).expect(201)["spec"] == spec


async def test_several_problems_are_listed_at_once(api: Client, namespace: str) -> None:
    kind = await kind_of_values(api)
    body = kind.new("one", spec={"count": 0, "colour": "blue"})
    status = (await api.create(kind.path(namespace), body)).refuse(422, "Invalid")
    assert status["message"].startswith(f'Widget.{kind.group} "one" is invalid: [')
    assert {cause["field"] for cause in status["details"]["causes"]} == {"spec.count", "spec.colour"}


async def test_update_is_validated_as_well(api: Client, namespace: str) -> None:
    kind = await kind_of_values(api)
    created = (await api.create(kind.path(namespace), kind.new("one", spec={"count": 1}))).expect(201)
    answer = await api.put(kind.path(namespace, "one"), {**created, "spec": {"count": 99}})
    assert answer.refuse(422, "Invalid")["details"]["causes"][0]["field"] == "spec.count"


DEFAULTS: JsonObject = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "default": {},
            "properties": {
                "size": {"type": "integer", "default": 3},
                "mode": {"type": "string", "default": "auto"},
                "deep": {
                    "type": "object",
                    "properties": {"level": {"type": "integer", "default": 1}, "note": {"type": "string"}},
                },
                "ports": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "port": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                        },
                    },
                },
                "named": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "properties": {"weight": {"type": "integer", "default": 10}},
                    },
                },
                "maybe": {"type": "string", "nullable": True, "default": "set"},
            },
        }
    },
}


@pytest.mark.parametrize(
    ("spec", "stored"),
    [
        (None, {}),
        ({}, {}),
        ({"size": 5}, {"size": 5}),
        ({"mode": None}, {}),
        ({"maybe": None}, {"maybe": None}),
        ({"deep": {}}, {"deep": {"level": 1}}),
        ({"ports": [{"port": 1}]}, {"ports": [{"port": 1, "protocol": "TCP"}]}),
        ({"named": {"a": {}}}, {"named": {"a": {"weight": 10}}}),
    ],
    ids=["absent", "empty", "given", "null", "nullable", "object", "list", "map"],
)
async def test_defaults_fill_in(api: Client, namespace: str, spec: Any, stored: JsonObject) -> None:
    kind = await define(api, version(schema=DEFAULTS))
    body = kind.new("one") if spec is None else kind.new("one", spec=spec)
    created = (await api.create(kind.path(namespace), body)).expect(201)
    assert created["spec"] == {"size": 3, "mode": "auto", "maybe": "set", **stored}


PRUNING: JsonObject = {
    "type": "object",
    "properties": {
        "known": {"type": "string"},
        "open": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"closed": {"type": "object", "properties": {"known": {"type": "string"}}}},
        },
        "list": {"type": "array", "items": {"type": "object", "properties": {"known": {"type": "string"}}}},
        "map": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"known": {"type": "string"}}},
        },
        "embedded": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
}


@pytest.mark.parametrize(
    ("spec", "stored"),
    [
        ({"known": "a", "unknown": "b"}, {"known": "a"}),
        ({"open": {"any": {"thing": 1}}}, {"open": {"any": {"thing": 1}}}),
        ({"open": {"closed": {"known": "a", "unknown": "b"}}}, {"open": {"closed": {"known": "a"}}}),
        ({"list": [{"known": "a", "x": 1}, {"x": 1}]}, {"list": [{"known": "a"}, {}]}),
        ({"map": {"k": {"known": "a", "x": 1}}}, {"map": {"k": {"known": "a"}}}),
    ],
    ids=["object", "preserved", "closed-again", "list", "map"],
)
async def test_unknown_fields_are_pruned(
    api: Client, namespace: str, spec: JsonObject, stored: JsonObject
) -> None:
    kind = await define_schema(api, PRUNING)
    assert (await api.create(kind.path(namespace), kind.new("one", spec=spec))).expect(201)["spec"] == stored


async def test_embedded_object_must_name_its_kind(api: Client, namespace: str) -> None:
    kind = await define_schema(api, PRUNING)
    good = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}}
    created = (await api.create(kind.path(namespace), kind.new("one", spec={"embedded": good}))).expect(201)
    assert created["spec"]["embedded"] == good
    body = kind.new("two", spec={"embedded": {"metadata": {"name": "Bad_Name"}}})
    causes = (await api.create(kind.path(namespace), body)).refuse(422, "Invalid")["details"]["causes"]
    fields = {(cause["field"], cause["message"].partition(":")[0]) for cause in causes}
    assert ("spec.embedded.apiVersion", "Required value") in fields
    assert ("spec.embedded.kind", "Required value") in fields


async def test_metadata_of_an_embedded_object_is_pruned(api: Client, namespace: str) -> None:
    kind = await define_schema(api, PRUNING)
    embedded = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "nonsense": 1}}
    created = (await api.create(kind.path(namespace), kind.new("one", spec={"embedded": embedded}))).expect(
        201
    )
    assert created["spec"]["embedded"]["metadata"] == {"name": "x"}


async def test_name_can_be_restricted_by_the_schema(api: Client, namespace: str) -> None:
    schema = {
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "^w-"}}}
        },
    }
    kind = await define(api, version(schema=schema))
    (await api.create(kind.path(namespace), kind.new("w-one"))).expect(201)
    status = (await api.create(kind.path(namespace), kind.new("one"))).refuse(422, "Invalid")
    assert status["message"] == (
        f'Widget.{kind.group} "one" is invalid: metadata.name: Invalid value: "one": metadata.name in body '
        "should match '^w-'"
    )


@pytest.mark.parametrize("exists", [False, True], ids=["new", "existing"])
async def test_null_in_what_is_applied_is_refused(api: Client, namespace: str, exists: bool) -> None:
    """Unlike that of other requests, which counts as absent."""
    kind = await kind_of_values(api)
    path = kind.path(namespace, "one")
    if exists:
        (await api.apply(path, kind.new("one", spec={"count": 9}), "tests")).expect(201)
    answer = await api.apply(path, kind.new("one", spec={"count": None, "colour": None}), "tests")
    told = answer.refuse(422, "Invalid")["message"]
    assert 'spec.count: Invalid value: "null": spec.count in body must be of type integer: "null"' in told
    assert 'spec.colour in body must be of type string: "null"' in told
