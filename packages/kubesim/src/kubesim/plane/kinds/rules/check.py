"""Single checks that rules are made of. Each yields the field errors it finds, none where all is well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from ipaddress import ip_address, ip_network
from typing import Any, TypeAlias

import msgspec

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.schema.field_error import (
    FieldError,
    duplicate_value,
    forbidden_field,
    invalid_value,
    required,
    unsupported_value,
)
from kubesim.plane.kinds.quantity import parse_quantity
from kubesim.plane.kinds.rules import name
from kubesim.plane.labels import label_key_problems, label_value_problems, subdomain_problems

Errors: TypeAlias = Iterator[FieldError]
Syntax: TypeAlias = Callable[[str], Sequence[str]]

PROTOCOLS = ("SCTP", "TCP", "UDP")
NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"


def struct(**fields: Any) -> msgspec.Raw:
    """A value that the server shows as its internal type: with Go's names, in the order of the type."""
    return msgspec.Raw(msgspec.json.encode(fields))


def at(path: str, step: str) -> str:
    """The path of a field below another one."""
    return f"{path}.{step}" if path else step


def each(tree: Any, field: str, path: str = "") -> Iterator[tuple[str, JsonObject]]:
    """Walk a list of objects together with the path of each of them."""
    for index, entry in enumerate(dig_list(tree, field)):
        if isinstance(entry, dict):
            yield f"{at(path, field)}[{index}]", entry


def missing(path: str, value: Any, detail: str = "") -> Errors:
    if not value:
        yield required(path, detail)


def conforms(path: str, value: str, syntax: Syntax) -> Errors:
    for problem in syntax(value):
        yield invalid_value(path, value, problem)


def named(path: str, value: str | None, syntax: Syntax) -> Errors:
    """A name that must be there and must be well formed."""
    if not value:
        yield required(path)
    else:
        yield from conforms(path, value, syntax)


def one_of(path: str, value: Any, supported: Sequence[str]) -> Errors:
    """A word from a list that must be there."""
    if not value:
        yield required(path)
    elif value not in supported:
        yield unsupported_value(path, value, supported)


def optional_of(path: str, value: Any, supported: Sequence[str]) -> Errors:
    """A word from a list that may be absent."""
    if value is not None and value not in supported:
        yield unsupported_value(path, value, supported)


def not_negative(tree: Any, path: str, *fields: str) -> Errors:
    for field in fields:
        value = dig(tree, field)
        if isinstance(value, int) and value < 0:
            yield invalid_value(at(path, field), value, NEGATIVE)


def port_number(path: str, port: int) -> Errors:
    if not 1 <= port <= 65_535:
        yield invalid_value(path, port, "must be between 1 and 65535, inclusive")


def port_reference(path: str, port: int | str) -> Errors:
    """A port by number or by name."""
    if isinstance(port, int):
        yield from port_number(path, port)
    else:
        yield from conforms(path, port, name.port_name)


def int_or_percent(path: str, value: int | str) -> Errors:
    if isinstance(value, str):
        yield from conforms(path, value, name.percent)
    elif value < 0:
        yield invalid_value(path, value, NEGATIVE)


def at_most_all(path: str, value: int | str) -> Errors:
    if isinstance(value, str) and not name.percent(value) and int(value[:-1]) > 100:
        yield invalid_value(path, value, "must not be greater than 100%")


def labels(path: str, values: JsonObject) -> Errors:
    for key, value in values.items():
        yield from conforms(path, key, label_key_problems)
        yield from conforms(path, value, label_value_problems)


def selector(path: str, tree: Any) -> Errors:
    """A structured label selector."""
    yield from labels(f"{path}.matchLabels", dig_object(tree, "matchLabels"))
    for where, expression in each(tree, "matchExpressions", path):
        operator, values = expression.get("operator"), dig_list(expression, "values")
        if operator in ("In", "NotIn"):
            if not values:
                yield required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield forbidden_field(f"{where}.values", why)
        else:
            yield invalid_value(f"{where}.operator", operator, "not a valid selector operator")
        yield from conforms(f"{where}.key", expression.get("key", ""), label_key_problems)
        for index, value in enumerate(values):
            yield from conforms(f"{where}.values[{index}]", value, label_value_problems)


def immutable(path: str, new: Any, old: Any) -> Errors:
    if new != old:
        yield invalid_value(path, new, IMMUTABLE)


def unique(path: str, value: Any, seen: set[Any]) -> Errors:
    if value in seen:
        yield duplicate_value(path, value)
    seen.add(value)


def quantity(path: str, value: Any) -> Errors:
    amount = parse_quantity(value)
    if amount is not None and amount < 0:
        yield invalid_value(path, value, NEGATIVE)


def ip(path: str, value: str) -> Errors:
    try:
        ip_address(value)
    except ValueError:
        yield invalid_value(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def cidr(path: str, value: str) -> Errors:
    try:
        ip_network(value if "/" in value else "", strict=False)
    except ValueError:
        yield invalid_value(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")


def domain_prefixed_path(path: str, value: str) -> Errors:
    """`example.com/thing`."""
    domain, _, rest = value.partition("/")
    if not value:
        yield required(path)
    elif not domain or not rest:
        yield invalid_value(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from conforms(path, domain, subdomain_problems)
        yield from conforms(path, rest, name.http_path)
