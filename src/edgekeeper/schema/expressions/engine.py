"""The rule engine: `RuleCompiler` over the expression language."""

from __future__ import annotations

from collections.abc import Sequence

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.expressions.definitions import definition_errors
from edgekeeper.schema.expressions.evaluating import PlaceRules
from edgekeeper.schema.field_error import FieldError
from edgekeeper.schema.rules import Budget, RuleCheck


class RuleEngine:
    """Checks and evaluates validation rules. See `RuleCompiler` for what is asked of it."""

    def compile_rules(
        self, rules: list[JsonObject], schema: JsonObject, *, root: bool, budget: Budget
    ) -> RuleCheck:
        return PlaceRules(rules, schema, root=root, budget=budget).check

    def definition_errors(
        self, schema: JsonObject, path: str, broken: Sequence[FieldError], *, lenient: bool
    ) -> list[FieldError]:
        return definition_errors(schema, path, broken, lenient=lenient)
