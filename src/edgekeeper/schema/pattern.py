"""Regular expressions as Kubernetes understands them: RE2 syntax, matched in linear time whatever the pattern.

Patterns come from users, and texts from other users, so Python's own backtracking engine is out of the question.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import re2  # type: ignore[import-untyped]  # google-re2 ships no type information

_GO_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
"""The C++ library's complaints, as Go words them."""

_CACHED_LENGTH = 256
_CACHED_TEXTS = 256
_CACHED_PATTERNS = 1024
_LARGEST_IN_SETS = 1000
"""Instructions of a pattern. Far larger ones exceed the memory of a set, after much time spent on compiling it."""


class PatternError(ValueError):
    """Not a regular expression; the message is the one Go's `regexp` package gives."""


@lru_cache(_CACHED_PATTERNS)
def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """Return the test whether a text contains a match of `pattern`. Raise `PatternError` if it is no pattern.

    Verdicts on short texts are remembered: calling into RE2 costs more than all other checks of a string together,
    and the strings that bear patterns (names, hosts, sizes) repeat from object to object.
    """
    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    try:
        compiled = re2.compile(pattern.encode(), options)
    except re2.error as error:
        raise PatternError(_go_message(str(error.args[0], "utf-8"))) from error
    search: Callable[[bytes], object] = compiled.search
    quick = _set_of_one(pattern, options) if compiled.programsize <= _LARGEST_IN_SETS else _never

    def contains(text: str) -> bool:
        encoded = text.encode()
        return bool(quick(encoded)) or search(encoded) is not None

    remembered = lru_cache(_CACHED_TEXTS)(contains)
    return lambda text: remembered(text) if len(text) <= _CACHED_LENGTH else contains(text)


def _set_of_one(pattern: str, options: re2.Options) -> Callable[[bytes], object]:
    """The pattern as a set of patterns, which answers in a third of the time, since it makes no match objects.

    Its yes is certain. Its no may also mean that it ran out of memory on the way, and is to be confirmed.
    """
    alone = re2.Set.SearchSet(options)
    alone.Add(pattern.encode())
    alone.Compile()
    match: Callable[[bytes], object] = alone.Match
    return match


def _never(_: bytes) -> object:
    return None


def _go_message(complaint: str) -> str:
    words, _, fragment = complaint.partition(": ")
    return f"error parsing regexp: {_GO_WORDS.get(words, words)}: `{fragment}`"
