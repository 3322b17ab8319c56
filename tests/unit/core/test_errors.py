"""The four errors of a pass: each carries a reason for conditions, a message for people, and when to look again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgekeeper.core.declaration import is_reason
from edgekeeper.core.errors import STALL_INTERVAL, Conflict, PassError, Retry, Stall, Wait, fresh

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


class _Special(Wait):
    def __init__(self, document: str) -> None:
        super().__init__(MINUTE, "Pending", f"{document} waits")
        self.document = document


def _raised(error: PassError) -> PassError:
    """The error after it was raised and caught, with everything that clings to it then."""
    try:
        raise error from KeyError("cause")
    except PassError as caught:
        return caught


@pytest.mark.parametrize(
    "error",
    [
        Retry("timeout", "CreateFailed"),
        Wait(MINUTE, "Deploying", "step 2"),
        Stall("NameConflict", "taken", MINUTE),
        Conflict(),
        _Special("zone"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_fresh_error_says_the_same_and_keeps_nothing(error: PassError) -> None:
    error.error_type = "quota"
    known = _raised(error)
    assert (known.__traceback__, known.__cause__) != (None, None)
    copy = fresh(known)
    assert type(copy) is type(error)
    assert (vars(copy), copy.args, str(copy)) == (vars(error), error.args, str(error))
    assert (copy.__traceback__, copy.__cause__, copy.__context__) == (None, None, None)
    copy.reason = "Another"
    assert error.reason != "Another"


def test_error_is_about_the_object_unless_it_says_otherwise() -> None:
    assert [one.unavailable for one in (Retry(""), Stall("X", ""), Conflict())] == [None] * 3
