"""The CustomResourceDefinition that is generated for the instances of a ResourceGraphDefinition."""

from __future__ import annotations

from typing import Final

import msgspec

from edgekeeper.api.composition import InstanceSchema
from edgekeeper.controllers.composition.plural import pluralize
from edgekeeper.core.json import JsonObject
from edgekeeper.schema.default import copy_json

ALLOW_BREAKING: Final = "kro.run/allow-breaking-changes"
"""Annotation of a definition whose author accepts that instances may no longer fit."""

_STRING: Final[JsonObject] = {"type": "string"}
STATE_SCHEMA: Final[JsonObject] = _STRING
CONDITIONS_SCHEMA: Final[JsonObject] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "type": _STRING,
            "status": _STRING,
            "reason": _STRING,
            "message": _STRING,
            "lastTransitionTime": _STRING,
            "observedGeneration": {"type": "integer"},
        },
    },
}
_COLUMNS: Final[tuple[JsonObject, ...]] = (
    {
        "name": "State",
        "type": "string",
        "description": "The state of a ResourceGraphDefinition instance",
        "jsonPath": ".status.state",
    },
    {
        "name": "Ready",
        "type": "string",
        "description": "Whether a ResourceGraphDefinition instance is ready",
        "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
    },
    {
        "name": "Age",
        "type": "date",
        "description": "Age of the resource",
        "jsonPath": ".metadata.creationTimestamp",
    },
)


def plural_of(schema: InstanceSchema) -> str:
    return pluralize(schema.kind.lower())


def definition_name(schema: InstanceSchema) -> str:
    return f"{plural_of(schema)}.{schema.group}"


def instance_definition(schema: InstanceSchema, spec: JsonObject, status: JsonObject) -> JsonObject:
    """The definition for instances with these schemas of spec and status."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": _metadata(schema),
        "spec": {
            "group": schema.group,
            "names": _names(schema),
            "scope": schema.scope,
            "versions": [
                {
                    "name": schema.api_version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _object_schema(spec, with_conditions(status))},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": _columns(schema),
                }
            ],
        },
    }


def with_conditions(status: JsonObject) -> JsonObject:
    """A status schema with what every instance has. A field called `state` is ours, whatever it was."""
    properties = {"conditions": CONDITIONS_SCHEMA, **status.get("properties", {}), "state": STATE_SCHEMA}
    result: JsonObject = copy_json({**status, "type": "object", "properties": properties})
    return result


def _metadata(schema: InstanceSchema) -> JsonObject:
    metadata: JsonObject = {"name": definition_name(schema)}
    if schema.metadata is not None and schema.metadata.labels:
        metadata["labels"] = dict(schema.metadata.labels)
    if schema.metadata is not None and schema.metadata.annotations:
        metadata["annotations"] = dict(schema.metadata.annotations)
    return metadata


def _names(schema: InstanceSchema) -> JsonObject:
    names: JsonObject = {
        "kind": schema.kind,
        "listKind": f"{schema.kind}List",
        "plural": plural_of(schema),
        "singular": schema.kind.lower(),
    }
    if schema.short_names:
        names["shortNames"] = list(schema.short_names)
    if schema.categories:
        names["categories"] = list(schema.categories)
    return names


def _columns(schema: InstanceSchema) -> list[JsonObject]:
    columns: list[JsonObject] = msgspec.to_builtins(schema.additional_printer_columns)
    return columns or [dict(column) for column in _COLUMNS]


def _object_schema(spec: JsonObject, status: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": {
            "apiVersion": _STRING,
            "kind": _STRING,
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    }
