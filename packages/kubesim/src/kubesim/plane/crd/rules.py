"""What a CustomResourceDefinition must fulfil beyond its own schema.

Versions usually agree on schema, subresources, columns and selectable fields. The server then looks at those once and
reports problems where an earlier API had them, at the top of `spec`; what versions disagree on is reported by version.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema import RuleCompiler
from edgekeeper.schema.field_error import (
    FieldError,
    forbidden_field,
    invalid_value,
    required,
    too_many,
    unsupported_value,
)
from kubesim.plane.crd.schema_cache import structural_errors
from kubesim.plane.labels import subdomain_problems

_DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_STRATEGIES = ("None", "Webhook")
_SCOPES = ("Cluster", "Namespaced")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_SELECTABLE = 8
_PROTECTED_GROUPS = re.compile(r"(.*\.)?(k8s|kubernetes)\.io")
_APPROVAL = "api-approved.kubernetes.io"


@dataclass(frozen=True, slots=True)
class _Background:
    """What is known beside the definition itself."""

    rules: RuleCompiler | None
    """Knows about the validation rules in schemas."""
    old_schemas: dict[Any, Any]
    """The schemas of the definition that is replaced, by version."""


Check: TypeAlias = Callable[[JsonObject, str, _Background], list[FieldError]]
"""Checks one aspect of a version, which is found at the path."""


def definition_errors(
    definition: JsonObject, old: JsonObject | None, rules: RuleCompiler | None = None
) -> list[FieldError]:
    """Return everything wrong with a definition; `old` is the one it replaces."""
    background = _Background(
        rules, {version.get("name"): version.get("schema") for version in dig_list(old, "spec", "versions")}
    )
    spec = dig_object(definition, "spec")
    names = dig_object(spec, "names")
    errors: list[FieldError] = []
    name = dig(definition, "metadata", "name") or ""
    if name != f"{names.get('plural', '')}.{spec.get('group', '')}":
        errors.append(invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    errors += _group_errors(spec)
    errors += _scope_errors(spec)
    versions = [version for version in dig_list(spec, "versions") if isinstance(version, dict)]
    errors += _version_errors(versions, background)
    errors += _name_errors(names)
    errors += _common_errors(versions, background)
    errors += _conversion_errors(dig_object(spec, "conversion"))
    errors += _approval_errors(definition, spec)
    if spec.get("preserveUnknownFields"):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(invalid_value("spec.preserveUnknownFields", True, why))
    if old is not None:
        errors += _update_errors(definition, old)
    return errors


def _group_errors(spec: JsonObject) -> list[FieldError]:
    group = spec.get("group")
    if not group:
        return [required("spec.group")]
    problems = subdomain_problems(group)
    if problems:
        return [invalid_value("spec.group", group, ",".join(problems))]
    if "." not in group:
        return [invalid_value("spec.group", group, "should be a domain with at least one dot")]
    return []


def _scope_errors(spec: JsonObject) -> list[FieldError]:
    scope = spec.get("scope")
    if not scope:
        return [required("spec.scope")]
    return [] if scope in _SCOPES else [unsupported_value("spec.scope", scope, _SCOPES)]


def _version_errors(versions: list[JsonObject], background: _Background) -> list[FieldError]:
    errors = [
        required(f"spec.versions[{index}].schema.openAPIV3Schema")
        for index, version in enumerate(versions)
        if not isinstance(dig(version, "schema", "openAPIV3Schema"), dict)
    ]
    shared = _shared_aspects(versions)
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        errors += _own_errors(version, path)
        for aspect, (_, check) in _ASPECTS.items():
            if aspect not in shared:
                errors += check(version, f"{path}.{aspect}", background)
    if any(count > 1 for count in Counter(version.get("name") for version in versions).values()):
        errors.append(invalid_value("spec.versions", versions, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        errors.append(invalid_value("spec.versions", versions, why))
    return errors


def _common_errors(versions: list[JsonObject], background: _Background) -> list[FieldError]:
    """Check what all versions have in common, once."""
    errors: list[FieldError] = []
    shared = _shared_aspects(versions)
    for aspect, (top_level, check) in _ASPECTS.items():
        if aspect in shared and versions:
            errors += check(versions[0], f"spec.{top_level}", background)
    return errors


def _shared_aspects(versions: list[JsonObject]) -> set[str]:
    return {
        aspect
        for aspect in _ASPECTS
        if all(version.get(aspect) == versions[0].get(aspect) for version in versions)
    }


def _own_errors(version: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name = version.get("name", "")
    if not _DNS_LABEL.fullmatch(name) or len(name) > 63:
        errors.append(invalid_value(f"{path}.name", name, _LABEL_RULE))
    warning = version.get("deprecationWarning")
    if warning is not None and not version.get("deprecated"):
        why = "can only be set for deprecated versions"
        errors.append(invalid_value(f"{path}.deprecationWarning", warning, why))
    return errors


def _schema_errors(version: JsonObject, path: str, background: _Background) -> list[FieldError]:
    schema = dig(version, "schema", "openAPIV3Schema")
    if not isinstance(schema, dict):
        return []
    status = isinstance(dig(version, "subresources", "status"), dict)
    return structural_errors(
        schema,
        f"{path}.openAPIV3Schema",
        status=status,
        rules=background.rules,
        seen_before=background.old_schemas.get(version.get("name")) == version["schema"],
    )


def _subresource_errors(version: JsonObject, path: str, _: _Background) -> list[FieldError]:
    scale = dig(version, "subresources", "scale")
    if not isinstance(scale, dict):
        return []
    errors: list[FieldError] = []
    for name, prefix in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        where = f"{path}.scale.{name}"
        value = scale.get(name)
        errors += _path_errors(value, where, (prefix,), prefix) if value else [required(where)]
    selector = scale.get("labelSelectorPath")
    if selector:
        where = f"{path}.scale.labelSelectorPath"
        errors += _path_errors(selector, where, (".spec", ".status"), "either .spec or .status")
    return errors


def _path_errors(value: str, where: str, parents: tuple[str, ...], shown: str) -> list[FieldError]:
    if not value.startswith("."):
        return [invalid_value(where, value, "must be a simple json path starting with .")]
    if not value.startswith(tuple(f"{parent}." for parent in parents)):
        return [invalid_value(where, value, f"should be a json path under {shown}")]
    return []


def _columns_errors(version: JsonObject, path: str, _: _Background) -> list[FieldError]:
    columns = dig_list(version, "additionalPrinterColumns")
    return [
        error for index, column in enumerate(columns) for error in _column_errors(column, f"{path}[{index}]")
    ]


def _column_errors(column: JsonObject, path: str) -> list[FieldError]:
    errors = []
    if not column.get("name"):
        errors.append(required(f"{path}.name"))
    kind = column.get("type")
    if not kind:
        errors.append(required(f"{path}.type", f"must be one of {','.join(_COLUMN_TYPES)}"))
    elif kind not in _COLUMN_TYPES:
        errors.append(invalid_value(f"{path}.type", kind, f"must be one of {','.join(_COLUMN_TYPES)}"))
    if column.get("format") and column["format"] not in _COLUMN_FORMATS:
        errors.append(
            invalid_value(f"{path}.format", column["format"], f"must be one of {','.join(_COLUMN_FORMATS)}")
        )
    json_path = column.get("jsonPath")
    if not json_path:
        errors.append(required(f"{path}.JSONPath"))
    elif not json_path.startswith("."):
        errors.append(
            invalid_value(f"{path}.JSONPath", json_path, "must be a simple json path starting with .")
        )
    return errors


def _selectable_fields_errors(version: JsonObject, path: str, _: _Background) -> list[FieldError]:
    schema = dig(version, "schema", "openAPIV3Schema")
    return _selectable_errors(version.get("selectableFields"), schema, path)


def _selectable_errors(fields: Any, schema: Any, path: str) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for index, entry in enumerate(fields or ()):
        where = f"{path}[{index}].jsonPath"
        json_path = dig(entry, "jsonPath")
        if not json_path:
            errors.append(required(where))
            continue
        node: Any = schema
        for step in json_path.removeprefix(".").split("."):
            node = dig(node, "properties", step)
        if json_path.startswith(".metadata."):
            errors.append(invalid_value(where, json_path, "must not point to fields in metadata"))
        elif not isinstance(node, dict):
            errors.append(
                invalid_value(where, json_path, "is an invalid path: does not refer to a valid field")
            )
        elif node.get("type") not in ("string", "integer", "boolean"):
            why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
            errors.append(invalid_value(where, json_path, why))
        elif json_path in seen:
            errors.append(FieldError(where, "Duplicate value", "", json_path))
        seen.add(json_path)
    if len(seen) > _MOST_SELECTABLE:
        errors.append(too_many(path, len(seen), _MOST_SELECTABLE))
    return errors


_ASPECTS: dict[str, tuple[str, Check]] = {
    "schema": ("validation", _schema_errors),
    "subresources": ("subresources", _subresource_errors),
    "additionalPrinterColumns": ("additionalPrinterColumns", _columns_errors),
    "selectableFields": ("selectableFields", _selectable_fields_errors),
}
"""What versions may have in common: where it was in the earlier API, and how to check it."""


def _name_errors(names: JsonObject) -> list[FieldError]:
    needed = ("plural", "singular", "kind", "listKind")
    errors = [required(f"spec.names.{name}") for name in needed if not names.get(name)]
    errors += _label_errors(names, ("plural", "singular"), "")
    errors += _label_errors(names, ("kind", "listKind"), "may have mixed case, but should otherwise match: ")
    for field in ("shortNames", "categories"):
        for index, name in enumerate(dig_list(names, field)):
            if not _DNS_LABEL.fullmatch(name):
                errors.append(invalid_value(f"spec.names.{field}[{index}]", name, _LABEL_RULE))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        why = "kind and listKind may not be the same"
        errors.append(invalid_value("spec.names.listKind", names["listKind"], why))
    return errors


def _label_errors(names: JsonObject, fields: tuple[str, ...], mixed_case: str) -> list[FieldError]:
    errors = []
    for field in fields:
        value = names.get(field) or ""
        compared = value.lower() if mixed_case else value
        if value and not _DNS_LABEL.fullmatch(compared):
            errors.append(invalid_value(f"spec.names.{field}", value, mixed_case + _LABEL_RULE))
    return errors


def _conversion_errors(conversion: JsonObject) -> list[FieldError]:
    """Only what a definition must say about a conversion webhook. It is not called."""
    strategy = conversion.get("strategy")
    if strategy not in (None, *_STRATEGIES):
        return [unsupported_value("spec.conversion.strategy", strategy, _STRATEGIES)]
    client = dig(conversion, "webhook", "clientConfig")
    versions = dig_list(conversion, "webhook", "conversionReviewVersions")
    path = "spec.conversion.webhookClientConfig"
    if strategy != "Webhook":
        why = "should not be set when strategy is not set to Webhook"
        return [forbidden_field(path, why)] if client is not None else []
    errors = []
    if client is None:
        errors.append(required(path, "required when strategy is set to Webhook"))
    elif ("url" in client) == ("service" in client):
        errors.append(required(path, "exactly one of url or service is required"))
    if not versions:
        errors.append(required("spec.conversion.conversionReviewVersions"))
    return errors


def _approval_errors(definition: JsonObject, spec: JsonObject) -> list[FieldError]:
    """Groups under k8s.io and kubernetes.io are the project's own: a definition there must say who approved it."""
    group = spec.get("group") or ""
    if not _PROTECTED_GROUPS.fullmatch(group):
        return []
    approval = dig(definition, "metadata", "annotations", _APPROVAL)
    path = f"metadata.annotations[{_APPROVAL}]"
    if not approval:
        return [
            required(
                path,
                'protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
            )
        ]
    if not str(approval).startswith(("unapproved", "http://", "https://")):
        why = 'protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111'
        return [invalid_value(path, approval, why)]
    return []


def _update_errors(definition: JsonObject, old: JsonObject) -> list[FieldError]:
    errors = []
    fixed = [("group",), ("names", "plural")]
    if any(
        one.get("type") == "Established" and one.get("status") == "True"
        for one in dig_list(old, "status", "conditions")
    ):
        fixed += [("scope",), ("names", "kind")]
    for path in fixed:
        value = dig(definition, "spec", *path)
        if value != dig(old, "spec", *path):
            errors.append(invalid_value(".".join(("spec", *path)), value, "field is immutable"))
    present = {version.get("name") for version in dig_list(definition, "spec", "versions")}
    for index, stored in enumerate(dig_list(definition, "status", "storedVersions")):
        if stored not in present:
            why = (
                f"missing from spec.versions; {stored} was previously a storage version, and must remain in spec.versions "
                f"until a storage migration ensures no data remains persisted in {stored} and removes {stored} from "
                "status.storedVersions"
            )
            errors.append(invalid_value(f"status.storedVersions[{index}]", stored, why))
    return errors
