"""The rule engine: `RuleCompiler` over the expression language."""

from __future__ import annotations

from collections.abc import Sequence

from edgekeeper.core.json import JsonObject
from edgekeeper.local.plane.errors import FieldError
from edgekeeper.local.plane.expressions.definitions import definition_errors
from edgekeeper.local.plane.expressions.evaluating import PlaceRules
from edgekeeper.local.plane.schema.rules import Budget, RuleCheck


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
