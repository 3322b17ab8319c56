"""One rule looked at without any value: does it compile, and to the right type?"""

from __future__ import annotations

from dataclasses import dataclass

from edgekeeper.schema.expressions.scope import OLD_SELF, Scope
from edgekeeper.schema.expressions.written import WrittenRule
from kubecel.checker import CheckedAst
from kubecel.errors import CompileError
from kubecel.types import BOOL, STRING


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found out about a rule."""

    rule: CheckedAst | None
    problem: str = ""
    """Why there is no rule. Nothing else is known then."""
    message: CheckedAst | None = None
    message_problem: str = ""

    @property
    def uses_old(self) -> bool:
        """Whether it compares with what stood there before, and says nothing about values that are new."""
        return self.rule is not None and OLD_SELF in self.rule.names.values()


def examine(written: WrittenRule, scope: Scope) -> Examined:
    environment = scope.environment(optional=bool(written.optional_old_self))
    try:
        rule = environment.check(written.rule)
    except CompileError as error:
        return Examined(None, f"compilation failed: {error.render(written.rule)}")
    if rule.type != BOOL:
        return Examined(None, "cel expression must evaluate to a bool")
    if not written.message_expression:
        return Examined(rule)
    try:
        message = environment.check(written.message_expression)
    except CompileError as error:
        why = f"messageExpression compilation failed: {error.render(written.message_expression)}"
        return Examined(rule, message_problem=why)
    if message.type != STRING:
        return Examined(rule, message_problem="messageExpression must evaluate to a string")
    return Examined(rule, message=message)
