"""The rules of one place, evaluated on values: what the real server would say about them, in its words.

Programs are compiled when a value first stands there. Of a large schema most places never meet one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.expressions.examining import examine
from edgekeeper.schema.expressions.scope import OLD_SELF, SELF, Scope, scope_of
from edgekeeper.schema.expressions.written import WrittenRule
from edgekeeper.schema.field_error import (
    NO_VALUE,
    FieldError,
    duplicate_value,
    forbidden_field,
    invalid_value,
    required,
)
from edgekeeper.schema.field_path import FieldPathError, follow_field_path
from edgekeeper.schema.gotext import quote
from edgekeeper.schema.problem import NO_FIELD
from edgekeeper.schema.rules import Budget
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.native import Converter, converter_for
from kubecel.program import Program
from kubecel.values import NONE, Optional

MOST_PER_CALL: Final = 1_000_000
_LONGEST_MESSAGE: Final = 5 * 1024
_NO_MORE: Final = "no further validation rules will be run"
_OUT_OF_BUDGET: Final = "failed due to running out of cost budget"


class _SpentError(Exception):
    """No further rule of the object is evaluated. The text says why."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule that is ready to be evaluated, or what keeps it from being so."""

    written: WrittenRule
    program: Program | None
    problem: str
    message: Program | None
    uses_old: bool
    field_path: str

    @property
    def optional(self) -> bool:
        """Whether it wants to see old values as optionals, and values that are new as well."""
        return bool(self.written.optional_old_self)


@dataclass(frozen=True, slots=True)
class _Case:
    """One value to be judged."""

    value: Any
    old: Any
    path: str
    unchanged: bool


class PlaceRules:
    """All rules of one place."""

    def __init__(self, sources: list[JsonObject], schema: JsonObject, *, root: bool, budget: Budget) -> None:
        self._sources = sources
        self._schema = schema
        self._root = root
        self._budget = budget
        self._type = schema.get("type") or ""

    def check(self, value: Any, old: Any, path: str, unchanged: bool) -> list[FieldError]:
        """Return what the rules find wrong with a value. This is a `RuleCheck`."""
        if self._budget.left < 0:
            return []
        return list(self._judge(_Case(value, old, path or NO_FIELD, unchanged)))

    @cached_property
    def _rules(self) -> list[_Rule]:
        scope = scope_of(self._schema, root=self._root)
        if scope is None:
            return []  # what has no type is not visible to rules, not even to its own
        return [_ready(WrittenRule.of(source), self._schema, scope) for source in self._sources]

    @cached_property
    def _convert(self) -> Converter:
        return converter_for(self._schema)

    def _judge(self, case: _Case) -> Iterator[FieldError]:
        plain, optional = self._variables(case)
        try:
            self._pay(1 if self._budget.left == 0 else 0, "validation")
            for rule in self._rules:
                if rule.uses_old and case.old is None and not rule.optional:
                    continue
                yield from self._apply(rule, case, optional if rule.optional else plain)
                if self._budget.left < 0:
                    return
        except _SpentError as reason:
            yield self._stop(case.path, reason)

    def _stop(self, path: str, reason: _SpentError) -> FieldError:
        self._budget.left = -1
        return invalid_value(path, self._type, str(reason))

    def _variables(self, case: _Case) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The variables for rules that want old values as they are, and for those that want them as optionals."""
        current = {SELF: self._convert(case.value)}
        if not any(rule.uses_old for rule in self._rules):
            return current, current
        if case.old is None:
            return current, {**current, OLD_SELF: NONE}
        old = self._convert(case.old)
        return {**current, OLD_SELF: old}, {**current, OLD_SELF: Optional.of(old)}

    def _apply(self, rule: _Rule, case: _Case, variables: Mapping[str, Any]) -> Iterator[FieldError]:
        if rule.program is None:
            yield invalid_value(case.path, self._type, f"rule compile error: {rule.problem}")
            return
        try:
            holds = self._run(rule.program, variables, "validation")
        except EvaluationError as error:
            yield invalid_value(case.path, self._type, _failure(rule, error))
            return
        if not holds:
            yield self._complaint(rule, case, variables)

    def _run(self, program: Program, variables: Mapping[str, Any], what: str) -> Any:
        """Evaluate at the expense of the object's budget."""
        try:
            value, cost = program.measure(variables, budget=MOST_PER_CALL)
        except EvaluationError as error:
            self._pay(error.cost, what)
            raise
        self._pay(cost, what)
        return value

    def _pay(self, cost: int, what: str) -> None:
        if cost > self._budget.left:
            raise _SpentError(f"{what} {_OUT_OF_BUDGET}, {_NO_MORE}")
        self._budget.left -= cost

    def _complaint(self, rule: _Rule, case: _Case, variables: Mapping[str, Any]) -> FieldError:
        """What to say if a rule does not hold. Values that were no better before are tolerated."""
        path = _below(case.path, rule.field_path)
        try:
            text = self._worded(rule, variables) or rule.written.complaint
            value = NO_VALUE if self._type in ("object", "array") else case.value
            error = _with_reason(rule.written.reason, path, value, text)
        except _SpentError as reason:
            error = self._stop(path, reason)
        return replace(error, tolerated=case.unchanged and not rule.uses_old)

    def _worded(self, rule: _Rule, variables: Mapping[str, Any]) -> str:
        """The message as its expression has it; empty where that makes none that could be shown."""
        if rule.message is None:
            return ""
        try:
            text = self._run(rule.message, variables, "messageExpression evaluation")
        except EvaluationError as error:
            if error.kind is not ErrorKind.COST_EXCEEDED:
                return ""
            source = quote(rule.written.message_expression)
            why = f"{_NO_MORE} due to call cost exceeds limit for messageExpression: {source}"
            raise _SpentError(why) from error
        message = str(text).strip()
        return "" if "\n" in message or len(message.encode()) > _LONGEST_MESSAGE else message


def _ready(written: WrittenRule, schema: JsonObject, scope: Scope) -> _Rule:
    found = examine(written, scope)
    environment = scope.environment(optional=bool(written.optional_old_self))
    return _Rule(
        written=written,
        program=None if found.rule is None else environment.program(found.rule),
        problem=found.problem,
        message=None if found.message is None else environment.program(found.message),
        uses_old=found.uses_old,
        field_path=_normal_path(written.field_path, schema),
    )


def _normal_path(path: str, schema: JsonObject) -> str:
    try:
        return follow_field_path(path, schema)
    except FieldPathError:
        # Definitions from before paths were checked: their errors are about the place of the rule.
        return ""


def _below(path: str, field_path: str) -> str:
    if not field_path:
        return path
    return field_path if path == NO_FIELD else f"{path}.{field_path}"


def _failure(rule: _Rule, error: EvaluationError) -> str:
    """What to say of a rule that could not be evaluated. That is never tolerated, whatever was there before."""
    shown = rule.written.shown
    if error.kind is ErrorKind.COST_EXCEEDED:
        raise _SpentError(f"'{error.message}': {_NO_MORE} due to call cost exceeds limit for rule: {shown}")
    if error.kind is ErrorKind.NO_SUCH_OVERLOAD:
        why = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error.message}': {why}: {shown}"
    return f"{error.message} evaluating rule: {shown}"


def _with_reason(reason: str | None, path: str, value: Any, text: str) -> FieldError:
    match reason:
        case "FieldValueForbidden":
            return forbidden_field(path, text)
        case "FieldValueRequired":
            return required(path, text)
        case "FieldValueDuplicate":
            return duplicate_value(path, value)
    return invalid_value(path, value, text)
