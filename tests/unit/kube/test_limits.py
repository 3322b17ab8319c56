"""The bucket lets pass what it promises, in order, whoever gives up."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekeeper.kube.limits import TokenBucket
from kubesim.virtual import run_virtual, virtual_time


async def _passages(bucket: TokenBucket, count: int) -> list[float]:
    loop = asyncio.get_running_loop()
    times: list[float] = []

    async def one() -> None:
        await bucket.acquire()
        times.append(loop.time())

    start = loop.time()
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(one())
    return [round(moment - start, 6) for moment in times]


@virtual_time
async def test_bucket_lets_a_burst_pass_and_then_keeps_the_rate() -> None:
    assert await _passages(TokenBucket(rate=10, burst=3), 6) == [0, 0, 0, 0.1, 0.2, 0.3]


@virtual_time
async def test_bucket_fills_up_again_but_not_beyond_its_size() -> None:
    bucket = TokenBucket(rate=10, burst=2)
    await _passages(bucket, 4)
    await asyncio.sleep(1000)
    assert await _passages(bucket, 3) == [0, 0, 0.1]


@virtual_time
async def test_bucket_serves_in_order_of_arrival() -> None:
    bucket = TokenBucket(rate=1, burst=1)
    order: list[int] = []

    async def caller(number: int) -> None:
        await bucket.acquire()
        order.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(caller(number))
    assert order == list(range(20))


@virtual_time
async def test_bucket_latecomer_does_not_overtake_those_who_wait() -> None:
    bucket = TokenBucket(rate=1, burst=1)
    await bucket.acquire()
    waiting = asyncio.create_task(bucket.acquire())
    await asyncio.sleep(0.999)
    late = asyncio.create_task(bucket.acquire())
    await asyncio.sleep(0.1)
    assert (waiting.done(), late.done()) == (True, False)
    await late


@virtual_time
async def test_bucket_cancelled_caller_costs_the_others_nothing() -> None:
    loop = asyncio.get_running_loop()
    bucket = TokenBucket(rate=1, burst=1)
    await bucket.acquire()
    tasks = [asyncio.create_task(bucket.acquire()) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    tasks[1].cancel()
    await tasks[2]
    assert loop.time() == pytest.approx(1.0)
    await asyncio.gather(*tasks, return_exceptions=True)


@virtual_time
async def test_bucket_token_of_a_caller_cancelled_at_its_turn_goes_to_the_next() -> None:
    loop = asyncio.get_running_loop()
    bucket = TokenBucket(rate=1, burst=1)
    await bucket.acquire()
    first = asyncio.create_task(bucket.acquire())
    second = asyncio.create_task(bucket.acquire())
    await asyncio.sleep(0)
    # Runs after the timer that serves the first caller, and before that caller itself.
    loop.call_at(1.0, first.cancel)
    await second
    assert first.cancelled()
    assert loop.time() == pytest.approx(1.0)


@given(
    rate=st.floats(0.01, 1000),
    burst=st.integers(1, 20),
    pauses=st.lists(st.floats(0, 50), min_size=1, max_size=40),
)
@settings(max_examples=60, deadline=None)
def test_bucket_never_exceeds_rate_and_burst_in_any_window(
    rate: float, burst: int, pauses: list[float]
) -> None:
    async def scenario() -> list[float]:
        bucket = TokenBucket(rate, burst)
        loop = asyncio.get_running_loop()
        times: list[float] = []

        async def one() -> None:
            await bucket.acquire()
            times.append(loop.time())

        async with asyncio.TaskGroup() as group:
            for pause in pauses:
                await asyncio.sleep(pause / rate)
                group.create_task(one())
        return times

    times = run_virtual(scenario)
    assert len(times) == len(pauses)
    for first, start in enumerate(times):
        for last in range(first, len(times)):
            assert last - first + 1 <= burst + (times[last] - start + 1e-4) * rate + 1e-6


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_bucket_without_room_or_rate_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="positive rate"):
        TokenBucket(rate, burst)
