"""Path elements: how one step of a field path is written, ordered and shown.

A step selects a struct field or map key (`f:name`), an item of a list map by its keys (`k:{"name":"a"}`), an item of
a set by its value (`v:"x"`) or an item by position (`i:0`). The serialized form is canonical, so that equal steps are
equal strings and field sets can be plain dictionaries keyed by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

SELF = "."
"""Marks, inside a field set, that the node itself is a member and not only some of its children."""

Path: TypeAlias = tuple[str, ...]

_encode = msgspec.json.encode
_decode = msgspec.json.decode

_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_ESCAPES |= {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}
_ESCAPES |= {code: f"\\u{code:04x}" for code in range(0x20) if code not in _ESCAPES}
_ESCAPED = re.compile(f"[{re.escape(''.join(map(chr, _ESCAPES)))}]")


class UnknownElementError(ValueError):
    """A step of a kind that this server does not know; a newer one may, so it is skipped, not refused."""


def literal(value: Any) -> str:
    """Render a value as compact JSON the way the API server does: HTML-safe, whole numbers without a fraction."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    if isinstance(value, dict):
        return f"{{{','.join(f'{quoted(key)}:{literal(value[key])}' for key in sorted(value))}}}"
    if isinstance(value, list):
        return f"[{','.join(literal(item) for item in value)}]"
    return _encode(value).decode()


def quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES) if _ESCAPED.search(text) else text}"'


def key_element(fields: Iterable[tuple[str, Any]]) -> str:
    """The step to the list item whose key fields, given in alphabetical order, have these values."""
    return f"k:{{{','.join(f'{quoted(name)}:{literal(value)}' for name, value in fields)}}}"


def value_element(value: Any) -> str:
    return f"v:{literal(value)}"


def canonical_element(text: str) -> str:
    """Rewrite a step received from a client in canonical form; `ValueError` if it is malformed."""
    kind, content = text[:2], text[2:]
    if len(kind) < 2 or kind[1] != ":":
        raise ValueError(f"missing colon: {text}")
    if kind == "f:":
        return text
    if kind == "v:":
        return value_element(_decode(content))
    if kind == "k:":
        return key_element(sorted(_decode(content, type=dict[str, Any]).items()))
    if kind == "i:":
        return f"i:{int(content)}"
    raise UnknownElementError(text)


@lru_cache(maxsize=8192)
def element_order(element: str) -> tuple[Any, ...]:
    """A sort key: fields by name, then list items by key fields, then set items by value, then positions."""
    kind, content = element[:2], element[2:]
    if kind == "f:":
        return (1, content)
    if kind == "k:":
        return (2, *((name, value_order(value)) for name, value in _decode(content).items()))
    if kind == "v:":
        return (3, value_order(_decode(content)))
    if kind == "i:":
        return (4, int(content))
    return (0,)


def value_order(value: Any) -> tuple[Any, ...]:
    """A total order over JSON values: numbers, strings, booleans, lists, objects, null."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    if isinstance(value, list):
        return (3, *map(value_order, value))
    if isinstance(value, dict):
        return (4, *((key, value_order(value[key])) for key in sorted(value)))
    return (5,)


def shown_element(element: str) -> str:
    """One step as people read it in messages: `.spec`, `[name="a"]`, `[="x"]`, `[0]`."""
    kind, content = element[:2], element[2:]
    if kind == "f:":
        return f".{content}"
    if kind == "k:":
        keys = ",".join(f"{name}={_shown_value(value)}" for name, value in _decode(content).items())
        return f"[{keys}]"
    if kind == "v:":
        return f"[={_shown_value(_decode(content))}]"
    return f"[{content}]"


def shown_path(path: Path) -> str:
    return "".join(map(shown_element, path))


def _shown_value(value: Any) -> str:
    return go_quoted(value) if isinstance(value, str) else literal(value)


def go_quoted(text: str) -> str:
    """Quote as Go's `%q` does, for names and keys inside messages."""
    return f'"{"".join(map(_go_escaped, text))}"'


_GO_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def _go_escaped(char: str) -> str:
    if char in _GO_ESCAPES:
        return _GO_ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
