"""What a CustomResourceDefinition must look like, beyond its own schema, and what the server fills in."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.local.plane.crd.define import storage_version
from edgekeeper.local.plane.errors import FieldError, invalid_value, required, unsupported_value
from edgekeeper.local.plane.jsonpath import JsonPathError, compile_path
from edgekeeper.local.plane.labels import subdomain_problems
from edgekeeper.local.plane.resource import Strategy
from edgekeeper.local.plane.schema import check_structural

_DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_SCOPES = ("Cluster", "Namespaced")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SIMPLE_PATH = re.compile(r"(\.[A-Za-z0-9_-]+)+")
_PROTECTED_GROUPS = re.compile(r"(.*\.)?(k8s|kubernetes)\.io")
_APPROVAL = "api-approved.kubernetes.io"


def definition_strategy() -> Strategy:
    return Strategy(
        default=_default, prepare_create=_prepare_create, prepare_update=_prepare_update, validate=_validate
    )


def _default(definition: JsonObject) -> None:
    spec = definition.get("spec")
    if not isinstance(spec, dict):
        return
    names = spec.get("names")
    if isinstance(names, dict) and isinstance(names.get("kind"), str) and names["kind"]:
        if not names.get("singular"):
            names["singular"] = names["kind"].lower()
        if not names.get("listKind"):
            names["listKind"] = names["kind"] + "List"
    spec.setdefault("conversion", {"strategy": "None"})


def _prepare_create(definition: JsonObject) -> None:
    stored = storage_version(definition)
    definition["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": [stored] if stored else [],
    }


def _prepare_update(new: JsonObject, _old: JsonObject) -> None:
    stored = storage_version(new)
    versions = dig_list(new, "status", "storedVersions")
    if stored and stored not in versions and "status" in new:
        new["status"] = {**new["status"], "storedVersions": [*versions, stored]}


def _validate(definition: JsonObject, old: JsonObject | None) -> list[FieldError]:
    spec = dig_object(definition, "spec")
    names = dig_object(spec, "names")
    errors: list[FieldError] = []
    name = dig(definition, "metadata", "name") or ""
    if name != f"{names.get('plural', '')}.{spec.get('group', '')}":
        errors.append(invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    errors += _group_errors(spec)
    errors += _scope_errors(spec)
    errors += _version_errors(spec)
    errors += _name_errors(names)
    errors += _approval_errors(definition, spec)
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


def _version_errors(spec: JsonObject) -> list[FieldError]:
    versions = [version for version in dig_list(spec, "versions") if isinstance(version, dict)]
    errors: list[FieldError] = []
    for index, version in enumerate(versions):
        errors += _one_version_errors(version, f"spec.versions[{index}]")
    repeated = [name for name, count in Counter(one.get("name") for one in versions).items() if count > 1]
    if repeated:
        errors.append(invalid_value("spec.versions", versions, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        errors.append(invalid_value("spec.versions", versions, why))
    return errors


def _one_version_errors(version: JsonObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name = version.get("name", "")
    if not _DNS_LABEL.fullmatch(name) or len(name) > 63:
        errors.append(invalid_value(f"{path}.name", name, _LABEL_RULE))
    warning = version.get("deprecationWarning")
    if warning is not None and not version.get("deprecated"):
        errors.append(
            invalid_value(f"{path}.deprecationWarning", warning, "can only be set for deprecated versions")
        )
    schema = dig(version, "schema", "openAPIV3Schema")
    if not isinstance(schema, dict):
        errors.append(required(f"{path}.schema.openAPIV3Schema"))
    else:
        status = isinstance(dig(version, "subresources", "status"), dict)
        errors += check_structural(schema, f"{path}.schema.openAPIV3Schema", status=status)
    errors += _scale_errors(dig(version, "subresources", "scale"), f"{path}.subresources.scale")
    for index, column in enumerate(dig_list(version, "additionalPrinterColumns")):
        errors += _column_errors(column, f"{path}.additionalPrinterColumns[{index}]")
    errors += _selectable_errors(version, schema, f"{path}.selectableFields")
    return errors


def _scale_errors(scale: Any, path: str) -> list[FieldError]:
    if not isinstance(scale, dict):
        return []
    errors = []
    for name, parents in (("specReplicasPath", (".spec",)), ("statusReplicasPath", (".status",))):
        value = scale.get(name)
        if not value:
            errors.append(required(f"{path}.{name}"))
        else:
            errors += _simple_path_errors(value, f"{path}.{name}", parents)
    selector = scale.get("labelSelectorPath")
    if selector:
        errors += _simple_path_errors(selector, f"{path}.labelSelectorPath", (".spec", ".status"))
    return errors


def _simple_path_errors(value: str, path: str, parents: tuple[str, ...]) -> list[FieldError]:
    if not _SIMPLE_PATH.fullmatch(value):
        return [invalid_value(path, value, "must be a simple json path in dot notation")]
    if not value.startswith(tuple(f"{parent}." for parent in parents)):
        return [invalid_value(path, value, f"should be a json path under {' or '.join(parents)}")]
    return []


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
        errors.append(required(f"{path}.jsonPath"))
        return errors
    try:
        compile_path(json_path)
    except JsonPathError as error:
        errors.append(invalid_value(f"{path}.jsonPath", json_path, str(error)))
    return errors


def _selectable_errors(version: JsonObject, schema: Any, path: str) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for index, entry in enumerate(dig_list(version, "selectableFields")):
        where = f"{path}[{index}].jsonPath"
        json_path = dig(entry, "jsonPath")
        if not json_path:
            errors.append(required(where))
            continue
        node: Any = schema
        for step in json_path.removeprefix(".").split("."):
            node = dig(node, "properties", step)
        if not isinstance(node, dict):
            errors.append(
                invalid_value(where, json_path, "is an invalid path: does not refer to a valid field")
            )
        elif node.get("type") not in ("string", "integer", "boolean"):
            why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
            errors.append(invalid_value(where, json_path, why))
        elif json_path in seen:
            errors.append(FieldError(where, "Duplicate value", "", json_path))
        seen.add(json_path)
    return errors


def _name_errors(names: JsonObject) -> list[FieldError]:
    errors = []
    for name in ("plural", "singular", "kind", "listKind"):
        value = names.get(name)
        path = f"spec.names.{name}"
        if not value:
            errors.append(required(path))
        elif not _DNS_LABEL.fullmatch(value.lower()):
            errors.append(invalid_value(path, value, _mixed_case_rule(name)))
    for index, short in enumerate(dig_list(names, "shortNames")):
        if not _DNS_LABEL.fullmatch(short):
            errors.append(invalid_value(f"spec.names.shortNames[{index}]", short, _LABEL_RULE))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        errors.append(
            invalid_value("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
        )
    return errors


def _mixed_case_rule(name: str) -> str:
    return (
        f"may have mixed case, but should otherwise match: {_LABEL_RULE}"
        if name in ("kind", "listKind")
        else _LABEL_RULE
    )


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
