"""Conditions that authors define: `status.conditions`, a list of expressions that make conditions.

They replace the built-in ones in the status of instances. They may read the built-in ones, but not each other, and no
two entries may make a condition of the same type.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from edgekeeper.controllers.composition.checking import CompiledExpression, Scope
from edgekeeper.controllers.composition.expressions import Expression, read_standalone
from edgekeeper.controllers.composition.inspection import Inspector
from edgekeeper.controllers.composition.names import RUNTIME, SCHEMA
from edgekeeper.controllers.composition.rejection import RejectedError, quoted, rejected_below
from kubecel.library.kro.conditions import STATUSES, is_condition
from kubecel.syntax import Call, Expr, Ident, Literal, MapLiteral, walk
from kubecel.types import Kind, Type

BUILT_IN: Final = ("InstanceManaged", "GraphResolved", "ResourcesReady", "Ready")
"""Conditions that instances have, whether or not they are shown."""


def read_conditions(written: Any) -> list[Expression]:
    """The expressions of `status.conditions`; raises RejectedError with a path below the list."""
    with rejected_below("failed to extract conditions block"):
        if not isinstance(written, list):
            raise RejectedError(f"status.conditions must be a list, got {_name_of(written)}")
        for index, entry in enumerate(written):
            if not isinstance(entry, str):
                found = f"must be a CEL expression string, got {_name_of(entry)}"
                raise RejectedError(f"status.conditions[{index}] {found}", f"[{index}]")
    expressions: list[Expression] = []
    for index, entry in enumerate(written):
        with rejected_below("invalid conditions block", f"[{index}]"):
            expressions.append(read_standalone(entry))
    return expressions


def compile_conditions(
    expressions: Sequence[Expression], scope: Scope, inspector: Inspector
) -> tuple[CompiledExpression, ...]:
    """Check and compile conditions; raises RejectedError with a path below the list."""
    roots = [inspector.parse(expression) for expression in expressions]
    declared = _declared_types(roots)
    compiled: list[CompiledExpression] = []
    for index, (expression, root) in enumerate(zip(expressions, roots, strict=True)):
        with rejected_below("", f"[{index}]"):
            _check_calls(root, declared, expression)
            compiled.append(_compile(expression, scope, inspector))
    return tuple(compiled)


def _compile(expression: Expression, scope: Scope, inspector: Inspector) -> CompiledExpression:
    shown = quoted(expression.written)
    with rejected_below(f"condition {shown}"):
        inspector.restricted(expression, {*inspector.ids, SCHEMA, RUNTIME})
    with rejected_below(f"failed to type-check condition {shown}"):
        program = scope.compile(expression)
    if not _makes_conditions(program.type):
        must = "condition expressions must return runtime.newCondition(...) or a list of them"
        raise RejectedError(f"condition {shown}: {must}, got {quoted(str(program.type))}")
    return CompiledExpression(expression, program)


def _makes_conditions(kind: Type) -> bool:
    return is_condition(kind.params[0] if kind.kind is Kind.LIST else kind)


def _declared_types(roots: Sequence[Expr]) -> set[str]:
    """The types that entries make, as far as they are written out."""
    declared: set[str] = set()
    for index, root in enumerate(roots):
        types = {
            value
            for call in _calls(root, "newCondition")
            if (value := _entry(call, "type")) is not None and value
        }
        if repeated := sorted(types & declared):
            message = f"condition type {quoted(repeated[0])} is declared by more than one conditions entry"
            raise RejectedError(message, f"[{index}]")
        declared |= types
    return declared


def made_types(expression: CompiledExpression) -> frozenset[str]:
    """The types of the conditions that an expression makes, as far as they are written out."""
    entries = (_entry(call, "type") for call in _calls(expression.program.ast.root, "newCondition"))
    return frozenset(entry for entry in entries if entry)


def _check_calls(root: Expr, declared: Collection[str], expression: Expression) -> None:
    place = f"in expression {quoted(expression.source)}"
    for call in _calls(root, "newCondition"):
        status = _entry(call, "status")
        if status is not None and status not in STATUSES:
            must = f"status must be one of {', '.join(STATUSES)} (got {quoted(status)})"
            raise RejectedError(f"runtime.newCondition: {must} {place}")
        if _entry(call, "type") == "":
            raise RejectedError(f"runtime.newCondition: type must not be empty {place}")
    for call in _calls(root, "condition"):
        _check_lookup(call, declared, place)


def _check_lookup(call: Call, declared: Collection[str], place: str) -> None:
    """Of the instance only built-in conditions can be read: author's conditions do not see each other."""
    if len(call.args) != 2 or not (isinstance(call.args[0], Ident) and call.args[0].name == SCHEMA):
        return
    wanted = _text(call.args[1])
    if wanted is None or wanted in BUILT_IN:
        return
    lookup = f"runtime.condition(schema, {quoted(wanted)})"
    if wanted in declared:
        raise RejectedError(f"{lookup}: custom conditions cannot reference each other {place}")
    known = f"only kro's built-in types ({', '.join(BUILT_IN)}) can be read from schema"
    raise RejectedError(f"{lookup}: unknown condition type; {known} {place}")


def _calls(root: Expr, function: str) -> Iterator[Call]:
    for node in walk(root):
        if (
            isinstance(node, Call)
            and node.function == function
            and isinstance(node.target, Ident)
            and node.target.name == RUNTIME
        ):
            yield node


def _entry(call: Call, key: str) -> str | None:
    """A string that is written out in the map that a call is given."""
    argument = call.args[0] if call.args else None
    if not isinstance(argument, MapLiteral):
        return None
    values = (entry.value for entry in argument.entries if _text(entry.key) == key)
    return next((_text(value) for value in values), None)


def _text(node: Expr) -> str | None:
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else None


def _name_of(value: Any) -> str:
    return {dict: "object", list: "list", bool: "boolean", int: "integer", str: "string"}.get(
        type(value), type(value).__name__ if value is not None else "null"
    )
