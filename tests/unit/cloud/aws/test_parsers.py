"""Moments are read as botocore reads them, only sooner."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.utils import parse_timestamp
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.cloud.aws.clients import AwsClients
from edgekeeper.cloud.aws.credentials import static_session
from edgekeeper.cloud.aws.parsers import read_moment
from edgekeeper.cloud.aws.settings import AwsSettings


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-01T12:30:00Z",
        "2026-01-01T12:30:00.123Z",
        "2026-01-01T12:30:00.123456789Z",
        "2026-01-01T12:30:00+02:00",
        "Thu, 01 Jan 2026 12:30:00 GMT",
        "Tue, 01 Jan 2026 12:30:00 GMT",
        "1767270600",
        1767270600,
        1767270600.5,
    ],
)
def test_moment_is_the_one_that_botocore_reads(value: Any) -> None:
    read, expected = read_moment(value), parse_timestamp(value)
    assert read == expected
    assert read.utcoffset() == expected.utcoffset()


@given(st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1)))
def test_moment_of_any_year_is_the_one_that_was_written(moment: datetime) -> None:
    assert read_moment(moment.isoformat().replace("+00:00", "Z")) == moment
    assert read_moment(moment.astimezone().isoformat()) == moment


@pytest.mark.parametrize("value", ["", "T", "yesTerday", "2026-13-01T00:00:00Z"])
def test_moment_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="timestamp"):
        read_moment(value)


async def test_moments_are_read_so_by_every_client() -> None:
    clients = AwsClients(AwsSettings(region="eu-west-1"), session=static_session("key", "secret"))
    try:
        client: Any = await clients.get("cloudfront")
        parser = client._endpoint._response_parser_factory.create_parser("rest-xml")
        assert parser._timestamp_parser is read_moment
    finally:
        await clients.close()
