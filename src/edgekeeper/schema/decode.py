"""Wrong JSON types in built-in kinds, in the words of Go's decoder.

The real server decodes built-in kinds into Go structs, so a string where a number belongs is no validation error (422)
but a request that cannot be read (400). Null is the same as absent there.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, TypeAlias

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.formats import format_test
from edgekeeper.schema.node import Node
from edgekeeper.schema.problem import Steps, dotted
from edgekeeper.schema.table import TYPE_NAMES, Table, needed_tables, table_of

_FOUND_NAMES = {"integer": "number", "boolean": "bool"}
_GO_SCALARS = {"string": "string", "boolean": "bool", "integer": "int64", "number": "float64"}
_QUANTITY = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
_QUANTITY_RULE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WHOLE_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_MICRO_TIME = re.compile(_WHOLE_SECONDS.pattern + r"\.\d{6}(?:Z|[+-]\d\d:\d\d)")
_INT_RANGES = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}


@dataclass(frozen=True, slots=True)
class TypeMismatch:
    """A value that cannot be decoded. `message` is what the decoder says; the request handler adds the kind."""

    steps: Steps
    expected: str
    found: str
    struct: str = ""
    fields: tuple[str, ...] = ()
    """The struct fields on the way, which are all that Go's message names: neither indices nor map keys."""
    complaint: str = ""
    """The message of types that decode themselves (quantities, times), which replaces the usual one."""

    @property
    def path(self) -> str:
        return dotted(self.steps)

    @property
    def message(self) -> str:
        if self.complaint:
            return self.complaint
        if not self.fields:
            return f"json: cannot unmarshal {self.found} into Go value of type {self.expected}"
        target = ".".join((self.struct, *self.fields))
        return f"json: cannot unmarshal {self.found} into Go struct field {target} of type {self.expected}"


Decode: TypeAlias = Callable[[Any], list[TypeMismatch]]


def compile_decode(node: Node) -> Table[Decode]:
    return table_of(node, compile_decode, _build)


def _build(node: Node) -> dict[type, Decode]:
    visit_special = _SPECIAL.get(node.name.rpartition(".")[2], _visit)
    visits = {kind: visit_special(node, kind) for kind in TYPE_NAMES if kind is not NoneType}
    return {kind: visit for kind, visit in visits.items() if visit is not None}


def _visit(node: Node, kind: type) -> Decode | None:
    if not node.types or TYPE_NAMES[kind] in node.types or (kind is int and "number" in node.types):
        return _VISITS.get(kind, _accept)(node)
    found = TYPE_NAMES[kind]
    found = _FOUND_NAMES.get(found, found)
    expected = go_type(node)
    if kind is float and "integer" in node.types:
        return lambda value: [TypeMismatch((), expected, f"number {value!r}")]
    return lambda _: [TypeMismatch((), expected, found)]


def _accept(_: Node) -> Decode | None:
    return None


def _visit_object(node: Node) -> Decode | None:
    tables = needed_tables(node.properties, compile_decode)
    rest = compile_decode(node.additional) if node.additional is not None else Table[Decode]()
    if not tables and not rest.needed:
        return None
    struct = _struct_name(node)

    def visit(value: JsonObject) -> list[TypeMismatch]:
        found: list[TypeMismatch] = []
        for key, child in value.items():
            visit_child = tables.get(key, rest).get(type(child))
            if visit_child is not None and (wrong := visit_child(child)):
                found += _under_field(key, wrong, struct) if key in tables else _under(key, wrong)
        return found

    return visit


def _visit_list(node: Node) -> Decode | None:
    if node.items is None:
        return None
    table = compile_decode(node.items)

    def visit(value: list[Any]) -> list[TypeMismatch]:
        found: list[TypeMismatch] = []
        for index, item in enumerate(value):
            visit_item = table.get(type(item))
            if visit_item is not None and (wrong := visit_item(item)):
                found += _under(index, wrong)
        return found

    return visit


def _visit_int(node: Node) -> Decode | None:
    expected = go_type(node)
    fitting = _INT_RANGES.get(expected)
    if fitting is None:
        return None
    return lambda value: [] if value in fitting else [TypeMismatch((), expected, f"number {value}")]


def _visit_string(node: Node) -> Decode | None:
    declared = node.source.get("format")
    if declared == "byte":
        return _decode_base64
    if declared == "date-time":
        return _decode_micro_time if node.name.endswith(".MicroTime") else _decode_time
    return None


_VISITS: dict[type, Callable[[Node], Decode | None]] = {
    dict: _visit_object,
    list: _visit_list,
    int: _visit_int,
    str: _visit_string,
}


def _decode_base64(value: str) -> list[TypeMismatch]:
    try:
        a2b_base64(value.encode(), strict_mode=True)
    except (Base64Error, UnicodeEncodeError):
        first = re.search("[^A-Za-z0-9+/]", value)
        where = first.start() if first else len(value) // 4 * 4
        return [TypeMismatch((), "[]uint8", "string", complaint=f"illegal base64 data at input byte {where}")]
    return []


def _decode_time(value: str) -> list[TypeMismatch]:
    accepts = format_test("date-time")
    if accepts is None or accepts(value):
        return []
    complaint = f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}" as "2006"'
    return [TypeMismatch((), "Time", "string", complaint=complaint)]


def _decode_micro_time(value: str) -> list[TypeMismatch]:
    """Times of leases and events: the fraction has six digits, no more and no less."""
    if _MICRO_TIME.fullmatch(value):
        return []
    whole = _WHOLE_SECONDS.match(value)
    rest, expected = (value[whole.end() :], ".000000") if whole else (value, "2006")
    complaint = (
        f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "{rest}" as "{expected}"'
    )
    return [TypeMismatch((), "MicroTime", "string", complaint=complaint)]


def _quantity(_: Node, kind: type) -> Decode | None:
    def visit(value: Any) -> list[TypeMismatch]:
        numeric = kind in (int, float)
        if numeric or (kind is str and _QUANTITY.fullmatch(value)):
            return []
        return [TypeMismatch((), "resource.Quantity", TYPE_NAMES[kind], complaint=_QUANTITY_RULE)]

    return visit


def _int_or_string(_: Node, kind: type) -> Decode | None:
    if kind is str:
        return None
    if kind is int:
        narrow = _INT_RANGES["int32"]
        return lambda value: [] if value in narrow else [_not_int32(f"number {value}")]
    found = _FOUND_NAMES.get(TYPE_NAMES[kind], TYPE_NAMES[kind])
    return lambda _: [_not_int32(found)]


def _not_int32(found: str) -> TypeMismatch:
    complaint = f"json: cannot unmarshal {found} into Go value of type int32"
    return TypeMismatch((), "int32", found, complaint=complaint)


def _schema_or_else(node: Node, kind: type) -> Decode | None:
    """In the definition of a custom kind: a schema, or a list or boolean that stands for one. Decodes apart."""
    if kind is not dict or node.definitions is None:
        return None
    table = compile_decode(node.definitions.node(f"{node.name.rpartition('.')[0]}.JSONSchemaProps"))

    def visit(value: JsonObject) -> list[TypeMismatch]:
        visit_schema = table.get(dict)
        found = visit_schema(value) if visit_schema is not None else []
        return [replace(mismatch, complaint=mismatch.message) for mismatch in found]

    return visit


_SPECIAL: dict[str, Callable[[Node, type], Decode | None]] = {
    "Quantity": _quantity,
    "IntOrString": _int_or_string,
    "JSONSchemaPropsOrArray": _schema_or_else,
    "JSONSchemaPropsOrBool": _schema_or_else,
}
"""Types that decode themselves, by the last part of their definition's name."""


def go_type(node: Node) -> str:
    """The Go type that a schema was generated from, as far as the schema shows it."""
    if node.properties:
        return ".".join(node.name.split(".")[-2:]) or "struct"
    declared = node.types[0] if node.types else ""
    if declared == "array":
        return f"[]{go_type(node.items)}" if node.items is not None else "[]interface {}"
    if declared == "object":
        return f"map[string]{go_type(node.additional) if node.additional is not None else 'interface {}'}"
    if declared == "string" and node.source.get("format") == "byte":
        return "[]uint8"
    if declared == "integer" and node.source.get("format") == "int32":
        return "int32"
    return _GO_SCALARS.get(declared, "interface {}")


def _struct_name(node: Node) -> str:
    return node.name.rpartition(".")[2] if node.properties else ""


def _under(step: str | int, mismatches: list[TypeMismatch]) -> list[TypeMismatch]:
    return [replace(found, steps=(step, *found.steps)) for found in mismatches]


def _under_field(key: str, mismatches: list[TypeMismatch], struct: str) -> list[TypeMismatch]:
    return [
        replace(found, steps=(key, *found.steps), fields=(key, *found.fields), struct=found.struct or struct)
        for found in mismatches
    ]
