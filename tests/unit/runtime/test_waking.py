"""The loop that rests: by a clock of our own, and a socket that is ready when we say so."""

from __future__ import annotations

import asyncio
import selectors
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from unittest.mock import Mock

import pytest

from edgekeeper.runtime.waking import CROWD, LONG_REST, SHORT_REST, WITHIN, WORTH_IT, RestingSelector, run

MOMENT = SHORT_REST / 10


class Clock:
    """Time passes where it is slept through, and where a test says so."""

    def __init__(self) -> None:
        self.now = 100.0
        self.arrival = 2 * MOMENT
        """How long after falling asleep something arrives."""
        self.rests: list[float] = []
        self._fell_asleep: float | None = None

    def monotonic(self) -> float:
        """Asked twice in every wait: before it, and after it."""
        if self._fell_asleep is None:
            self._fell_asleep = self.now
        else:
            self.now = max(self.now, self._fell_asleep + self.arrival)
            self._fell_asleep = None
        return self.now

    def sleep(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def selector(clock: Clock) -> Iterator[RestingSelector]:
    """Something has always arrived, on enough connections, so that it never really waits."""
    with ExitStack() as stack:
        selector = stack.enter_context(RestingSelector(clock.monotonic, clock.sleep))
        for _ in range(WORTH_IT):
            ours, theirs = map(stack.enter_context, socket.socketpair())
            selector.register(ours, selectors.EVENT_READ)
            theirs.send(b"x")
        yield selector


def wake(selector: RestingSelector, clock: Clock, times: int, pause: float = MOMENT) -> None:
    for _ in range(times):
        assert selector.select(None)
        clock.now += pause


def test_few_arrivals_are_handled_at_once(selector: RestingSelector, clock: Clock) -> None:
    wake(selector, clock, CROWD)
    assert clock.rests == []


def test_a_crowd_is_gathered(selector: RestingSelector, clock: Clock) -> None:
    wake(selector, clock, CROWD)
    wake(selector, clock, 3)
    assert clock.rests == pytest.approx([SHORT_REST - MOMENT] * 3)


def test_an_awakening_for_little_is_followed_by_a_longer_rest(
    selector: RestingSelector, clock: Clock
) -> None:
    selector.unregister(next(iter(selector.get_map().values())).fileobj)
    wake(selector, clock, CROWD)
    wake(selector, clock, 500)
    assert clock.rests == pytest.approx([LONG_REST - MOMENT] * 500)


def test_resting_does_not_end_the_crowd_that_it_is_for(selector: RestingSelector, clock: Clock) -> None:
    wake(selector, clock, CROWD)
    began = clock.now
    wake(selector, clock, 500)
    assert len(clock.rests) == 500
    assert clock.now - began == pytest.approx(500 * SHORT_REST)


def test_who_comes_when_the_crowd_is_gone_does_not_wait(selector: RestingSelector, clock: Clock) -> None:
    wake(selector, clock, 2 * CROWD)
    clock.rests.clear()
    wake(selector, clock, 1, pause=2 * WITHIN)
    clock.rests.clear()
    wake(selector, clock, CROWD - 1)
    assert clock.rests == []


def test_a_long_turn_is_followed_by_no_rest(selector: RestingSelector, clock: Clock) -> None:
    clock.arrival = 2 * SHORT_REST
    wake(selector, clock, 2 * CROWD, pause=SHORT_REST)
    assert clock.rests == []


def test_who_works_most_of_the_time_never_rests(selector: RestingSelector, clock: Clock) -> None:
    wake(selector, clock, 20 * CROWD, pause=clock.arrival)
    assert clock.rests == []
    wake(selector, clock, 2 * CROWD, pause=clock.arrival / 2)
    assert clock.rests


def test_turns_that_have_something_to_do_never_rest(selector: RestingSelector, clock: Clock) -> None:
    wake(selector, clock, 2 * CROWD)
    clock.rests.clear()
    for _ in range(CROWD):
        assert len(selector.select(0)) == WORTH_IT
    assert clock.rests == []


def test_timers_are_on_time(selector: RestingSelector, clock: Clock) -> None:
    wake(selector, clock, CROWD)
    before, clock.arrival = clock.now, 0.0
    selector.select(MOMENT)
    assert clock.now - before == pytest.approx(MOMENT)


def test_what_is_left_of_a_wait_is_waited_for(
    selector: RestingSelector, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    wake(selector, clock, CROWD)
    wait = Mock(return_value=[])
    monkeypatch.setattr(selectors.DefaultSelector, "select", wait)
    selector.select(1.0)
    assert wait.call_args.args == pytest.approx((1.0 - (SHORT_REST - MOMENT),))
    assert clock.rests == pytest.approx([SHORT_REST - MOMENT])


def test_a_program_runs_on_it() -> None:
    async def main() -> type[object]:
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        return type(vars(loop)["_selector"])

    assert run(main()) is RestingSelector
