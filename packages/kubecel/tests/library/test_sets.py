"""Lists as sets, and the membership behind them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.environments import kro, kubernetes
from kubecel.equality import equals
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.library.extensions.sets import contains, equivalent, intersects
from kubecel.library.kubernetes.quantity import parse_quantity
from kubecel.library.members import Members
from kubecel.types import INT, STRING
from kubecel.values import Duration, Optional, Timestamp, Uint
from packages.kubecel.tests.library.evaluating import failure, in_kubernetes, refusal

VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    Uint(1),
    1.0,
    float("nan"),
    "",
    "1",
    b"1",
    Timestamp(1),
    Duration(1),
    [],
    [1],
    [1.0],
    [True],
    {},
    {"a": 1},
    {"a": Uint(1)},
    Optional.of(1),
    Optional.none(),
    INT,
    STRING,
    parse_quantity("1"),
    parse_quantity("1000m"),
]


@pytest.mark.parametrize("first", VALUES, ids=repr)
def test_membership_is_equality(first: Any) -> None:
    assert [first in Members([second]) for second in VALUES] == [equals(first, second) for second in VALUES]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("sets.contains([1, 2, 3], [2, 1])", True),
        ("sets.contains([1], [])", True),
        ("sets.contains([], [1])", False),
        ("sets.contains([[1], [2]], [[2]])", True),
        ("sets.contains([dyn(1)], [dyn(1u)])", True),
        ("sets.equivalent([1, 1, 2], [2, 1])", True),
        ("sets.equivalent([1], [1, 2])", False),
        ("sets.equivalent([], [])", True),
        ("sets.intersects([1, 2], [2, 3])", True),
        ("sets.intersects([1], [2])", False),
        ("sets.intersects([1], [])", False),
    ],
)
def test_lists_are_sets_to_kubernetes(text: str, value: bool) -> None:
    assert in_kubernetes(text) is value


def test_sets_are_not_in_kro() -> None:
    assert "undeclared reference" in refusal("sets.contains([1], [1])", kro())


small_lists = st.lists(st.one_of(st.integers(0, 4), st.sampled_from("ab"), st.just([1])), max_size=6)


@given(small_lists, small_lists)
def test_set_operations_agree_with_one_another(left: list[Any], right: list[Any]) -> None:
    assert contains(left, right) == all(any(equals(a, b) for a in left) for b in right)
    assert intersects(left, right) == intersects(right, left)
    assert equivalent(left, right) == (contains(left, right) and contains(right, left))
    assert contains(left, left)


def _holding_itself_many_times() -> list[Any]:
    nested: list[Any] = [1]
    for _ in range(60):
        nested = [nested, nested]
    return nested


def test_values_that_hold_themselves_many_times_are_compared_once_but_charged_in_full() -> None:
    left, right = _holding_itself_many_times(), _holding_itself_many_times()

    assert contains([left], [right])
    assert not contains([left], [right[0]])
    environment = kubernetes()
    assert failure("sets.contains([a], [b])", environment=environment, a=left, b=right).kind is (
        ErrorKind.COST_EXCEEDED
    )
    assert failure("[a].indexOf(b)", environment=environment, a=left, b=right).kind is ErrorKind.COST_EXCEEDED
    assert failure("[a, b].distinct()", environment=environment, a=left, b=right).kind is (
        ErrorKind.COST_EXCEEDED
    )


def test_value_nested_too_deeply_is_refused() -> None:
    nested: Any = []
    for _ in range(5000):
        nested = [nested]
    with pytest.raises(EvaluationError) as caught:
        contains([nested], [nested])

    assert caught.value.kind is ErrorKind.TOO_DEEP


def test_thousands_of_strings_are_compared_in_no_time() -> None:
    names = [f"name-{number}" for number in range(50_000)]

    assert equivalent(names, names[::-1])
