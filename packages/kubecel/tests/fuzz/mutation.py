"""Texts that were expressions once: pieces lost, doubled, swapped, nested or replaced by something hostile."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Final

from packages.kubecel.tests.fuzz.material import HOSTILE

_PIECE: Final = re.compile(r"\s+|\w+|'[^']*'|\"[^\"]*\"|[^\w\s]", re.DOTALL)
_BRACKETS: Final = ("()", "[]", "{}", "!()", "-()", "has()", "dyn()", "[?]")


def mutated(random: Random, text: str, other: str) -> str:
    """The text after a few changes; some of them take pieces from another text."""
    pieces = _PIECE.findall(text) or [""]
    for _ in range(random.randint(1, 4)):
        change = random.choice(_CHANGES)
        change(random, pieces, _PIECE.findall(other) or [""])
        if not pieces:
            break
    return "".join(pieces)


def _drop(random: Random, pieces: list[str], _: list[str]) -> None:
    start = random.randrange(len(pieces))
    del pieces[start : start + random.randint(1, 3)]


def _double(random: Random, pieces: list[str], _: list[str]) -> None:
    start = random.randrange(len(pieces))
    span = pieces[start : start + random.randint(1, 5)]
    pieces[start:start] = span * random.choice((1, 2, 10, 100))


def _swap(random: Random, pieces: list[str], _: list[str]) -> None:
    one, two = random.randrange(len(pieces)), random.randrange(len(pieces))
    pieces[one], pieces[two] = pieces[two], pieces[one]


def _replace(random: Random, pieces: list[str], other: list[str]) -> None:
    pieces[random.randrange(len(pieces))] = random.choice(other)


def _splice(random: Random, pieces: list[str], other: list[str]) -> None:
    place, start = random.randrange(len(pieces)), random.randrange(len(other))
    pieces[place:place] = other[start : start + random.randint(1, 12)]


def _harm(random: Random, pieces: list[str], _: list[str]) -> None:
    pieces.insert(random.randint(0, len(pieces)), random.choice(HOSTILE))


def _cut(random: Random, pieces: list[str], _: list[str]) -> None:
    del pieces[random.randint(0, len(pieces)) :]


def _scratch(random: Random, pieces: list[str], _: list[str]) -> None:
    """Change one character within a piece."""
    place = random.randrange(len(pieces))
    piece = pieces[place]
    if piece:
        at = random.randrange(len(piece))
        pieces[place] = piece[:at] + chr(random.choice((0, 9, 39, 92, 127, 0xE9, 0x1F600))) + piece[at + 1 :]


def _nest(random: Random, pieces: list[str], _: list[str]) -> None:
    bracket, levels = random.choice(_BRACKETS), random.choice((1, 3, 60, 200))
    pieces.insert(0, bracket[:-1] * levels)
    pieces.append(bracket[-1] * levels)


_CHANGES: Final[tuple[Callable[[Random, list[str], list[str]], None], ...]] = (
    *(_drop, _double, _swap, _replace, _splice, _harm, _cut, _scratch, _nest),
)
