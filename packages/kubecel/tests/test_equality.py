"""Equality and order of values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel import types
from kubecel.equality import compare, contains, equals, equals_within
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.values import NONE, Duration, Optional, Timestamp, Uint, map_key

NAN = float("nan")


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (1, Uint(1)),
        (1.0, Uint(1)),
        (2**63 - 1, float(2**63)),
        ([1, [2.0]], (1, [Uint(2)])),
        ({"a": 1, "b": [2]}, {"b": [2.0], "a": Uint(1)}),
        ({1: "x"}, {1.0: "x"}),
        (Optional.of(1), Optional.of(1.0)),
        (NONE, NONE),
        (Timestamp(5), Timestamp(5)),
        (types.list_of(types.INT), types.list_of(types.STRING)),
        (None, None),
        ("a", Text("a")),
    ],
)
def test_equal_values_are_equal_both_ways(left: Any, right: Any) -> None:
    assert equals(left, right)
    assert equals(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (True, 1),
        (False, 0.0),
        ([True], [1]),
        ({"a": True}, {"a": 1}),
        ({map_key(True): 1}, {1: 1}),
        (NAN, NAN),
        ([NAN], [NAN]),
        ("a", b"a"),
        ("1", 1),
        ([], {}),
        ([1], [1, 2]),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        (Optional.of(None), NONE),
        (Optional.of(1), 1),
        (Timestamp(5), Duration(5)),
        (None, 0),
        (types.INT, types.UINT),
        (types.INT, "int"),
    ],
)
def test_unequal_values_are_unequal_both_ways(left: Any, right: Any) -> None:
    assert not equals(left, right)
    assert not equals(right, left)


@pytest.mark.parametrize(
    ("lesser", "greater"),
    [
        (1, 2),
        (1, 1.5),
        (Uint(1), 1.5),
        (-1, Uint(0)),
        (1.5, Uint(2)),
        ("a", "b"),
        ("Z", "a"),
        (b"a", b"b"),
        (False, True),
        (Timestamp(1), Timestamp(2)),
        (Duration(-1), Duration(0)),
        (float("-inf"), -(2**63)),
    ],
)
def test_order_is_strict(lesser: Any, greater: Any) -> None:
    assert compare(lesser, greater) < 0
    assert compare(greater, lesser) > 0
    assert compare(lesser, lesser) == 0


@pytest.mark.parametrize(
    ("left", "right"), [(1, "a"), (True, 1), ([], []), ({}, {}), (None, None), (1, NAN), (NAN, NAN)]
)
def test_values_without_order_are_an_error(left: Any, right: Any) -> None:
    with pytest.raises(EvaluationError):
        compare(left, right)


def test_lists_hold_what_is_equal() -> None:
    assert contains([1, "a", [2]], 1.0)
    assert contains(["a"], "a")
    assert contains([[1]], [Uint(1)])
    assert not contains([1], True)
    assert not contains([1], "1")


def test_depth_is_no_obstacle() -> None:
    left: list[Any] = []
    right: list[Any] = []
    for _ in range(10_000):
        left, right = [left], [right]
    assert equals_within(left, right, [10**9])
    assert not equals_within(left, [right], [10**9])


def test_comparing_stops_when_the_allowance_is_used_up() -> None:
    left: list[Any] = [1]
    right: list[Any] = [1]
    for _ in range(60):  # each level holds the one below twice: 2^60 comparisons
        left, right = [left, left], [right, right]
    with pytest.raises(EvaluationError) as caught:
        equals_within(left, right, [1000])
    assert caught.value.kind is ErrorKind.COST_EXCEEDED


_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(-5, 5), st.text("ab", max_size=2)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("ab", max_size=1), inner, max_size=2)
    ),
    max_leaves=5,
)


@given(_VALUES, _VALUES)
def test_equality_is_symmetric_and_reflexive(left: Any, right: Any) -> None:
    assert equals(left, left)
    assert equals(left, right) == equals(right, left)


@given(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
def test_order_of_numbers_agrees_with_equality(whole: int, double: float) -> None:
    assert (compare(whole, double) == 0) == equals(whole, double)
    assert compare(whole, double) == -compare(double, whole)
