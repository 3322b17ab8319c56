"""The OpenAPI that Kubernetes speaks: which keywords a custom resource's schema may use, and together with which.

Beside the standard ones these are `x-kubernetes-list-type` and its companions, which tell server-side apply and
validation how a list or map is to be understood.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import (
    FieldError,
    forbidden_field,
    invalid_value,
    required,
    unsupported_value,
)
from edgekeeper.schema.field_path import FieldPathError, follow_field_path
from edgekeeper.schema.node import META_FIELDS

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_LIST_TYPES = ("atomic", "set", "map")
_MAP_TYPES = ("atomic", "granular")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


@dataclass(frozen=True, slots=True)
class _Scope:
    """What surrounds a schema: whether defaults are forbidden here, and whether it describes metadata."""

    no_defaults: str = ""
    in_metadata: bool = False


def check_dialect(schema: JsonObject, path: str) -> list[FieldError]:
    return list(_check(schema, path, _Scope(), is_root=True))


def _check(schema: JsonObject, path: str, scope: _Scope, *, is_root: bool = False) -> Iterator[FieldError]:
    yield from _check_keywords(schema, path, scope)
    yield from _check_below(schema, path, scope, is_root=is_root)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        yield invalid_value(where, False, "must be true or undefined")
    yield from _check_map_type(schema, path)
    yield from _check_list_type(schema, path)
    yield from _check_list_keys(schema, path)
    yield from _check_item_identity(schema, path)
    for index, rule in enumerate(dig_list(schema, "x-kubernetes-validations")):
        yield from _check_rule(rule, schema, f"{path}.x-kubernetes-validations[{index}]")


def _check_keywords(schema: JsonObject, path: str, scope: _Scope) -> Iterator[FieldError]:
    declared = schema.get("type") or ""
    if declared and declared not in _TYPES:
        yield unsupported_value(f"{path}.type", declared, _TYPES)
    if schema.get("default") is not None and scope.no_defaults:
        yield forbidden_field(f"{path}.default", f"must not be set {scope.no_defaults}")
    for keyword in _UNSUPPORTED:
        if schema.get(keyword) not in (None, "", {}):
            yield forbidden_field(f"{path}.{keyword}", f"{keyword} is not supported")
    if declared == "null":
        yield forbidden_field(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden_field(f"{path}.items", "items must be a schema object and not an array")
    if scope.in_metadata and schema.get("x-kubernetes-embedded-resource"):
        where = f"{path}.x-kubernetes-embedded-resource"
        yield forbidden_field(where, "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden_field(f"{path}.uniqueItems", detail)


def _check_below(schema: JsonObject, path: str, scope: _Scope, *, is_root: bool) -> Iterator[FieldError]:
    properties, additional = dig_object(schema, "properties"), schema.get("additionalProperties")
    if properties and (additional is False or isinstance(additional, dict)):
        detail = "additionalProperties and properties are mutual exclusive"
        yield forbidden_field(f"{path}.additionalProperties", detail)
    if isinstance(additional, dict):
        reason = "inside additionalProperties applying to object metadata"
        inner = replace(scope, no_defaults=reason) if scope.in_metadata else scope
        yield from _check(additional, f"{path}.additionalProperties", inner)
    has_meta = is_root or bool(schema.get("x-kubernetes-embedded-resource"))
    for key, child in properties.items():
        inner = scope
        if has_meta and key in META_FIELDS:
            inner = _Scope(f"in top-level {key}" if is_root else scope.no_defaults, in_metadata=True)
        if isinstance(child, dict):
            yield from _check(child, f"{path}.properties[{key}]", inner)
    for branch_path, branch in _branches(schema, path):
        yield from _check(branch, branch_path, scope)


def _branches(schema: JsonObject, path: str) -> Iterator[tuple[str, JsonObject]]:
    for keyword in ("not", "items"):
        if isinstance(schema.get(keyword), dict):
            yield f"{path}.{keyword}", schema[keyword]
    for keyword in ("allOf", "oneOf", "anyOf"):
        for index, branch in enumerate(dig_list(schema, keyword)):
            if isinstance(branch, dict):
                yield f"{path}.{keyword}[{index}]", branch


def _check_map_type(schema: JsonObject, path: str) -> Iterator[FieldError]:
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is None:
        return
    yield from _demand_type(schema, path, "object", "x-kubernetes-map-type")
    if map_type not in _MAP_TYPES:
        yield unsupported_value(f"{path}.x-kubernetes-map-type", map_type, _MAP_TYPES)


def _check_list_type(schema: JsonObject, path: str) -> Iterator[FieldError]:
    list_type = schema.get("x-kubernetes-list-type")
    if list_type is None:
        return
    yield from _demand_type(schema, path, "array", "x-kubernetes-list-type")
    if list_type == "set" and schema.get("type") == "array":
        yield from _check_set_items(dig_object(schema, "items"), f"{path}.items")
    if list_type not in _LIST_TYPES:
        yield unsupported_value(f"{path}.x-kubernetes-list-type", list_type, _LIST_TYPES)


def _demand_type(schema: JsonObject, path: str, expected: str, because: str) -> Iterator[FieldError]:
    declared, detail = schema.get("type") or "", f"must be {expected} if {because} is specified"
    if not declared:
        yield required(f"{path}.type", detail)
    elif declared != expected:
        yield invalid_value(f"{path}.type", declared, detail)


def _check_set_items(items: JsonObject, path: str) -> Iterator[FieldError]:
    """Members of a set are compared as a whole, so they must not be merged in parts."""
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    list_type, map_type = items.get("x-kubernetes-list-type"), items.get("x-kubernetes-map-type")
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        yield invalid_value(f"{path}.x-kubernetes-list-type", list_type, detail)
    if items.get("type") == "object" and map_type != "atomic":
        yield invalid_value(f"{path}.x-kubernetes-map-type", list_type, detail)


def _check_list_keys(schema: JsonObject, path: str) -> Iterator[FieldError]:
    list_type, keys = schema.get("x-kubernetes-list-type"), dig_list(schema, "x-kubernetes-list-map-keys")
    if keys and list_type != "map":
        where, detail = (
            f"{path}.x-kubernetes-list-type",
            "must be map if x-kubernetes-list-map-keys is non-empty",
        )
        yield required(where, detail) if list_type is None else invalid_value(where, list_type, detail)
    if list_type != "map":
        return
    keys_path = f"{path}.x-kubernetes-list-map-keys"
    if not keys:
        yield required(keys_path, "must not be empty if x-kubernetes-list-type is map")
    items = schema.get("items")
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    elif not isinstance(items, dict):
        yield invalid_value(
            f"{path}.items", items, "must only have a single schema if x-kubernetes-list-type is map"
        )
    elif items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid_value(f"{path}.items.type", items.get("type") or "", detail)
    else:
        yield from _check_keys_of_items(items, keys, path)


def _check_keys_of_items(items: JsonObject, keys: list[Any], path: str) -> Iterator[FieldError]:
    keys_path = f"{path}.x-kubernetes-list-map-keys"
    for index, key in enumerate(keys):
        if key not in dig_object(items, "properties"):
            yield invalid_value(keys_path, keys, "entries must all be names of item properties")
        elif dig(items, "properties", key, "type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid_value(f"{path}.items.properties[{key}].type", "object", detail)
        if key in keys[:index]:
            yield invalid_value(keys_path, keys, "must not contain duplicate entries")


def _check_item_identity(schema: JsonObject, path: str) -> Iterator[FieldError]:
    """Items of sets and maps must have an identity: no nulls, and keys that are always there."""
    list_type, items = schema.get("x-kubernetes-list-type"), schema.get("items")
    if list_type not in ("set", "map") or not isinstance(items, dict):
        return
    if items.get("nullable"):
        detail = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        yield forbidden_field(f"{path}.items.nullable", detail)
    for key in dig_list(schema, "x-kubernetes-list-map-keys") if list_type == "map" else ():
        child = dig(items, "properties", key)
        if not isinstance(child, dict):
            continue
        about = "this property is in x-kubernetes-list-map-keys, so it"
        where = f"{path}.items.properties[{key}]"
        if key not in dig_list(items, "required") and child.get("default") is None:
            yield required(f"{where}.default", f"{about} must have a default or be a required property")
        if child.get("nullable"):
            yield forbidden_field(f"{where}.nullable", f"{about} cannot be nullable")


def _check_rule(rule: Any, schema: JsonObject, path: str) -> Iterator[FieldError]:
    """The outward form of a validation rule; its expression is the rule engine's business."""
    yield from _check_texts(rule, path)
    reason = dig(rule, "reason")
    if reason is not None and reason not in _REASONS:
        yield unsupported_value(f"{path}.reason", reason, _REASONS)
    field_path = str(dig(rule, "fieldPath") or "")
    if not field_path:
        return
    if not field_path.strip():
        yield invalid_value(f"{path}.fieldPath", field_path, "must be non-empty if specified")
    if _has_line_breaks(field_path):
        yield invalid_value(f"{path}.fieldPath", field_path, "must not contain line breaks")
    try:
        follow_field_path(field_path, schema)
    except FieldPathError:
        yield invalid_value(f"{path}.fieldPath", field_path, "must be a valid path")


def _check_texts(rule: Any, path: str) -> Iterator[FieldError]:
    text, message = str(dig(rule, "rule") or "").strip(), str(dig(rule, "message") or "")
    if not text:
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid_value(f"{path}.message", message, "must be non-empty if specified")
    elif _has_line_breaks(message.strip()):
        yield invalid_value(f"{path}.message", message, "must not contain line breaks")
    elif _has_line_breaks(text) and not message:
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    expression = str(dig(rule, "messageExpression") or "")
    if expression and not expression.strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")


def _has_line_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text
