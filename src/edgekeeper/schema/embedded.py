"""Objects inside objects: what `x-kubernetes-embedded-resource` demands of them.

They need a kind and an API version that could exist; nobody looks up whether they do.
"""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.field_error import FieldError, invalid_value, required
from edgekeeper.schema.node import Node
from edgekeeper.schema.pattern import compile_pattern
from edgekeeper.schema.walk import Local

_is_label = compile_pattern("^[a-z]([-a-z0-9]*[a-z0-9])?$")
_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def inspect_embedded(node: Node) -> Local | None:
    return _check_embedded if node.embedded and not node.root else None


def _check_embedded(value: Any, _old: Any, path: str, _unchanged: bool) -> list[FieldError]:
    if not isinstance(value, dict):
        return []
    missing = [required(f"{path}.{key}") for key in ("apiVersion", "kind") if key not in value]
    reasons = {
        "apiVersion": _api_version_error(value.get("apiVersion")) if "apiVersion" in value else "",
        "kind": _kind_error(value.get("kind")) if "kind" in value else "",
    }
    wrong = [invalid_value(f"{path}.{key}", value[key], reason) for key, reason in reasons.items() if reason]
    return missing + wrong + _check_metadata(value, path)


def _api_version_error(value: Any) -> str:
    if not isinstance(value, str):
        return "must be a string"
    if not value:
        return "must not be empty"
    return f"unexpected GroupVersion string: {value}" if value.count("/") > 1 else ""


def _kind_error(value: Any) -> str:
    if not isinstance(value, str):
        return "must be a string"
    if not value:
        return "must not be empty"
    if len(value) <= 63 and _is_label(value.lower()):
        return ""
    reason = _LABEL_RULE if len(value) <= 63 else "must be no more than 63 characters"
    return f"may have mixed case, but should otherwise match: {reason}"


def _check_metadata(value: JsonObject, path: str) -> list[FieldError]:
    """An embedded object may be nameless; if it has a name, it must be able to stand in a URL."""
    metadata = value.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        detail = "json: cannot unmarshal into Go value of type v1.ObjectMeta"
        return [invalid_value(f"{path}.metadata", metadata, detail)]
    name = (metadata or {}).get("name")
    if not isinstance(name, str):
        return []
    reasons = [f"may not be '{name}'"] if name in (".", "..") else []
    reasons += [f"may not contain '{mark}'" for mark in "/%" if mark in name]
    return [invalid_value(f"{path}.metadata.name", name, reason) for reason in reasons]
