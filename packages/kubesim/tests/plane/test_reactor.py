"""The work loop of the controllers: every key is handled, one at a time, until it works, and nobody is held up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from kubesim.plane.reactor import Reactor
from kubesim.virtual import run_virtual


@asynccontextmanager
async def started(reactor: Reactor) -> AsyncIterator[Reactor]:
    reactor.start()
    try:
        yield reactor
    finally:
        await reactor.stop()


def recording(handled: list[str]) -> Reactor:
    async def handle(key: str) -> None:
        handled.append(key)

    return Reactor("test", handle)


async def test_reactor_handles_every_key_in_the_order_of_arrival() -> None:
    handled: list[str] = []
    async with started(recording(handled)) as reactor:
        for key in "cab":
            reactor.enqueue(key)
        await reactor.idle()
    assert handled == ["c", "a", "b"]


async def test_reactor_handles_a_key_once_however_often_it_waits() -> None:
    handled: list[str] = []
    async with started(recording(handled)) as reactor:
        for key in "aabab":
            reactor.enqueue(key)
        await reactor.idle()
        reactor.enqueue("a")
        await reactor.idle()
    assert handled == ["a", "b", "a"]


async def test_reactor_handles_a_key_again_that_came_back_while_it_was_handled() -> None:
    handled: list[str] = []

    async def handle(key: str) -> None:
        handled.append(key)
        if len(handled) == 1:
            reactor.enqueue(key)

    reactor = Reactor("test", handle)
    async with started(reactor):
        reactor.enqueue("a")
        await reactor.idle()
    assert handled == ["a", "a"]


async def test_reactor_never_handles_two_keys_at_once() -> None:
    in_hand: set[int] = set()
    most = 0

    async def handle(key: int) -> None:
        nonlocal most
        in_hand.add(key)
        await asyncio.sleep(0)
        most = max(most, len(in_hand))
        in_hand.remove(key)

    async with started(Reactor("test", handle)) as reactor:
        for key in range(5):
            reactor.enqueue(key)
        await reactor.idle()
    assert most == 1


async def test_reactor_is_not_idle_while_a_key_is_in_hand() -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    async def handle(_key: str) -> None:
        entered.set()
        await leave.wait()

    async with started(Reactor("test", handle)) as reactor:
        idle = [reactor.is_idle]
        reactor.enqueue("a")
        await entered.wait()
        idle.append(reactor.is_idle)
        leave.set()
        await reactor.idle()
        idle.append(reactor.is_idle)
    assert idle == [True, False, True]


async def test_reactor_lets_others_in_between_two_keys() -> None:
    handled: list[int] = []

    async def handle(key: int) -> None:
        handled.append(key)
        if key < 100:
            reactor.enqueue(key + 1)

    reactor = Reactor("test", handle)
    async with started(reactor):
        reactor.enqueue(0)
        for _ in range(5):
            await asyncio.sleep(0)
        assert len(handled) < 100
        await reactor.idle()
    assert len(handled) == 101


def flaky(failures: int, times: list[float]) -> Callable[[str], Awaitable[None]]:
    """Fails some times, noting when it was tried."""

    async def handle(key: str) -> None:
        if key == "bad":
            times.append(asyncio.get_running_loop().time())
            if len(times) <= failures:
                raise RuntimeError("not yet")

    return handle


@pytest.mark.parametrize("failures", [1, 4, 12])
def test_reactor_tries_again_with_growing_pauses(failures: int, caplog: pytest.LogCaptureFixture) -> None:
    times: list[float] = []

    async def scenario() -> None:
        async with started(Reactor("test", flaky(failures, times))) as reactor:
            reactor.enqueue("bad")
            await asyncio.sleep(300.0)

    run_virtual(scenario)
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert len(pauses) == failures
    assert pauses == sorted(pauses)
    assert pauses[0] == pytest.approx(0.1)
    assert max(pauses) <= 30.0 + 1e-6
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.getMessage() for record in errors] == [
        f"test could not handle bad, attempt {number + 1}" for number in range(failures)
    ]


async def test_reactor_goes_on_with_other_keys_after_a_failure() -> None:
    handled: list[str] = []

    async def handle(key: str) -> None:
        if key == "bad":
            raise RuntimeError("never")
        handled.append(key)

    async with started(Reactor("test", handle)) as reactor:
        for key in ("a", "bad", "b"):
            reactor.enqueue(key)
        await reactor.idle()
    assert handled == ["a", "b"]


def test_reactor_forgives_a_key_that_worked_at_last() -> None:
    times: list[float] = []

    async def handle(_key: str) -> None:
        times.append(asyncio.get_running_loop().time())
        if len(times) in (1, 2, 4):
            raise RuntimeError("not now")

    async def scenario() -> None:
        async with started(Reactor("test", handle)) as reactor:
            reactor.enqueue("a")
            await asyncio.sleep(60)
            reactor.enqueue("a")
            await asyncio.sleep(60)

    run_virtual(scenario)
    assert [round(later - earlier, 2) for earlier, later in pairwise(times)][:2] == [
        0.1,
        0.2,
    ]
    assert times[4] - times[3] == pytest.approx(0.1)


def test_delayed_key_comes_when_it_is_due() -> None:
    times: list[float] = []

    async def handle(_key: str) -> None:
        times.append(asyncio.get_running_loop().time())

    async def scenario() -> None:
        async with started(Reactor("test", handle)) as reactor:
            reactor.enqueue_after(7.0, "a")
            await reactor.idle()
            assert times == []
            await asyncio.sleep(8.0)

    run_virtual(scenario)
    assert times == [7.0]


def test_stopped_reactor_leaves_no_task_and_no_timer() -> None:
    handled: list[str] = []

    async def scenario() -> None:
        reactor = recording(handled)
        reactor.start()
        reactor.enqueue_after(5.0, "late")
        await reactor.stop()
        await asyncio.sleep(10.0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtual(scenario)
    assert handled == []


async def test_reactor_that_never_started_can_be_stopped() -> None:
    await recording([]).stop()
