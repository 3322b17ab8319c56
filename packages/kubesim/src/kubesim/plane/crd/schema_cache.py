"""Schemas of definitions, compiled and checked once in a process, however many of its servers have the definition.

Tests start a server each and create the same definitions in it. A compiled schema keeps nothing of the objects that it
has seen, so servers can share it.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from edgekeeper.core.json import JsonObject
from edgekeeper.schema import CompiledSchema, RuleCompiler, compile_schema
from edgekeeper.schema.field_error import FieldError
from edgekeeper.schema.structural import check_structural

_MOST = 128


def compiled_schema(schema: JsonObject, rules: RuleCompiler | None) -> CompiledSchema:
    """The compiled schema. The same one for equal schemas and the same rules."""
    return _compiled(msgspec.json.encode(schema), rules)


def structural_errors(
    schema: JsonObject, path: str, *, status: bool, rules: RuleCompiler | None, seen_before: bool
) -> list[FieldError]:
    """What `check_structural` returns."""
    return list(_errors(msgspec.json.encode(schema), path, status, rules, seen_before))


@lru_cache(maxsize=_MOST)
def _compiled(text: bytes, rules: RuleCompiler | None) -> CompiledSchema:
    return compile_schema(msgspec.json.decode(text), rules=rules)


@lru_cache(maxsize=_MOST)
def _errors(
    text: bytes, path: str, status: bool, rules: RuleCompiler | None, seen_before: bool
) -> tuple[FieldError, ...]:
    schema = msgspec.json.decode(text)
    return tuple(check_structural(schema, path, status=status, rules=rules, seen_before=seen_before))
