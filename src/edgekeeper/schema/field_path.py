"""Paths to fields as rules write them: `.spec.ports`, `.labels['app.kubernetes.io/name']`.

A path is followed through the schema, which tells fields from keys of maps; both may be written either way.
"""

from __future__ import annotations

import re

from edgekeeper.core.json import JsonObject, dig_object

_PIECE = re.compile(r"'.*?(?<!\\)'|[.\[\]]|'.*|[^.\[\]]+", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(Exception):
    """A path leads nowhere, or is none."""


def follow_field_path(text: str, schema: JsonObject) -> str:
    """Return the path in the form that field errors have, relative to the place that `schema` describes."""
    pieces = iter(_PIECE.findall(text))
    path = ""
    for opening in pieces:
        name = _named(opening, next(pieces, ""), next(pieces, "") if opening == "[" else "")
        if schema.get("properties"):
            path, below = f"{path}.{name}" if path else name, dig_object(schema, "properties").get(name)
        elif schema.get("additionalProperties") is not None:
            path, below = f"{path}[{name}]", dig_object(schema, "additionalProperties")
        else:
            below = None
        if not isinstance(below, dict):
            raise FieldPathError("does not refer to a valid field")
        schema = below
    return path


def _named(opening: str, name: str, closing: str) -> str:
    """The name in one step, `.name` or `['name']`."""
    if opening == "." and name:
        return name
    if opening != "[" or closing != "]":
        raise FieldPathError(f"expected [ or . but got: {opening}")
    if len(name) < 2 or name[0] != "'" or name[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {name}")
    return _ESCAPE.sub(_unescaped, name[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    if found[1] not in _ESCAPED:
        raise FieldPathError(f"invalid string literal: invalid escape char {found[0]}")
    return _ESCAPED[found[1]]
