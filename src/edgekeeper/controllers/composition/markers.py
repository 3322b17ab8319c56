"""Markers of SimpleSchema fields: `required=true default="a b" minimum=1`.

Read character by character, as kro does, with what follows from that: a key ends at `=`, a value at a space that is
neither in quotes nor in brackets; a word without `=` is swallowed into the next key; a second `|` is part of a key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from edgekeeper.controllers.composition.rejection import RejectedError, quoted

KNOWN: Final = frozenset(
    {
        "required", "default", "description", "minimum", "maximum", "validation", "enum", "immutable", "pattern",
        "uniqueItems", "minLength", "maxLength", "minItems", "maxItems", "listType", "listMapKey",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker, its value without quotes."""

    key: str
    value: str


def parse_markers(text: str) -> list[Marker]:
    """The markers in a text, in order. Raise RejectedError where the text is something else."""
    reader = _Reader()
    for character in text:
        reader.read(character)
    return reader.finish()


class _Reader:
    """What has been read so far. `read` is called for each character, then `finish`."""

    def __init__(self) -> None:
        self._markers: list[Marker] = []
        self._key: str | None = None
        self._buffer: list[str] = []
        self._quoted = False
        self._escaped = False
        self._depth = 0

    def read(self, character: str) -> None:
        if character == "=" and self._key is None and not self._quoted and self._depth == 0:
            self._end_key()
        elif character.isspace() and not self._quoted and self._depth == 0:
            self._end_value()
        else:
            self._note(character)
            self._buffer.append(character)

    def _note(self, character: str) -> None:
        """Follow quotes and brackets."""
        if character == '"' and not self._escaped:
            self._quoted = not self._quoted
        elif character == "\\" and self._quoted and not self._escaped:
            self._escaped = True
            return
        elif character in "{[" and not self._quoted:
            self._depth += 1
        elif character in "}]" and not self._quoted:
            self._depth -= 1
            if self._depth < 0:
                raise RejectedError("unmatched closing bracket/brace")
        self._escaped = False

    def _end_key(self) -> None:
        key = "".join(self._buffer).strip()
        if not key:
            raise RejectedError("empty marker key")
        if key not in KNOWN:
            raise RejectedError(f"invalid marker key {quoted(key)}: unknown marker: {key}")
        self._key = key
        self._buffer.clear()

    def _end_value(self) -> None:
        if self._key is not None:
            self._markers.append(Marker(self._key, _value("".join(self._buffer))))
            self._key = None
            self._buffer.clear()

    def finish(self) -> list[Marker]:
        rest = "".join(self._buffer)
        if self._key is None and (rest or not self._markers):
            raise RejectedError(f"marker key '{rest}' without a value")
        self._end_value()
        if self._quoted:
            raise RejectedError("unclosed quote")
        if self._depth > 0:
            raise RejectedError("unclosed bracket/brace")
        return self._markers


def _value(text: str) -> str:
    if len(text) >= 2 and text.startswith('"') and text.endswith('"'):
        return _unescaped(text[1:-1])
    return text.strip()


def _unescaped(text: str) -> str:
    """Without the backslash before quotes and backslashes; before anything else it stays."""
    result: list[str] = []
    escaped = False
    for character in text:
        if escaped and character not in '"\\':
            result.append("\\")
        if escaped or character != "\\":
            result.append(character)
        escaped = character == "\\" and not escaped
    return "".join(result)
