"""JSON merge patch (RFC 7386)."""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.plane.errors import bad_request
from kubesim.plane.patch.golang import json_name
from kubesim.plane.patch.tree import clone


def merge_patch(document: JsonObject, patch: Any) -> JsonObject:
    """Return `document` with the decoded merge patch applied."""
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {json_name(patch)} into Go value of type map[string]interface {{}}"
        )
    return _merged(document, patch)


def _merged(document: JsonObject, patch: JsonObject) -> JsonObject:
    result = {key: clone(value) for key, value in document.items() if key not in patch}
    for key, value in patch.items():
        if value is None:
            continue
        current = document.get(key)
        if isinstance(current, dict):
            result[key] = _merged(current, value) if isinstance(value, dict) else clone(value)
        else:
            result[key] = _without_nulls(value)
    return _in_order(document, result)


def _in_order(document: JsonObject, result: JsonObject) -> JsonObject:
    """Keep the fields of the document where they were: objects that are only touched do not get shuffled."""
    kept = {key: result.pop(key) for key in document if key in result}
    return kept | result


def _without_nulls(value: Any) -> Any:
    """Copy a value that is new in the document: its nulls have nothing to remove. List items keep their places."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
