"""Paths into JSON trees in readable form: `spec.rules[api].host`, `annotations[example.com/owner]`.

A step is the name of a field; in brackets, it is an item of a list or a name with other characters, such as dots. What
would be ambiguous even in brackets is quoted as in JSON.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

LONGEST_STEP = 80
"""The maximum number of characters of a step that are shown."""

MOST_STEPS = 1000
"""The maximum number of steps of a path, above what can be decoded. It bounds how long parsing takes."""

_SIMPLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_MISLEADING = re.compile(r"[\[\]\"]")
_STEP = re.compile(
    r"""
      (?:^|(?!^)\.) (?P<name> [^.\[\]"]+ )             # a field, after the first with a dot
    | \[ (?P<quoted> " (?: [^"\\] | \\. )* " ) \]
    | \[ (?P<bracketed> [^\[\]"]+ ) \]
    """,
    re.VERBOSE,
)


def field_path(parent: str, name: str) -> str:
    """The path of a field of an object."""
    if not _SIMPLE_NAME.fullmatch(name):
        return item_path(parent, name)
    return f"{parent}.{name}" if parent else name


def item_path(parent: str, identity: str) -> str:
    """The path of an item of a list, by its identity: an index, a key or the item itself."""
    shown = identity if len(identity) <= LONGEST_STEP else f"{identity[: LONGEST_STEP - 1]}…"
    if not shown or not shown.isprintable() or _MISLEADING.search(shown):
        shown = json.dumps(shown)
    return f"{parent}[{shown}]"


@lru_cache(maxsize=1024)
def parse_path(path: str) -> tuple[str, ...]:
    """The steps of a path. The empty path has none. Raise ValueError for a malformed path, or one of too many steps."""
    steps: list[str] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None or len(steps) == MOST_STEPS:
            raise ValueError(f"not a path: {path[:LONGEST_STEP]!r}, at character {position}")
        name, quoted, bracketed = match.group("name", "quoted", "bracketed")
        steps.append(json.loads(quoted) if quoted else name or bracketed)
        position = match.end()
    return tuple(steps)
