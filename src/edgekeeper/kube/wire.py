"""HTTP/1.1 as bytes, as far as a client of an API server needs it: a request becomes bytes, bytes become an answer.

Pure: nothing here waits or knows a socket. `kube.connection` feeds an `AnswerReader` with whatever arrives, cut
anywhere, and looks at what it has made of it.

Every write of the operator passes here, so the common answer, a head and a body of known length, costs a few
microseconds. What is uncommon is refused rather than guessed. Where two readers could disagree about the end of an
answer (a length beside chunks, two lengths, a sign before a length, lines that do not end in CRLF) lies the beginning of
an attack, and no API server writes such things:

    head       at most 64 KiB; names and values of headers as RFC 9110 allows them; no folded lines
    body       by length, by chunks, until the end of the connection, or none (204, 304)
    encoding   gzip or none; what counts against the limit is what comes out
    1xx        skipped, except 101: nobody asked for another protocol
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from edgekeeper.kube.transport import TransportError
from edgekeeper.kube.unpacking import Unpacker, unpacker_for

LARGEST_HEAD = 64 * 1024
"""Bytes of status line and headers, as of what ends a body in chunks."""
_LARGEST_SIZE_LINE = 1024
"""Bytes of the line before a chunk. The size itself takes eight; the rest could only be extensions, which nobody uses."""
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_LONGEST_NUMBER = 15
"""Digits of a length: more than any disk holds, and still quick to read."""

_VERSION = b"HTTP/1."
_STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n\0]*)?")
_HEADER_LINES = re.compile(r"(?m)^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\r\n\0]*)\r\n")
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,12})[ \t]*(?:;[^\r\n]*)?")


def encode_request(method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """A request as it is sent. Raise TransportError where a header would say more than it should."""
    lines = [f"{method} {target} HTTP/1.1\r\n"]
    lines += [f"{name}: {value}\r\n" for name, value in headers.items()]
    if body or method in _WITH_BODY:
        lines.append(f"content-length: {len(body)}\r\n")
    head = "".join(lines)
    # Every line has its own end and no other: a value that smuggles one in would start a header of its choice.
    if not head.isascii() or head.count("\r") != len(lines) or head.count("\n") != len(lines) or "\0" in head:
        raise UnsendableError(
            "a header of the request has a line break, or is not plain text; nothing was sent"
        )
    return head.encode() + b"\r\n" + body


class UnsendableError(TransportError):
    """A request that would not mean what it should. It was not sent, and never will be."""

    is_final = True


class AnswerReader:
    """Reads one answer. Whatever is wrong with it is raised as TransportError, and then nothing of it counts."""

    def __init__(self, limit: int, method: str = "GET") -> None:
        """`limit` is how many bytes of the body may be there, unpacked, without having been taken."""
        self.status = 0
        """0 until the head is complete."""
        self.headers: dict[str, str] = {}
        """Names are lower case; what comes twice is joined."""
        self.unread = 0
        """Bytes of the body that wait to be taken."""
        self.keeps_connection = False
        """Whether the connection is as good as new after the answer."""
        self._limit = limit
        self._method = method
        self._parts: list[bytes] = []
        self._unpacker: Unpacker | None = None
        self._buffer = b""
        self._at = 0
        self._left = 0
        """Bytes to come: of the body, or of the present chunk."""
        self._step: Callable[[], bool] | None = self._read_head
        """Reads from the buffer and says whether it got anywhere; none when the answer is complete."""

    @property
    def is_complete(self) -> bool:
        return self._step is None

    def feed(self, data: bytes) -> None:
        """Take in what has arrived."""
        self._buffer = self._buffer + data if self._buffer else data
        self._at = 0
        while self._step is not None and self._at < len(self._buffer) and self._step():
            pass
        self._buffer = self._buffer[self._at :]
        if self._step is None and self._buffer:
            # An answer to a question that was not asked: the next question must not get it.
            self.keeps_connection = False

    def end(self) -> None:
        """The connection has ended, and nothing more arrives."""
        if self._step == self._read_rest:
            self._finish()
        elif self._step is not None:
            began = self.status or self._buffer
            raise TransportError(
                f"the server closed the connection {'in the middle of' if began else 'before'} its answer"
            )

    def take(self) -> bytes:
        """The body as far as it is here and was not taken before."""
        parts, self._parts, self.unread = self._parts, [], 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    # The head

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n", self._at)
        if end < 0:
            self._check_beginning()
            return False
        if end - self._at > LARGEST_HEAD:
            raise _too_long()
        head = self._buffer[self._at : end + 2].decode("latin-1")
        self._at = end + 4
        status_line, _, lines = head.partition("\r\n")
        self._understand(_status(status_line), lines, is_recent=status_line.startswith("HTTP/1.1"))
        return True

    def _check_beginning(self) -> None:
        """Give up on what will never be a head, instead of waiting for more of it."""
        begun = self._buffer[self._at : self._at + len(_VERSION)]
        if not _VERSION.startswith(begun):
            raise TransportError("the answer is not HTTP")
        if len(self._buffer) - self._at > LARGEST_HEAD:
            raise _too_long()

    def _understand(self, status: int, lines: str, *, is_recent: bool) -> None:
        headers = _headers(lines)
        if status < 200:
            if status == 101:
                raise TransportError("the server changed the protocol without being asked")
            return
        self.status, self.headers = status, headers
        self.keeps_connection = is_recent and "close" not in headers.get("connection", "").lower()
        if "content-encoding" in headers:
            self._unpacker = unpacker_for(headers["content-encoding"])
        self._choose_body(headers)

    def _choose_body(self, headers: Mapping[str, str]) -> None:
        """How the end of the body is told."""
        length, transfer = headers.get("content-length"), headers.get("transfer-encoding")
        if length is not None and transfer is not None:
            raise TransportError("the answer tells its end twice, by a length and by chunks")
        self._left = _length(length) if length is not None else 0
        if self.status in (204, 304) or self._method == "HEAD" or self._is_tunnel:
            self._finish()
        elif transfer is not None:
            if transfer.lower() != "chunked":
                raise TransportError("the answer is transferred in a way that we do not know")
            self._step = self._read_chunk_size
        elif length is None:
            self.keeps_connection = False
            self._step = self._read_rest
        elif self._left:
            self._step = self._read_counted
        else:
            self._finish()

    @property
    def _is_tunnel(self) -> bool:
        return self._method == "CONNECT" and self.status < 300

    # The body

    def _read_counted(self) -> bool:
        self._keep_some()
        if not self._left:
            self._finish()
        return True

    def _read_rest(self) -> bool:
        self._left = len(self._buffer) - self._at
        self._keep_some()
        return True

    def _read_chunk_size(self) -> bool:
        line = self._line(_LARGEST_SIZE_LINE)
        if line is None:
            return False
        size = _CHUNK_SIZE.fullmatch(line)
        if size is None:
            raise TransportError("the answer has a chunk without a size")
        self._left = int(size[1], 16)
        if not self._left:
            self._step = self._read_trailer
        elif self._at < len(self._buffer):
            self._read_chunk()
        else:
            self._step = self._read_chunk
        return True

    def _read_chunk(self) -> bool:
        self._keep_some()
        if self._left:
            self._step = self._read_chunk
        elif self._buffer.startswith(b"\r\n", self._at):
            self._at += 2
            self._step = self._read_chunk_size
        else:
            self._step = self._read_chunk_end
        return True

    def _read_chunk_end(self) -> bool:
        line = self._line(0)
        if line is None:
            return False
        self._step = self._read_chunk_size
        return True

    def _read_trailer(self) -> bool:
        """What comes after the last chunk is of no use to us; an empty line ends it."""
        line = self._line(LARGEST_HEAD)
        if line is None:
            return False
        self._left += len(line)
        if self._left > LARGEST_HEAD:
            raise _too_long()
        if not line:
            self._finish()
        return True

    def _line(self, longest: int) -> bytes | None:
        """The next line without its end, once it is here."""
        end = self._buffer.find(b"\r\n", self._at, self._at + longest + 2)
        if end < 0:
            if len(self._buffer) - self._at >= longest + 2:
                raise TransportError("the chunks of the answer do not fit together")
            return None
        line = self._buffer[self._at : end]
        self._at = end + 2
        return line

    def _keep_some(self) -> None:
        """Keep what is here of what is to come."""
        start, end = self._at, min(self._at + self._left, len(self._buffer))
        self._at = end
        self._left -= end - start
        part = self._buffer[start:end]
        if self._unpacker is not None:
            part = self._unpacker.unpack(part, self._limit - self.unread + 1)
        self._parts.append(part)
        self.unread += len(part)
        if self.unread > self._limit:
            raise TransportError(f"the answer is larger than {self._limit} bytes")

    def _finish(self) -> None:
        if self._unpacker is not None:
            self._unpacker.confirm_end()
        self._step = None


def _status(line: str) -> int:
    found = _STATUS_LINE.fullmatch(line)
    if found is None:
        raise TransportError("the answer is not HTTP")
    return int(found[2])


def _headers(lines: str) -> dict[str, str]:
    found = _HEADER_LINES.findall(lines)
    if len(found) != lines.count("\n"):
        raise TransportError("the answer has a header that cannot be read")
    headers = {name.lower(): value.rstrip(" \t") for name, value in found}
    return headers if len(headers) == len(found) else _joined(found)


def _joined(found: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers of which some come more than once."""
    headers: dict[str, str] = {}
    for name, value in found:
        lower, told = name.lower(), value.rstrip(" \t")
        headers[lower] = f"{headers[lower]}, {told}" if lower in headers else told
    return headers


def _length(text: str) -> int:
    if not text.isdecimal() or len(text) > _LONGEST_NUMBER:
        raise TransportError("the answer has a length that cannot be read")
    return int(text)


def _too_long() -> TransportError:
    return TransportError(f"the head of the answer is longer than {LARGEST_HEAD} bytes")
