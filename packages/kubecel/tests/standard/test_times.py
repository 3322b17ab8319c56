"""Timestamps and durations as text, and their parts in all zones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.errors import ErrorKind, EvaluationError
from kubecel.standard.times import format_duration, format_timestamp, parse_duration, parse_timestamp
from kubecel.values import MAX_TIMESTAMP, MIN_TIMESTAMP, NANOS, Duration, Timestamp
from packages.kubecel.tests.engine import evaluate, failure


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:01.5Z", 1_500_000_000),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1969-12-31T20:30:00-03:30", 0),
        ("2000-02-29T00:00:00Z", 951_782_400 * NANOS),
        ("1970-01-01T00:00:00.1234567891Z", 123_456_789),
        ("0001-01-01T00:00:00Z", MIN_TIMESTAMP),
        ("9999-12-31T23:59:59.999999999Z", MAX_TIMESTAMP),
    ],
)
def test_timestamps_are_read(text: str, nanos: int) -> None:
    assert parse_timestamp(text) == Timestamp(nanos)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-01-01 00:00:00Z",
        "1970-02-30T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:60Z",
        "1970-01-01T00:00:00+25:00",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "١٩٧٠-01-01T00:00:00Z",
    ],
)
def test_texts_that_are_no_moment_are_refused(text: str) -> None:
    with pytest.raises(EvaluationError):
        parse_timestamp(text)


@given(st.integers(MIN_TIMESTAMP, MAX_TIMESTAMP))
def test_timestamps_survive_being_written(nanos: int) -> None:
    assert parse_timestamp(format_timestamp(Timestamp(nanos))) == Timestamp(nanos)


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0", 0),
        ("1s", NANOS),
        ("-1.5h", -5_400 * NANOS),
        ("+1h2m3s", 3_723 * NANOS),
        ("1ms2us3ns", 1_002_003),
        ("1µs", 1_000),
        ("1μs", 1_000),
        (".5s", 500_000_000),
        ("1.s", NANOS),
        ("0.0000000001s", 0),
    ],
)
def test_durations_are_read(text: str, nanos: int) -> None:
    assert parse_duration(text) == Duration(nanos)


@pytest.mark.parametrize(
    "text", ["", "-", "1", "s", ".s", "1x", "1s 2s", "1d", "--1s", "9999999999h", "9" * 5000 + "s"]
)
def test_texts_that_are_no_span_are_refused(text: str) -> None:
    with pytest.raises(EvaluationError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("nanos", "text"),
    [
        (0, "0s"),
        (1, "0.000000001s"),
        (-1_500, "-0.0000015s"),
        (5_400 * NANOS, "5400s"),
        (123_456_789_012_345_678, "123456789.01234567s"),
    ],
)
def test_durations_are_written_in_seconds(nanos: int, text: str) -> None:
    assert format_duration(Duration(nanos)) == text


@given(st.integers(-9 * 10**9, 9 * 10**9))
def test_durations_of_whole_seconds_survive_being_written(seconds: int) -> None:
    span = Duration(seconds * NANOS)
    assert parse_duration(format_duration(span)) == span


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("getFullYear()", 2024),
        ("getMonth()", 1),
        ("getDate()", 29),
        ("getDayOfMonth()", 28),
        ("getDayOfWeek()", 4),
        ("getDayOfYear()", 59),
        ("getHours()", 23),
        ("getMinutes()", 30),
        ("getSeconds()", 15),
        ("getMilliseconds()", 250),
        ("getHours('+02:00')", 1),
        ("getDate('+02:00')", 1),
        ("getHours('-3:30')", 20),
        ("getMinutes('-00:31')", 59),
        ("getHours('02:00')", 1),
        ("getHours('Europe/Berlin')", 0),
        ("getMonth('Asia/Tokyo')", 2),
        ("getHours('UTC')", 23),
        ("getHours('')", 23),
        ("getMilliseconds('Asia/Tokyo')", 250),
    ],
)
def test_timestamps_have_parts_in_every_zone(part: str, value: int) -> None:
    assert evaluate(f"timestamp('2024-02-29T23:30:15.250Z').{part}") == value


@pytest.mark.parametrize(
    "zone", ["Mars/Base", "../../etc/passwd", "Europe", "+25:00", "1:2:3", "\x00", "+aa:bb"]
)
def test_zones_that_do_not_exist_are_an_error(zone: str) -> None:
    assert failure("timestamp(0).getHours(zone)", zone=zone).kind is ErrorKind.INVALID_ARGUMENT
    assert failure("timestamp(0).getMilliseconds(zone)", zone=zone).kind is ErrorKind.INVALID_ARGUMENT


def test_a_zone_may_lead_out_of_the_calendar() -> None:
    assert failure("timestamp('0001-01-01T00:00:00Z').getFullYear('-01:00')").kind is ErrorKind.OVERFLOW


@pytest.mark.parametrize(
    ("part", "value"),
    [("getHours()", -1), ("getMinutes()", -90), ("getSeconds()", -5400), ("getMilliseconds()", -5_400_500)],
)
def test_durations_are_counted_in_whole_units_towards_zero(part: str, value: int) -> None:
    assert evaluate(f"duration('-5400.5s').{part}") == value
