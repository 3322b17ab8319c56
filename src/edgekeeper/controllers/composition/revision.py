"""Revisions of a definition: when two specs say the same, and what a revision is called.

The text that is hashed has the form of kro's: fields in the order of its types, resources by id, conditions sorted,
objects with sorted keys, as Go writes JSON. Dimensions of `forEach` keep their order, because it is that of the objects.
Fields that kro does not know are part of it only where they are set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from edgekeeper.api.composition import DefinitionSpec, InstanceSchema, Resource
from edgekeeper.core.json import JsonObject
from kubecel.library.kro.hashes import fnv64a

_GO_ESCAPES: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def revision_name(definition: str, number: int) -> str:
    """What the revision of a definition with some number is called."""
    return f"{definition}-r{number:05d}"


def spec_hash(spec: DefinitionSpec) -> str:
    """Equal for specs that say the same."""
    return fnv64a(canonical_text(spec)).hex()


def canonical_text(spec: DefinitionSpec) -> str:
    """A spec in its normal form."""
    resources = [_resource(one) for one in sorted(spec.resources, key=lambda one: one.id)]
    written = {"schema": _schema(spec.schema), **_unless_empty(resources=resources)}
    return json.dumps(written, ensure_ascii=False, separators=(",", ":")).translate(_GO_ESCAPES)


def _schema(schema: InstanceSchema) -> JsonObject:
    return {
        "kind": schema.kind,
        "apiVersion": schema.api_version,
        "group": schema.group,
        "spec": _free(schema.spec),
        "types": _free(schema.types),
        "status": _free(schema.status),
        "scope": schema.scope,
        **_unless_empty(
            additionalPrinterColumns=[
                _column(msgspec.to_builtins(one)) for one in schema.additional_printer_columns
            ],
            shortNames=list(schema.short_names),
            categories=list(schema.categories),
        ),
        **({} if schema.metadata is None else {"metadata": _sorted(msgspec.to_builtins(schema.metadata))}),
    }


def _column(column: Mapping[str, Any]) -> JsonObject:
    order = ("name", "type", "format", "description", "priority", "jsonPath")
    return {name: column[name] for name in order if name in column}


def _resource(resource: Resource) -> JsonObject:
    return {
        "id": resource.id,
        "template": _free(resource.template),
        **(
            {}
            if resource.external_ref is None
            else {"externalRef": msgspec.to_builtins(resource.external_ref)}
        ),
        **_unless_empty(
            readyWhen=sorted(resource.ready_when),
            includeWhen=sorted(resource.include_when),
            forEach=list(resource.for_each),
            dependsOn=sorted(resource.depends_on),
        ),
        **({"deletionPolicy": "Orphan"} if resource.deletion_policy == "Orphan" else {}),
    }


def _free(value: JsonObject | None) -> Any:
    """A free-form field: its keys are sorted at all levels, and nothing is null."""
    return _sorted(value) if value else None


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _unless_empty(**fields: list[Any]) -> JsonObject:
    return {name: value for name, value in fields.items() if value}
