"""Shelves: writers see the present, readers what was before the lag."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.clock import VirtualClock
from kubesim.aws.cloudtime import CloudTime
from kubesim.aws.shelf import Shelf

SECOND = timedelta(seconds=1)
STEPS = st.lists(
    st.tuples(st.sampled_from("ab"), st.none() | st.integers(0, 9), st.integers(0, 4)), max_size=30
)


@given(STEPS, st.integers(0, 5))
def test_a_reader_sees_exactly_what_was_there_before_the_lag(
    steps: list[tuple[str, int | None, int]], lag: int
) -> None:
    clock = VirtualClock()
    shelf: Shelf[str, int] = Shelf(CloudTime(clock), lambda: lag * SECOND)
    history: list[tuple[float, dict[str, int]]] = [(0.0, {})]
    state: dict[str, int] = {}
    for key, value, pause in steps:
        if value is not None:
            shelf.put(key, value)
            state = {**state, key: value}
        elif key in shelf:
            shelf.remove(key)
            state = {each: held for each, held in state.items() if each != key}
        history.append((clock.monotonic(), state))
        clock.advance(pause * SECOND)
        horizon = clock.monotonic() - lag
        expected = [seen for moment, seen in history if moment <= horizon][-1:] or [{}]
        assert dict(shelf.all_seen()) == expected[0]
        assert list(shelf.seen_after("")) == sorted(expected[0].items())
        assert list(shelf.seen_after("a")) == [(key, held) for key, held in expected[0].items() if key > "a"]
        assert {key: shelf.seen(key) for key in "ab"} == {key: expected[0].get(key) for key in "ab"}
        assert dict(shelf.items()) == state
        assert len(shelf) == len(state)


def test_without_a_lag_a_shelf_is_a_dictionary() -> None:
    shelf: Shelf[str, int] = Shelf(CloudTime(VirtualClock()), timedelta)
    shelf.put("a", 1)
    assert (shelf.seen("a"), shelf["a"], shelf.get("b"), list(shelf.values())) == (1, 1, None, [1])
    assert shelf.remove("a") == 1
    assert shelf.seen("a") is None
    with pytest.raises(KeyError):
        shelf.remove("a")


def test_the_clouds_time_only_passes_forwards() -> None:
    time = CloudTime(VirtualClock())
    began = time.now()
    later = time.after(60 * SECOND)
    assert not time.passed(later)
    time.advance(60 * SECOND)
    assert time.passed(later)
    assert time.now() - began == 60 * SECOND
    with pytest.raises(ValueError, match="forwards"):
        time.advance(-SECOND)
