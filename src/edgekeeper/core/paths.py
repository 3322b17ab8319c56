"""Paths into JSON trees, as people read and write them: `spec.rules[api].host`, `annotations[example.com/owner]`.

A step is a field's name, or in brackets whatever is no simple name: an item of a list, a name with dots in it. What
could be misread even there is quoted as in JSON.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

LONGEST_STEP = 80
"""Characters of a step that are shown."""

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
    """The path of an item of a list, by whatever tells it from the others."""
    shown = identity if len(identity) <= LONGEST_STEP else f"{identity[: LONGEST_STEP - 1]}…"
    if not shown or not shown.isprintable() or _MISLEADING.search(shown):
        shown = json.dumps(shown)
    return f"{parent}[{shown}]"


@lru_cache(maxsize=1024)
def parse_path(path: str) -> tuple[str, ...]:
    """The steps of a path. The empty path has none. Raise ValueError where it cannot be read."""
    steps, position = [], 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            raise ValueError(f"not a path: {path!r}")
        name, quoted, bracketed = found.group("name", "quoted", "bracketed")
        steps.append(json.loads(quoted) if quoted else name or bracketed)
        position = found.end()
    return tuple(steps)
