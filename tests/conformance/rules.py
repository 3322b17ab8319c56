"""Schemas with validation rules, written short."""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject

Rule = str | JsonObject

INTEGER: JsonObject = {"type": "integer"}
TEXT: JsonObject = {"type": "string", "maxLength": 100}
NUMBERS: JsonObject = {"type": "array", "maxItems": 20, "items": INTEGER}
TEXTS: JsonObject = {"type": "array", "maxItems": 20, "items": TEXT}
SET: JsonObject = {**TEXTS, "x-kubernetes-list-type": "set"}
PAIRS: JsonObject = {
    "type": "array",
    "maxItems": 20,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {"type": "object", "required": ["name"], "properties": {"name": TEXT, "count": INTEGER}},
}


def ruled(schema: JsonObject, *rules: Rule) -> JsonObject:
    """A schema with rules. A bare text is a rule without anything else."""
    written = [rule if isinstance(rule, dict) else {"rule": rule} for rule in rules]
    return {**schema, "x-kubernetes-validations": written}


def fields(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties}


def map_of(values: JsonObject, **extra: Any) -> JsonObject:
    return {"type": "object", "maxProperties": 20, "additionalProperties": values, **extra}


def formatted(name: str) -> JsonObject:
    return {**TEXT, "format": name}
