"""The small JSONPath of printer columns: `.a.b`, `.a[0]`, `.a[*].b`, `.a[?(@.type=="Ready")].status`, `.a['x\\.y']`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

Step: TypeAlias = Callable[[Any], Iterable[Any]]

_TOKEN = re.compile(
    r"""
      \.(?P<field>[A-Za-z0-9_$-]+(?:\\.[A-Za-z0-9_$/-]+)*)           # .name, with escaped dots
    | \['(?P<quoted>[^']*)'\]                                        # ['name']
    | \[(?P<index>-?\d+)\]                                           # [0]
    | (?P<all>\[\*\]|\.\*)                                           # [*]
    | \[\?\(@(?P<path>(?:\.[A-Za-z0-9_-]+)+)\s*(?P<op>==|!=)\s*(?P<value>"[^"]*"|'[^']*'|[^)\s]+)\)\]   # filter
    """,
    re.VERBOSE,
)

_UNESCAPED_DOT = re.compile(r"(?<!\\)\.")


class JsonPathError(ValueError):
    """The text is no path that printer columns may use."""


def compile_path(text: str) -> Callable[[Any], list[Any]]:
    """Compile a path into a function that returns the values it finds, possibly none."""
    body = text.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps: list[Step] = []
    position = 0
    while position < len(body):
        match = _TOKEN.match(body, position)
        if match is None:
            raise JsonPathError(f"unrecognized part of the path: {body[position:]!r}")
        steps.extend(_steps(match))
        position = match.end()

    def find(tree: Any) -> list[Any]:
        values = [tree]
        for step in steps:
            values = [found for value in values for found in step(value)]
        return values

    return find


def _steps(match: re.Match[str]) -> list[Step]:
    if match["index"] is not None:
        return [_index(int(match["index"]))]
    if match["all"] is not None:
        return [_children]
    if match["path"] is not None:
        return [_filter(match["path"][1:].split("."), match["op"], match["value"])]
    # Dots separate names even between quotes: one that belongs to a name is escaped there as elsewhere.
    names = _UNESCAPED_DOT.split(match["field"] or match["quoted"])
    return [_member(name.replace("\\", "")) for name in names]


def _member(name: str) -> Step:
    def step(value: Any) -> Iterable[Any]:
        if isinstance(value, dict) and value.get(name) is not None:
            yield value[name]

    return step


def _index(position: int) -> Step:
    def step(value: Any) -> Iterable[Any]:
        if isinstance(value, list) and -len(value) <= position < len(value):
            yield value[position]

    return step


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _filter(path: list[str], operator: str, literal: str) -> Step:
    wanted: Any = (
        literal[1:-1] if literal[0] in "\"'" else {"true": True, "false": False}.get(literal, literal)
    )

    def matches(element: Any) -> bool:
        for name in path:
            element = element.get(name) if isinstance(element, dict) else None
        equal = element == wanted or (isinstance(wanted, str) and str(element) == wanted)
        return equal if operator == "==" else element is not None and not equal

    def step(value: Any) -> Iterable[Any]:
        if isinstance(value, list):
            yield from (element for element in value if matches(element))

    return step
