"""Whatever is not the API's answer raises. Nothing hostile, broken or odd is ever read as "there is nothing"."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.cloud.cloudflare.models import Zone
from edgekeeper.cloud.cloudflare.reply import BrokenReplyError, RefusedError, parse_reply

GOOD = b'{"success":true,"errors":[],"messages":[],"result":[]}'

BROKEN = {
    "empty": b"",
    "html": b"<!DOCTYPE html><html><body>Error 502</body></html>",
    "half": b'{"success":true,"errors":[],"result":[{"id":"1","na',
    "list": b"[]",
    "null": b"null",
    "no-success": b'{"result":[]}',
    "success-of-another-type": b'{"success":"yes","result":[]}',
    "success-null": b'{"success":null,"result":[]}',
    "no-result": b'{"success":true,"errors":[]}',
    "errors-of-another-type": b'{"success":true,"errors":"none","result":[]}',
    "info-of-another-type": b'{"success":true,"result":[],"result_info":[]}',
    "not-utf-8": b'{"success":true,"result":["\xff\xfe"]}',
    "deeper-than-any-tree": b'{"success":true,"result":' + b"[" * 200_000,
    "number-out-of-bounds": b'{"success":true,"result":[],"result_info":{"page":1e999}}',
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN.keys())
def test_broken_answer_raises_and_is_never_empty(body: bytes) -> None:
    with pytest.raises((BrokenReplyError, RefusedError)):
        parse_reply(200, {}, body).read_list(Zone)


@pytest.mark.parametrize(
    "result",
    [
        *(
            b"null",
            b"{}",
            b'""',
            b"0",
            b"true",
            b'[{"id":"1"}]',
            b"[null]",
            b'[{"id":1,"name":"a","account":{"id":"b"}}]',
        ),
        b'[{"id":"1","name":"a","account":null}]',
    ],
)
def test_result_of_another_type_raises_and_is_never_empty(result: bytes) -> None:
    reply = parse_reply(200, {}, b'{"success":true,"errors":[],"result":' + result + b"}")
    with pytest.raises(BrokenReplyError):
        reply.read_list(Zone)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_is_not_an_answer(status: int) -> None:
    with pytest.raises(BrokenReplyError, match="redirect"):
        parse_reply(status, {"location": "http://169.254.169.254/"}, GOOD)


@pytest.mark.parametrize("status", [500, 502, 503, 520, 522, 530])
def test_server_failure_is_not_an_answer_even_with_a_good_envelope(status: int) -> None:
    with pytest.raises(BrokenReplyError):
        parse_reply(status, {}, GOOD)


def test_refusal_within_a_200_is_a_refusal() -> None:
    body = b'{"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"result":null}'
    with pytest.raises(RefusedError) as caught:
        parse_reply(200, {}, body)
    assert caught.value.text == "Authentication error (10000)"


@pytest.mark.parametrize("errors", [b"null", b"[]"])
def test_refusal_without_a_reason_is_a_refusal(errors: bytes) -> None:
    with pytest.raises(RefusedError, match="HTTP 400"):
        parse_reply(400, {}, b'{"success":false,"errors":' + errors + b"}")


def test_refusal_by_the_edge_keeps_its_status() -> None:
    with pytest.raises(RefusedError) as caught:
        parse_reply(429, {"retry-after": "30"}, b"<html>slow down</html>")
    assert caught.value.retry_after == timedelta(seconds=30)


@pytest.mark.parametrize(
    ("text", "pause"),
    [
        ("30", timedelta(seconds=30)),
        ("0", timedelta(0)),
        ("999999", timedelta(hours=1)),
        ("99999999999999999999", None),
        ("-5", None),
        ("soon", None),
        ("1.5", None),
        ("", None),
    ],
)
def test_pause_is_taken_only_where_it_makes_sense(text: str, pause: timedelta | None) -> None:
    with pytest.raises(RefusedError) as caught:
        parse_reply(429, {"retry-after": text}, b"{}")
    assert caught.value.retry_after == pause


def test_message_of_a_provider_is_kept_but_not_without_end() -> None:
    body = b'{"success":false,"errors":[{"code":1,"message":"' + b"x" * 100_000 + b'"}],"result":null}'
    with pytest.raises(RefusedError) as caught:
        parse_reply(400, {}, body)
    assert len(caught.value.text) == 2000


def test_unknown_fields_do_no_harm() -> None:
    body = b'{"success":true,"result":[{"id":"1","name":"a","account":{"id":"b","new":1},"newer":[2]}],"newest":{}}'
    (zone,) = parse_reply(200, {}, body).read_list(Zone)
    assert zone.name == "a"


@given(st.binary(max_size=200))
def test_noise_always_raises(noise: bytes) -> None:
    with pytest.raises((BrokenReplyError, RefusedError)):
        parse_reply(200, {}, noise).read_list(Zone)


@given(st.integers(0, len(GOOD) - 1))
def test_answer_that_was_cut_anywhere_raises(length: int) -> None:
    with pytest.raises((BrokenReplyError, RefusedError)):
        parse_reply(200, {}, GOOD[:length]).read_list(Zone)
