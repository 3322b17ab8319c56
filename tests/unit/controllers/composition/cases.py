"""Definitions to try things out with: short to write, compiled against a few kinds that are known."""

from __future__ import annotations

from typing import Any

import yaml

from edgekeeper.controllers.composition.graph import (
    Compilation,
    Graph,
    Options,
    compile_definition,
    read_definition,
)
from edgekeeper.controllers.composition.schemas import KindSchema, KnownSchemas, with_metadata
from edgekeeper.core.json import JsonObject

STRING: JsonObject = {"type": "string"}
INTEGER: JsonObject = {"type": "integer"}
STRINGS: JsonObject = {"type": "object", "additionalProperties": STRING}


def _kind(properties: JsonObject, *, namespaced: bool = True) -> KindSchema:
    schema = with_metadata({"type": "object", "properties": properties}, namespaced=namespaced)
    return KindSchema(schema, namespaced)


_WORKLOAD: JsonObject = {
    "spec": {
        "type": "object",
        "properties": {
            "replicas": INTEGER,
            "ratio": {"type": "number"},
            "paused": {"type": "boolean"},
            "labels": STRINGS,
            "port": {"x-kubernetes-int-or-string": True},
            "args": {"type": "array", "items": STRING},
            "owner": {"type": "object", "properties": {"name": STRING, "team": STRING}},
            "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
    "status": {
        "type": "object",
        "properties": {
            "ready": INTEGER,
            "since": {"type": "string", "format": "date-time"},
            "conditions": {
                "type": "array",
                "items": {"type": "object", "properties": {"type": STRING, "status": STRING}},
            },
        },
    },
}

KNOWN = KnownSchemas(
    {
        ("v1", "ConfigMap"): _kind({"data": STRINGS}),
        ("v1", "Secret"): _kind(
            {"data": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}}}
        ),
        ("v1", "Namespace"): _kind({}, namespaced=False),
        ("example.com/v1", "Workload"): _kind(_WORKLOAD),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): _kind(
            {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}, namespaced=False
        ),
    }
)


def config(name: str, /, **more: Any) -> JsonObject:
    """A resource that is a ConfigMap with one value."""
    value = more.pop("value", "text")
    template = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name.lower()}"},
        "data": {"key": value},
    }
    return {"id": name, "template": template, **more}


def workload(name: str, /, spec: JsonObject | None = None, **more: Any) -> JsonObject:
    """A resource that is a Workload."""
    template = {
        "apiVersion": "example.com/v1",
        "kind": "Workload",
        "metadata": {"name": name.lower()},
        "spec": spec or {},
    }
    return {"id": name, "template": template, **more}


def definition(
    *resources: JsonObject,
    spec: JsonObject | None = None,
    status: JsonObject | None = None,
    types: JsonObject | None = None,
    **schema: Any,
) -> JsonObject:
    """A ResourceGraphDefinition."""
    described = {
        "apiVersion": "v1alpha1",
        "kind": "App",
        "spec": spec or {},
        "status": status or {},
        **schema,
    }
    if types is not None:
        described["types"] = types
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": "app"},
        "spec": {"schema": described, "resources": list(resources)},
    }


def compiled(body: JsonObject, options: Options | None = None) -> Compilation:
    return compile_definition(read_definition(body), KNOWN, options)


def graph_of(body: JsonObject, options: Options | None = None) -> Graph:
    """The graph of a definition that must be right."""
    found = compiled(body, options)
    assert found.graph is not None, found.problems
    return found.graph


def problem_of(body: JsonObject, options: Options | None = None) -> tuple[str, str]:
    """The path and message of the only problem of a definition."""
    found = compiled(body, options)
    assert found.graph is None
    (problem,) = found.problems
    return problem.path, problem.message


def from_yaml(text: str) -> JsonObject:
    body: JsonObject = yaml.safe_load(text)
    return body
