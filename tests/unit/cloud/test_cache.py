"""Answers that are good for a while, asked for once, and forgotten in time."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from edgekeeper.cloud.cache import DEFAULT_LIFETIME, SWEEP_INTERVAL, ExpiringCache, LookupCache
from edgekeeper.core.errors import Retry
from kubesim.virtual import LoopClock, virtual_time

SHORT = timedelta(seconds=30)


class Provider:
    """Answers after a second, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failing = False

    async def ask(self, key: str) -> str | None:
        self.asked.append(key)
        await asyncio.sleep(1)
        if self.failing:
            raise Retry("no answer")
        return None if key.startswith("no") else f"{key} {len(self.asked)}"


async def _pass(interval: timedelta) -> None:
    await asyncio.sleep(interval.total_seconds())


def _remembered(provider: Provider) -> LookupCache[str, str | None]:
    return LookupCache(provider.ask, LoopClock(), lambda found: DEFAULT_LIFETIME if found else SHORT)


@virtual_time
async def test_answer_is_asked_for_once_and_again_when_its_time_is_over() -> None:
    provider = Provider()
    answers = _remembered(provider)
    assert await asyncio.gather(*(answers.get("a") for _ in range(50))) == ["a 1"] * 50
    await _pass(DEFAULT_LIFETIME - timedelta(seconds=1))
    assert await answers.get("a") == "a 1"
    await _pass(timedelta(seconds=1))
    assert await answers.get("a") == "a 2"


@virtual_time
async def test_answers_last_as_long_as_is_said_of_each() -> None:
    provider = Provider()
    answers = _remembered(provider)
    assert (await answers.get("nobody"), await answers.get("nobody")) == (None, None)
    await _pass(SHORT)
    assert await answers.get("nobody") is None
    assert provider.asked == ["nobody"] * 2


@virtual_time
async def test_answers_of_different_keys_do_not_wait_for_each_other() -> None:
    provider = Provider()
    answers = _remembered(provider)
    began = asyncio.get_running_loop().time()
    await asyncio.gather(*(answers.get(f"key-{number}") for number in range(50)))
    assert asyncio.get_running_loop().time() - began == 1


@virtual_time
async def test_error_is_not_remembered() -> None:
    provider = Provider()
    provider.failing = True
    answers = _remembered(provider)
    with pytest.raises(Retry):
        await answers.get("a")
    assert len(answers) == 0
    provider.failing = False
    assert await answers.get("a") == "a 2"


@virtual_time
async def test_answer_that_is_forgotten_is_asked_for_again() -> None:
    provider = Provider()
    answers = _remembered(provider)
    await answers.get("a")
    answers.forget("a")
    answers.forget("b")
    assert await answers.get("a") == "a 2"


@virtual_time
async def test_one_who_is_cancelled_does_not_keep_the_others_from_their_answer() -> None:
    provider = Provider()
    answers = _remembered(provider)
    first, second = (asyncio.create_task(answers.get("a")) for _ in range(2))
    await asyncio.sleep(0.5)
    first.cancel()
    assert await second == "a 2"
    assert len(answers) == 1


@virtual_time
async def test_nothing_is_kept_for_keys_that_nobody_asks_for_any_more() -> None:
    provider = Provider()
    answers = _remembered(provider)
    for number in range(1000):
        await answers.get(f"key-{number}")
        assert len(answers) <= (DEFAULT_LIFETIME + SWEEP_INTERVAL).total_seconds() + 1
    await _pass(DEFAULT_LIFETIME + SWEEP_INTERVAL)
    assert len(answers) == 0


@virtual_time
async def test_removal_begins_anew_after_everything_was_removed() -> None:
    kept: ExpiringCache[str, int] = ExpiringCache(LoopClock())
    for _ in range(3):
        kept.put("a", 1, SHORT)
        await _pass(SHORT / 2)
        found = kept.get("a")
        assert found is not None
        assert (found.value, kept.left(found)) == (1, SHORT / 2)
        await _pass(SHORT / 2)
        assert kept.get("a") is None
        await _pass(SWEEP_INTERVAL)
        assert len(kept) == 0


@virtual_time
async def test_value_that_is_put_again_lasts_from_then_on() -> None:
    kept: ExpiringCache[str, int] = ExpiringCache(LoopClock())
    for number in range(10):
        kept.put("a", number, DEFAULT_LIFETIME)
        await _pass(DEFAULT_LIFETIME - timedelta(seconds=1))
        found = kept.get("a")
        assert found is not None
        assert found.value == number


@virtual_time
async def test_time_left_is_never_nothing() -> None:
    """Who comes back after no time at all would find the same, again and again."""
    kept: ExpiringCache[str, int] = ExpiringCache(LoopClock())
    kept.put("a", 1, SHORT)
    await asyncio.sleep(SHORT.total_seconds() - 1e-9)
    found = kept.get("a")
    assert found is not None
    await _pass(kept.left(found))
    assert kept.get("a") is None
