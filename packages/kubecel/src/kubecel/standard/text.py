"""Functions of strings that belong to the language itself.

Patterns run on RE2, in time proportional to the text. Compiled patterns are kept, since expressions use the same few
again and again.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # google-re2 ships no type information

from kubecel.errors import EvaluationError, invalid_argument
from kubecel.functions import REGEX_LENGTH_FACTOR, Function, traversal_cost
from kubecel.standard.declaring import function, member, overload
from kubecel.types import BOOL, STRING

_BOTH: Final = (STRING, STRING)
_STATES_PER_COST: Final = 300
"""How many states of a pattern can be tried at one character for a cost of 1."""


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> Any:
    """A compiled pattern; a bad one is an error of the evaluation."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise invalid_argument(f"error parsing regexp: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """What RE2 has to say, which it says in bytes."""
    reason = error.args[0]
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(error)


def matches(text: str, pattern: str) -> bool:
    """Whether a pattern is found anywhere in a text."""
    compiled = compile_pattern(pattern)
    try:
        return compiled.search(text) is not None
    except UnicodeEncodeError:
        raise invalid_argument("string is not valid unicode") from None


def matches_cost(text: str, pattern: str) -> int:
    usual = traversal_cost(1 + len(text)) * ceil(len(pattern) * REGEX_LENGTH_FACTOR)
    return max(usual, states_cost(text, pattern))


def states_cost(text: str, pattern: str) -> int:
    """What a match takes at most. The usual cost goes by the length of the pattern, though `a{1000}` has 1,000 states."""
    return len(text) * _states(pattern) // _STATES_PER_COST


def _states(pattern: str) -> int:
    """The size of a pattern once compiled; a broken one must be charged for before it fails."""
    try:
        return int(compile_pattern(pattern).programsize)
    except EvaluationError:
        return 0


def _contains_cost(text: str, part: str) -> int:
    return traversal_cost(len(text)) * traversal_cost(len(part))


def _affix_cost(text: str, _: str) -> int:
    return traversal_cost(len(text))


TEXT: Final[tuple[Function, ...]] = (
    function(
        "contains",
        member("contains_string", _BOTH, BOOL, lambda text, part: part in text, _contains_cost),
    ),
    function("startsWith", member("starts_with_string", _BOTH, BOOL, str.startswith, _affix_cost)),
    function("endsWith", member("ends_with_string", _BOTH, BOOL, str.endswith, _affix_cost)),
    function(
        "matches",
        overload("matches", _BOTH, BOOL, matches, matches_cost),
        member("matches_string", _BOTH, BOOL, matches, matches_cost),
    ),
)
