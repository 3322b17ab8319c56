"""Compare values with a schema: types, limits, patterns, formats, enumerations and required fields.

A node becomes a table of checks by JSON type, so the type itself costs one look-up, and a field of the right type without
further demands costs nothing else. The order of the checks at one node is kube-openapi's, because the order of errors
follows from it: type, junctors (`anyOf` …), string, format, number, list, enumeration, object.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any, TypeAlias

import msgspec

from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.schema import junctor, number, scalar
from edgekeeper.schema.field_error import FieldError, invalid_value, too_many
from edgekeeper.schema.node import Node
from edgekeeper.schema.problem import NO_FIELD, NOTHING, Problem, invalid, missing, refused, under
from edgekeeper.schema.table import TYPE_NAMES, Table, table_of

Check: TypeAlias = Callable[[Any], list[Problem]]
"""Looks at a value of a known type and says what is wrong; an empty list means nothing."""


def compile_check(node: Node) -> Table[Check]:
    return table_of(node, compile_check, _build)


def run(table: Table[Check], value: Any) -> list[Problem]:
    check = table.get(type(value))
    return check(value) if check is not None else []


def _build(node: Node) -> dict[type, Check]:
    checks = {kind: _all_of(_checks_at(node, kind)) for kind in TYPE_NAMES}
    return {kind: check for kind, check in checks.items() if check is not None}


def _checks_at(node: Node, kind: type) -> list[Check | None]:
    if kind is NoneType:
        return [scalar.check_type(node, kind), scalar.check_enum(node, kind)]
    return [
        scalar.check_type(node, kind),
        junctor.check_junctors(node, kind, compile_check),
        scalar.check_string(node) if kind is str else None,
        scalar.check_format(node) if kind is str else None,
        number.check_number(node, kind) if kind in (int, float) else None,
        _check_items(node) if kind is list else None,
        _check_item_count(node) if kind is list else None,
        scalar.check_enum(node, kind),
        _check_property_count(node) if kind is dict else None,
        _check_fields(node) if kind is dict else None,
    ]


def _all_of(candidates: list[Check | None]) -> Check | None:
    checks = [check for check in candidates if check is not None]
    if len(checks) <= 1:
        return checks[0] if checks else None

    def check_all(value: Any) -> list[Problem]:
        problems = NOTHING
        for check in checks:
            if found := check(value):
                problems = problems + found
        return problems

    return check_all


def _check_items(node: Node) -> Check | None:
    if node.items is None:
        return None
    table = compile_check(node.items)

    def check(value: list[Any]) -> list[Problem]:
        problems = NOTHING
        for index, item in enumerate(value):
            check_item = table.get(type(item))
            if check_item is not None and (found := check_item(item)):
                problems = problems + under(index, found)
        return problems

    return check


def _check_item_count(node: Node) -> Check | None:
    least, most = node.source.get("minItems") or 0, node.source.get("maxItems")
    unique = bool(node.source.get("uniqueItems"))
    if not least and most is None and not unique:
        return None

    def check(value: list[Any]) -> list[Problem]:
        size = len(value)
        problems = []
        if size < least:
            problems.append(invalid(size, f"should have at least {least} items"))
        if most is not None and size > most:
            problems.append(refused(lambda path: too_many(path, size, most)))
        if unique and len({msgspec.json.encode(item, order="sorted") for item in value}) < size:
            problems.append(invalid("", "shouldn't contain duplicates"))
        return problems

    return check


def _check_property_count(node: Node) -> Check | None:
    least, most = node.source.get("minProperties") or 0, node.source.get("maxProperties")
    if not least and most is None:
        return None

    def check(value: JsonObject) -> list[Problem]:
        size = len(value)
        if size < least:
            return [invalid(size, f"should have at least {least} properties")]
        if most is not None and size > most:
            return [refused(lambda path: too_many(path, size, most))]
        return []

    return check


def _check_fields(node: Node) -> Check | None:
    tables = {key: compile_check(child) for key, child in node.properties.items() if _is_checked(node, key)}
    rest = compile_check(node.additional) if node.additional is not None else Table[Check]()
    required = frozenset(dig_list(node.source, "required"))
    in_order = tuple(dig_list(node.source, "required"))
    closed = node.closed

    def check(value: JsonObject) -> list[Problem]:
        problems = _forbidden_keys(value, tables) if closed else NOTHING
        for key, child in value.items():
            check_child = tables.get(key, rest).get(type(child))
            if check_child is not None and (found := check_child(child)):
                problems = problems + under(key, found)
        if required and not required <= value.keys():
            problems = problems + [missing(key) for key in in_order if key not in value]
        return problems

    return check if tables or rest.needed or required or closed else None


def _is_checked(node: Node, key: str) -> bool:
    """The metadata of built-in kinds has rules of its own, which are not in its schema."""
    return not (node.builtin and node.root and key == "metadata")


def _forbidden_keys(value: JsonObject, declared: dict[str, Table[Check]]) -> list[Problem]:
    return [_forbidden_key(key) for key in value if key not in declared]


def _forbidden_key(key: str) -> Problem:
    def render(path: str) -> FieldError:
        return invalid_value(path or NO_FIELD, key, f"{path}.{key} in body is a forbidden property")

    return Problem((), render)
