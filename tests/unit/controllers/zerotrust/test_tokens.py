"""Durations of service tokens, as people and Cloudflare write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from edgekeeper.controllers.zerotrust.tokens import parse_duration
from edgekeeper.core.errors import Stall


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("forever", None),
        ("30m", timedelta(minutes=30)),
        ("1.5h", timedelta(minutes=90)),
        ("1h30m10s", timedelta(hours=1, minutes=30, seconds=10)),
        ("8760h", timedelta(days=365)),
    ],
)
def test_duration_is_read_as_it_is_written(text: str, duration: timedelta | None) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    "text",
    [
        "",
        "24",
        "h",
        "-1h",
        "1h ",
        "1d",
        "1e3h",
        "1ms",
        "٣h",
        "²h",
        "2562048h",
        "999999999999h",
        "9" * 99 + "h",
    ],
)
def test_duration_that_is_malformed_or_too_long_stalls(text: str) -> None:
    with pytest.raises(Stall, match="is no duration"):
        parse_duration(text)


def test_longest_duration_still_leads_to_a_date() -> None:
    longest = parse_duration("2562047h")
    assert longest is not None
    assert (datetime(2026, 1, 1, tzinfo=UTC) + longest).year == 2318
