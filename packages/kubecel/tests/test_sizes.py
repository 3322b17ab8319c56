"""The arithmetic of estimates."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from kubecel.paths import NO_PATH, Path
from kubecel.sizes import LARGEST, ONE, UNKNOWN, Estimate, exactly

NUMBERS = st.integers(0, LARGEST)
ESTIMATES = st.tuples(NUMBERS, NUMBERS).map(lambda pair: Estimate(min(pair), max(pair)))


def test_estimates_add_multiply_and_unite() -> None:
    assert Estimate(1, 2) + Estimate(3, 4) == Estimate(4, 6)
    assert Estimate(1, 2) * Estimate(3, 4) == Estimate(3, 8)
    assert Estimate(1, 2) | Estimate(3, 4) == Estimate(1, 4)


def test_scaling_rounds_up() -> None:
    assert Estimate(1, 11).scaled(0.1) == Estimate(1, 2)
    assert exactly(0).scaled(0.1) == exactly(0)


def test_largest_number_stays_the_largest() -> None:
    assert Estimate(1, LARGEST) == UNKNOWN + ONE
    assert UNKNOWN * exactly(2) == UNKNOWN
    assert UNKNOWN.scaled(1) == UNKNOWN
    assert exactly(LARGEST // 2).scaled(3.0) == exactly(LARGEST)


@given(ESTIMATES, ESTIMATES)
def test_results_stay_in_order_and_in_range(one: Estimate, other: Estimate) -> None:
    for result in (one + other, one * other, one | other, one.scaled(0.25)):
        assert 0 <= result.min <= result.max <= LARGEST


@given(ESTIMATES, st.sampled_from([0.1, 0.25, 0.2, 1.0]))
def test_scaling_never_loses_a_part(one: Estimate, factor: float) -> None:
    assert one.scaled(factor).max >= min(math.floor(float(one.max) * factor), LARGEST)


def test_path_grows_step_by_step() -> None:
    path = Path.of("self").then("ports").then("@items")
    assert path.steps == ("self", "ports", "@items")
    assert path.element().steps == (*path.steps, "@items")
    assert path
    assert not NO_PATH
    assert NO_PATH.then("x").steps == ("x",)
    assert not NO_PATH


def test_paths_of_three_steps_share_the_fourth_as_slices_do() -> None:
    base = Path.of("self").then("ports").then("@items")
    first = base.then("tags")
    second = base.then("name")
    assert base.steps == ("self", "ports", "@items")
    assert first.steps == second.steps == ("self", "ports", "@items", "name")


def test_paths_that_fill_their_storage_share_nothing() -> None:
    base = Path.of("self").then("ports")
    first = base.then("a")
    second = base.then("b")
    assert (first.steps[-1], second.steps[-1]) == ("a", "b")


def test_elements_of_a_path_have_storage_of_their_own() -> None:
    base = Path.of("self").then("a").then("b")
    longer = base.then("c")
    assert base.element().steps[-1] == "@items"
    assert longer.steps[-1] == "c"
