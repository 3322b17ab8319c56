"""The four errors of a pass: each carries a reason for conditions, a message for people, and when to look again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgekeeper.core.declaration import is_reason
from edgekeeper.core.errors import STALL_INTERVAL, Cause, Conflict, PassError, Retry, Stall, Wait, fresh

MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        (Retry("cannot create tunnel: timeout"), "Error", "cannot create tunnel: timeout"),
        (
            Retry("cannot create tunnel: timeout", "CreateFailed"),
            "CreateFailed",
            "cannot create tunnel: timeout",
        ),
        (Wait(MINUTE, "Deploying"), "Deploying", ""),
        (Wait(MINUTE, "Deploying", "step 2"), "Deploying", "step 2"),
        (Stall("NameConflict", "taken by shop/web"), "NameConflict", "taken by shop/web"),
        (Conflict(), "Conflict", "the object has changed since it was read"),
        (Conflict("stale ETag"), "Conflict", "stale ETag"),
    ],
)
def test_errors_carry_reason_and_message(error: PassError, reason: str, message: str) -> None:
    assert (error.reason, error.message, str(error)) == (reason, message, message)
    assert is_reason(error.reason)


def test_waiting_knows_how_long() -> None:
    assert Wait(MINUTE, "Deploying").after == MINUTE
    assert Stall("NameConflict", "").after == STALL_INTERVAL
    assert Stall("NameConflict", "", MINUTE).after == MINUTE


def test_fresh_copy_says_the_same_and_refers_to_nothing() -> None:
    error = Wait(MINUTE, "Throttled", "slow down")
    error.error_type, error.unavailable = "throttling", Cause.THROTTLED
    try:
        raise error from ValueError("429")
    except Wait as caught:
        copy = fresh(caught)
    assert (type(copy), copy.__dict__, str(copy)) == (Wait, error.__dict__, "slow down")
    assert (copy.__traceback__, copy.__cause__, copy.__context__) == (None, None, None)


def test_error_is_about_the_object_unless_it_says_otherwise() -> None:
    assert [one.unavailable for one in (Retry(""), Stall("X", ""), Conflict())] == [None] * 3
