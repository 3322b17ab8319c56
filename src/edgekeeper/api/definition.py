"""CustomResourceDefinitions: names, printer columns and subresources of the kinds.

Definitions are generated from the types. `edgekeeper crds` writes them into the chart, and a test checks that the
chart's copy is up to date.
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
    """Columns with a priority above zero are shown only with `-o wide`."""

    def as_definition(self) -> JsonObject:
        shown: JsonObject = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return shown if self.priority == 0 else {**shown, "priority": self.priority}


def condition_column(type_: str, name: str = "", part: str = "status", priority: int = 0) -> Column:
    """A column for a field of a condition, such as `status` or `reason`."""
    return Column(name or type_, f'.status.conditions[?(@.type=="{type_}")].{part}', priority=priority)


AGE = Column("Age", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True, slots=True)
class CustomKind:
    """A kind that edgekeeper defines."""

    group: str
    version: str
    kind: str
    plural: str
    description: str
    spec: type[msgspec.Struct]
    status: type[msgspec.Struct] | None
    """None for a kind without a status subresource."""
    columns: tuple[Column, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"
    singular: str = ""
    """The singular name. Default: the kind in lower case."""

    @property
    def name(self) -> str:
        """The name of the CustomResourceDefinition."""
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
