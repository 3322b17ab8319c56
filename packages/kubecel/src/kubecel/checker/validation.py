"""Further demands on expressions whose types are right: what environments ask for beyond the language.

A validator looks at a checked expression and says what it finds; the findings are compile errors like any other. They are
asked in order, and only if the types are right. Libraries may bring validators of their own (a format string that does
not go with its arguments); those here concern the language itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kubecel.checker import messages
from kubecel.errors import EvaluationError
from kubecel.syntax import Call, Expr, ListLiteral, Literal, MapLiteral, children
from kubecel.types import Kind, Type

if TYPE_CHECKING:
    from kubecel.checker.checked import CheckedAst, Finding

_CONVERSIONS: Final = ("duration", "timestamp")
_PATTERN_FUNCTION: Final = "matches"
_MIXED_ARGUMENTS: Final = frozenset({"format"})
"""Functions whose arguments are lists of anything by design."""


def valid_literals(checked: CheckedAst) -> Iterator[Finding]:
    """Literal arguments of `duration`, `timestamp` and `matches` are tried out, so that typing errors show early."""
    for name in (*_CONVERSIONS, _PATTERN_FUNCTION):
        for node in checked.calls(name):
            if _fails_on_literal(checked, node):
                yield node.args[0], messages.invalid_argument(name)


def _fails_on_literal(checked: CheckedAst, node: Call) -> bool:
    argument = node.args[0] if node.args else None
    if not isinstance(argument, Literal) or (node.function == _PATTERN_FUNCTION and node.target is None):
        return False
    arguments = ("", argument.value) if node.target is not None else (argument.value,)
    try:
        for overload in checked.overloads[node.id]:
            overload.implementation(*arguments)
    except EvaluationError:
        return True
    return False


def homogeneous_literals(checked: CheckedAst) -> Iterator[Finding]:
    """All elements of a list literal have one type, and so have all keys and all values of a map literal."""
    if "[" not in checked.ast.source and "{" not in checked.ast.source:
        return
    waiting = [checked.ast.root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call) and node.function in _MIXED_ARGUMENTS:
            if node.target is not None:
                waiting.append(node.target)
            continue
        if isinstance(node, ListLiteral):
            yield from _mixed_elements(checked, node)
        elif isinstance(node, MapLiteral):
            yield from _mixed_entries(checked, node)
        waiting.extend(reversed(list(children(node))))


def _mixed_elements(checked: CheckedAst, node: ListLiteral) -> Iterator[Finding]:
    first: Type | None = None
    for index, element in enumerate(node.elements):
        found = _type_of(checked, element, optional=index in node.optional)
        first = first or found
        if not _equivalent(first, found):
            yield element, messages.type_mismatch(first, found)
            return


def _mixed_entries(checked: CheckedAst, node: MapLiteral) -> Iterator[Finding]:
    first_key: Type | None = None
    first_value: Type | None = None
    for entry in node.entries:
        key = _type_of(checked, entry.key)
        value = _type_of(checked, entry.value, optional=entry.optional)
        first_key, first_value = first_key or key, first_value or value
        if not _equivalent(first_key, key):
            yield entry.key, messages.type_mismatch(first_key, key)
        if not _equivalent(first_value, value):
            yield entry.value, messages.type_mismatch(first_value, value)


def _type_of(checked: CheckedAst, node: Expr, *, optional: bool = False) -> Type:
    found = checked.types[node.id]
    return found.params[0] if optional and found.kind is Kind.OPTIONAL else found


def _equivalent(one: Type, other: Type) -> bool:
    """Equal, except that a primitive which may be null is as good as one that may not."""
    return one == other or (
        one.kind is other.kind and one.name == other.name and not one.params and not other.params
    )
