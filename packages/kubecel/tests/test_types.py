"""Types: how they are written, when they are the same, and what they know of themselves."""

from __future__ import annotations

import pytest

from kubecel.types import (
    BOOL,
    DURATION,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    Kind,
    ObjectType,
    Type,
    list_of,
    map_of,
    nullable_of,
    opaque,
    optional_of,
    param,
    type_of,
)


@pytest.mark.parametrize(
    ("subject", "written"),
    [
        (INT, "int"),
        (DYN, "dyn"),
        (NULL, "null"),
        (ERROR, "!error!"),
        (TIMESTAMP, "timestamp"),
        (DURATION, "duration"),
        (list_of(STRING), "list(string)"),
        (map_of(STRING, list_of(DYN)), "map(string, list(dyn))"),
        (optional_of(TIMESTAMP), "optional_type(timestamp)"),
        (type_of(INT), "type(int)"),
        (TYPE, "type"),
        (nullable_of(INT), "wrapper(int)"),
        (param("A"), "A"),
        (opaque("kubernetes.Quantity"), "kubernetes.Quantity"),
        (opaque("box", INT), "box(int)"),
        (ObjectType("__type_app.spec", {}), "__type_app.spec"),
    ],
    ids=str,
)
def test_type_is_written_as_messages_show_it(subject: Type, written: str) -> None:
    assert str(subject) == written


def test_type_keeps_the_name_that_expressions_see() -> None:
    assert (TIMESTAMP.name, DURATION.name, NULL.name) == (
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "null_type",
    )


def test_types_are_equal_if_all_their_parts_are() -> None:
    assert map_of(STRING, list_of(INT)) == map_of(STRING, list_of(INT))
    assert hash(map_of(STRING, INT)) == hash(map_of(STRING, INT))
    assert list_of(INT) != list_of(STRING)
    assert nullable_of(INT) != INT
    assert opaque("optional_type", INT) != optional_of(INT)
    assert INT != "int"


def test_object_types_are_known_by_their_name_alone() -> None:
    assert ObjectType("app", {"a": INT}) == ObjectType("app", {})
    assert ObjectType("app", {}) != ObjectType("other", {})


def test_object_type_knows_its_fields_and_an_open_one_all_others() -> None:
    closed = ObjectType("closed", {"a": INT})
    opened = ObjectType("opened", {"a": INT}, is_open=True)
    assert (closed.field("a"), closed.field("b")) == (INT, None)
    assert (opened.field("a"), opened.field("b")) == (INT, DYN)


def test_generic_types_are_those_that_hold_a_parameter() -> None:
    assert param("A").generic
    assert map_of(STRING, optional_of(list_of(param("A")))).generic
    assert not map_of(STRING, optional_of(list_of(INT))).generic


@pytest.mark.parametrize(
    ("subject", "is_plain"),
    [
        (BOOL, True),
        (DYN, True),
        (opaque("net.IP"), True),
        (list_of(INT), False),
        (param("A"), False),
        (ObjectType("app", {}), False),
        (ERROR, False),
    ],
    ids=str,
)
def test_plain_types_mean_the_same_in_every_expression(subject: Type, *, is_plain: bool) -> None:
    assert subject.plain is is_plain


def test_kinds_are_as_many_as_their_values() -> None:
    assert len({kind.value for kind in Kind}) == len(Kind)
