"""Leaving a silent provider alone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgekeeper.cloud.circuit import TOLERATED, Circuit, State
from edgekeeper.core.clock import VirtualClock
from edgekeeper.core.errors import Cause, Wait


class Line:
    """A circuit, and calls through it."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.circuit = Circuit("aws cloudfront", self.clock)

    def call(self, answered: bool | None, times: int = 1) -> None:
        for _ in range(times):
            with self.circuit.passage() as passage:
                passage.answered = answered

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    def state(self) -> State:
        return self.circuit.state

    def wait(self) -> timedelta:
        """How long somebody who calls now is told to wait."""
        with pytest.raises(Wait) as caught:
            self.circuit.check()
        return caught.value.after


@pytest.fixture(name="line")
def _line() -> Line:
    return Line()


def test_circuit_opens_after_some_calls_in_a_row_without_an_answer(line: Line) -> None:
    line.call(False, TOLERATED - 1)
    assert line.state() is State.CLOSED
    line.call(False)
    assert line.state() is State.OPEN
    assert line.wait() == timedelta(seconds=10)


def test_circuit_any_answer_starts_the_count_again(line: Line) -> None:
    for _ in range(10):
        line.call(False, TOLERATED - 1)
        line.call(True)
    assert line.state() is State.CLOSED


def test_circuit_says_who_does_not_answer(line: Line) -> None:
    line.call(False, TOLERATED)
    with pytest.raises(Wait, match="aws cloudfront did not respond to 5 calls in a row") as caught:
        line.circuit.check()
    assert (caught.value.reason, caught.value.unavailable) == ("ProviderUnavailable", Cause.UNREACHABLE)


def test_circuit_lets_one_call_through_to_see(line: Line) -> None:
    line.call(False, TOLERATED)
    line.pass_time(10)
    assert line.state() is State.HALF_OPEN
    with line.circuit.passage() as probe:
        assert line.wait() == timedelta(seconds=5)
        probe.answered = True
    assert line.state() is State.CLOSED


def test_circuit_rests_longer_each_time_but_not_for_ever(line: Line) -> None:
    line.call(False, TOLERATED)
    rests = []
    for _ in range(6):
        rests.append(line.wait().total_seconds())
        line.pass_time(rests[-1])
        line.call(False)
    assert rests == pytest.approx([10, 20, 40, 80, 120, 120])


def test_circuit_forgets_its_history_once_it_is_closed(line: Line) -> None:
    line.call(False, TOLERATED)
    line.pass_time(10)
    line.call(False)
    line.pass_time(20)
    line.call(True)
    line.call(False, TOLERATED)
    assert line.wait() == timedelta(seconds=10)


def test_circuit_cancelled_probe_proves_nothing_and_blocks_nobody(line: Line) -> None:
    line.call(False, TOLERATED)
    line.pass_time(10)
    line.call(None)
    assert line.state() is State.HALF_OPEN
    line.call(True)
    assert line.state() is State.CLOSED


def test_circuit_calls_that_were_under_way_do_not_prolong_the_rest(line: Line) -> None:
    with line.circuit.passage() as late:
        line.call(False, TOLERATED)
        line.pass_time(3)
        late.answered = False
    assert line.wait() == timedelta(seconds=7)


def test_circuit_late_answer_closes_it(line: Line) -> None:
    with line.circuit.passage() as late:
        line.call(False, TOLERATED)
        late.answered = True
    assert line.state() is State.CLOSED
