"""Time that passes by itself, and errors instead of hangs."""

from __future__ import annotations

import asyncio
import gc
import math
import random
import time
from datetime import UTC, datetime, timedelta

import pytest

from kubesim.virtual import (
    SLOW_CALLBACK,
    Limits,
    LoopClock,
    SlowCallback,
    VirtualTimeError,
    run_virtual,
    virtual_time,
)


def test_virtual_time_passes_without_waiting() -> None:
    async def sleep_for_a_year() -> float:
        for _ in range(365):
            await asyncio.sleep(86_400)
        return asyncio.get_running_loop().time()

    began = time.perf_counter()
    assert run_virtual(sleep_for_a_year) == pytest.approx(365 * 86_400, abs=1e-3)
    assert time.perf_counter() - began < 5


def test_virtual_timers_fire_in_the_order_of_their_times() -> None:
    async def race() -> list[float]:
        order: list[float] = []

        async def arrive(after: float) -> None:
            await asyncio.sleep(after)
            order.append(after)

        async with asyncio.TaskGroup() as group:
            for after in (3600.0, 0.001, 60.0, 7200.0, 0.0):
                group.create_task(arrive(after))
        return order

    assert run_virtual(race) == [0.0, 0.001, 60.0, 3600.0, 7200.0]


def test_virtual_timer_is_never_early() -> None:
    """Whoever wakes up a little before its time finds that it is not due, and waits again, without time passing."""

    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        early: list[float] = []
        for number in range(1, 2_000):
            due = loop.time() + number * 0.1 + 1e-7
            loop.call_at(due - 5e-7, int)
            await asyncio.sleep(due - loop.time())
            early += [due] if loop.time() < due - 2 * math.ulp(due) else []
        return early

    assert run_virtual(main) == []


def test_virtual_timeout_ends_a_wait_for_nothing() -> None:
    async def wait() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(75):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert run_virtual(wait) == 75


def test_virtual_run_repeats_itself_with_the_same_seed() -> None:
    async def draw() -> list[float]:
        drawn: list[float] = []

        async def worker() -> None:
            for _ in range(5):
                await asyncio.sleep(random.random())
                drawn.append(asyncio.get_running_loop().time())

        async with asyncio.TaskGroup() as group:
            for _ in range(5):
                group.create_task(worker())
        return drawn

    assert run_virtual(draw, seed=1) == run_virtual(draw, seed=1) != run_virtual(draw, seed=2)


def test_virtual_run_leaves_the_random_module_as_it_was() -> None:
    async def draw() -> float:
        return random.random()

    random.seed(5)
    expected = random.Random(5).random()
    run_virtual(draw, seed=1)
    assert random.random() == expected


def test_virtual_deadlock_is_an_error_that_says_who_waits_where() -> None:
    async def wait_for_nothing() -> None:
        await asyncio.Event().wait()

    with pytest.raises(VirtualTimeError, match=r"(?s)nothing will ever happen.*wait_for_nothing.*locks\.py"):
        run_virtual(wait_for_nothing)


def test_virtual_busy_loop_is_an_error() -> None:
    async def spin() -> None:
        while True:  # noqa: ASYNC110 - the crime itself
            await asyncio.sleep(0)

    with pytest.raises(VirtualTimeError, match="busy loop: 1001 turns"):
        run_virtual(spin, limits=Limits(iterations=1000))


def test_virtual_run_beyond_its_limit_of_time_is_an_error() -> None:
    async def tick() -> None:
        while True:  # noqa: ASYNC110
            await asyncio.sleep(1)

    with pytest.raises(VirtualTimeError, match="still running after 1h:"):
        run_virtual(tick, limits=Limits(virtual_time=timedelta(hours=1)))


def test_virtual_run_lets_tasks_clean_up_after_an_error() -> None:
    cleaned: list[str] = []

    async def stuck() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            cleaned.append("yes")

    with pytest.raises(VirtualTimeError):
        run_virtual(stuck)
    assert cleaned == ["yes"]


def test_virtual_run_does_not_end_with_tasks_left_behind() -> None:
    async def leave() -> None:
        leave.task = asyncio.create_task(asyncio.sleep(5), name="forgotten")  # type: ignore[attr-defined]

    with pytest.raises(VirtualTimeError, match=r"(?s)tasks are left behind:.*forgotten"):
        run_virtual(leave)


def test_virtual_run_tells_exceptions_that_nobody_asked_for() -> None:
    async def fail() -> None:
        raise ValueError("unnoticed")

    async def leave() -> None:
        task = asyncio.create_task(fail())
        await asyncio.wait([task])

    with pytest.raises(VirtualTimeError, match="unnoticed") as caught:
        run_virtual(leave)
    assert isinstance(caught.value.__cause__, ValueError)


def test_virtual_run_tells_callbacks_that_raise() -> None:
    async def schedule() -> None:
        asyncio.get_running_loop().call_later(1, lambda: 1 / 0)
        await asyncio.sleep(2)

    with pytest.raises(VirtualTimeError, match="ZeroDivisionError"):
        run_virtual(schedule)


def test_virtual_failure_says_how_to_run_it_again() -> None:
    async def fail() -> None:
        await asyncio.sleep(90)
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken") as caught:
        run_virtual(fail, seed=42)
    assert caught.value.__notes__ == ["virtual run: seed 42, 90.000 s after 2026-01-01T00:00:00+00:00"]


def test_virtual_executor_calls_at_once() -> None:
    async def call() -> int:
        return await asyncio.to_thread(lambda: 7)

    assert run_virtual(call) == 7


def test_virtual_executor_hands_on_exceptions() -> None:
    async def call() -> None:
        await asyncio.to_thread(lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        run_virtual(call)


def test_virtual_loop_refuses_subprocesses() -> None:
    async def spawn() -> None:
        await asyncio.create_subprocess_exec("true")

    with pytest.raises(VirtualTimeError, match="subprocess"):
        run_virtual(spawn)


def test_virtual_guard_records_callbacks_that_block() -> None:
    async def block() -> None:
        await asyncio.sleep(1)
        time.sleep(0.12)  # noqa: ASYNC251 - the crime itself
        await asyncio.sleep(1)

    slow: list[SlowCallback] = []
    run_virtual(block, limits=Limits(slow_callback=SLOW_CALLBACK), slow_callbacks=slow)
    assert len(slow) == 1
    assert slow[0].elapsed >= timedelta(seconds=0.12)
    assert slow[0].processor_time < timedelta(seconds=0.1)


def test_virtual_guard_tells_garbage_collections_from_the_callback_itself() -> None:
    async def collect() -> None:
        objects = [[number] for number in range(200_000)]
        await asyncio.sleep(1)
        gc.collect()
        await asyncio.sleep(1)
        assert objects

    slow: list[SlowCallback] = []
    run_virtual(collect, limits=Limits(slow_callback=timedelta(milliseconds=1)), slow_callbacks=slow)
    making, collecting, *_ = slow
    assert making.own_time > timedelta(milliseconds=1)
    assert collecting.collecting > 10 * collecting.own_time


def test_virtual_decorator_runs_a_coroutine_function_with_its_arguments() -> None:
    @virtual_time
    async def add(one: int, other: int) -> int:
        await asyncio.sleep(3600)
        return one + other

    assert add(1, other=2) == 3


@virtual_time
async def test_clock_tells_the_time_of_the_loop() -> None:
    clock = LoopClock(datetime(2030, 5, 6, tzinfo=UTC))
    await asyncio.sleep(90)
    assert clock.now() == datetime(2030, 5, 6, 0, 1, 30, tzinfo=UTC)
    assert clock.monotonic() == 90


def test_clock_starts_when_the_run_starts() -> None:
    async def look() -> datetime:
        return LoopClock().now()

    start = datetime(2031, 1, 1, tzinfo=UTC)
    assert run_virtual(look, start=start) == start


@virtual_time
async def test_clock_jump_moves_wall_time_only() -> None:
    clock = LoopClock(datetime(2030, 1, 1, tzinfo=UTC))
    clock.jump(timedelta(hours=-1))
    await asyncio.sleep(1)
    assert clock.now() == datetime(2029, 12, 31, 23, 0, 1, tzinfo=UTC)
    assert clock.monotonic() == 1


@virtual_time
async def test_clock_may_run_at_another_rate_than_the_loop() -> None:
    fast = LoopClock(datetime(2030, 1, 1, tzinfo=UTC), rate=2)
    await asyncio.sleep(10)
    assert fast.monotonic() == 20
    assert fast.now() == datetime(2030, 1, 1, 0, 0, 20, tzinfo=UTC)
