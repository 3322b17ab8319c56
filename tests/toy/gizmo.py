"""The toy kind: a Gizmo is made of parts, and each part is an item that a workshop builds.

spec.parts[].name, .colour     what it is made of
status.inventory               names of items that may exist because of this object: written before they are made
status.observedGeneration      the generation that was carried out last
status.conditions              Ready, from Built and Stalled
"""

from __future__ import annotations

import msgspec

from edgekeeper.core.conditions import Declaration
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Key, Kind

GIZMO = Kind("toy.edgekeeper.test", "v1", "Gizmo", "gizmos")
FINALIZER = f"{GIZMO.group}/workshop"

BUILT, STALLED = "Built", "Stalled"
DECLARATION = Declaration(required=(BUILT,), negative=(STALLED,), ready_message="all parts are built")


class Part(msgspec.Struct, frozen=True):
    """One thing that a Gizmo is made of."""

    name: str
    colour: str


class Spec(msgspec.Struct, frozen=True):
    parts: list[Part] = []


class Status(msgspec.Struct, frozen=True, rename="camel"):
    inventory: list[str] = []
    observed_generation: int | None = None


class Gizmo(msgspec.Struct, frozen=True):
    """The object as its reconciler reads it; metadata is the runtime's business."""

    spec: Spec = Spec()
    status: Status = Status()


def gizmo(key: Key, /, **parts: str) -> JsonObject:
    """A Gizmo of these parts, each given as `name=colour`."""
    return {
        "apiVersion": GIZMO.api_version,
        "kind": GIZMO.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": spec(**parts),
    }


def spec(**parts: str) -> JsonObject:
    return {"parts": [{"name": name, "colour": colour} for name, colour in parts.items()]}


_NAME: JsonObject = {"type": "string", "pattern": "^[a-z][a-z0-9]*$", "maxLength": 20}
_PART: JsonObject = {
    "type": "object",
    "required": ["name", "colour"],
    "properties": {"name": _NAME, "colour": {"type": "string", "maxLength": 20}},
}
_CONDITION: JsonObject = {
    "type": "object",
    "required": ["type", "status", "reason", "message", "lastTransitionTime"],
    "properties": {
        "type": {"type": "string"},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "reason": {"type": "string"},
        "message": {"type": "string"},
        "observedGeneration": {"type": "integer"},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
    },
}
_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "parts": {
                    "type": "array",
                    "maxItems": 16,
                    "items": _PART,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                }
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "inventory": {"type": "array", "items": {"type": "string"}},
                "observedGeneration": {"type": "integer"},
                "conditions": {
                    "type": "array",
                    "items": _CONDITION,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                },
            },
        },
    },
}

DEFINITION: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": GIZMO.qualified_plural},
    "spec": {
        "group": GIZMO.group,
        "scope": "Namespaced",
        "names": {"plural": GIZMO.plural, "singular": "gizmo", "kind": GIZMO.kind},
        "versions": [
            {
                "name": GIZMO.version,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _SCHEMA},
                "subresources": {"status": {}},
            }
        ],
    },
}
