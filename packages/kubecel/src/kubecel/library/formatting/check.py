"""Format strings that do not go with their arguments, found before anything runs.

Only calls are looked at whose format string and list of arguments are written out. Arguments of unknown type are given
the benefit of the doubt.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubecel.checker import CheckedAst, Finding, Validator
from kubecel.library.formatting.clauses import FormatError, parse_format, require_clause
from kubecel.library.formatting.dialect import Dialect, Verb, refusal
from kubecel.syntax import Call, Expr, ListLiteral, Literal, MapLiteral
from kubecel.types import Kind


def valid_formats(dialect: Dialect) -> Validator:
    """The validator for one dialect."""

    def validate(checked: CheckedAst) -> Iterator[Finding]:
        for node in checked.calls("format"):
            if len(node.args) != 1:
                continue
            text, arguments = node.target, node.args[0]
            if (
                isinstance(text, Literal)
                and isinstance(text.value, str)
                and isinstance(arguments, ListLiteral)
            ):
                yield from _problems(checked, node, (text.value, arguments.elements), dialect)

    return validate


def _problems(
    checked: CheckedAst, call: Call, written: tuple[str, tuple[Expr, ...]], dialect: Dialect
) -> Iterator[Finding]:
    """The first problem of a call."""
    text, arguments = written
    used = 0
    for piece in parse_format(text):
        if isinstance(piece, str):
            continue
        try:
            clause = require_clause(piece, used, len(arguments))
        except FormatError as error:
            yield call, str(error)
            return
        verb = dialect[clause.verb]
        if (misfit := _misfit(checked, arguments[used], verb, within=clause.verb == "s")) is not None:
            yield misfit, str(refusal(verb.complaint, checked.types[misfit.id].name))
            return
        used += 1
    if len(arguments) > used:
        yield call, f"too many arguments supplied to string.format (expected {used}, got {len(arguments)})"


def _misfit(checked: CheckedAst, argument: Expr, verb: Verb, *, within: bool) -> Expr | None:
    """The argument if the verb does not take it, or the part of it that is not taken."""
    kind = checked.types[argument.id].kind
    if kind is not Kind.DYN and kind not in verb.kinds:
        return argument
    parts: tuple[Expr, ...] = ()
    if within and isinstance(argument, ListLiteral):
        parts = argument.elements
    elif within and isinstance(argument, MapLiteral):
        parts = tuple(part for entry in argument.entries for part in (entry.key, entry.value))
    return next((misfit for part in parts if (misfit := _misfit(checked, part, verb, within=True))), None)
