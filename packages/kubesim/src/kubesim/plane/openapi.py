"""OpenAPI documents: v3 per group and version, v2 as one document, both with the schemas of custom resources.

kubectl reads them for `explain`, for client-side patches and to learn which query parameters a resource takes.
Documents are built when first asked for and kept until the registry changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import UnservedPathError
from kubesim.plane.openapi_custom import REF, custom_schemas
from kubesim.plane.registry import Registry
from kubesim.plane.resource import Resource

_NOT_IN_V2 = frozenset({"allOf", "anyOf", "oneOf", "not", "nullable", "x-kubernetes-validations", "default"})
_NESTED = frozenset({"items", "additionalProperties"})
_INFO = {"title": "Kubernetes", "version": "v1.36.3"}


@dataclass(slots=True)
class OpenApi:
    """The published documents of one registry."""

    registry: Registry
    _built_for: int = -1
    _documents: dict[str, bytes] = field(default_factory=dict)

    def index(self) -> bytes:
        """GET /openapi/v3: where the document of each group and version is, with a hash for caching."""
        paths = {}
        for name, versions in self.registry.groups().items():
            for version in versions:
                place = f"apis/{name}/{version}" if name else f"api/{version}"
                paths[place] = {"serverRelativeURL": self.address(place)}
        return msgspec.json.encode({"paths": paths})

    def address(self, place: str) -> str:
        """Where a document is as it is now."""
        digest = hashlib.sha256(self.document(place)).hexdigest().upper()
        return f"/openapi/v3/{place}?hash={digest}"

    def document(self, place: str) -> bytes:
        """GET /openapi/v3/{place}"""
        return self._cached(place, self._build_v3)

    def v2(self) -> bytes:
        """GET /openapi/v2"""
        return self._cached("v2", lambda _: self._build_v2())

    def _cached(self, place: str, build: Any) -> bytes:
        if self._built_for != self.registry.changes:
            self._documents.clear()
            self._built_for = self.registry.changes
        if place not in self._documents:
            self._documents[place] = msgspec.json.encode(build(place))
        return self._documents[place]

    def _build_v3(self, place: str) -> JsonObject:
        prefix, _, rest = place.partition("/")
        group, _, version = rest.rpartition("/") if prefix == "apis" else ("", "", rest)
        resources = [one for one in self.registry.of_group(group) if one.version == version]
        if not resources or (prefix == "api") == bool(group):
            raise UnservedPathError
        schemas = self._schemas(resources)
        return {
            "openapi": "3.0.0",
            "info": _INFO,
            "paths": _paths(resources),
            "components": {"schemas": _rewrite(schemas, "#/components/schemas/", wrap=True)},
        }

    def _build_v2(self) -> JsonObject:
        resources = self.registry.all()
        schemas = self._schemas(resources)
        return {
            "swagger": "2.0",
            "info": _INFO,
            "paths": _paths(resources),
            "definitions": {name: _simplify(_one_type(schema)) for name, schema in schemas.items()},
        }

    def _schemas(self, resources: Iterable[Resource]) -> dict[str, JsonObject]:
        """Everything that a document about some resources has to define."""
        definitions = self.registry.definitions
        versions = {(one.group, one.version) for one in resources}
        roots = {name: schema for name, schema in definitions.items() if versions & _versions_of(schema)}
        return _closure({**roots, **custom_schemas(resources)}, definitions)


def _versions_of(schema: JsonObject) -> set[tuple[str, str]]:
    """The groups and versions in which a definition is a kind of its own."""
    return {(kind["group"], kind["version"]) for kind in schema.get("x-kubernetes-group-version-kind", ())}


def _closure(schemas: dict[str, JsonObject], definitions: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """Add every definition that the schemas refer to, however indirectly."""
    found: dict[str, JsonObject] = {}
    pending = list(schemas)
    while pending:
        name = pending.pop()
        if name in found:
            continue
        schema = schemas.get(name) or definitions.get(name, {"type": "object"})
        found[name] = schema
        pending.extend(_references(schema))
    return dict(sorted(found.items()))


def _references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"].removeprefix(REF)] if isinstance(node.get("$ref"), str) else []
        return own + [name for value in node.values() for name in _references(value)]
    if isinstance(node, list):
        return [name for value in node for name in _references(value)]
    return []


def _rewrite(node: Any, prefix: str, *, wrap: bool) -> Any:
    """Point references at another place; v3 wraps those with siblings in `allOf`."""
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            moved = {"$ref": prefix + reference.removeprefix(REF)}
            siblings = {
                key: _rewrite(value, prefix, wrap=wrap) for key, value in node.items() if key != "$ref"
            }
            return {"allOf": [moved], **siblings} if siblings and wrap else {**moved, **siblings}
        return {key: _rewrite(value, prefix, wrap=wrap) for key, value in node.items()}
    if isinstance(node, list):
        return [_rewrite(value, prefix, wrap=wrap) for value in node]
    return node


def _one_type(definition: JsonObject) -> JsonObject:
    """Call a union of scalars, IntOrString or Quantity, a string: v2 has one type for each value."""
    if "oneOf" in definition and "type" not in definition:
        return {**definition, "type": "string"}
    return definition


def _simplify(schema: Any) -> Any:
    """Drop what OpenAPI v2 cannot say. The names of properties are not keywords, whatever they are."""
    if isinstance(schema, list):
        return [_simplify(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    simple = {key: value for key, value in schema.items() if key not in _NOT_IN_V2}
    for key in _NESTED & simple.keys():
        simple[key] = _simplify(simple[key])
    if isinstance(properties := simple.get("properties"), dict):
        simple["properties"] = {name: _simplify(child) for name, child in properties.items()}
    return simple


def _paths(resources: Iterable[Resource]) -> JsonObject:
    paths: JsonObject = {}
    for resource in sorted(resources, key=lambda one: (one.group, one.version, one.plural)):
        root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        scope = "/namespaces/{namespace}" if resource.namespaced else ""
        collection = f"{root}{scope}/{resource.plural}"
        operations = {"get": "list", "post": "post", "delete": "deletecollection"}
        paths[collection] = _operations(resource, operations)
        item = {"get": "get", "put": "put", "patch": "patch", "delete": "delete"}
        paths[f"{collection}/{{name}}"] = _operations(resource, item)
        if resource.status:
            del item["delete"]
            paths[f"{collection}/{{name}}/status"] = _operations(resource, item)
    return paths


_VERB_OF_ACTION = {
    "list": "list",
    "post": "create",
    "deletecollection": "deletecollection",
    "get": "get",
    "put": "update",
    "patch": "patch",
    "delete": "delete",
}
_CUSTOM_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_BUILT_IN_PATCHES = (*_CUSTOM_PATCHES, "application/strategic-merge-patch+json")
_PARAMETERS = {
    "post": ("dryRun", "fieldManager", "fieldValidation"),
    "put": ("dryRun", "fieldManager", "fieldValidation"),
    "patch": ("dryRun", "fieldManager", "fieldValidation", "force"),
    "delete": ("dryRun", "gracePeriodSeconds", "propagationPolicy"),
    "deletecollection": (
        "dryRun",
        "gracePeriodSeconds",
        "labelSelector",
        "fieldSelector",
        "propagationPolicy",
    ),
    "list": ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch"),
}


def _operations(resource: Resource, actions: Mapping[str, str]) -> JsonObject:
    return {
        method: _operation(resource, action)
        for method, action in actions.items()
        if _VERB_OF_ACTION[action] in resource.verbs
    }


def _operation(resource: Resource, action: str) -> JsonObject:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    parameters = _PARAMETERS.get(action, ())
    operation: JsonObject = {
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": kind,
        "parameters": [{"name": name, "in": "query", "schema": {"type": "string"}} for name in parameters],
        "responses": {"200": {"description": "OK"}},
    }
    if action == "patch":
        types = _CUSTOM_PATCHES if resource.custom else _BUILT_IN_PATCHES
        operation["requestBody"] = {
            "content": {one: {"schema": {"type": "object"}} for one in types},
            "required": True,
        }
    return operation
