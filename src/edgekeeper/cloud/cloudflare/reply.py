"""Parses Cloudflare's responses.

An HTML page, a truncated document, null instead of a list and a redirect raise an error. They are never treated as an
empty result, which could lead to deletions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import GenericAlias
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_LONGEST_MESSAGE = 2_000
_LONGEST_PAUSE = 3_600


class Problem(msgspec.Struct, frozen=True):
    """One entry of `errors`."""

    code: int = 0
    message: str = ""
    error_chain: tuple[Problem, ...] | None = None

    @property
    def root(self) -> Problem:
        """The root cause: validation errors of DNS may be wrapped in a general one."""
        return self.error_chain[0].root if self.error_chain else self


class PageInfo(msgspec.Struct, frozen=True):
    """The position of a page. Any field may be missing."""

    page: int | None = None
    per_page: int | None = None
    count: int | None = None
    total_count: int | None = None


class _Envelope(msgspec.Struct, frozen=True):
    success: bool
    result: msgspec.Raw = msgspec.Raw(b"")
    errors: tuple[Problem, ...] | None = None
    result_info: PageInfo | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful response."""

    result: msgspec.Raw
    info: PageInfo | None

    def read(self, type_: type[T]) -> T:
        """The result as `type_`. Raise BrokenReplyError if it has another form."""
        result: T = self._decode(type_)
        return result

    def read_list(self, type_: type[T]) -> list[T]:
        """The result as a list of `type_`. Raise BrokenReplyError if it has another form, such as null."""
        items: list[T] = self._decode(GenericAlias(list, (type_,)))
        return items

    def _decode(self, type_: Any) -> Any:
        try:
            return msgspec.json.decode(self.result, type=type_)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise BrokenReplyError(f"the result has an unexpected form: {error}") from error


class BrokenReplyError(Exception):
    """The response cannot be parsed. The request may have taken effect."""


class RefusedError(Exception):
    """A refusal."""

    def __init__(
        self, status: int, problems: tuple[Problem, ...], retry_after: timedelta | None = None
    ) -> None:
        self.status = status
        self.problems = tuple(problem.root for problem in problems)
        self.retry_after = retry_after
        super().__init__(self.text)

    @property
    def text(self) -> str:
        """The provider's message."""
        words = "; ".join(f"{problem.message.strip()} ({problem.code})" for problem in self.problems)
        return words[:_LONGEST_MESSAGE] or f"HTTP {self.status} without an error message"

    def has_code(self, codes: frozenset[int]) -> bool:
        return any(problem.code in codes for problem in self.problems)


def parse_reply(status: int, headers: Mapping[str, str], body: bytes) -> Reply:
    """Parse a successful response. Raise RefusedError for a refusal, BrokenReplyError for anything else."""
    if 300 <= status < 400:
        raise BrokenReplyError(f"a redirect ({status}), which is not followed")
    try:
        envelope = msgspec.json.decode(body, type=_Envelope)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if 400 <= status < 500:  # refused by a proxy or by the edge, before it reached the API
            raise RefusedError(status, (), _retry_after(headers)) from error
        raise BrokenReplyError(f"HTTP {status} with an unreadable response: {error}") from error
    if status >= 500:
        words = RefusedError(status, envelope.errors or ()).text
        raise BrokenReplyError(f"HTTP {status}: {words}")
    if status >= 400 or not envelope.success:
        raise RefusedError(status, envelope.errors or (), _retry_after(headers))
    if not bytes(envelope.result):
        raise BrokenReplyError("the response has no result")
    return Reply(envelope.result, envelope.result_info)


def _retry_after(headers: Mapping[str, str]) -> timedelta | None:
    """Seconds, as Cloudflare sends them; None for anything else, or for more than an hour."""
    text: Any = headers.get("retry-after", "")
    if not text.isdecimal() or len(text) > 6:
        return None
    return timedelta(seconds=min(int(text), _LONGEST_PAUSE))
