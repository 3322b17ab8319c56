"""Refusals, however they are written, become the right error."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ServerError,
    StaleError,
    ThrottledError,
    UnauthorizedError,
    UnreachableError,
    error_from_status,
    error_of,
    raise_for,
    retry_after,
)
from edgekeeper.kube.transport import ApiResponse
from tests.unit.kube.scripted import answer, refusal

PLAIN = {"content-type": "text/plain; charset=utf-8"}
HTML = {"content-type": "text/html"}


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "BadRequest", InvalidError),
        (401, "Unauthorized", UnauthorizedError),
        (403, "Forbidden", ForbiddenError),
        (404, "NotFound", NotFoundError),
        (405, "MethodNotAllowed", ApiError),
        (409, "AlreadyExists", AlreadyExistsError),
        (409, "Conflict", StaleError),
        (410, "Expired", ExpiredError),
        (410, "Gone", ExpiredError),
        (413, "RequestEntityTooLarge", InvalidError),
        (415, "UnsupportedMediaType", InvalidError),
        (422, "Invalid", InvalidError),
        (429, "TooManyRequests", ThrottledError),
        (500, "InternalError", ServerError),
        (500, "", ServerError),
        (503, "ServiceUnavailable", ServerError),
        (504, "Timeout", ServerError),
    ],
)
def test_error_is_of_the_kind_that_status_and_reason_say(
    status: int, reason: str, kind: type[ApiError]
) -> None:
    error = error_of(refusal(status, reason, "because"))
    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (status, reason, "because")


@pytest.mark.parametrize("status", [200, 201, 202])
def test_success_raises_nothing(status: int) -> None:
    raise_for(answer(status))


def test_not_found_is_told_without_a_status_object() -> None:
    """As for the paths of a kind whose definition is gone."""
    error = error_of(ApiResponse(404, PLAIN, b"404 page not found\n"))
    assert isinstance(error, NotFoundError)
    assert error.message == "404 page not found"


def test_page_of_a_proxy_is_not_shown() -> None:
    error = error_of(ApiResponse(502, HTML, b"<html><style>body {}</style></html>"))
    assert isinstance(error, ServerError)
    assert str(error) == "bad gateway (502)"


def test_redirect_is_a_refusal_that_says_where_it_leads() -> None:
    with pytest.raises(ApiError, match=r"redirected to https://login\.example\.com, which is not followed"):
        raise_for(ApiResponse(302, {"location": "https://login.example.com"}, b""))


def test_long_text_is_cut_and_brought_onto_one_line() -> None:
    error = error_of(ApiResponse(500, PLAIN, b"out\nof\tmemory " + b"x" * 100_000))
    assert error.message.startswith("out of memory xxx")
    assert len(error.message) == 500


def test_error_names_request_and_answer() -> None:
    with pytest.raises(NotFoundError) as caught:
        raise_for(refusal(404, "NotFound", 'widgets "a" not found'), "GET", "/apis/example.com/v1/widgets/a")
    assert str(caught.value) == (
        'cannot GET /apis/example.com/v1/widgets/a: widgets "a" not found (404 NotFound)'
    )


def test_causes_tell_which_field_is_wrong() -> None:
    cause = {"reason": "FieldValueInvalid", "message": "must be positive", "field": "spec.size"}
    tree = {
        "kind": "Status",
        "reason": "Invalid",
        "message": "bad",
        "details": {"causes": [cause, "nonsense"]},
    }
    assert error_of(answer(422, tree)).causes == [cause]


def test_no_answer_has_no_status() -> None:
    error = UnreachableError("connection refused").about("GET", "/version")
    assert (error.status, str(error)) == (0, "cannot GET /version: connection refused")


def test_error_event_of_a_watch_is_an_error_by_its_own_code() -> None:
    """The HTTP answer was 200: only the object in the event tells what happened."""
    tree = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
    error = error_from_status(tree)
    assert isinstance(error, ExpiredError)
    assert error.status == 410


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, timedelta(seconds=7)),
        ({"retry-after": " 0 "}, timedelta(0)),
        ({"retry-after": "9" * 5000}, timedelta(days=1)),
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        (
            {"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"},
            timedelta(seconds=30),
        ),
        (
            {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:28:30 GMT"},
            timedelta(0),
        ),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00", "date": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        ({"retry-after": f"Wed, 21 Oct {10**20} 07:28:00 GMT"}, None),
    ],
    ids=[
        *("seconds", "none at all", "absurdly long", "absent", "empty", "a word", "negative"),
        *("date without a clock", "date by the server's clock", "date in the past", "date without a zone"),
        "date of no year",
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], expected: timedelta | None) -> None:
    assert retry_after(headers) == expected


def test_retry_after_is_also_found_in_the_details() -> None:
    tree = {"kind": "Status", "reason": "TooManyRequests", "details": {"retryAfterSeconds": 3}}
    assert error_of(answer(429, tree)).retry_after == timedelta(seconds=3)
    assert error_of(answer(429, tree, retry_after="9")).retry_after == timedelta(seconds=9)


@pytest.mark.parametrize("seconds", [86_401, 10**15, 2**63])
def test_retry_after_of_the_details_is_at_most_a_day(seconds: int) -> None:
    tree = {"kind": "Status", "details": {"retryAfterSeconds": seconds}}
    assert error_of(answer(429, tree)).retry_after == timedelta(days=1)


@pytest.mark.parametrize("body", [b"[" * 5000, b'{"a":' * 5000], ids=["lists", "objects"])
def test_body_that_is_nested_too_deeply_makes_an_error(body: bytes) -> None:
    assert isinstance(error_of(ApiResponse(503, {}, body)), ServerError)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
_STATUS = st.fixed_dictionaries(
    {"kind": st.just("Status")},
    optional=dict.fromkeys(("code", "reason", "message", "details", "status"), _JSON),
)


@given(status=st.integers(300, 599), tree=_STATUS | _JSON)
def test_any_status_object_makes_an_error(status: int, tree: object) -> None:
    error = error_of(answer(status, tree))
    assert error.status == status
    assert str(error)


@given(
    status=st.integers(300, 999),
    body=st.binary(),
    headers=st.dictionaries(st.sampled_from(["retry-after", "date", "content-type"]), st.text()),
)
def test_any_answer_makes_an_error(status: int, body: bytes, headers: dict[str, str]) -> None:
    assert error_of(ApiResponse(status, headers, body)).message
