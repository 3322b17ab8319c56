"""JSON bodies, read with Go's eyes: its numbers, its leniency about text encoding, its words for errors.

Numbers that are whole and fit into 64 bits are integers, however they are written; all others are floats. That is how
custom resources come back from a real server, where `1.0` is stored and returned as `1`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec

from kubesim.plane.json_syntax import MOST_NESTED, syntax_error

_MOST_COMPLAINTS = 100
_INT64 = range(-(2**63), 2**63)
_DIGITS_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19
"""Shorter integers fit into 64 bits for certain."""
_SURROGATES = re.compile(
    r"\\\\"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


class MalformedBodyError(Exception):
    """The body cannot be read; the text says why, as the server puts it."""


def decode_json(body: bytes) -> Any:
    """Decode a JSON text of any type, or raise `MalformedBodyError`."""
    try:
        tree = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        tree = _decode_leniently(body)
    except RecursionError:
        raise _too_deep(body) from None
    if body.count(b"{") + body.count(b"[") > MOST_NESTED and nesting(tree) > MOST_NESTED:
        raise _too_deep(body)
    if _LONG_NUMBER in body.translate(_DIGITS_ALIKE):
        return _with_short_integers(tree)
    return tree


def duplicate_json_keys(body: bytes) -> list[str]:
    """Return a complaint for each key that an object has more than once, in the order of the text."""
    try:
        _SINGLE_KEYS.decode(body.decode(errors="replace"))
    except _DuplicateKeyError:
        tree = _ALL_PAIRS.decode(body.decode(errors="replace"))
        paths = dict.fromkeys(_repeated(tree, ""))
        return [f'duplicate field "{path}"' for path in paths][:_MOST_COMPLAINTS]
    return []


def nesting(tree: Any) -> int:
    """Return how deep objects and lists nest, without recursion: the tree may be deeper than the stack."""
    depth = 0
    level = [tree]
    while level:
        containers = [node for node in level if isinstance(node, dict | list)]
        depth += bool(containers)
        level = [
            child for node in containers for child in (node.values() if isinstance(node, dict) else node)
        ]
    return depth


def _too_deep(body: bytes) -> MalformedBodyError:
    return MalformedBodyError(syntax_error(body) or "exceeded max depth")


def _not_a_float(text: str) -> MalformedBodyError:
    return MalformedBodyError(f"json: cannot unmarshal number {text} into Go value of type float64")


def _number(text: str) -> int | float:
    value = float(text)
    if math.isinf(value):
        raise _not_a_float(text)
    if value.is_integer() and int(value) in _INT64:
        return int(Decimal(repr(value)))  # the shortest digits, padded: what Go prints for large floats
    return value


def _integer(text: str) -> int | float:
    value = int(text) if len(text) <= len(_LONG_NUMBER) + 1 else None
    return value if value is not None and value in _INT64 else _number(text)


_DECODER = msgspec.json.Decoder(float_hook=_number)


def _with_short_integers(tree: Any) -> Any:
    """Turn integers beyond 64 bits into floats, as Go reads them."""
    if isinstance(tree, dict):
        return {key: _with_short_integers(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_with_short_integers(value) for value in tree]
    return _as_float(tree) if type(tree) is int and tree not in _INT64 else tree


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise _not_a_float(str(value)) from None


def _decode_leniently(body: bytes) -> Any:
    """Decode what the fast decoder refuses and Go accepts: broken UTF-8, half surrogates, endless integers."""
    problem = syntax_error(body)
    if problem is not None:
        raise MalformedBodyError(problem)
    text = _SURROGATES.sub(_repaired, body.decode(errors="replace"))
    return json.loads(text, parse_int=_integer, parse_float=_number)


def _repaired(found: re.Match[str]) -> str:
    escape: str = found.group()
    return escape if len(escape) != 6 else r"\ufffd"


class _DuplicateKeyError(Exception):
    """Some object has a key twice."""


class _Pairs(list[tuple[str, Any]]):
    """The members of one object, repeated ones included."""


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _DuplicateKeyError
    return members


_SINGLE_KEYS = json.JSONDecoder(object_pairs_hook=_without_duplicates, parse_int=str, parse_float=str)
_ALL_PAIRS = json.JSONDecoder(object_pairs_hook=_Pairs, parse_int=str, parse_float=str)


def _repeated(node: Any, path: str) -> Iterator[str]:
    if isinstance(node, _Pairs):
        seen: set[str] = set()
        for key, value in node:
            child = f"{path}.{key}" if path else key
            if key in seen:
                yield child
            seen.add(key)
            yield from _repeated(value, child)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _repeated(value, f"{path}[{index}]")
