"""Expressions for those who may never need them: the language is loaded with the first rule or condition.

Loading it takes a good part of the time in which a server starts, and most servers in tests never meet an expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.field_error import FieldError
from edgekeeper.schema.rules import Budget, RuleCheck, RuleCompiler
from kubesim.plane.webhook.review import AdmissionRequest


class LateRules:
    """A `RuleCompiler` that becomes one when it is first asked."""

    @cached_property
    def _engine(self) -> RuleCompiler:
        from edgekeeper.schema.expressions.engine import RuleEngine  # noqa: PLC0415 - see above

        return RuleEngine()

    def compile_rules(
        self, rules: list[JsonObject], schema: JsonObject, *, root: bool, budget: Budget
    ) -> RuleCheck:
        return self._engine.compile_rules(rules, schema, root=root, budget=budget)

    def definition_errors(
        self, schema: JsonObject, path: str, broken: Sequence[FieldError], *, lenient: bool
    ) -> list[FieldError]:
        # Definitions without any rule are the rule.
        if not _has_rules(schema):
            return []
        return self._engine.definition_errors(schema, path, broken, lenient=lenient)


RULES: Final = LateRules()
"""Shared by all servers of a process: it keeps nothing."""


def conditions_hold(conditions: Sequence[JsonObject], request: AdmissionRequest, version: str) -> bool:
    """Evaluate the match conditions of a webhook. Raises `ConditionError` if they cannot be evaluated."""
    from kubesim.plane.expressions.conditions import all_hold  # noqa: PLC0415 - see above

    return all_hold(conditions, request, version)


def condition_problem(expression: str) -> str:
    """Tell what is wrong with the expression of a match condition; empty if nothing is."""
    from kubesim.plane.expressions.conditions import problem_of  # noqa: PLC0415 - see above

    return problem_of(expression)


def _has_rules(schema: JsonObject) -> bool:
    waiting: list[object] = [schema]
    while waiting:
        current = waiting.pop()
        if isinstance(current, list):
            waiting.extend(current)
        elif isinstance(current, dict):
            if current.get("x-kubernetes-validations"):
                return True
            waiting.extend(current.values())
    return False
