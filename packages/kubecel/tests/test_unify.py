"""Assignability: which types go together, what parameters learn from it, and that failing leaves no trace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.checker.unify import Substitution, more_general
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
    UINT,
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

A, B = param("A"), param("B")
APP = ObjectType("app", {})

GROUND = st.recursive(
    st.sampled_from([BOOL, INT, UINT, STRING, NULL, TIMESTAMP, DYN, APP]),
    lambda inner: st.one_of(
        inner.map(list_of), inner.map(optional_of), st.tuples(inner, inner).map(lambda pair: map_of(*pair))
    ),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("given_type", "wanted", "fits"),
    [
        (INT, INT, True),
        (INT, UINT, False),
        (INT, DYN, True),
        (DYN, INT, True),
        (ERROR, INT, True),
        (list_of(INT), list_of(DYN), True),
        (list_of(INT), list_of(STRING), False),
        (map_of(STRING, INT), map_of(STRING, DYN), True),
        (map_of(STRING, INT), list_of(INT), False),
        (optional_of(INT), optional_of(INT), True),
        (optional_of(INT), INT, False),
        (type_of(INT), type_of(STRING), True),
        (type_of(INT), TYPE, True),
        (opaque("net.IP"), opaque("net.CIDR"), False),
        (APP, ObjectType("app", {"a": INT}), True),
        (APP, ObjectType("other", {}), False),
        (INT, nullable_of(INT), True),
        (nullable_of(INT), INT, True),
        (nullable_of(INT), STRING, False),
    ],
    ids=str,
)
def test_assignability_follows_kind_name_and_parameters(
    given_type: Type, wanted: Type, *, fits: bool
) -> None:
    assert Substitution().assignable(given_type, wanted) is fits


@pytest.mark.parametrize(
    ("other", "fits"),
    [
        (NULL, True),
        (DYN, True),
        (TIMESTAMP, True),
        (DURATION, True),
        (APP, True),
        (opaque("net.IP"), True),
        (optional_of(INT), True),
        (nullable_of(INT), True),
        (INT, False),
        (STRING, False),
        (list_of(INT), False),
        (map_of(STRING, INT), False),
    ],
    ids=str,
)
def test_null_goes_with_what_may_be_absent(other: Type, *, fits: bool) -> None:
    assert Substitution().assignable(NULL, other) is fits
    assert Substitution().assignable(other, NULL) is fits


def test_parameter_takes_the_first_type_it_meets() -> None:
    known = Substitution()
    assert known.assignable(INT, A)
    assert known.apply(list_of(A)) == list_of(INT)
    assert not known.assignable(STRING, A)
    assert known.apply(A) == INT


def test_parameter_widens_to_the_more_general_of_two_types() -> None:
    known = Substitution()
    assert known.all_assignable([list_of(INT), list_of(DYN)], [A, A])
    assert known.apply(A) == list_of(DYN)


def test_parameter_follows_other_parameters() -> None:
    known = Substitution()
    assert known.assignable(A, B)
    assert known.assignable(STRING, B)
    assert known.apply(map_of(A, B)) in (map_of(STRING, STRING), map_of(A, STRING))
    assert known.settle(B) == STRING


def test_parameter_never_stands_for_a_type_that_holds_it() -> None:
    known = Substitution()
    assert not known.assignable(list_of(A), A)
    assert known.settle(list_of(A)) == list_of(DYN)


def test_failed_attempt_leaves_no_trace() -> None:
    known = Substitution()
    assert not known.all_assignable([INT, STRING], [A, A])
    assert known.apply(A) is A
    assert known.all_assignable([STRING, STRING], [A, A])
    assert known.apply(A) == STRING


def test_arguments_must_be_as_many_as_parameters() -> None:
    assert not Substitution().all_assignable([INT], [A, B])


def test_settling_makes_unknown_parameters_dynamic() -> None:
    assert Substitution().settle(map_of(A, list_of(B))) == map_of(DYN, list_of(DYN))


@given(GROUND)
def test_every_type_goes_with_itself_and_with_dyn(subject: Type) -> None:
    assert Substitution().assignable(subject, subject)
    assert Substitution().assignable(subject, DYN)
    assert Substitution().assignable(DYN, subject)


@given(GROUND, GROUND)
def test_ground_types_go_together_in_both_directions_or_not_at_all(one: Type, other: Type) -> None:
    assert Substitution().assignable(one, other) is Substitution().assignable(other, one)


@given(GROUND)
def test_parameter_bound_to_a_type_is_that_type(subject: Type) -> None:
    known = Substitution()
    assert known.assignable(subject, A)
    assert known.settle(A) == subject


@given(GROUND)
def test_dyn_is_more_general_than_anything(subject: Type) -> None:
    assert more_general(DYN, subject) == DYN
    assert more_general(subject, DYN) == (subject if subject == DYN else DYN)
