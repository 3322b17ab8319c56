"""Defaults must be values that the schema around them accepts and keeps whole."""

from __future__ import annotations

from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.local.plane.errors import FieldError, invalid_value
from edgekeeper.local.plane.schema.check import compile_check, run
from edgekeeper.local.plane.schema.default import copy_json
from edgekeeper.local.plane.schema.embedded import inspect_embedded
from edgekeeper.local.plane.schema.node import META_FIELDS, Node
from edgekeeper.local.plane.schema.problem import prefixed
from edgekeeper.local.plane.schema.prune import compile_prune
from edgekeeper.local.plane.schema.walk import compile_walk, walk


def check_defaults(schema: JsonObject, path: str, *, is_object: bool = True) -> list[FieldError]:
    """Check a default here and those below. `is_object`: this is a whole object, with fields not to be defaulted."""
    errors: list[FieldError] = []
    if schema.get("default") is not None:
        errors += _check_default(schema, f"{path}.default")
    if isinstance(schema.get("items"), dict):
        errors += check_defaults(schema["items"], f"{path}.items", is_object=False)
    has_meta = is_object or schema.get("x-kubernetes-embedded-resource")
    for key, child in dig_object(schema, "properties").items():
        if isinstance(child, dict) and not (has_meta and key in META_FIELDS):
            errors += check_defaults(child, f"{path}.properties[{key}]", is_object=False)
    return errors


def _check_default(schema: JsonObject, path: str) -> list[FieldError]:
    node, value = Node(schema), schema["default"]
    copy = copy_json(value)
    prune = compile_prune(node).get(type(copy))
    unknown = bool(prune and prune(copy))
    errors = [invalid_value(path, value, "must not have unknown fields")] if unknown else []
    invalid = walk(compile_walk(node, inspect_embedded), value, path=path)
    return errors + (
        invalid or prefixed([problem.error() for problem in run(compile_check(node), value)], path)
    )
