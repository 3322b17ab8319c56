"""Clocks: intervals never go back, wall time may, and times are written as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.core.clock import (
    Clock,
    SystemClock,
    VirtualClock,
    micro_timestamp,
    parse_timestamp,
    timestamp,
)


def test_virtual_time_passes_only_when_told_to() -> None:
    clock = VirtualClock()
    assert (clock.now(), clock.monotonic()) == (datetime(2026, 1, 1, tzinfo=UTC), 0.0)
    clock.advance(timedelta(minutes=2))
    assert (clock.now(), clock.monotonic()) == (datetime(2026, 1, 1, 0, 2, tzinfo=UTC), 120.0)


@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(hours=-1)])
def test_jump_of_the_wall_clock_is_no_passing_of_time(jump: timedelta) -> None:
    clock = VirtualClock()
    clock.jump(jump)
    assert clock.monotonic() == 0.0
    assert clock.now() == datetime(2026, 1, 1, tzinfo=UTC) + jump


def test_system_clock_knows_its_zone_and_does_not_go_back() -> None:
    clock: Clock = SystemClock()
    assert clock.now().tzinfo is UTC
    assert clock.monotonic() <= clock.monotonic()


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 999_999, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))), "2026-01-02T01:04:05Z"),
    ],
)
def test_timestamp_is_utc_in_whole_seconds(moment: datetime, text: str) -> None:
    assert timestamp(moment) == text


@given(st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC)))
def test_timestamp_reads_back(moment: datetime) -> None:
    assert parse_timestamp(timestamp(moment)) == moment.replace(microsecond=0)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00"])
def test_timestamp_that_is_none_in_utc_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="year"):
        parse_timestamp(text)


def test_micro_timestamp_always_has_six_digits() -> None:
    assert micro_timestamp(datetime(2026, 1, 2, 3, 4, 5, 60, tzinfo=UTC)) == "2026-01-02T03:04:05.000060Z"
    assert micro_timestamp(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == "2026-01-02T03:04:05.000000Z"


@pytest.mark.parametrize("text", ["2026-01-02T03:04:05.123456Z", "2026-01-02T05:04:05.123456+02:00"])
def test_micro_time_is_read_too(text: str) -> None:
    assert parse_timestamp(text) == datetime(2026, 1, 2, 3, 4, 5, 123_456, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "noon", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Invalid isoformat|month must be|without its zone"):
        parse_timestamp(text)
