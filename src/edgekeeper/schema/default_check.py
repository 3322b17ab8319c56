"""Defaults must be values that the schema around them accepts and keeps whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.schema.check import compile_check, run
from edgekeeper.schema.default import copy_json
from edgekeeper.schema.embedded import inspect_embedded
from edgekeeper.schema.field_error import FieldError, invalid_value
from edgekeeper.schema.node import META_FIELDS, Node
from edgekeeper.schema.problem import prefixed
from edgekeeper.schema.prune import compile_prune
from edgekeeper.schema.rules import Budget, RuleCompiler, inspect_rules
from edgekeeper.schema.walk import compile_walk, walk


def check_defaults(schema: JsonObject, path: str, rules: RuleCompiler | None = None) -> list[FieldError]:
    """Check all defaults in the schema of a kind."""
    return _Defaults(rules, Budget()).check(schema, path, is_object=True)


@dataclass(frozen=True, slots=True)
class _Defaults:
    """One walk over a schema. Rules that are tried on defaults share a budget."""

    rules: RuleCompiler | None
    budget: Budget

    def check(self, schema: JsonObject, path: str, *, is_object: bool) -> list[FieldError]:
        """Check a default here and those below. `is_object`: this is a whole object, with fields not to be defaulted."""
        errors: list[FieldError] = []
        if schema.get("default") is not None:
            errors += self._check_default(schema, f"{path}.default", is_object=is_object)
        if isinstance(schema.get("items"), dict):
            errors += self.check(schema["items"], f"{path}.items", is_object=False)
        has_meta = is_object or schema.get("x-kubernetes-embedded-resource")
        for key, child in dig_object(schema, "properties").items():
            if isinstance(child, dict) and not (has_meta and key in META_FIELDS):
                errors += self.check(child, f"{path}.properties[{key}]", is_object=False)
        return errors

    def _check_default(self, schema: JsonObject, path: str, *, is_object: bool) -> list[FieldError]:
        node, value = Node(schema), schema["default"]
        copy = copy_json(value)
        prune = compile_prune(node).get(type(copy))
        unknown = bool(prune and prune(copy))
        errors = [invalid_value(path, value, "must not have unknown fields")] if unknown else []
        return errors + (
            walk(compile_walk(node, inspect_embedded), value, path=path)
            or prefixed([problem.error() for problem in run(compile_check(node), value)], path)
            or self._broken_rules(Node(schema, root=is_object), value, path)
        )

    def _broken_rules(self, node: Node, value: Any, path: str) -> list[FieldError]:
        """A default must be right both where it stays as it was and where it is new."""
        if self.rules is None:
            return []
        table = compile_walk(node, inspect_rules(self.rules, self.budget))
        found = walk(table, value, value, path) or walk(table, value, None, path)
        return [replace(error, tolerated=False) for error in found]
