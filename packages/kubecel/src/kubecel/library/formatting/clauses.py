"""The grammar of format strings: `%[.precision]verb`, where `%%` is a percent sign."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

DEFAULT_PRECISION: Final = 6

_VERBS: Final = frozenset("sdfebxXo")
_DIGITS: Final = frozenset("0123456789")
_LONGEST_PRECISION: Final = 18
_CACHED_LENGTH: Final = 1024
"""Longer format strings are rare, and parsed each time."""


class FormatError(ValueError):
    """The format string is wrong, or an argument does not fit its clause."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One place where an argument goes."""

    verb: str
    precision: int = DEFAULT_PRECISION


@dataclass(frozen=True, slots=True)
class Broken:
    """Where the format string stops making sense; counts only if formatting gets that far."""

    problem: str


Piece: TypeAlias = str | Clause | Broken


def parse_format(text: str) -> tuple[Piece, ...]:
    """The pieces of a format string, up to the first that is broken."""
    return _parse_cached(text) if len(text) <= _CACHED_LENGTH else _parse(text)


def require_clause(piece: Clause | Broken, index: int, count: int) -> Clause:
    """The clause for the argument with this index. Raise `FormatError` if there is no such argument, or no clause."""
    if index >= count:
        raise FormatError(f"index {index} out of range")
    if isinstance(piece, Broken):
        raise FormatError(piece.problem)
    return piece


@lru_cache(256)
def _parse_cached(text: str) -> tuple[Piece, ...]:
    return _parse(text)


def _parse(text: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    position = 0
    while position < len(text):
        percent = text.find("%", position)
        if percent != position:
            end = percent if percent >= 0 else len(text)
            pieces.append(text[position:end])
            position = end
        elif text.startswith("%%", position):
            pieces.append("%")
            position += 2
        else:
            try:
                clause, position = _parse_clause(text, position + 1)
            except FormatError as error:
                return (*pieces, Broken(str(error)))
            pieces.append(clause)
    return tuple(pieces)


def _parse_clause(text: str, start: int) -> tuple[Clause, int]:
    """The clause after a percent sign, and where it ends."""
    if start >= len(text):
        raise FormatError("unexpected end of string")
    precision, position = _parse_precision(text, start)
    verb = text[position]
    if verb not in _VERBS:
        raise FormatError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
    return Clause(verb, precision), position + 1


def _parse_precision(text: str, start: int) -> tuple[int, int]:
    if text[start] != ".":
        return DEFAULT_PRECISION, start
    end = start + 1
    while end < len(text) and text[end] in _DIGITS:
        end += 1
    problem = "could not parse formatting clause: error while parsing precision: "
    if end >= len(text):
        raise FormatError(f"{problem}could not find end of precision specifier")
    digits = text[start + 1 : end]
    if not 1 <= len(digits) <= _LONGEST_PRECISION:
        reason = "value out of range" if digits else "invalid syntax"
        raise FormatError(
            f'{problem}error while converting precision to integer: strconv.Atoi: parsing "{digits}": {reason}'
        )
    return int(digits), end
