"""Requests as bytes, and answers out of bytes: whole, in pieces, and from servers that mean no good."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekeeper.kube.transport import TransportError
from edgekeeper.kube.wire import LARGEST_HEAD, AnswerReader, UnsendableError, encode_request

LIMIT = 1_000_000
OK = b"HTTP/1.1 200 OK\r\n"


def _read(pieces: Iterable[bytes], *, method: str = "GET", limit: int = LIMIT) -> tuple[AnswerReader, bytes]:
    """The answer that the pieces make, after which the connection ends."""
    reader = AnswerReader(limit, method)
    for piece in pieces:
        reader.feed(piece)
    reader.end()
    return reader, reader.take()


# Requests


def test_request_is_encoded_as_it_is_sent() -> None:
    sent = encode_request("PATCH", "/a?b=c", {"host": "h", "accept": "x"}, b"{}")
    assert sent == b"PATCH /a?b=c HTTP/1.1\r\nhost: h\r\naccept: x\r\ncontent-length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    ("method", "body", "has_length"),
    [
        ("GET", b"", False),
        ("DELETE", b"", False),
        ("DELETE", b"{}", True),
        ("POST", b"", True),
        ("PUT", b"{}", True),
    ],
)
def test_length_is_told_where_there_is_a_body_or_should_be_one(
    method: str, body: bytes, has_length: bool
) -> None:
    assert (b"content-length" in encode_request(method, "/", {}, body)) is has_length


@pytest.mark.parametrize(
    "bad",
    ["a\r\nx: y", "a\nb", "a\rb", "a\0b", "ü", "\N{LINE SEPARATOR}"],
    ids=["crlf", "lf", "cr", "null", "umlaut", "line separator"],
)
@pytest.mark.parametrize("where", ["value", "name", "target"])
def test_header_that_would_say_more_than_it_should_is_refused(bad: str, where: str) -> None:
    target = bad if where == "target" else "/"
    headers = {"authorization": bad} if where == "value" else {bad: "x"} if where == "name" else {}
    with pytest.raises(UnsendableError, match="nothing was sent") as caught:
        encode_request("GET", target, headers)
    assert caught.value.is_final
    assert bad not in str(caught.value)


# Answers

CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ANSWERS = {
    "by length": (OK + b"content-length: 5\r\n\r\nhello", 200, b"hello", True),
    "without a word of praise": (b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nhi", 200, b"hi", True),
    "empty": (OK + b"content-length: 0\r\n\r\n", 200, b"", True),
    "in chunks": (CHUNKED + b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", 200, b"hello!", True),
    "in chunks with extensions": (CHUNKED + b'2;a="b"\r\nhi\r\n000\r\n\r\n', 200, b"hi", True),
    "in chunks with a trailer": (CHUNKED + b"A\r\n0123456789\r\n0\r\nx: y\r\n\r\n", 200, b"0123456789", True),
    "until the end": (OK + b"\r\nall of this", 200, b"all of this", False),
    "of an old server": (b"HTTP/1.0 503 -\r\ncontent-length: 2\r\n\r\nno", 503, b"no", False),
    "then closed": (OK + b"connection: Close\r\ncontent-length: 1\r\n\r\nx", 200, b"x", False),
    "no content": (b"HTTP/1.1 204 -\r\n\r\n", 204, b"", True),
    "not modified": (b"HTTP/1.1 304 -\r\ncontent-length: 9\r\n\r\n", 304, b"", True),
    "after a while": (
        b"HTTP/1.1 103 Hints\r\nlink: x\r\n\r\n" + OK + b"content-length: 1\r\n\r\nx",
        200,
        b"x",
        True,
    ),
    "compressed": (
        OK + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b"hello" * 99, mtime=0),
        200,
        b"hello" * 99,
        False,
    ),
    "compressed in chunks": (
        CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: GZIP\r\n\r\n")
        + b"%x\r\n%b\r\n0\r\n\r\n"
        % (len(gzip.compress(b"x" * 9, mtime=0)), gzip.compress(b"x" * 9, mtime=0)),
        200,
        b"x" * 9,
        True,
    ),
    "compressed nothing": (OK + b"content-encoding: gzip\r\ncontent-length: 0\r\n\r\n", 200, b"", True),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answer_is_read(name: str) -> None:
    raw, status, body, keeps = ANSWERS[name]
    reader, read = _read([raw])
    assert (reader.status, read, reader.keeps_connection) == (status, body, keeps)
    assert reader.is_complete


@given(st.sampled_from(sorted(ANSWERS)), st.data())
def test_answer_is_the_same_however_it_is_cut(name: str, data: st.DataObject) -> None:
    raw, status, body, keeps = ANSWERS[name]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=12)))
    pieces = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    reader, read = _read(pieces)
    assert (reader.status, read, reader.keeps_connection) == (status, body, keeps)


def test_headers_have_small_names_and_join() -> None:
    reader, _ = _read([OK + b"Warning:  a \r\nX:\r\nwarning: b\r\ncontent-length: 0\r\n\r\n"])
    assert reader.headers == {"warning": "a, b", "x": "", "content-length": "0"}


def test_body_is_taken_as_it_comes() -> None:
    reader = AnswerReader(LIMIT)
    reader.feed(CHUNKED + b"3\r\nabc\r\n4\r\nd")
    assert (reader.unread, reader.take(), reader.unread) == (4, b"abcd", 0)
    reader.feed(b"efg\r\n")
    assert (reader.take(), reader.is_complete) == (b"efg", False)


def test_limit_is_for_what_was_not_taken() -> None:
    reader = AnswerReader(10)
    reader.feed(OK + b"content-length: 30\r\n\r\n0123456789")
    for _ in range(2):
        assert reader.take() == b"0123456789"
        reader.feed(b"0123456789")
    assert reader.is_complete


def test_answer_to_head_has_no_body() -> None:
    reader, body = _read([OK + b"content-length: 5\r\n\r\n"], method="HEAD")
    assert (reader.is_complete, body) == (True, b"")


def test_tunnel_that_is_open_has_no_body() -> None:
    reader, _ = _read([OK + b"\r\n"], method="CONNECT")
    assert (reader.is_complete, reader.keeps_connection) == (True, True)


# Servers that mean no good


@pytest.mark.parametrize("surplus", [b"x", OK + b"content-length: 0\r\n\r\n"], ids=["a byte", "an answer"])
@pytest.mark.parametrize("name", ["by length", "in chunks", "empty", "no content"])
def test_connection_is_not_kept_when_more_comes_than_was_asked_for(name: str, surplus: bytes) -> None:
    raw, status, body, _ = ANSWERS[name]
    reader, read = _read([raw + surplus])
    assert (reader.status, read, reader.keeps_connection) == (status, body, False)


def _with(*headers: bytes) -> bytes:
    return OK + b"".join(header + b"\r\n" for header in headers) + b"\r\n"


BROKEN = {
    "ssh": (b"SSH-2.0-OpenSSH_9.0\r\n", "not HTTP"),
    "http 2": (b"HTTP/2 200 OK\r\n\r\n", "not HTTP"),
    "status of letters": (b"HTTP/1.1 abc OK\r\n\r\n", "not HTTP"),
    "status that begins with 0": (b"HTTP/1.1 020 OK\r\n\r\n", "not HTTP"),
    "two spaces": (b"HTTP/1.1  200 OK\r\n\r\n", "not HTTP"),
    "line break in the status line": (b"HTTP/1.1 200 O\nK\r\n\r\n", "not HTTP"),
    "alert of tls": (b"\x15\x03\x03\x00\x02\x02\x28", "not HTTP"),
    "another protocol": (b"HTTP/1.1 101 -\r\nupgrade: x\r\n\r\n", "changed the protocol"),
    "header without a colon": (_with(b"no colon"), "header that cannot be read"),
    "space in a name": (_with(b"a space: x"), "header that cannot be read"),
    "space after a name": (_with(b"name : x"), "header that cannot be read"),
    "header without a name": (_with(b": x"), "header that cannot be read"),
    "folded header": (_with(b"a: b", b" folded"), "header that cannot be read"),
    "null in a value": (_with(b"a: b\0c"), "header that cannot be read"),
    "half a line break": (_with(b"a: b\nc: d"), "header that cannot be read"),
    "other half of a line break": (_with(b"a: b\rc: d"), "header that cannot be read"),
    "negative length": (_with(b"content-length: -1"), "length that cannot be read"),
    "signed length": (_with(b"content-length: +1"), "length that cannot be read"),
    "length with underscore": (_with(b"content-length: 1_0"), "length that cannot be read"),
    "length in superscript": (_with(b"content-length: \xb2"), "length that cannot be read"),
    "empty length": (_with(b"content-length:"), "length that cannot be read"),
    "endless length": (_with(b"content-length: " + b"9" * 5000), "length that cannot be read"),
    "two lengths": (_with(b"content-length: 5", b"content-length: 6"), "length that cannot be read"),
    "length and chunks": (_with(b"content-length: 5", b"transfer-encoding: chunked"), "tells its end twice"),
    "unknown transfer": (_with(b"transfer-encoding: gzip, chunked"), "transferred in a way"),
    "chunked twice": (
        _with(b"transfer-encoding: chunked", b"transfer-encoding: chunked"),
        "transferred in a way",
    ),
    "unknown encoding": (_with(b"content-encoding: br", b"content-length: 1"), "was not asked for"),
    "head that does not end": (OK + b"x: " + b"y" * LARGEST_HEAD, "head of the answer is longer"),
    "head that is too long": (
        OK + b"x: " + b"y" * LARGEST_HEAD + b"\r\n\r\n",
        "head of the answer is longer",
    ),
    "size of no digits": (CHUNKED + b"x\r\n", "chunk without a size"),
    "negative size": (CHUNKED + b"-5\r\nhello\r\n", "chunk without a size"),
    "prefixed size": (CHUNKED + b"0x5\r\nhello\r\n", "chunk without a size"),
    "empty size": (CHUNKED + b"\r\n", "chunk without a size"),
    "endless size": (CHUNKED + b"f" * 20 + b"\r\n", "chunk without a size"),
    "endless extension": (CHUNKED + b"5;" + b"x" * 2000, "do not fit together"),
    "chunk longer than its size": (CHUNKED + b"5\r\nhello!\r\n", "do not fit together"),
    "endless trailer": (CHUNKED + b"0\r\n" + b"x: y\r\n" * LARGEST_HEAD, "head of the answer is longer"),
    "nothing": (b"", "before its answer"),
    "cut in the status line": (b"HTTP/1.1 200", "in the middle of"),
    "cut in the body": (_with(b"content-length: 5") + b"hell", "in the middle of"),
    "cut before the chunks": (CHUNKED, "in the middle of"),
    "cut between chunks": (CHUNKED + b"5\r\nhello\r\n", "in the middle of"),
    "cut before the trailer": (CHUNKED + b"5\r\nhello\r\n0\r\n", "in the middle of"),
    "gzip that is none": (_with(b"content-encoding: gzip") + b"no gzip at all", "cannot be unpacked"),
    "gzip that is cut": (
        _with(b"content-encoding: gzip") + gzip.compress(b"x" * 99, mtime=0)[:-9],
        "cut off",
    ),
    "gzip twice": (_with(b"content-encoding: gzip") + gzip.compress(b"x") * 2, "something follows"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("drips", [False, True], ids=["at once", "dripping"])
def test_answer_that_breaks_the_rules_is_refused(name: str, drips: bool) -> None:
    raw, why = BROKEN[name]
    # The long ones drip in larger drops.
    drop = max(1, len(raw) // 500) if drips else len(raw) or 1
    with pytest.raises(TransportError, match=why):
        _read(raw[start : start + drop] for start in range(0, len(raw), drop))


@pytest.mark.parametrize(
    "garbage", [b"SSH-2.0-", b"\0", b"<html>", b"HTTP/2"], ids=["ssh", "null", "html", "http 2"]
)
def test_what_will_never_be_an_answer_is_not_waited_for(garbage: bytes) -> None:
    with pytest.raises(TransportError, match="not HTTP"):
        AnswerReader(LIMIT).feed(garbage)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "compressed"])
@pytest.mark.parametrize("size", [1000, 1001])
def test_answer_may_be_as_large_as_the_limit_and_no_larger(size: int, packed: bool) -> None:
    body = gzip.compress(b"x" * size) if packed else b"x" * size
    encoding = b"content-encoding: gzip" if packed else b"x: y"
    raw = _with(encoding, b"content-length: %d" % len(body)) + body
    if size > 1000:
        with pytest.raises(TransportError, match="larger than 1000 bytes"):
            _read([raw], limit=1000)
    else:
        assert _read([raw], limit=1000)[1] == b"x" * size


def test_bomb_is_not_unpacked_beyond_the_limit() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(bytes(1_000_000)) for _ in range(100)) + packer.flush()
    reader = AnswerReader(5000)
    with pytest.raises(TransportError, match="larger than 5000 bytes"):
        reader.feed(_with(b"content-encoding: gzip", b"content-length: %d" % len(bomb)) + bomb)
    assert reader.unread == 5001


@given(
    st.lists(st.binary(max_size=64) | st.sampled_from([OK, CHUNKED, b"\r\n", b"\r\n\r\n", b"5\r\nhello\r\n"]))
)
def test_whatever_comes_ends_in_an_answer_or_in_an_error(pieces: list[bytes]) -> None:
    try:
        reader, body = _read(pieces)
    except TransportError:
        return
    assert 200 <= reader.status <= 999
    assert len(body) <= sum(map(len, pieces))
