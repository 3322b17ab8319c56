"""The arithmetic of a lane."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.cloud.ratelimit.token_bucket import TokenBucket
from tests.unit.cloud.provider import assert_within_budget


def taken(bucket: TokenBucket, now: float, most: int = 10_000) -> int:
    """How many tokens there are at a moment."""
    count = 0
    while count < most and not bucket.ready_in(1, now):
        bucket.take(1, now)
        count += 1
    return count


def test_bucket_gives_a_burst_and_then_its_rate() -> None:
    bucket = TokenBucket(rate=2, burst=4, now=0)
    assert [taken(bucket, moment) for moment in (0, 0, 0.5, 1.5, 100)] == [4, 0, 1, 2, 4]


def test_bucket_tells_when_it_will_be_ready() -> None:
    bucket = TokenBucket(rate=2, burst=4, now=0)
    bucket.take(4, 0)
    assert bucket.ready_in(1, 0) == pytest.approx(0.5)
    assert bucket.ready_in(3, 0) == pytest.approx(1.5)
    assert bucket.ready_in(1, 0, ahead=9) == pytest.approx(5.0)


def test_bucket_call_above_its_size_goes_when_it_is_full_and_owes_the_rest() -> None:
    bucket = TokenBucket(rate=1, burst=5, now=0)
    assert bucket.ready_in(20, 0) == 0
    bucket.take(20, 0)
    assert bucket.ready_in(1, 0) == pytest.approx(16)


def test_bucket_given_back_tokens_are_there_again_but_never_more_than_fit() -> None:
    bucket = TokenBucket(rate=1, burst=3, now=0)
    bucket.take(2, 0)
    bucket.give_back(1)
    bucket.give_back(5)
    assert taken(bucket, 0) == 3


def test_bucket_pause_lets_nobody_pass_and_ends_without_a_burst() -> None:
    bucket = TokenBucket(rate=2, burst=100, now=0)
    bucket.pause(300, now=0)
    assert bucket.ready_in(1, now=10) == pytest.approx(290, abs=1)
    assert [taken(bucket, moment) for moment in (299.9, 300)] == [0, 0]
    assert taken(bucket, 301) <= 2


def test_bucket_shorter_pause_does_not_end_a_longer_one() -> None:
    bucket = TokenBucket(rate=2, burst=100, now=0)
    bucket.pause(300, now=0)
    bucket.pause(1, now=5)
    assert bucket.paused_for(5) == pytest.approx(295)


def test_bucket_slows_down_when_paused_and_recovers_by_and_by() -> None:
    bucket = TokenBucket(rate=10, burst=10, now=0)
    bucket.pause(1, now=0)

    def rate(now: float) -> int:
        taken(bucket, now)
        return taken(bucket, now + 1)

    assert rate(2) == 8
    assert rate(10) == 9
    assert rate(60) == 10


def test_bucket_failures_of_one_wave_slow_it_down_once() -> None:
    bucket = TokenBucket(rate=10, burst=10, now=0)
    for _ in range(20):
        bucket.pause(1, now=0)
    taken(bucket, 2)
    assert taken(bucket, 3) == 8


def test_bucket_pauses_grow_while_complaints_go_on() -> None:
    bucket = TokenBucket(rate=10, burst=10, now=0)
    pauses = []
    now = 0.0
    for _ in range(8):
        bucket.pause(None, now)
        pauses.append(bucket.paused_for(now))
        now += pauses[-1] + 0.1
    assert pauses == sorted(pauses)
    assert 1 < pauses[0] < pauses[-1] <= 4


steps = st.lists(
    st.tuples(st.floats(0, 20), st.sampled_from(["take", "pause", "pause for", "give back"])), max_size=60
)


@given(rate=st.floats(0.05, 20), burst=st.integers(1, 20), steps=steps)
def test_bucket_never_exceeds_its_rate_whatever_happens(
    rate: float, burst: int, steps: list[tuple[float, str]]
) -> None:
    bucket = TokenBucket(rate, burst, 0)
    now, used = 0.0, []
    for elapsed, event in steps:
        now += elapsed
        match event:
            case "take":
                used += [now] * taken(bucket, now)
            case "give back":
                if used and used[-1] == now and not bucket.paused_for(now):
                    used.pop()
                    bucket.give_back(1)
            case _:
                bucket.pause(None if event == "pause" else 3.0, now)
    assert_within_budget(used, rate, burst)
