"""`find` and `findAll`: what of a text matches a pattern. Patterns are RE2's, so matching takes linear time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubecel.checker import CheckedAst, Finding
from kubecel.errors import EvaluationError
from kubecel.functions import Library
from kubecel.library import costs, estimates
from kubecel.library.declaring import LIST_OF_STRINGS, function, on_target
from kubecel.library.notation import utf8
from kubecel.standard.text import compile_pattern, states_cost
from kubecel.syntax import Literal
from kubecel.types import INT, STRING

_FUNCTIONS: Final = ("find", "findAll")
_CONTINUATION: Final = 0b10
"""The first two bits of every byte of a character but the first."""


def find(text: str, pattern: str) -> str:
    """The first match, or nothing."""
    return next(iter(find_all(text, pattern, 1)), "")


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """All matches, or the first `limit`. An empty match right behind another match is none.

    Works on bytes: positions in a string have to be translated for RE2 each time, which would make the search quadratic.
    """
    compiled, data = compile_pattern(pattern), utf8(text)
    matches: list[str] = []
    position, previous_end = 0, -1
    while position <= len(data) and (limit < 0 or len(matches) < limit):
        found: Any = compiled.search(data, position)
        if found is None:
            break
        start, end = found.span()
        if start != end or start != previous_end:
            matches.append(data[start:end].decode())
        previous_end = end
        position = end if end > position else _next_character(data, end)
    return matches


def _find_cost(text: str, pattern: str) -> int:
    return max(costs.match_cost(len(text), len(pattern)), states_cost(text, pattern))


def _find_all_cost(text: str, pattern: str, limit: int = -1) -> int:
    """Every match is a step of the interpreter, and there may be one at every character."""
    most = len(text) + 1 if limit < 0 else min(limit, len(text) + 1)
    return max(_find_cost(text, pattern), most)


def _next_character(data: bytes, position: int) -> int:
    position += 1
    while position < len(data) and data[position] >> 6 == _CONTINUATION:
        position += 1
    return position


def valid_patterns(checked: CheckedAst) -> Iterator[Finding]:
    """Patterns that are written out are tried before anything runs."""
    for node in checked.calls(*_FUNCTIONS):
        pattern = node.args[0] if node.args and node.target is not None else None
        if isinstance(pattern, Literal) and isinstance(pattern.value, str):
            try:
                compile_pattern(pattern.value)
            except EvaluationError as error:
                yield node, error.message


REGEX: Final = Library(
    "kubernetes.regex",
    (
        function(
            "find",
            on_target("string_find_string", (STRING, STRING), STRING, find, _find_cost, estimates.search),
        ),
        function(
            "findAll",
            on_target(
                "string_find_all_string",
                (STRING, STRING),
                LIST_OF_STRINGS,
                find_all,
                _find_all_cost,
                estimates.search,
            ),
            on_target(
                "string_find_all_string_int",
                (STRING, STRING, INT),
                LIST_OF_STRINGS,
                find_all,
                _find_all_cost,
                estimates.search,
            ),
        ),
    ),
)
