"""Durations carry their unit."""

from __future__ import annotations

from datetime import timedelta

import click
import pytest

from edgekeeper.cli.duration import Duration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("250ms", timedelta(milliseconds=250)),
        ("30s", timedelta(seconds=30)),
        ("1.5m", timedelta(seconds=90)),
        ("2h", timedelta(hours=2)),
        ("1h30m", timedelta(minutes=90)),
        ("1m30s", timedelta(seconds=90)),
        ("1s500ms", timedelta(seconds=1.5)),
    ],
)
def test_duration_with_unit_is_understood(text: str, expected: timedelta) -> None:
    assert Duration().convert(text, None, None) == expected
    assert Duration().convert(expected, None, None) is expected


@pytest.mark.parametrize("text", ["", "30", "s", "-1s", "1d", "1s2s", "30m1h", "1h30"])
def test_duration_without_clear_unit_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a duration such as 30s"):
        Duration().convert(text, None, None)
