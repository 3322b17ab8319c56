"""From text to tokens, in one pass and in time proportional to the text.

The whole lexical grammar is one regular expression with possessive repetitions, so that a text which matches nothing
fails at once instead of being tried in other ways. (Patterns that *users* write never reach Python's `re`.)

The kind of a token is its own text for punctuation and for the words `in`, `true`, `false` and `null`, else one of the
constants below, which are fit for messages.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kubecel.errors import CompileError, Issue, locate

IDENTIFIER: Final = "identifier"
ESCAPED: Final = "escaped identifier"
INT: Final = "integer"
UINT: Final = "unsigned integer"
FLOAT: Final = "floating point number"
STRING: Final = "string"
BYTES: Final = "bytes"
END: Final = "end of expression"

_WORDS: Final = frozenset({"in", "true", "false", "null"})

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_STRING = rf"""
      [rR]\"\"\"(?s:.*?)\"\"\"  |  [rR]'''(?s:.*?)'''
    | [rR]"[^"\n\r]*+"          |  [rR]'[^'\n\r]*+'
    | \"\"\"(?:{_ESCAPE}|[^\\])*?\"\"\"  |  '''(?:{_ESCAPE}|[^\\])*?'''
    | "(?:{_ESCAPE}|[^\\"\n\r])*+"       |  '(?:{_ESCAPE}|[^\\'\n\r])*+'
"""
_BLANK = r"(?:[ \t\r\n\f]++|//[^\n]*+)*+"
_TOKEN = re.compile(
    rf"""
    (?:
      (?P<bytes>[bB](?:{_STRING}))
    | (?P<string>{_STRING})
    | (?P<identifier>[A-Za-z_][A-Za-z0-9_]*+)
    | (?P<float>[0-9]++\.[0-9]++(?:[eE][+-]?[0-9]++)?|[0-9]++[eE][+-]?[0-9]++|\.[0-9]++(?:[eE][+-]?[0-9]++)?)
    | (?P<uint>(?:0x[0-9a-fA-F]++|[0-9]++)[uU])
    | (?P<int>0x[0-9a-fA-F]++|[0-9]++)
    | (?P<punctuation>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])
    | `(?P<escaped>[A-Za-z0-9_.\-/\ ]++)`
    )
    {_BLANK.replace(" ", chr(92) + " ")}
    """,
    re.VERBOSE,
)
_LEADING_BLANK = re.compile(_BLANK)
_KINDS = {
    "identifier": IDENTIFIER,
    "bytes": BYTES,
    "string": STRING,
    "float": FLOAT,
    "uint": UINT,
    "int": INT,
    "escaped": ESCAPED,
}


class Token(NamedTuple):
    kind: str
    text: str
    offset: int


def tokenize(source: str) -> list[Token]:
    """All tokens of a text; the last one is of kind `END`."""
    tokens: list[Token] = []
    append, match, end = tokens.append, _TOKEN.match, len(source)
    leading = _LEADING_BLANK.match(source)
    position = 0 if leading is None else leading.end()
    while position < end:
        found = match(source, position)
        if found is None:
            raise _unexpected(source, position)
        group = found.lastgroup or END
        text = found[group]
        kind = text if text in _WORDS else _KINDS.get(group, text)
        append(Token(kind, text, position))
        position = found.end()
    append(Token(END, "", end))
    return tokens


def _unexpected(source: str, offset: int) -> CompileError:
    character = source[offset]
    what = "unterminated or malformed string" if character in "\"'" else f"unexpected character {character!r}"
    return CompileError([Issue(f"Syntax error: {what}", locate(source, offset))])
