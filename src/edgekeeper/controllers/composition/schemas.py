"""Where the schemas of the kinds in a definition come from.

A graph is compiled against a `SchemaSource`. In a cluster it holds what the server serves; offline it holds the
CustomResourceDefinitions in some files. A kind that a source does not know is dynamic: its fields are not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object

_STRING: Final[JsonObject] = {"type": "string"}
_INTEGER: Final[JsonObject] = {"type": "integer"}
_TIME: Final[JsonObject] = {"type": "string", "format": "date-time"}
_STRINGS: Final[JsonObject] = {"type": "object", "additionalProperties": _STRING}
_FREE_FORM: Final[JsonObject] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

OBJECT_META: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "name": _STRING,
        "generateName": _STRING,
        "namespace": _STRING,
        "uid": _STRING,
        "resourceVersion": _STRING,
        "selfLink": _STRING,
        "generation": _INTEGER,
        "creationTimestamp": _TIME,
        "deletionTimestamp": _TIME,
        "deletionGracePeriodSeconds": _INTEGER,
        "labels": _STRINGS,
        "annotations": _STRINGS,
        "finalizers": {"type": "array", "items": _STRING},
        "ownerReferences": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "apiVersion": _STRING,
                    "kind": _STRING,
                    "name": _STRING,
                    "uid": _STRING,
                    "controller": {"type": "boolean"},
                    "blockOwnerDeletion": {"type": "boolean"},
                },
            },
        },
        "managedFields": {"type": "array", "items": _FREE_FORM},
    },
}
"""The metadata that every object has."""

CLUSTER_OBJECT_META: Final[JsonObject] = {
    **OBJECT_META,
    "properties": {name: schema for name, schema in OBJECT_META["properties"].items() if name != "namespace"},
}


@dataclass(frozen=True, slots=True)
class KindSchema:
    """What is known about a kind."""

    schema: JsonObject | None = None
    """The schema of its objects with their metadata; None where any field may be there."""
    namespaced: bool | None = None
    """Whether its objects belong to namespaces; None where that is not known."""
    plural: str = ""


class SchemaSource(Protocol):
    """Knows kinds."""

    def find(self, api_version: str, kind: str) -> KindSchema | None:
        """What is known about a kind, or None if it is not known at all."""
        ...


class KnownSchemas:
    """Kinds that are at hand, by version and name."""

    def __init__(self, kinds: Mapping[tuple[str, str], KindSchema] | None = None) -> None:
        self._kinds = dict(kinds or {})

    def find(self, api_version: str, kind: str) -> KindSchema | None:
        return self._kinds.get((api_version, kind))

    def add_definition(self, definition: JsonObject) -> None:
        """Add the kinds of a CustomResourceDefinition."""
        self._kinds.update(kinds_of(definition))


class FirstOf:
    """Several sources; the first that knows a kind decides."""

    def __init__(self, sources: Iterable[SchemaSource]) -> None:
        self._sources = tuple(sources)

    def find(self, api_version: str, kind: str) -> KindSchema | None:
        found = (source.find(api_version, kind) for source in self._sources)
        return next((one for one in found if one is not None), None)


def kinds_of(definition: JsonObject) -> dict[tuple[str, str], KindSchema]:
    """The kinds of a CustomResourceDefinition, one for each version, by version and name."""
    group, kind = dig(definition, "spec", "group"), dig(definition, "spec", "names", "kind")
    namespaced = dig(definition, "spec", "scope") != "Cluster"
    plural = str(dig(definition, "spec", "names", "plural") or "")
    return {
        (f"{group}/{version.get('name')}", str(kind)): KindSchema(
            with_metadata(dig(version, "schema", "openAPIV3Schema"), namespaced=namespaced),
            namespaced,
            plural,
        )
        for version in dig_list(definition, "spec", "versions")
        if isinstance(version, dict)
    }


def with_metadata(schema: JsonObject | None, *, namespaced: bool = True) -> JsonObject | None:
    """The schema of a custom resource with what its definition does not say: the metadata of every object."""
    if not isinstance(schema, dict):
        return None
    metadata = OBJECT_META if namespaced else CLUSTER_OBJECT_META
    identity = {"apiVersion": _STRING, "kind": _STRING, "metadata": metadata}
    return {**schema, "properties": {**dig_object(schema, "properties"), **identity}}
