"""Where the expressions in a text are: `${…}`.

    ${schema.spec.replicas}          standalone: the value of the expression takes the place of the text
    http://${service.name}:8080      a template: the values, which must be strings, are put into the text
    ${unfinished                     no expression: text

The closing bracket is found by counting brackets, except for those in double quotes: single quotes do not protect them,
as in kro. Expressions within expressions are refused, unless they directly follow a double quote: `${"${X}"}` is how
an author writes the text `${X}`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from edgekeeper.controllers.composition.rejection import RejectedError

OPEN: Final = "${"
CLOSE: Final = "}"
_NESTED: Final = "nested expressions are not allowed unless inside string literals"
_NOT_STANDALONE: Final = "only standalone expressions are allowed"


@dataclass(frozen=True, slots=True)
class Found:
    """An expression in a text, and where it stands with its brackets."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression of a definition."""

    source: str
    """What is compiled."""
    template: str = ""
    """The text that it was made of, if that is a template."""

    @property
    def written(self) -> str:
        """As its author wrote it, for messages: without brackets, unless it is a template."""
        return self.template or self.source

    @property
    def in_place(self) -> str:
        """The text that stands in the definition."""
        return self.template or f"{OPEN}{self.source}{CLOSE}"


def find_expressions(text: str) -> list[Found]:
    """The expressions in a text, in order. Raise RejectedError where one is within another."""
    found: list[Found] = []
    position = 0
    while (start := text.find(OPEN, position)) >= 0:
        end = _closing(text, start)
        if end is None:
            position = start + 1  # text; there may still be expressions behind it
            continue
        found.append(Found(text[start + len(OPEN) : end], start, end + 1))
        position = end + 1
    return found


def _closing(text: str, start: int) -> int | None:
    """Where the bracket that opens at `start` is closed."""
    depth, quoted, position = 1, False, start + len(OPEN)
    while position < len(text):
        character = text[position]
        if quoted and character == "\\":
            position += 1
        elif character == '"':
            quoted = not quoted
        elif not quoted and character == "{":
            depth += 1
        elif not quoted and character == CLOSE:
            depth -= 1
            if depth == 0:
                return position
        elif not quoted and text.startswith(OPEN, position) and text[position - 1] != '"':
            raise RejectedError(_NESTED)
        position += 1
    return None


def read_expression(text: str) -> Expression | None:
    """The expression that stands for the whole text, or None if there is none in it."""
    found = find_expressions(text)
    if not found:
        return None
    if len(found) == 1 and found[0].start == 0 and found[0].end == len(text):
        return Expression(found[0].text)
    return Expression(_concatenation(text, found), template=text)


def read_standalone(text: str) -> Expression:
    """The expression that a text is. Raise RejectedError if there is anything beside it."""
    expression = read_expression(text)
    if expression is None or expression.template:
        raise RejectedError(_NOT_STANDALONE)
    return expression


def _concatenation(text: str, found: Sequence[Found]) -> str:
    """One expression for a template: `"a-" + (x) + "-b"`."""
    parts: list[str] = []
    position = 0
    for one in found:
        if one.start > position:
            parts.append(_literal(text[position : one.start]))
        parts.append(f"({one.text})")
        position = one.end
    if position < len(text):
        parts.append(_literal(text[position:]))
    return " + ".join(parts)


def _literal(text: str) -> str:
    """A text as a string of the expression language, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False)
