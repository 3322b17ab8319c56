"""Schemas of what every object has, whatever its own schema says: type and metadata."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject

STRING: JsonObject = {"type": "string"}
_INTEGER: JsonObject = {"type": "integer", "format": "int64"}
_TIME: JsonObject = {"type": "string", "format": "date-time"}
_STRINGS: JsonObject = {"type": "object", "additionalProperties": STRING}

_OWNER_REFERENCE: JsonObject = {
    "type": "object",
    "x-kubernetes-map-type": "atomic",
    "properties": {
        "apiVersion": STRING,
        "blockOwnerDeletion": {"type": "boolean"},
        "controller": {"type": "boolean"},
        "kind": STRING,
        "name": STRING,
        "uid": STRING,
    },
}

_MANAGED_FIELDS_ENTRY: JsonObject = {
    "type": "object",
    "properties": {
        "apiVersion": STRING,
        "fieldsType": STRING,
        "fieldsV1": {"type": "object"},
        "manager": STRING,
        "operation": STRING,
        "subresource": STRING,
        "time": _TIME,
    },
}

OBJECT_META: JsonObject = {
    "type": "object",
    "properties": {
        "annotations": _STRINGS,
        "creationTimestamp": _TIME,
        "deletionGracePeriodSeconds": _INTEGER,
        "deletionTimestamp": _TIME,
        "finalizers": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        "generateName": STRING,
        "generation": _INTEGER,
        "labels": _STRINGS,
        "managedFields": {
            "type": "array",
            "items": _MANAGED_FIELDS_ENTRY,
            "x-kubernetes-list-type": "atomic",
        },
        "name": STRING,
        "namespace": STRING,
        "ownerReferences": {
            "type": "array",
            "items": _OWNER_REFERENCE,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
        },
        "resourceVersion": STRING,
        "selfLink": STRING,
        "uid": STRING,
    },
}

SYSTEM_FIELDS = (
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    ("metadata", "name"),
    ("metadata", "namespace"),
    ("metadata", "creationTimestamp"),
    ("metadata", "selfLink"),
    ("metadata", "uid"),
    ("metadata", "clusterName"),
    ("metadata", "generation"),
    ("metadata", "managedFields"),
    ("metadata", "resourceVersion"),
)
"""Fields that identify an object or belong to the server: nobody owns them."""
