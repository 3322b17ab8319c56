"""What both dialects share: which values are which, and texts that cannot grow out of hand.

A value may share parts with itself (a list that holds the same list twice, which …), so its text can be much longer than
the value is large. Texts are therefore written piece by piece, and the size is checked at every piece.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from kubecel.library.formatting.clauses import Clause
from kubecel.library.nesting import check_depth
from kubecel.library.notation import utf8
from kubecel.limits import check_size
from kubecel.values import key_value

Spell: TypeAlias = Callable[[Any], str]
"""Writes a value that is neither list nor map."""


class Text:
    """A text that is being written."""

    __slots__ = ("_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0

    def add(self, piece: str) -> None:
        self._size += len(piece)
        check_size(self._size)
        self._pieces.append(piece)

    def __str__(self) -> str:
        return "".join(self._pieces)


class Writer:
    """Writes lists and maps. Entries of maps come in the order of their keys' texts."""

    __slots__ = ("_colon", "_key", "_scalar", "_text")

    def __init__(self, scalar: Spell, key: Spell, colon: str) -> None:
        self._scalar = scalar
        self._key = key
        self._colon = colon
        self._text = Text()

    def write(self, value: Any) -> str:
        self._add(value, 0)
        return str(self._text)

    def _add(self, value: Any, depth: int) -> None:
        check_depth(depth)
        if isinstance(value, list | tuple):
            self._add_list(value, depth + 1)
        elif isinstance(value, dict):
            self._add_map(value, depth + 1)
        else:
            self._text.add(self._scalar(value))

    def _add_list(self, elements: Sequence[Any], depth: int) -> None:
        self._text.add("[")
        for index, element in enumerate(elements):
            if index:
                self._text.add(", ")
            self._add(element, depth)
        self._text.add("]")

    def _add_map(self, entries: Mapping[Any, Any], depth: int) -> None:
        keyed = [(self._key(key_value(key)), value) for key, value in entries.items()]
        self._text.add("{")
        for index, (key, value) in enumerate(sorted(keyed, key=_first)):
            self._text.add(f"{', ' if index else ''}{key}{self._colon}")
            self._add(value, depth)
        self._text.add("}")


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]


def is_integer(value: Any) -> bool:
    """Signed or unsigned."""
    return isinstance(value, int) and not isinstance(value, bool)


def binary(value: Any, _: Clause) -> str | None:
    return format(int(value), "b") if isinstance(value, int) else None


def octal(value: Any, _: Clause) -> str | None:
    return format(int(value), "o") if is_integer(value) else None


def hexadecimal(value: Any, clause: Clause) -> str | None:
    """The digits of an integer, or of each byte of a string or byte sequence."""
    if is_integer(value):
        digits = format(int(value), "x")
    elif isinstance(value, str | bytes):
        check_size(2 * len(value))
        digits = (utf8(value) if isinstance(value, str) else value).hex()
    else:
        return None
    return digits.upper() if clause.verb == "X" else digits
