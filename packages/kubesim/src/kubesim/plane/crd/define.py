"""From a CustomResourceDefinition to the resources it defines, one for each served version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema import RuleCompiler
from edgekeeper.schema.field_error import FieldError, invalid_value
from kubesim.plane.crd.schema_cache import compiled_schema
from kubesim.plane.jsonpath import JsonPathError, compile_path
from kubesim.plane.registry import version_rank
from kubesim.plane.resource import Column, GroupResource, Resource, Scale, Schema, Strategy
from kubesim.plane.table import AGE

DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")


def resources_of(definition: JsonObject, rules: RuleCompiler | None = None) -> list[Resource]:
    """The resources of an accepted definition. Versions that are not served are left out."""
    versions = dig_list(definition, "spec", "versions")
    stored = next(version for version in versions if version.get("storage"))
    kept = stored_schema(definition)
    return [
        _converted(_resource(definition, version, rules), version, stored, kept)
        for version in versions
        if version.get("served")
    ]


def stored_schema(definition: JsonObject) -> Schema:
    """The schema of the version that objects are stored in, without its rules: stored objects have passed them."""
    stored = next(version for version in definition["spec"]["versions"] if version.get("storage"))
    return compiled_schema(stored["schema"]["openAPIV3Schema"], None)


def _converted(resource: Resource, version: JsonObject, stored: JsonObject, kept: Schema) -> Resource:
    """Add what it takes to store objects of another version, where its schema differs from the stored one.

    Nothing is renamed: a field that the stored version does not know is lost, one with a default appears.
    """
    if version["schema"] == stored["schema"]:
        return resource
    return replace(resource, to_storage=partial(_reshaped, kept))


def _reshaped(schema: Schema, tree: JsonObject) -> JsonObject:
    reshaped = msgspec.json.decode(msgspec.json.encode(tree), type=dict)
    schema.prune(reshaped)
    schema.default(reshaped)
    return reshaped


def storage_version(definition: JsonObject) -> str:
    for version in dig_list(definition, "spec", "versions"):
        if version.get("storage"):
            return str(version["name"])
    return ""


def _resource(definition: JsonObject, version: JsonObject, rules: RuleCompiler | None) -> Resource:
    spec = definition["spec"]
    names = dig_object(definition, "status", "acceptedNames") or spec["names"]
    subresources = dig_object(version, "subresources")
    scale = _scale(subresources)
    return Resource(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        list_kind=names.get("listKind", ""),
        namespaced=spec["scope"] == "Namespaced",
        schema=compiled_schema(version["schema"]["openAPIV3Schema"], rules),
        short_names=tuple(dig_list(names, "shortNames")),
        categories=tuple(dig_list(names, "categories")),
        status="status" in subresources,
        scale=scale,
        strategy=Strategy(validate=partial(_count_errors, scale)),
        columns=tuple(_column(one) for one in dig_list(version, "additionalPrinterColumns")) or (AGE,),
        storage_version=storage_version(definition),
        unconditional_update=False,
        custom=True,
        selectable_fields=tuple(one["jsonPath"][1:] for one in dig_list(version, "selectableFields")),
        deprecation_warning=_deprecation(definition, version),
    )


def _scale(subresources: JsonObject) -> Scale | None:
    declared = subresources.get("scale")
    if not isinstance(declared, dict):
        return None
    selector = declared.get("labelSelectorPath")
    return Scale(
        spec_replicas=_steps(declared["specReplicasPath"]),
        status_replicas=_steps(declared["statusReplicasPath"]),
        selector=_steps(selector) if selector else None,
    )


def _count_errors(scale: Scale | None, new: JsonObject, _old: JsonObject | None) -> list[FieldError]:
    """What can be scaled never wants less than nothing, whatever the schema says."""
    replicas = dig(new, *scale.spec_replicas) if scale is not None else None
    if scale is None or not isinstance(replicas, int) or replicas >= 0:
        return []
    path = "." + ".".join(scale.spec_replicas)
    return [invalid_value(path, replicas, "should be a non-negative integer")]


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split("."))


def _column(declared: JsonObject) -> Column:
    path = declared["jsonPath"]
    text = f"Custom resource definition column (in JSONPath format): {path}"
    return Column(
        name=declared["name"],
        cell=_cell(declared["type"], path),
        type=declared["type"],
        format=declared.get("format", ""),
        description=declared.get("description") or text,
        priority=declared.get("priority", 0),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_text(value: Any) -> str:
    """A value as a column of strings shows it: lists and objects as JSON, the rest as Go prints it."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "integer": lambda value: int(value) if _is_number(value) else None,
    "number": lambda value: float(value) if _is_number(value) else None,
    "boolean": lambda value: value if isinstance(value, bool) else None,
    "date": lambda value: value if isinstance(value, str) else None,
    "string": _as_text,
}


def _cell(column_type: str, path: str) -> Callable[[JsonObject], Any]:
    try:
        find = compile_path(path)
    except JsonPathError:
        # A definition may hold any path. One that means nothing shows nothing.
        return lambda _: None
    convert = _CONVERSIONS[column_type]

    def cell(tree: JsonObject) -> Any:
        values = find(tree)
        return convert(values[0]) if values else None

    return cell


def _deprecation(definition: JsonObject, version: JsonObject) -> str:
    """The warning of a deprecated version; unless the definition words it, it names the version to use instead."""
    if not version.get("deprecated"):
        return ""
    written = version.get("deprecationWarning")
    if written:
        return str(written)
    spec = definition["spec"]
    kind = dig(spec, "names", "kind")
    better = [
        one["name"]
        for one in spec["versions"]
        if one.get("served")
        and not one.get("deprecated")
        and version_rank(one["name"]) > version_rank(version["name"])
    ]
    text = f"{spec['group']}/{version['name']} {kind} is deprecated"
    if not better:
        return text
    return f"{text}; use {spec['group']}/{max(better, key=version_rank)} {kind}"
