"""Definitions that are refused, in words that say where the schema is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from edgekeeper.core.json import JsonObject
from tests.conformance.client import Client
from tests.conformance.definitions import definition, definition_name, version, widget
from tests.conformance.kinds import DEFINITIONS, Kind

TEXT: JsonObject = {"type": "string"}
LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
WITH_LABELS: JsonObject = {
    "type": "object",
    "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
}
TYPES = '"array", "boolean", "integer", "number", "object", "string"'


def items_by(*keys: str, **items: Any) -> JsonObject:
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        **({"x-kubernetes-list-map-keys": list(keys)} if keys else {}),
        "items": {"type": "object", "properties": {"a": TEXT}, **items},
    }


async def refusal(api: Client, kind: Kind, body: JsonObject) -> str:
    """Why the definition is invalid, without the part that names it."""
    status = (await api.create(DEFINITIONS.path(), body, dryRun="All")).refuse(422, "Invalid")
    name = body["metadata"]["name"]
    prefix = f'CustomResourceDefinition.apiextensions.k8s.io "{name}" is invalid: '
    message: str = status["message"]
    assert message.startswith(prefix)
    assert status["details"]["name"] == name
    return message.removeprefix(prefix).replace(definition_name(kind), "widgets.GROUP")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"properties": {"a": TEXT}}, "type: Required value: must not be empty for specified object fields"),
        (
            {"type": "object", "properties": {"a": {}}},
            "properties[a].type: Required value: must not be empty for specified object fields",
        ),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/x"}}},
            "properties[a].$ref: Forbidden: $ref is not supported",
        ),
        ({"type": "text"}, f'type: Unsupported value: "text": supported values: {TYPES}'),
        (
            {"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT},
            "additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        ({"type": "array"}, "items: Required value: must be specified"),
        (
            {"type": "array", "items": [TEXT]},
            "items: Forbidden: items must be a schema object and not an array",
        ),
        (
            {"type": "array", "items": TEXT, "uniqueItems": True},
            "uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            {"type": "object", "anyOf": [{"type": "object"}]},
            "anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}},
            'properties[a].default: Invalid value: "string":  in body must be of type integer: "string"',
        ),
        (
            {"type": "object", "default": {"zz": 1}, "properties": {"a": TEXT}},
            'default: Invalid value: {"zz":1}: must not have unknown fields',
        ),
        (
            items_by(),
            "x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            items_by("a"),
            (
                "items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must "
                "have a default or be a required property"
            ),
        ),
        (
            items_by("b", required=["b"]),
            'x-kubernetes-list-map-keys: Invalid value: ["b"]: entries must all be names of item properties',
        ),
        (
            {"type": "array", "x-kubernetes-list-type": "pile", "items": TEXT},
            'x-kubernetes-list-type: Unsupported value: "pile": supported values: "atomic", "set", "map"',
        ),
        (
            {"type": "string", "x-kubernetes-list-type": "set"},
            'type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
        ),
        (
            {"type": "object", "x-kubernetes-map-type": "pile"},
            'x-kubernetes-map-type: Unsupported value: "pile": supported values: "atomic", "granular"',
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
            "x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True},
            (
                "properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without "
                "x-kubernetes-preserve-unknown-fields"
            ),
        ),
        ({"type": "string", "id": "x"}, "id: Forbidden: id is not supported"),
        (
            {"type": "object", "definitions": {"a": TEXT}},
            "definitions: Forbidden: definitions is not supported",
        ),
    ],
    ids=[
        "no-type",
        "no-type-below",
        "ref",
        "unknown-type",
        "properties-and-additional",
        "no-items",
        "items-list",
        "unique-items",
        "not-structural",
        "wrong-default",
        "unknown-default",
        "map-without-keys",
        "map-key-optional",
        "map-key-unknown",
        "list-type",
        "list-type-of-string",
        "map-type",
        "preserve-false",
        "embedded-without-fields",
        "id",
        "definitions",
    ],
)
async def test_schema_must_be_structural(api: Client, schema: JsonObject, problem: str) -> None:
    kind = widget()
    whole = {"type": "object", "properties": {"spec": schema}}
    message = await refusal(api, kind, definition(kind, version(schema=whole)))
    assert message == f"spec.validation.openAPIV3Schema.properties[spec].{problem}"


async def test_pattern_must_be_a_regular_expression(api: Client) -> None:
    kind = widget()
    whole = {"type": "object", "properties": {"spec": {"type": "string", "pattern": "("}}}
    message = await refusal(api, kind, definition(kind, version(schema=whole)))
    assert message.startswith(
        'spec.validation.openAPIV3Schema.properties[spec].pattern: Invalid value: "(": '
        "must be a valid regular expression, but isn't: "
    )


async def test_numeric_exclusive_bound_cannot_be_decoded(api: Client) -> None:
    kind = widget()
    whole = {"type": "object", "properties": {"spec": {"type": "integer", "exclusiveMaximum": 5}}}
    status = (await api.create(DEFINITIONS.path(), definition(kind, version(schema=whole)))).refuse(
        400, "BadRequest"
    )
    assert status["message"].endswith(".exclusiveMaximum of type bool")


@pytest.mark.parametrize(
    ("versions", "problem"),
    [
        (
            [version(schema={"type": "string"})],
            'spec.validation.openAPIV3Schema.type: Invalid value: "string": must be object at the root',
        ),
        (
            [{"name": "v1", "served": True, "storage": True}],
            "spec.versions[0].schema.openAPIV3Schema: Required value",
        ),
        (
            [
                version(
                    schema={
                        "type": "object",
                        "properties": {
                            "metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}
                        },
                    }
                )
            ],
            (
                "spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: must not specify anything other than "
                "name and generateName, but metadata is implicitly specified"
            ),
        ),
        (
            [
                version(
                    subresources={"scale": {"specReplicasPath": "spec.x", "statusReplicasPath": ".status.x"}}
                )
            ],
            'spec.subresources.scale.specReplicasPath: Invalid value: "spec.x": must be a simple json path starting with .',
        ),
        (
            [version(additionalPrinterColumns=[{"name": "A", "type": "text", "jsonPath": ".spec.x"}])],
            'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
        ),
        (
            [version(selectableFields=[{"jsonPath": ".spec.nope"}])],
            'spec.selectableFields[0].jsonPath: Invalid value: ".spec.nope": is an invalid path: does not refer to a valid field',
        ),
        (
            [version(deprecationWarning="x")],
            'spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions',
        ),
    ],
    ids=["root", "no-schema", "metadata", "scale", "column", "selectable", "warning"],
)
async def test_version_must_make_sense(api: Client, versions: list[JsonObject], problem: str) -> None:
    kind = widget()
    assert await refusal(api, kind, definition(kind, *versions)) == problem


@pytest.mark.parametrize(
    ("versions", "problem"),
    [
        ([version(storage=False)], "must have exactly one version marked as storage version"),
        ([version("v1"), version("v2")], "must have exactly one version marked as storage version"),
        ([version("v1"), version("v1", storage=False)], "must contain unique version names"),
    ],
    ids=["none-stored", "two-stored", "same-name"],
)
async def test_versions_must_agree(api: Client, versions: list[JsonObject], problem: str) -> None:
    kind = widget()
    message = await refusal(api, kind, definition(kind, *versions))
    assert "spec.versions: Invalid value: " in message
    assert problem in message


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"scope": "Everywhere"},
            'spec.scope: Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced"',
        ),
        (
            {"names": {"kind": "bad kind"}},
            f'spec.names.kind: Invalid value: "bad kind": may have mixed case, but should otherwise match: {LABEL}',
        ),
        (
            {"names": {"plural": "gadgets"}},
            'metadata.name: Invalid value: "widgets.GROUP": must be spec.names.plural+"."+spec.group',
        ),
        (
            {"preserveUnknownFields": True},
            (
                "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
                "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
            ),
        ),
        (
            {"conversion": {"strategy": "Webhook"}},
            (
                "[spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook, "
                "spec.conversion.conversionReviewVersions: Required value]"
            ),
        ),
        (
            {"names": {"plural": "Gadgets"}},
            (
                '[metadata.name: Invalid value: "widgets.GROUP": must be spec.names.plural+"."+spec.group, '
                f'spec.names.plural: Invalid value: "Gadgets": {LABEL}]'
            ),
        ),
    ],
    ids=["scope", "kind", "plural", "preserve", "conversion", "plural-case"],
)
async def test_definition_must_make_sense(api: Client, spec: JsonObject, problem: str) -> None:
    kind = widget()
    assert await refusal(api, kind, definition(kind, **spec)) == problem


async def test_group_must_be_a_domain(api: Client) -> None:
    kind = widget("nodots")
    assert await refusal(api, kind, definition(kind)) == (
        'spec.group: Invalid value: "nodots": should be a domain with at least one dot'
    )


async def test_group_of_kubernetes_needs_approval(api: Client) -> None:
    kind = widget("conformance.k8s.io")
    message = await refusal(api, kind, definition(kind))
    assert message.startswith(
        "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation"
    )


async def test_empty_definition_lists_what_is_missing(api: Client) -> None:
    body = DEFINITIONS.new("widgets.missing.example", spec={})
    status = (await api.create(DEFINITIONS.path(), body)).refuse(422, "Invalid")
    fields = {cause["field"] for cause in status["details"]["causes"]}
    assert {"spec.group", "spec.scope", "spec.names.plural", "spec.names.kind", "spec.versions"} <= fields
