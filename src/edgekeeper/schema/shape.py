"""What makes a schema structural: types everywhere, declared once, outside of `anyOf` and its kin."""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import FieldError, forbidden_field, invalid_value, required
from edgekeeper.schema.pattern import PatternError, compile_pattern

_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
"""Where a schema stands, in the words of the complaint about a missing type."""

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_JUNCTORS = ("anyOf", "allOf", "oneOf")
_FORBIDDEN_IN_JUNCTORS = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}
_UNSET: tuple[Any, ...] = (None, False, "", [])


def check_shape(schema: JsonObject, path: str) -> list[FieldError]:
    """The errors in alphabetical order, as the real server sorts them."""
    return sorted(
        _check_place(schema, _ROOT, path) + _check_completeness(schema, schema, path, path), key=str
    )


def _check_place(schema: JsonObject, level: str, path: str) -> list[FieldError]:
    return [
        *_check_children(schema, level, path),
        *_check_extensions(schema, path),
        *_check_junctors(schema, path, skip_any_of=schema.get("anyOf") == _INT_OR_STRING),
        *_check_type(schema, level, path),
        *_check_meta_fields(schema, level, path),
    ]


def _check_children(schema: JsonObject, level: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, dict):
        errors += _check_place(items, _ITEM, f"{path}.items")
    elif schema.get("type") == "array":
        errors.append(required(f"{path}.items", "must be specified"))
    for key, child in _properties(schema).items():
        errors += _check_place(child, _FIELD, f"{path}.properties[{key}]")
    if additional is not None:
        errors += _check_additional(schema, level, path)
        if isinstance(additional, dict):
            errors += _check_place(additional, _FIELD, f"{path}.additionalProperties")
    return errors


def _properties(schema: JsonObject) -> dict[str, JsonObject]:
    """The declared fields; a null in the place of a schema is an empty one."""
    declared = dig_object(schema, "properties")
    return {key: child if isinstance(child, dict) else {} for key, child in declared.items()}


def _branches(schema: JsonObject, junctor: str) -> list[JsonObject]:
    return [branch if isinstance(branch, dict) else {} for branch in dig_list(schema, junctor)]


def _check_additional(schema: JsonObject, level: str, path: str) -> list[FieldError]:
    reasons = []
    if level == _ROOT:
        reasons.append("must not be used at the root")
    if schema.get("x-kubernetes-embedded-resource"):
        reasons.append("must not be used if x-kubernetes-embedded-resource is set")
    return [forbidden_field(f"{path}.additionalProperties", reason) for reason in reasons]


def _check_extensions(schema: JsonObject, path: str) -> list[FieldError]:
    if not schema.get("x-kubernetes-int-or-string"):
        return []
    contradictory = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
    detail = "must be false if x-kubernetes-int-or-string is true"
    return [invalid_value(f"{path}.{word}", True, detail) for word in contradictory if schema.get(word)]


def _check_type(schema: JsonObject, level: str, path: str) -> list[FieldError]:
    declared = schema.get("type") or ""
    errors: list[FieldError] = []
    if schema.get("x-kubernetes-embedded-resource") and declared != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        where = f"{path}.type"
        errors.append(invalid_value(where, declared, detail) if declared else required(where, detail))
    elif not declared and not _may_be_untyped(schema):
        errors.append(required(f"{path}.type", f"must not be empty {level}"))
    if level == _ROOT and declared not in ("", "object"):
        errors.append(invalid_value(f"{path}.type", declared, "must be object at the root"))
    return errors


def _may_be_untyped(schema: JsonObject) -> bool:
    return bool(
        schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    )


def _check_meta_fields(schema: JsonObject, level: str, path: str) -> list[FieldError]:
    """The fields that every object has are declared by Kubernetes; a schema may restrict names, no more."""
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    properties = dig_object(schema, "properties")
    errors: list[FieldError] = []
    if level == _ROOT or embedded:
        for key, expected in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
            declared = dig(properties, key, "type") or ""
            if key in properties and declared != expected:
                errors.append(
                    invalid_value(f"{path}.properties[{key}].type", declared, f"must be {expected}")
                )
    if level == _ROOT and not _restricts_names_only(dig_object(properties, "metadata")):
        detail = (
            "must not specify anything other than name and generateName, but metadata is implicitly specified"
        )
        errors.append(forbidden_field(f"{path}.properties[metadata]", detail))
    if embedded and not schema.get("x-kubernetes-preserve-unknown-fields") and not properties:
        detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        errors.append(required(f"{path}.properties", detail))
    return errors


def _restricts_names_only(metadata: JsonObject) -> bool:
    ignored = ("type", "default", "properties")
    nothing_else = all(value in _UNSET for key, value in metadata.items() if key not in ignored)
    return nothing_else and dig_object(metadata, "properties").keys() <= {"name", "generateName"}


def _check_junctors(schema: JsonObject, path: str, *, skip_any_of: bool) -> list[FieldError]:
    """Look into `anyOf` and its kin. The idiom for int-or-string, bare or as the first of `allOf`, may name types."""
    errors: list[FieldError] = []
    for junctor in _JUNCTORS:
        if junctor == "anyOf" and skip_any_of:
            continue
        for index, branch in enumerate(_branches(schema, junctor)):
            idiom = junctor == "allOf" and index == 0 and dig(branch, "anyOf") == _INT_OR_STRING
            errors += _check_branch(branch, f"{path}.{junctor}[{index}]", skip_any_of=idiom)
    if isinstance(schema.get("not"), dict):
        errors += _check_branch(schema["not"], f"{path}.not")
    return errors + _check_pattern(schema, path)


def _check_pattern(schema: JsonObject, path: str) -> list[FieldError]:
    pattern = schema.get("pattern") or ""
    try:
        compile_pattern(pattern)
    except PatternError as error:
        detail = f"must be a valid regular expression, but isn't: {error}"
        return [invalid_value(f"{path}.pattern", pattern, detail)]
    return []


def _check_branch(schema: JsonObject, path: str, *, skip_any_of: bool = False) -> list[FieldError]:
    errors = _check_junctors(schema, path, skip_any_of=skip_any_of)
    if isinstance(schema.get("items"), dict):
        errors += _check_branch(schema["items"], f"{path}.items")
    properties = _properties(schema)
    for key, child in properties.items():
        errors += _check_branch(child, f"{path}.properties[{key}]")
    for keyword, reason in _FORBIDDEN_IN_JUNCTORS.items():
        if schema.get(keyword) not in _UNSET:
            errors.append(forbidden_field(f"{path}.{keyword}", reason))
    if "metadata" in properties:
        detail = "must not be specified in a nested context"
        errors.append(forbidden_field(f"{path}.properties[metadata]", detail))
    return errors


def _check_completeness(demand: JsonObject, declared: Any, path: str, demand_path: str) -> list[FieldError]:
    """What a junctor speaks about must be declared outside of it."""
    branches = [
        (branch, f"{demand_path}.{junctor}[{index}]")
        for junctor in _JUNCTORS
        for index, branch in enumerate(_branches(demand, junctor))
    ]
    if isinstance(demand.get("not"), dict):
        branches.insert(0, (demand["not"], f"{demand_path}.not"))
    return [
        error
        for branch, branch_path in branches
        for error in _check_declared(branch, declared, path, branch_path)
    ]


def _check_declared(demand: JsonObject, declared: Any, path: str, demand_path: str) -> list[FieldError]:
    if not isinstance(declared, dict):
        return [required(path, f"because it is defined in {demand_path}")]
    errors = _check_completeness(demand, declared, path, demand_path)
    if isinstance(demand.get("items"), dict):
        inner = (f"{path}.items", f"{demand_path}.items")
        errors += _check_declared(demand["items"], declared.get("items"), *inner)
    for key, child in _properties(demand).items():
        inner = (f"{path}.properties[{key}]", f"{demand_path}.properties[{key}]")
        errors += _check_declared(child, dig_object(declared, "properties").get(key), *inner)
    return errors
