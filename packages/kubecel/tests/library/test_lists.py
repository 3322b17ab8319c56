"""Functions of lists: the extension's, Kubernetes' and kro's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.environments import kro, kubernetes
from kubecel.equality import equals
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.library.extensions import lists
from kubecel.values import NONE, Duration, Optional, Uint
from packages.kubecel.tests.library.evaluating import failure, in_kro, in_kubernetes, refusal

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-3, max_value=3),
    st.integers(min_value=0, max_value=3).map(Uint),
    st.sampled_from([0.0, 1.0, 1.5, float("nan")]),
    st.sampled_from(["", "a", "b"]),
    st.sampled_from([b"", b"a"]),
    st.just(Duration(1)),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2, 3, 4].slice(1, 3)", [2, 3]),
        ("[1, 2].slice(0, 0)", []),
        ("[1, 2].slice(2, 2)", []),
        ("[[1, 2], [3]].flatten()", [1, 2, 3]),
        ("[[1]].flatten(0)", [[1]]),
        ("[[], []].flatten()", []),
        ("[3, 1, 2].sort()", [1, 2, 3]),
        ("['b', 'a', 'B'].sort()", ["B", "a", "b"]),
        ("[true, false].sort()", [False, True]),
        ("[2.5, 1.5].sort()", [1.5, 2.5]),
        ("[b'b', b'a'].sort()", [b"a", b"b"]),
        ("[duration('2s'), duration('1s')].sort()[0] == duration('1s')", True),
        ("[].sort()", []),
        ("[3, 1, 2].sortBy(x, -x)", [3, 2, 1]),
        ("['ccc', 'a', 'bb'].sortBy(s, size(s))", ["a", "bb", "ccc"]),
        ("[{'n': 'b'}, {'n': 'a'}].sortBy(x, x.n).map(x, x.n)", ["a", "b"]),
        ("[[2, 1], [3]].map(x, x.sortBy(y, y))", [[1, 2], [3]]),
        ("[2, 1].sortBy(x, [x].sortBy(y, -y)[0])", [1, 2]),
        ("lists.range(4)", [0, 1, 2, 3]),
        ("lists.range(0)", []),
        ("lists.range(-5)", []),
        ("[1, 2, 3].reverse()", [3, 2, 1]),
        ("[1, 1, 2, 1].distinct()", [1, 2]),
        ("[[1], [1], [2]].distinct()", [[1], [2]]),
        ("[].distinct()", []),
        ("[1, 2, 3].isSorted()", True),
        ("[1, 3, 2].isSorted()", False),
        ("['a', 'a'].isSorted()", True),
        ("[].isSorted()", True),
        ("[1, 2, 3].sum()", 6),
        ("[1u, 2u].sum()", Uint(3)),
        ("[1.5, 2.5].sum()", 4.0),
        ("[duration('1s'), duration('2s')].sum() == duration('3s')", True),
        ("[].sum()", 0),
        ("[3, 1, 2].min()", 1),
        ("[3, 1, 2].max()", 3),
        ("['b', 'a'].min()", "a"),
        ("[timestamp('2020-01-01T00:00:00Z'), timestamp('2021-01-01T00:00:00Z')].max().getFullYear()", 2021),
        ("[1, 2, 1].indexOf(1)", 0),
        ("[1, 2, 1].lastIndexOf(1)", 2),
        ("[1, 2].indexOf(3)", -1),
        ("[[1], [2]].indexOf([2])", 1),
    ],
)
def test_lists_behave_as_in_kubernetes(text: str, value: object) -> None:
    assert in_kro(text) == in_kubernetes(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("lists.setAtIndex([1, 2, 3], 1, 9)", [1, 9, 3]),
        ("lists.insertAtIndex([1, 2, 3], 1, 9)", [1, 9, 2, 3]),
        ("lists.insertAtIndex([1, 2, 3], 3, 9)", [1, 2, 3, 9]),
        ("lists.insertAtIndex([], 0, 9)", [9]),
        ("lists.removeAtIndex([1, 2, 3], 0)", [2, 3]),
        ("[[1, [2, [3]]]].flatten(1)", [1, [2, [3]]]),
        ("[[1, [2, [3]]]].flatten(2)", [1, 2, [3]]),
        ("[[1, [2, [3]]]].flatten(9)", [1, 2, 3]),
        ("dyn([1, 'a', 1.0, 1u, true]).distinct()", [1, "a", True]),
        ("[dyn(1), 2.5].max()", 2.5),
        ("dyn([2, 1]).sort()", [1, 2]),
        ("dyn('cab').reverse()", "bac"),
        ("dyn([1, 2]).reverse()", [2, 1]),
        ("dyn([1, 2]).first()", Optional.of(1)),
        ("dyn([]).last()", NONE),
    ],
)
def test_lists_behave_as_in_kro(text: str, value: object) -> None:
    assert equals(in_kro(text), value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1, 2, 3].slice(0, 4)", "cannot slice(0, 4), list is length 3"),
        ("[1, 2].slice(-1, 1)", "cannot slice(-1, 1), negative indexes not supported"),
        ("[1].slice(1, 0)", "cannot slice(1, 0), start index must be less than or equal to end index"),
        ("[[1]].flatten(-1)", "level must be non-negative"),
        ("dyn([[1]]).sort()", "list elements must be comparable"),
        ("dyn([1, 'a']).sort()", "list elements must have the same type"),
        ("[].min()", "min called on empty list"),
        ("[].max()", "max called on empty list"),
        ("[9223372036854775807, 1].sum()", "integer overflow"),
        ("[18446744073709551615u, 1u].sum()", "unsigned integer overflow"),
        ("dyn([1, 'a']).sum()", "no such overload"),
        ("dyn([1, 'a']).max()", "no such overload"),
        ("lists.setAtIndex([1], 1, 2)", "lists.setAtIndex: index 1 out of bounds [0, 1)"),
        ("lists.insertAtIndex([1], 2, 2)", "lists.insertAtIndex: index 2 out of bounds [0, 1]"),
        ("lists.removeAtIndex([], 0)", "lists.removeAtIndex: index 0 out of bounds [0, 0)"),
    ],
)
def test_wrong_use_of_lists_is_an_error_that_does_not_pass(text: str, problem: str) -> None:
    error = failure(text)

    assert error.message == problem
    assert not error.pending


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("'abc'.sortBy(x, x)", "sortBy can only be applied to a list"),
        ("{'a': 1}.sortBy(x, x)", "sortBy can only be applied to a list"),
        ("[1].sortBy(x.y, x)", "argument is not an identifier"),
        ("[[1]].sort()", "found no matching overload for 'sort'"),
        ("['a'].sum()", "found no matching overload for 'sum'"),
        ("lists.setAtIndex([1], 0, 'a')", "found no matching overload for 'lists.setAtIndex'"),
    ],
)
def test_wrong_types_are_found_by_the_compiler(text: str, problem: str) -> None:
    assert problem in refusal(text, kro())


def test_functions_of_kro_are_not_in_kubernetes() -> None:
    assert "undeclared reference" in refusal("lists.setAtIndex([1], 0, 2)", kubernetes())


def test_sorting_keeps_the_order_of_equal_keys() -> None:
    assert in_kro("['b1', 'a1', 'b2', 'a2'].sortBy(s, s.charAt(0))") == ["a1", "a2", "b1", "b2"]


@given(st.lists(values, max_size=8))
def test_distinct_keeps_the_first_of_all_equal_values(elements: list[Any]) -> None:
    expected: list[Any] = []
    for element in elements:
        if not any(equals(element, other) for other in expected):
            expected.append(element)

    found = lists.distinct(elements)
    assert [id(element) for element in found] == [id(element) for element in expected]


@given(st.lists(st.integers(), max_size=30))
def test_sorted_lists_are_sorted(numbers: list[int]) -> None:
    assert lists.sort(numbers) == sorted(numbers)


@given(st.recursive(st.integers(), lambda inner: st.lists(inner, max_size=4), max_leaves=20))
def test_flattening_deep_enough_leaves_no_list(value: Any) -> None:
    assert not any(isinstance(element, list) for element in lists.flatten([value], 100))


def test_lists_that_come_to_nothing_are_flattened_in_no_time() -> None:
    nothing: list[Any] = []
    for _ in range(60):
        nothing = [nothing, nothing]

    assert lists.flatten(nothing, 100) == []
    assert lists.flatten([1, nothing, 2], 100) == [1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "lists.range(9223372036854775807)",
        "lists.range(100000000).size()",
    ],
)
def test_endless_ranges_are_refused_before_they_are_made(text: str) -> None:
    assert failure(text).kind is ErrorKind.COST_EXCEEDED
    with pytest.raises(EvaluationError) as caught:
        kro().compile(text).evaluate({}, budget=10**30)

    assert caught.value.kind is ErrorKind.TOO_LARGE


def test_flattening_a_list_that_holds_itself_many_times_is_refused() -> None:
    nested: list[Any] = [1, 2]
    for _ in range(60):
        nested = [nested, nested]
    with pytest.raises(EvaluationError) as caught:
        lists.flatten(nested, 100)

    assert caught.value.kind is ErrorKind.TOO_LARGE
