"""How the row of an error is found, and which error it becomes. The providers' own tables have tests of their own."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgekeeper.cloud.error_table import ErrorRow, ErrorTable, error_for
from edgekeeper.core.errors import STALL_INTERVAL, Cause, Conflict, PassError, Retry, Stall, Wait

OF_OPERATION = ErrorRow(Stall, "OfOperation", "invalid")
OF_SERVICE = ErrorRow(Conflict, "Conflict", "conflict")
OF_MESSAGE = ErrorRow(Wait, "OfMessage", "quota", timedelta(minutes=30))
OF_FAILURE = ErrorRow(Retry, "OfFailure", "retryable")
UNKNOWN = ErrorRow(Stall, "Unknown", "unknown")

TABLE = ErrorTable(
    ({"Shared": OF_OPERATION}, {"Shared": OF_SERVICE, "Common": OF_SERVICE}),
    lambda _, message: OF_MESSAGE if "limit" in message else None,
    lambda status: OF_FAILURE if status >= 500 else UNKNOWN,
)


@pytest.mark.parametrize(
    ("code", "message", "status", "row"),
    [
        pytest.param("Shared", "", 500, OF_OPERATION, id="most specific table first"),
        pytest.param("Common", "", 500, OF_SERVICE, id="then the next"),
        pytest.param("Shared", "limit reached", 400, OF_MESSAGE, id="message before code"),
        pytest.param("Other", "", 503, OF_FAILURE, id="status where the code is in no table"),
        pytest.param("Other", "", 418, UNKNOWN, id="never nothing"),
    ],
)
def test_error_table_finds_the_row(code: str, message: str, status: int, row: ErrorRow) -> None:
    assert TABLE.find(code, message, status) is row


def test_error_table_knows_which_codes_it_has() -> None:
    assert [code in TABLE for code in ("Shared", "Common", "Other")] == [True, True, False]


@pytest.mark.parametrize(
    "row", [OF_OPERATION, OF_SERVICE, OF_MESSAGE, OF_FAILURE], ids=lambda row: row.reason
)
def test_error_row_becomes_its_error(row: ErrorRow) -> None:
    error = error_for(row, "as the provider says")
    assert type(error) is row.kind
    assert (error.reason, error.message, error.error_type) == (
        row.reason,
        "as the provider says",
        row.error_type,
    )


@pytest.mark.parametrize(
    ("row", "after"),
    [
        (OF_OPERATION, STALL_INTERVAL),
        (ErrorRow(Stall, "Full", "quota", timedelta(hours=1)), timedelta(hours=1)),
        (OF_MESSAGE, timedelta(minutes=30)),
    ],
    ids=["stall", "stall that takes longer", "wait"],
)
def test_error_row_says_when_to_look_again(row: ErrorRow, after: timedelta) -> None:
    error: PassError = error_for(row, "no")
    assert isinstance(error, Stall | Wait)
    assert error.after == after


def test_error_row_may_be_about_the_provider_as_a_whole() -> None:
    row = ErrorRow(
        Wait, "CredentialsRefused", "retryable", timedelta(minutes=1), unavailable=Cause.CREDENTIALS
    )
    assert error_for(row, "no").unavailable is Cause.CREDENTIALS


def test_error_row_that_waits_without_a_time_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a requeue time"):
        ErrorRow(Wait, "Throttled", "throttling")
