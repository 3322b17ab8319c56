"""CustomResourceDefinitions: what a kind is called, and what people see of it.

The definitions are data made from the typed kinds. They are written into the chart by `edgekeeper crds`, and a test
keeps the chart's copy equal to what the types say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from edgekeeper.api.schema import schema_of
from edgekeeper.core.json import JsonObject


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0
    """Zero is always shown; others only with `-o wide`."""

    def as_definition(self) -> JsonObject:
        shown: JsonObject = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return shown if self.priority == 0 else {**shown, "priority": self.priority}


def condition_column(type_: str, name: str = "", part: str = "status", priority: int = 0) -> Column:
    """A column that shows a part of a condition: whether it holds, or why."""
    return Column(name or type_, f'.status.conditions[?(@.type=="{type_}")].{part}', priority=priority)


AGE = Column("Age", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True, slots=True)
class CustomKind:
    """A kind that we define."""

    group: str
    version: str
    kind: str
    plural: str
    description: str
    spec: type[msgspec.Struct]
    status: type[msgspec.Struct] | None
    """None for a kind that has no status, and so no subresource of that name."""
    columns: tuple[Column, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"
    singular: str = ""
    """What one object is called; the kind in lower case where it is not said."""

    @property
    def name(self) -> str:
        """What the definition itself is called."""
        return f"{self.plural}.{self.group}"

    def definition(self) -> JsonObject:
        """The CustomResourceDefinition."""
        names: JsonObject = {
            "kind": self.kind,
            "listKind": f"{self.kind}List",
            "plural": self.plural,
            "singular": self.singular or self.kind.lower(),
        }
        if self.short_names:
            names["shortNames"] = list(self.short_names)
        if self.categories:
            names["categories"] = list(self.categories)
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name},
            "spec": {
                "group": self.group,
                "names": names,
                "scope": self.scope,
                "versions": [self._version()],
            },
        }

    def _version(self) -> JsonObject:
        version: JsonObject = {
            "name": self.version,
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": self._schema()},
        }
        if self.status is not None:
            version["subresources"] = {"status": {}}
        if self.columns:
            version["additionalPrinterColumns"] = [column.as_definition() for column in self.columns]
        return version

    def _schema(self) -> JsonObject:
        properties: JsonObject = {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": schema_of(self.spec),
        }
        if self.status is not None:
            properties["status"] = schema_of(self.status)
        return {
            "type": "object",
            "description": self.description,
            "properties": properties,
            "required": ["spec"],
        }
