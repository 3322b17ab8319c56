"""Waits that end in time, those that do not, and those that somebody else ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from edgekeeper.kube.deadlines import Deadlines
from kubesim.virtual import virtual_time


async def _sleep_within(deadlines: Deadlines, span: float, limit: float) -> str:
    started = asyncio.get_running_loop().time()
    try:
        with deadlines.within(limit):
            await asyncio.sleep(span)
    except TimeoutError:
        return f"expired after {asyncio.get_running_loop().time() - started:g}"
    return f"ended after {asyncio.get_running_loop().time() - started:g}"


@virtual_time
async def test_wait_ends_with_its_deadline_and_not_before() -> None:
    deadlines = Deadlines()
    assert await _sleep_within(deadlines, 9, 10) == "ended after 9"
    assert await _sleep_within(deadlines, 11, 10) == "expired after 10"


@virtual_time
async def test_waits_at_once_have_deadlines_of_their_own() -> None:
    deadlines = Deadlines()
    limits = [(20.0, 30.0), (20.0, 5.0), (1.0, 2.0), (20.0, 10.0), (40.0, 30.0), (20.0, 7.0)]
    assert await asyncio.gather(*(_sleep_within(deadlines, span, limit) for span, limit in limits)) == [
        "ended after 20",
        "expired after 5",
        "ended after 1",
        "expired after 10",
        "expired after 30",
        "expired after 7",
    ]


@virtual_time
async def test_wait_after_another_is_timed_from_its_own_beginning() -> None:
    """The timer of the first one is still set, and rings in the middle of the second."""
    deadlines = Deadlines()
    assert await _sleep_within(deadlines, 1, 10) == "ended after 1"
    assert await _sleep_within(deadlines, 20, 15) == "expired after 15"
    assert await _sleep_within(deadlines, 20, 5) == "expired after 5"


@virtual_time
async def test_wait_that_is_over_is_over() -> None:
    assert await _sleep_within(Deadlines(), 1, 0) == "expired after 0"


@virtual_time
async def test_waits_may_be_nested() -> None:
    deadlines = Deadlines()

    async def nested(inner: float, outer: float) -> list[bool]:
        with (
            pytest.raises(TimeoutError),
            deadlines.within(outer) as outer_limit,
            deadlines.within(inner) as inner_limit,
        ):
            await asyncio.sleep(100)
        return [inner_limit.expired, outer_limit.expired]

    assert await nested(5, 10) == [True, False]
    assert await nested(10, 5) == [False, True]


@virtual_time
async def test_cancellation_from_outside_stays_one() -> None:
    deadlines = Deadlines()
    task = asyncio.create_task(_sleep_within(deadlines, 100, 10))
    await asyncio.sleep(5)
    task.cancel()
    assert await _is_cancelled(task)


@virtual_time
async def test_cancellation_in_the_moment_of_the_deadline_wins() -> None:
    deadlines = Deadlines()
    task = asyncio.create_task(_sleep_within(deadlines, 100, 10))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_at(asyncio.get_running_loop().time() + 10, task.cancel)
    assert await _is_cancelled(task)


@virtual_time
async def test_other_errors_pass_through() -> None:
    with pytest.raises(ValueError, match="mine"), Deadlines().within(10) as limit:
        raise ValueError("mine")
    assert not limit.expired


@virtual_time
async def test_task_is_as_good_as_new_after_its_deadline() -> None:
    deadlines = Deadlines()
    await _sleep_within(deadlines, 20, 10)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(1)


@virtual_time
async def test_many_waits_share_few_timers() -> None:
    deadlines, loop, timers = Deadlines(), asyncio.get_running_loop(), 0
    call_at = loop.call_at

    def counted(*arguments: object, **options: object) -> asyncio.TimerHandle:
        nonlocal timers
        timers += 1
        return call_at(*arguments, **options)  # type: ignore[arg-type] # whatever it was called with

    loop.call_at = counted  # type: ignore[method-assign] # to count, nothing else
    for _ in range(1000):
        with deadlines.within(30):
            pass
    assert timers == 1


async def _is_cancelled(task: Awaitable[object]) -> bool:
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False
