"""The queue with its timers, its waiting workers and its backoff, in virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekeeper.core.backoff import Backoff
from edgekeeper.kube.kinds import Key
from edgekeeper.runtime.queue import Priority, ShutDownError, WorkQueue
from kubesim.virtual import run_virtual, virtual_time

KEY = Key("default", "one")
OTHER = Key("default", "two")


def queue_of(metrics: CountingMetrics | None = None) -> WorkQueue:
    return WorkQueue(Backoff(jitter=0.0), Random(1), metrics)


class CountingMetrics:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.depths: list[int] = []
        self.waited: list[float] = []
        self.worked: list[float] = []
        self.running: Callable[[], list[float]] = list

    def watch(self, running: Callable[[], list[float]]) -> None:
        self.running = running

    def added(self) -> None:
        self.counts["added"] += 1

    def retried(self) -> None:
        self.counts["retried"] += 1

    def depth(self, ready: int) -> None:
        self.depths.append(ready)

    def taken(self, waited: float) -> None:
        self.waited.append(waited)

    def finished(self, worked: float) -> None:
        self.worked.append(worked)


def now() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_queue_hands_out_a_key_once_however_often_it_was_added() -> None:
    queue = queue_of()
    for _ in range(100):
        queue.add(KEY)
    assert await queue.get() == KEY
    assert len(queue) == 0


@virtual_time
async def test_queue_hands_out_a_key_again_when_it_was_added_meanwhile() -> None:
    queue = queue_of()
    queue.add(KEY)
    assert await queue.get() == KEY
    queue.add(KEY)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await queue.get()
    queue.done(KEY)
    assert await queue.get() == KEY


@virtual_time
async def test_queue_wakes_a_waiting_worker_when_a_key_is_due() -> None:
    queue = queue_of()
    queue.add(KEY, after=timedelta(seconds=30))
    queue.add(OTHER, after=timedelta(seconds=20))
    assert (await queue.get(), now()) == (OTHER, 20.0)
    assert (await queue.get(), now()) == (KEY, 30.0)


@virtual_time
async def test_queue_keeps_the_earlier_of_two_times() -> None:
    queue = queue_of()
    queue.add(KEY, after=timedelta(seconds=30))
    queue.add(KEY, after=timedelta(seconds=10))
    queue.add(KEY, after=timedelta(seconds=20))
    assert (await queue.get(), now()) == (KEY, 10.0)
    queue.done(KEY)
    await asyncio.sleep(60)
    assert queue.size == 0


@virtual_time
async def test_queue_passes_a_wake_up_on_when_the_woken_worker_is_cancelled() -> None:
    queue = queue_of()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add(KEY)
    first.cancel()
    assert await second == KEY
    assert first.cancelled()


@virtual_time
async def test_queue_wakes_another_worker_than_the_one_that_is_just_being_cancelled() -> None:
    queue = queue_of()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    first.cancel()
    queue.add(KEY)
    assert await second == KEY
    with pytest.raises(asyncio.CancelledError):
        await first


@virtual_time
async def test_queue_keeps_nothing_of_workers_that_gave_up() -> None:
    queue = queue_of()
    for _ in range(100):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await queue.get()
    assert len(queue._idle) == 0


@virtual_time
async def test_queue_pauses_longer_after_each_failure() -> None:
    queue = queue_of()
    queue.add(KEY)
    pauses = []
    for _ in range(20):
        started = now()
        await queue.get()
        queue.retry(KEY)
        queue.done(KEY)
        pauses.append(round(now() - started, 6))
    assert pauses[1:5] == [0.005, 0.01, 0.02, 0.04]
    assert pauses[-1] == 1000.0


@virtual_time
async def test_queue_forgets_failures_on_success_only() -> None:
    queue = queue_of()
    for expected in (5, 10, 20):
        assert queue.retry(KEY) == timedelta(milliseconds=expected)
        queue.add(KEY)
    queue.forget(KEY)
    assert queue.retry(KEY) == timedelta(milliseconds=5)


@virtual_time
async def test_queue_remembers_nothing_of_keys_that_succeeded() -> None:
    queue = queue_of()
    for number in range(1000):
        key = Key("default", str(number))
        queue.add(key)
        await queue.get()
        queue.retry(key)
        queue.done(key)
        await queue.get()
        queue.forget(key)
        queue.done(key)
    assert queue.size == 0


@virtual_time
async def test_queue_prefers_changes_of_users_to_everything_else() -> None:
    queue = queue_of()
    for priority in reversed(Priority):
        queue.add(Key("default", priority.name), priority=priority)
    taken = [(await queue.get()).name for _ in Priority]
    assert taken == [priority.name for priority in Priority]


@virtual_time
async def test_queue_shut_down_ends_waiting_workers_and_lets_passes_finish() -> None:
    queue = queue_of()
    queue.add(KEY)
    await queue.get()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(1)
    queue.add(OTHER, after=timedelta(seconds=5))
    queue.add(KEY)
    queue.shut_down()
    with pytest.raises(ShutDownError):
        await waiting
    drained = asyncio.create_task(queue.drained())
    await asyncio.sleep(10)
    assert not drained.done()
    queue.retry(KEY)
    queue.done(KEY)
    await drained
    with pytest.raises(ShutDownError):
        await queue.get()
    assert len(queue) == 0


@virtual_time
async def test_queue_tells_its_metrics_everything() -> None:
    metrics = CountingMetrics()
    queue = queue_of(metrics)
    queue.add(KEY)
    queue.add(OTHER)
    await asyncio.sleep(2)
    await queue.get()
    await asyncio.sleep(3)
    assert metrics.running() == [3.0]
    queue.retry(KEY)
    queue.done(KEY)
    assert metrics.counts == {"added": 3, "retried": 1}
    assert (metrics.waited, metrics.worked) == ([2.0], [3.0])
    assert metrics.depths[:3] == [1, 2, 1]
    assert metrics.running() == []


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), workers=st.integers(1, 8))
def test_queue_never_hands_a_key_to_two_workers_and_loses_no_wake_up(seed: int, workers: int) -> None:
    keys = [Key(namespace, name) for namespace in "abc" for name in "123"]
    holders: set[Key] = set()
    wished: dict[Key, float] = {}
    """When a key was last asked for, as long as no pass has started since."""

    async def scenario() -> None:
        random = Random(seed)
        queue = queue_of()

        async def work() -> None:
            while True:
                try:
                    async with asyncio.timeout(random.choice([0.05, 1, None])):
                        key = await queue.get()
                except TimeoutError:
                    continue
                assert key not in holders
                holders.add(key)
                wished.pop(key, None)
                await asyncio.sleep(random.choice([0, 0, 0.1, 2]))
                if random.random() < 0.3:
                    queue.retry(key)
                else:
                    queue.forget(key)
                holders.remove(key)
                queue.done(key)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work()) for _ in range(workers)]
            for _ in range(200):
                key = random.choice(keys)
                after = timedelta(seconds=random.choice([0, 0, 1, 7]))
                queue.add(key, priority=random.choice(list(Priority)), after=after)
                wished[key] = now()
                await asyncio.sleep(random.choice([0, 0, 0.05, 1]))
            await asyncio.sleep(5000)
            for task in tasks:
                task.cancel()
        assert queue.size == 0

    run_virtual(scenario, seed=seed)
    assert wished == {}
    assert holders == set()


@virtual_time
async def test_queue_says_when_a_key_is_due() -> None:
    queue = queue_of()
    assert queue.due_in(KEY) is None
    queue.add(KEY, after=timedelta(seconds=30))
    await asyncio.sleep(10)
    assert queue.due_in(KEY) == pytest.approx(20)
    queue.add(KEY)
    assert queue.due_in(KEY) == 0
    assert await queue.get() == KEY
    assert queue.due_in(KEY) is None
