"""Structural compatibility: what may be put into a field, and the reasons why something may not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from kubecel.compatibility import incompatibility
from kubecel.types import (
    BOOL,
    BYTES,
    DYN,
    INT,
    STRING,
    ObjectType,
    Type,
    list_of,
    map_of,
    opaque,
    optional_of,
)

PERSON = ObjectType("person", {"name": STRING, "age": INT})
NAMED = ObjectType("named", {"name": STRING})
ODD = ObjectType("odd", {"name": INT})
EXTRA = ObjectType("extra", {"name": STRING, "age": INT, "mail": STRING})
OPEN = ObjectType("open", {}, is_open=True)
EMPTY = ObjectType("empty", {})
STRINGS = ObjectType("strings", {"a": STRING, "b": STRING})


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (STRING, STRING),
        (DYN, INT),
        (INT, DYN),
        (list_of(DYN), list_of(STRING)),
        (map_of(STRING, INT), map_of(STRING, INT)),
        (map_of(DYN, DYN), map_of(STRING, INT)),
        (optional_of(STRING), STRING),
        (STRING, optional_of(STRING)),
        (optional_of(list_of(NAMED)), list_of(PERSON)),
        (PERSON, PERSON),
        (NAMED, PERSON),
        (EMPTY, PERSON),
        (EXTRA, OPEN),
        (list_of(NAMED), list_of(PERSON)),
        (map_of(STRING, STRING), STRINGS),
        (map_of(STRING, DYN), PERSON),
        (map_of(DYN, DYN), PERSON),
        (STRINGS, map_of(STRING, STRING)),
        (PERSON, map_of(STRING, DYN)),
        (opaque("net.IP"), opaque("net.IP")),
    ],
    ids=str,
)
def test_compatible_types_have_no_reason_against_them(output: Type, expected: Type) -> None:
    assert incompatibility(output, expected) is None


@pytest.mark.parametrize(
    ("output", "expected", "reason"),
    [
        (INT, STRING, 'type kind mismatch: got "int", expected "string"'),
        (BYTES, STRING, 'type kind mismatch: got "bytes", expected "string"'),
        (list_of(STRING), STRING, 'type kind mismatch: got "list(string)", expected "string"'),
        (STRING, PERSON, 'type kind mismatch: got "string", expected "person"'),
        (opaque("net.IP"), opaque("net.CIDR"), 'type kind mismatch: got "net.IP", expected "net.CIDR"'),
        (
            list_of(INT),
            list_of(STRING),
            'list element type incompatible: type kind mismatch: got "int", expected "string"',
        ),
        (
            map_of(INT, INT),
            map_of(STRING, INT),
            'map key type incompatible: type kind mismatch: got "int", expected "string"',
        ),
        (
            map_of(STRING, INT),
            map_of(STRING, BOOL),
            'map value type incompatible: type kind mismatch: got "int", expected "bool"',
        ),
        (EXTRA, PERSON, 'field "mail" exists in output but not in expected type'),
        (
            ODD,
            PERSON,
            'field "name" has incompatible type: type kind mismatch: got "int", expected "string"',
        ),
        (
            map_of(STRING, STRING),
            PERSON,
            'map value incompatible with struct field "age": type kind mismatch: got "string", expected "int"',
        ),
        (map_of(INT, STRING), STRINGS, "map keys must be strings to assign to struct"),
        (STRINGS, map_of(INT, STRING), "map key type must be string when assigning struct to map"),
        (
            PERSON,
            map_of(STRING, STRING),
            'struct field "age" incompatible with map value type: type kind mismatch: got "int", expected "string"',
        ),
        (
            list_of(optional_of(EXTRA)),
            list_of(PERSON),
            'list element type incompatible: field "mail" exists in output but not in expected type',
        ),
    ],
    ids=str,
)
def test_incompatible_types_have_a_reason(output: Type, expected: Type, reason: str) -> None:
    assert incompatibility(output, expected) == reason


class Recursive(Mapping[str, Type]):
    """The fields of a tree: a name, and children which are trees again."""

    def __init__(self, name: str, leaf: Type) -> None:
        self._name = name
        self._leaf = leaf

    def __getitem__(self, key: str) -> Type:
        return {"name": self._leaf, "children": list_of(ObjectType(self._name, self))}[key]

    def __iter__(self) -> Iterator[str]:
        return iter(("name", "children"))

    def __len__(self) -> int:
        return 2


def tree(name: str, leaf: Type = STRING) -> ObjectType:
    return ObjectType(name, Recursive(name, leaf))


def test_recursive_types_are_compared_once() -> None:
    assert incompatibility(tree("mine"), tree("theirs")) is None
    assert incompatibility(tree("mine", INT), tree("theirs")) is not None
    assert incompatibility(map_of(STRING, DYN), tree("theirs")) is None
