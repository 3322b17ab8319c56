"""Ages as `kubectl get` shows them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.kinds.age import Since, human_duration, parse_moment, render_cell

MINUTE, HOUR, DAY, YEAR = 60, 3_600, 86_400, 31_536_000
NOW = datetime(2024, 6, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (-2, "<invalid>"),
        (-1, "0s"),
        (-0.5, "0s"),
        (0, "0s"),
        (59, "59s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 5, "2m5s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 30 * MINUTE, "3h30m"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 5 * HOUR, "2d5h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY + 23 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 3 * DAY, "2y3d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR + 100 * DAY, "8y"),
    ],
)
def test_duration_has_two_or_three_significant_digits(seconds: float, shown: str) -> None:
    assert human_duration(seconds) == shown


@given(st.integers(min_value=0, max_value=20 * YEAR), st.integers(min_value=0, max_value=YEAR))
def test_longer_duration_never_reads_shorter(seconds: int, more: int) -> None:
    assert _read(human_duration(seconds)) <= _read(human_duration(seconds + more))


def _read(shown: str) -> int:
    total, digits = 0, ""
    for character in shown:
        if character.isdigit():
            digits += character
        else:
            total += int(digits) * {"s": 1, "m": MINUTE, "h": HOUR, "d": DAY, "y": YEAR}[character]
            digits = ""
    return total


def test_age_counts_from_its_moment() -> None:
    assert Since("2024-06-01T11:55:00Z").render(NOW) == "5m"


def test_age_can_be_part_of_a_longer_text() -> None:
    assert Since("2024-06-01T11:55:00Z", "3 ({} ago)").render(NOW) == "3 (5m ago)"


@pytest.mark.parametrize(("moment", "shown"), [(None, "<unknown>"), ("", "<unknown>"), ("soon", "<invalid>")])
def test_age_of_no_moment_says_so(moment: str | None, shown: str) -> None:
    assert Since(moment).render(NOW) == shown


def test_cell_that_is_no_age_stays_as_it_is() -> None:
    assert render_cell(7, NOW) == 7
    assert render_cell("2024-06-01T11:55:00Z", NOW) == "2024-06-01T11:55:00Z"


@given(st.datetimes(timezones=st.just(UTC)))
def test_moment_survives_its_text(moment: datetime) -> None:
    assert parse_moment(moment.isoformat()) == moment


def test_moment_is_read_in_any_time_zone() -> None:
    assert parse_moment("2024-06-01T14:00:00+02:00") == NOW
    assert parse_moment("2024-06-01T12:00:00Z") == NOW + timedelta()


@pytest.mark.parametrize("text", [None, 5, "", "yesterday", {}])
def test_what_is_no_time_is_no_moment(text: object) -> None:
    assert parse_moment(text) is None
