"""Every code that Cloudflare is known to answer has a meaning, and none that it is not known to is silent."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgekeeper.cloud.cloudflare.errors import ABSENT, BLOCKED, CODES, classify, is_absent
from edgekeeper.cloud.cloudflare.operations import CHANGE_RECORDS, GET_APPLICATION
from edgekeeper.cloud.cloudflare.reply import BrokenReplyError, Problem, RefusedError
from edgekeeper.cloud.operation import Failure, Verdict
from edgekeeper.core.errors import Conflict, PassError, Retry, Stall, Wait

_OPERATION = CHANGE_RECORDS.operation


def _classified(status: int, code: int, message: str = "as the provider says") -> Failure:
    failure = classify(_OPERATION, RefusedError(status, (Problem(code, message),)))
    assert failure is not None
    return failure


KNOWN = [
    (400, 81053, Stall, "RecordConflict", "domain_conflict"),
    (400, 81054, Stall, "RecordConflict", "domain_conflict"),
    (400, 81056, Stall, "RecordConflict", "domain_conflict"),
    (400, 81057, Conflict, "Conflict", "stale"),
    (400, 81058, Conflict, "Conflict", "stale"),
    (404, 81044, Conflict, "Conflict", "stale"),
    (400, 81045, Stall, "QuotaExceeded", "quota"),
    (400, 1004, Stall, "InvalidSpec", "dns_invalid_input"),
    (400, 9000, Stall, "InvalidSpec", "dns_invalid_input"),
    (400, 9005, Stall, "InvalidSpec", "dns_invalid_input"),
    (400, 9021, Stall, "InvalidSpec", "dns_invalid_input"),
    (400, 9300, Stall, "InvalidSpec", "dns_invalid_input"),
    (400, 1056, Stall, "InvalidSpec", "invalid_spec"),
    (404, 1055, Stall, "TunnelNotFound", "not_found"),
    (404, 1002, Stall, "TunnelNotFound", "not_found"),
    (404, 1003, Stall, "TunnelNotFound", "not_found"),
    (409, 1013, Stall, "NameConflict", "name_conflict"),
    (400, 1022, Wait, "TunnelConnected", "retryable"),
    (400, 12130, Stall, "InvalidSpec", "invalid_spec"),
    (409, 11010, Conflict, "Conflict", "stale"),
    (400, 12136, Conflict, "Conflict", "stale"),
    (404, 11021, Conflict, "Conflict", "stale"),
    (400, 12045, Conflict, "Conflict", "stale"),
    (404, 12135, Conflict, "Conflict", "stale"),
    (404, 12152, Conflict, "Conflict", "stale"),
    (400, 11020, Stall, "GroupNotFound", "not_found"),
    (400, 9999, Stall, "AccessNotEnabled", "access_denied"),
    (403, 10000, Stall, "AuthFailed", "access_denied"),
    (400, 10000, Stall, "AuthFailed", "access_denied"),
    (403, 9109, Stall, "AuthFailed", "access_denied"),
    (400, 9106, Stall, "AuthFailed", "access_denied"),
    (400, 6003, Stall, "AuthFailed", "access_denied"),
    (400, 6111, Stall, "AuthFailed", "access_denied"),
    (401, 1000, Stall, "AuthFailed", "access_denied"),
    (400, 1001, Stall, "AuthFailed", "access_denied"),
    (403, 0, Stall, "AuthFailed", "access_denied"),
    (401, 31337, Stall, "AuthFailed", "access_denied"),
    (404, 7003, Stall, "NotFound", "not_found"),
    (400, 7000, Stall, "NotFound", "not_found"),
    (405, 7001, Stall, "NotFound", "not_found"),
    (400, 1061, Stall, "NameConflict", "name_conflict"),
    (400, 1099, Stall, "InvalidSpec", "invalid_spec"),
    (400, 1116, Stall, "InvalidSpec", "invalid_spec"),
    (429, 971, Wait, "Throttled", "throttling"),
    (429, 10429, Wait, "Throttled", "throttling"),
    (429, 10300, Wait, "Throttled", "throttling"),
    (429, 81053, Wait, "Throttled", "throttling"),
    (418, 31337, Stall, "CloudflareAPIError", "unknown"),
]


@pytest.mark.parametrize(("status", "code", "noun", "reason", "label"), KNOWN, ids=str)
def test_every_known_code_has_its_meaning(
    status: int, code: int, noun: type[PassError], reason: str, label: str
) -> None:
    failure = _classified(status, code)
    assert type(failure.error) is noun
    assert failure.error.reason == reason
    assert failure.error_type == label
    assert "as the provider says" in failure.error.message, "the provider's own words are kept"


def test_table_of_this_test_leaves_no_meaning_out() -> None:
    told = {code for _, code, *_ in KNOWN} | set(range(9000, 9100)) | {9207}
    assert CODES.keys() <= told


@pytest.mark.parametrize(
    ("message", "noun", "reason"),
    [
        ("access.api.error.application_already_exists", Conflict, "Conflict"),
        (
            "access.api.error.invalid_request: maximum number of applications has been reached",
            Stall,
            "QuotaExceeded",
        ),
        ("access.api.error.not_enabled: Access is not enabled.", Stall, "AccessNotEnabled"),
        ("access.api.error.invalid_request: policy precedences must be unique", Stall, "InvalidSpec"),
    ],
)
@pytest.mark.parametrize("code", [12130])
def test_some_codes_mean_what_their_message_says(
    code: int, message: str, noun: type[PassError], reason: str
) -> None:
    failure = _classified(400, code, message)
    assert type(failure.error) is noun
    assert failure.error.reason == reason


def test_throttling_pauses_for_as_long_as_the_answer_says() -> None:
    failure = classify(_OPERATION, RefusedError(429, (), timedelta(seconds=17)))
    assert failure is not None
    assert failure.verdict is Verdict.THROTTLED
    assert failure.retry_after == timedelta(seconds=17)


def test_throttling_pauses_for_five_minutes_where_the_answer_does_not_say() -> None:
    failure = _classified(429, 971)
    assert failure.retry_after == BLOCKED
    assert isinstance(failure.error, Wait)
    assert failure.error.after == BLOCKED


@pytest.mark.parametrize(
    "error", [BrokenReplyError("HTTP 502: <html>"), RefusedError(408, ())], ids=["broken", "408"]
)
def test_what_says_nothing_may_have_taken_effect(error: Exception) -> None:
    failure = classify(_OPERATION, error)
    assert failure is not None
    assert failure.verdict is Verdict.UNANSWERED
    assert isinstance(failure.error, Retry)


def test_what_is_no_error_of_the_provider_is_not_judged() -> None:
    assert classify(_OPERATION, KeyError("a bug")) is None


def test_root_of_a_chain_is_what_counts() -> None:
    chained = Problem(1004, "DNS Validation Error", (Problem(9300, "DNS record has 1 tags"),))
    failure = classify(_OPERATION, RefusedError(400, (chained,)))
    assert failure is not None
    assert "DNS record has 1 tags (9300)" in failure.error.message


@pytest.mark.parametrize("code", sorted(ABSENT))
def test_absence_is_known_by_its_code(code: int) -> None:
    assert is_absent(RefusedError(404, (Problem(code),)))
    assert not is_absent(RefusedError(429, (Problem(code),)))


@pytest.mark.parametrize("code", [7003, 10000, 9109, 12130, 0])
def test_nothing_else_is_taken_for_absence(code: int) -> None:
    """Least of all a refused token, or an address that leads nowhere."""
    assert not is_absent(RefusedError(404, (Problem(code),)))


def test_message_says_what_could_not_be_done() -> None:
    failure = classify(GET_APPLICATION.operation, RefusedError(400, (Problem(12130, "no"),)))
    assert failure is not None
    assert failure.error.message == "cannot get application: no (12130)"
