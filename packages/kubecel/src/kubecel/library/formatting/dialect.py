"""What a dialect says about each verb, and how a format string is filled in by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kubecel.errors import invalid_argument
from kubecel.library.formatting.clauses import Clause, FormatError, parse_format, require_clause
from kubecel.limits import check_size
from kubecel.types import Kind
from kubecel.values import type_of_value

Write: TypeAlias = Callable[[Any, Clause], str | None]
"""Makes a text of an argument; None if the argument is nothing for this verb."""

STRING_COMPLAINT: Final = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
    "and timestamps"
)
STRING_KINDS: Final = frozenset(
    {
        Kind.LIST, Kind.MAP, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.BOOL, Kind.STRING, Kind.TIMESTAMP,
        Kind.BYTES, Kind.DURATION, Kind.TYPE, Kind.NULL,
    }
)  # fmt: skip
"""What `%s` takes, in both dialects."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One letter after the percent sign."""

    write: Write
    kinds: frozenset[Kind]
    """Of the arguments it takes."""
    complaint: str
    """About all others."""


Dialect: TypeAlias = Mapping[str, Verb]


def refusal(complaint: str, type_name: str) -> FormatError:
    return FormatError(f"error during formatting: {complaint}, was given {type_name}")


def format_arguments(text: str, arguments: Sequence[Any], dialect: Dialect) -> str:
    """Put the arguments into their places. Raise `EvaluationError` where that is impossible."""
    pieces: list[str] = []
    size = used = 0
    for piece in parse_format(text):
        if isinstance(piece, str):
            written = piece
        else:
            try:
                written = _write(require_clause(piece, used, len(arguments)), arguments[used], dialect)
            except FormatError as error:
                raise invalid_argument(str(error)) from error
            used += 1
        size += len(written)
        check_size(size)
        pieces.append(written)
    return "".join(pieces)


def _write(clause: Clause, argument: Any, dialect: Dialect) -> str:
    verb = dialect[clause.verb]
    written = verb.write(argument, clause)
    if written is None:
        raise refusal(verb.complaint, type_of_value(argument).name)
    return written
