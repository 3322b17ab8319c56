"""What a built-in object is before anything is set.

The API server creates built-in objects in Go structs. Structs nested by value are there from the start (`spec: {}`,
`strategy: {}`) and lists that are always written are null, so a creator owns what is inside them but never the
structs themselves, as it does with those that it added. The schemas tell the two apart: a reference with the default
`{}` is a struct held by value, without it a pointer.

Custom resources have no structs behind them; before they are created there is nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from edgekeeper.core.json import JsonObject


def reference(schema: JsonObject) -> str:
    """The definition a schema refers to, directly or in a one-element `allOf`; empty if it is inline."""
    target = schema.get("$ref")
    if target is None:
        all_of = schema.get("allOf", ())
        if len(all_of) != 1:
            return ""
        target = all_of[0].get("$ref", "")
    return str(target).rpartition("/")[2]


def zero_struct(schema: JsonObject, definitions: Mapping[str, JsonObject]) -> JsonObject:
    """The empty struct of a definition, or of an inline schema that refers to definitions."""
    name = reference(schema)
    struct = definitions.get(name, {}) if name else schema
    required = struct.get("required", ())
    zero: JsonObject = {}
    for field, property_ in struct.get("properties", {}).items():
        is_struct = "properties" in definitions.get(reference(property_), ())
        if is_struct and property_.get("default") == {}:
            zero[field] = zero_struct(property_, definitions)
        elif field in required and (is_struct or property_.get("type") in {"array", "object"}):
            zero[field] = None
    return zero
