"""YAML bodies, read as Kubernetes does: YAML 1.1 words for booleans, no timestamps, one document, JSON underneath.

libyaml parses the text into nodes; this module turns them into JSON values. It does so itself, because PyYAML's own
construction differs in what counts as a number, and because repeated keys and runaway aliases must be seen.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from contextlib import suppress
from typing import Any

import yaml

from kubesim.plane.json_syntax import MOST_NESTED
from kubesim.plane.json_text import MalformedBodyError, decode_json, duplicate_json_keys

MOST_ALIASED = 10_000
"""How many nodes may be reached through aliases: enough for templates, too few for a billion laughs."""

_PLAIN, _QUOTED, _COLLECTION = "plain", "quoted", "collection"
_TAG = "tag:yaml.org,2002:"
_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}
_MERGE = "<<"
_INT64 = range(-(2**63), 2**63)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGERS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"[-+]?0[bB][01]+"), 2),
    (re.compile(r"[-+]?0[oO]?[0-7]+"), 8),
    (re.compile(r"[-+]?0[xX][0-9a-fA-F]+"), 16),
    (re.compile(r"[-+]?(?:0|[1-9][0-9]*)"), 10),
)
_WORDS: dict[str, bool | float | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}


def decode_yaml(body: bytes) -> Any:
    """Decode the first document of a YAML text, or raise `MalformedBodyError`.

    Most bodies that say YAML are JSON (every client that applies server-side sends it so), and many times faster
    to read as such.
    """
    if body.startswith(b"{"):
        with suppress(MalformedBodyError):
            return decode_json(body)
    return _Construction().value(_compose(body))


def duplicate_yaml_keys(body: bytes) -> list[str]:
    """Return a complaint for each key that a mapping has more than once. The text must have been decoded before."""
    if body.startswith(b"{"):
        with suppress(ValueError):  # braces, but not JSON
            if not duplicate_json_keys(body):
                return []
    construction = _Construction()
    construction.value(_compose(body))
    return construction.complaints


class _Loader(yaml.CSafeLoader):
    """Parses into nodes. What has no tag of its own gets one of ours, which tells plain scalars from quoted.

    libyaml's composer recurses in C without any limit, and calls these hooks on the way down and up: the one place
    where a text of brackets can be stopped before it overflows the stack.
    """

    _depth = 0

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        self._depth += 1
        if self._depth > MOST_NESTED + 1:  # one more than containers: their scalars count here, too
            raise MalformedBodyError("yaml: exceeded max depth")

    def ascend_resolver(self) -> None:
        self._depth -= 1

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _QUOTED
        return _COLLECTION


def _compose(body: bytes) -> yaml.Node | None:
    loader = _Loader(body)
    try:
        return loader.get_node() if loader.check_node() else None
    except yaml.YAMLError as error:
        raise MalformedBodyError(f"yaml: {_explained(error)}") from error
    finally:
        loader.dispose()


def _explained(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return "invalid leading UTF-8 octet"
    problem = error.problem or "malformed document"
    if problem.startswith("found undefined alias"):
        return "unknown anchor referenced"
    line = error.problem_mark.line if error.problem_mark else 0
    return f"line {line + 1}: {problem}" if line else problem


class _Construction:
    """Turns one graph of nodes into a tree. A node met for the second time was reached through an alias."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self._known: set[int] = set()
        self._open: list[int] = []
        self._alias_depth = 0
        self._aliased = 0

    def value(self, node: yaml.Node | None) -> Any:
        if node is None:
            return None
        alias = id(node) in self._known
        self._known.add(id(node))
        self._alias_depth += alias
        self._count()
        try:
            return _scalar(node) if isinstance(node, yaml.ScalarNode) else self._container(node)
        finally:
            self._alias_depth -= alias

    def _count(self) -> None:
        self._aliased += self._alias_depth > 0
        if self._aliased > MOST_ALIASED:
            raise MalformedBodyError("yaml: document contains excessive aliasing")

    def _container(self, node: yaml.Node) -> Any:
        if id(node) in self._open:
            raise MalformedBodyError("yaml: anchor value contains itself")
        if len(self._open) >= MOST_NESTED:  # aliases nest deeper than the text does
            raise MalformedBodyError("yaml: exceeded max depth")
        self._open.append(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node)
            return [self.value(item) for item in node.value]
        finally:
            self._open.pop()

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        members: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                merged = self._merged(value_node) | merged
                continue
            key = self._key(key_node)
            if key in members:
                shown = f'"{key}"' if isinstance(_scalar(key_node), str) else key
                self.complaints.append(f"line {key_node.start_mark.line + 1}: key {shown} already set in map")
            members[key] = self.value(value_node)
        return merged | members

    def _merged(self, node: yaml.Node) -> dict[str, Any]:
        """Return what `<<` brings in: one mapping, or several of which the first wins."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        result: dict[str, Any] = {}
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                raise MalformedBodyError("yaml: map merge requires map or sequence of maps as the value")
            result = self.value(source) | result
        return result

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise MalformedBodyError("yaml: invalid map key")
        key = _scalar(node)
        if key is None:
            raise MalformedBodyError("unsupported map key of type: %!s(<nil>), key: <nil>")
        if isinstance(key, bool):
            return "true" if key else "false"
        return str(key)


def _is_merge(node: yaml.Node) -> bool:
    return node.tag == _PLAIN and node.value == _MERGE


def _scalar(node: yaml.ScalarNode) -> Any:
    """Return the value of a scalar: by its looks where it is plain, by its tag where it bears one."""
    text: str = node.value
    if node.tag == _PLAIN:
        return _json_value(_plain(text))
    tag: str = node.tag.removeprefix(_TAG)
    if tag == "binary":
        return _binary(text)
    if tag not in _TYPES:
        return text
    value = _plain(text)
    if not isinstance(value, _TYPES[tag]):
        raise MalformedBodyError(f"yaml: cannot decode !!str `{text}` as a !!{tag}")
    return _json_value(value)


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode(errors="replace")
    except binascii.Error:
        raise MalformedBodyError("yaml: !!binary value contains invalid base64 data") from None


def _plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if not text[:1].isdigit() and text[:1] not in ("+", "-", "."):
        return text
    digits = text.replace("_", "")
    for pattern, base in _INTEGERS:
        if pattern.fullmatch(digits):
            return _whole(digits, base)
    return float(digits) if _FLOAT.fullmatch(digits) else text


def _whole(digits: str, base: int) -> int | float:
    if base == 10 and len(digits) > 20:
        return float(digits)
    value = int(digits, 8 if base == 8 and digits.lstrip("+-").isdigit() else base)
    return value if value in _INT64 else float(value)


def _json_value(value: Any) -> Any:
    """Refuse floats that JSON lacks; write whole ones as integers."""
    if not isinstance(value, float):
        return value
    if math.isnan(value) or math.isinf(value):
        shown = "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
        raise MalformedBodyError(f"json: unsupported value: {shown}")
    return int(value) if value.is_integer() and int(value) in _INT64 else value
