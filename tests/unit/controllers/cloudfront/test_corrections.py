"""Corrections of drift: at once, but not for ever."""

from __future__ import annotations

from edgekeeper.core.clock import VirtualClock
from edgekeeper.lifecycle.corrections import BURST, INTERVAL, Corrections


def test_corrections_follow_each_other_a_few_times_and_then_seldom() -> None:
    clock = VirtualClock()
    corrections = Corrections(clock)
    for _ in range(BURST):
        assert corrections.may_correct_now("a")
        corrections.note("a")
    assert not corrections.may_correct_now("a")
    assert corrections.may_correct_now("b"), "others are not concerned"
    clock.advance(BURST * INTERVAL)
    assert corrections.may_correct_now("a")


def test_corrections_are_seldom_in_the_long_run() -> None:
    clock = VirtualClock()
    corrections = Corrections(clock)
    made = 0
    for _ in range(24 * 60):
        if corrections.may_correct_now("a"):
            corrections.note("a")
            made += 1
        clock.advance(INTERVAL / 5)
    assert made <= BURST + 24 * 12


def test_corrections_of_long_ago_are_forgotten_and_no_others() -> None:
    clock = VirtualClock()
    corrections = Corrections(clock)
    for number in range(1_000):
        corrections.note(f"old {number}")
    clock.advance(BURST * INTERVAL / 2)
    corrections.note("old 0")
    corrections.note("new")
    clock.advance(BURST * INTERVAL / 2)
    corrections.note("newest")
    assert len(corrections) == 3
