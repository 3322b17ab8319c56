"""Why a text is not JSON, in the words of Go's decoder, which clients of the API server know.

The fast decoder only says *that* a body is malformed; this slow scan runs afterwards, on the way to the 400.
"""

from __future__ import annotations

import re

from edgekeeper.schema.gotext import quote

MOST_NESTED = 250
"""How deep objects and lists may nest. Far beyond any real object, and far below the interpreter's stack."""

_END = "unexpected end of JSON input"
_BLANKS = re.compile(rb"[ \t\r\n]*")
_CHARACTERS = re.compile(rb'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_UNICODE_ESCAPE = re.compile(rb"\\u[0-9a-fA-F]{0,3}")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)?(?:(?<=[0-9])\.[0-9]*)?(?:(?<=[0-9])[eE][+-]?[0-9]*)?")
_VALUE_STARTS = b'{["-0123456789tfn'
_LITERALS = {b"t": b"true", b"f": b"false", b"n": b"null"}


class _SyntaxProblemError(Exception):
    """Carries the sentence from where the scan stopped."""


def syntax_error(text: bytes) -> str | None:
    """Return the first syntax error, or `None` for well-formed JSON."""
    try:
        _scan(text)
    except _SyntaxProblemError as problem:
        return str(problem)
    return None


def _scan(text: bytes) -> None:
    position = _value_start(text, 0)
    nesting: list[bytes] = []
    while True:
        character = text[position : position + 1]
        if character in (b"{", b"["):
            nesting.append(character)
            if len(nesting) > MOST_NESTED:
                raise _unexpected(text, position, "exceeded max depth")
            position, closed = _enter(text, position)
            if not closed:
                continue
            nesting.pop()
        else:
            position = _scalar(text, position)
        position, nesting_ended = _leave(text, position, nesting)
        if nesting_ended:
            return


def _enter(text: bytes, position: int) -> tuple[int, bool]:
    """Step over an opening bracket: return the start of the first value, or the end of an empty container."""
    inside = _skip_blanks(text, position + 1)
    if text[position : position + 1] == b"[":
        return (
            (inside + 1, True) if text[inside : inside + 1] == b"]" else (_value_start(text, inside), False)
        )
    if text[inside : inside + 1] == b"}":
        return inside + 1, True
    return _member(text, inside), False


def _leave(text: bytes, position: int, nesting: list[bytes]) -> tuple[int, bool]:
    """Step over what follows a value. Return the start of the next one, or the end of the text and true."""
    while True:
        position = _skip_blanks(text, position)
        character = text[position : position + 1]
        if not nesting:
            if character:
                raise _unexpected(text, position, "after top-level value")
            return position, True
        in_object = nesting[-1] == b"{"
        if character == b",":
            following = _skip_blanks(text, position + 1)
            return (_member if in_object else _value_start)(text, following), False
        if character != (b"}" if in_object else b"]"):
            where = "after object key:value pair" if in_object else "after array element"
            raise _unexpected(text, position, where)
        nesting.pop()
        position += 1


def _member(text: bytes, position: int) -> int:
    """Step over `"key":` and return the start of the value."""
    if text[position : position + 1] != b'"':
        raise _unexpected(text, position, "looking for beginning of object key string")
    colon = _skip_blanks(text, _string(text, position))
    if text[colon : colon + 1] != b":":
        raise _unexpected(text, colon, "after object key")
    return _value_start(text, colon + 1)


def _value_start(text: bytes, position: int) -> int:
    position = _skip_blanks(text, position)
    if position == len(text) or text[position] not in _VALUE_STARTS:
        raise _unexpected(text, position, "looking for beginning of value")
    return position


def _scalar(text: bytes, position: int) -> int:
    character = text[position : position + 1]
    if character == b'"':
        return _string(text, position)
    if character in _LITERALS:
        return _literal(text, position, _LITERALS[character])
    return _number(text, position)


def _string(text: bytes, position: int) -> int:
    found = _CHARACTERS.match(text, position + 1)
    end = found.end() if found else position + 1
    if text[end : end + 1] == b'"':
        return end + 1
    if text[end : end + 1] != b"\\":
        raise _unexpected(text, end, "in string literal")
    unicode_escape = _UNICODE_ESCAPE.match(text, end)
    if unicode_escape:
        raise _unexpected(text, unicode_escape.end(), r"in \u hexadecimal character escape")
    raise _unexpected(text, end + 1, "in string escape code")


def _literal(text: bytes, position: int, word: bytes) -> int:
    for offset in range(1, len(word)):
        if text[position + offset : position + offset + 1] != word[offset : offset + 1]:
            expected = chr(word[offset])
            raise _unexpected(text, position + offset, f"in literal {word.decode()} (expecting '{expected}')")
    return position + len(word)


def _number(text: bytes, position: int) -> int:
    found = _NUMBER.match(text, position)
    end = found.end() if found else position
    last = text[end - 1 : end]
    if last == b"-" and end == position + 1:
        raise _unexpected(text, end, "in numeric literal")
    if last == b".":
        raise _unexpected(text, end, "after decimal point in numeric literal")
    if last in (b"e", b"E", b"+", b"-"):
        raise _unexpected(text, end, "in exponent of numeric literal")
    return end


def _skip_blanks(text: bytes, position: int) -> int:
    found = _BLANKS.match(text, position)
    return found.end() if found else position


def _unexpected(text: bytes, position: int, where: str) -> _SyntaxProblemError:
    if position >= len(text):
        return _SyntaxProblemError(_END)
    return _SyntaxProblemError(f"invalid character {_quoted(chr(text[position]))} {where}")


def _quoted(character: str) -> str:
    """Quote one character as Go does. Bytes beyond ASCII appear as the code point of the same number."""
    if character == "'":
        return r"'\''"
    return f"'{character}'" if character == '"' else f"'{quote(character)[1:-1]}'"
