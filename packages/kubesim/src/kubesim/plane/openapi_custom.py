"""The schemas of custom resources, as OpenAPI documents publish them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list
from kubesim.plane.resource import Resource

REF = "#/definitions/"
"""What names of definitions stand behind."""

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_API_VERSION_TEXT = "The version of the schema that this object is written in."
_KIND_TEXT = "The kind of object, in CamelCase. It cannot be changed."


def _definition_name(resource: Resource) -> str:
    """`com.example.v1.Widget`: the group reversed, the version, the kind."""
    reversed_group = ".".join(reversed(resource.group.split(".")))
    return f"{reversed_group}.{resource.version}.{resource.kind}"


def custom_schemas(resources: Iterable[Resource]) -> dict[str, JsonObject]:
    """The schemas of custom kinds and of their lists."""
    schemas: dict[str, JsonObject] = {}
    for resource in resources:
        if resource.custom:
            name = _definition_name(resource)
            schemas[name] = _custom_schema(resource)
            schemas[f"{name}List"] = _list_schema(resource, name)
    return schemas


def _custom_schema(resource: Resource) -> JsonObject:
    source = _unfolded(resource.schema.source)
    properties = {
        **source.get("properties", {}),
        "apiVersion": {"type": "string", "description": _API_VERSION_TEXT},
        "kind": {"type": "string", "description": _KIND_TEXT},
        "metadata": {"$ref": REF + _OBJECT_META},
    }
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    return {**source, "type": "object", "properties": properties, "x-kubernetes-group-version-kind": [kind]}


def _list_schema(resource: Resource, item: str) -> JsonObject:
    list_kind = resource.list_kind or f"{resource.kind}List"
    kind = {"group": resource.group, "version": resource.version, "kind": list_kind}
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string", "description": _API_VERSION_TEXT},
            "kind": {"type": "string", "description": _KIND_TEXT},
            "metadata": {"$ref": REF + _LIST_META},
            "items": {"type": "array", "items": {"$ref": REF + item}},
        },
        "x-kubernetes-group-version-kind": [kind],
    }


def _unfolded(schema: Any) -> Any:
    """Say in the words of OpenAPI what `x-kubernetes-int-or-string` means, for clients that do not know it."""
    if not isinstance(schema, dict):
        return schema
    unfolded = {key: _unfolded(schema[key]) for key in ("items", "additionalProperties") if key in schema}
    if isinstance(schema.get("properties"), dict):
        unfolded["properties"] = {name: _unfolded(child) for name, child in schema["properties"].items()}
    if schema.get("x-kubernetes-int-or-string") and not _names_both_types(schema):
        if "anyOf" in schema:
            unfolded["allOf"] = [{"anyOf": _INT_OR_STRING}, *dig_list(schema, "allOf")]
        else:
            unfolded["anyOf"] = _INT_OR_STRING
    return {**schema, **unfolded}


def _names_both_types(schema: JsonObject) -> bool:
    """Whether a schema has the idiom for int-or-string already, bare or as the first of `allOf`."""
    first = dig_list(schema, "allOf")[:1]
    return _INT_OR_STRING in (schema.get("anyOf"), *(dig(branch, "anyOf") for branch in first))
