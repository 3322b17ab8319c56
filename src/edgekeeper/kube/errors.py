"""Errors of the API server, as a hierarchy of exceptions.

    ApiError                    any error response: method, path, status, reason, message, causes
      ├ NotFoundError           404: the object does not exist, or the kind is not served
      ├ AlreadyExistsError      409 AlreadyExists: an object of that name exists
      ├ StaleError              409 Conflict: a precondition failed
      │   └ FieldConflictError  409 Conflict: other managers own fields that were applied without force
      ├ ExpiredError            410: a resourceVersion or continue token that is too old
      ├ UnauthorizedError       401: the credentials are not accepted
      ├ ForbiddenError          403: a permission is missing, or admission refused
      ├ InvalidError            400, 413, 415, 422: the same request will always be refused
      ├ ThrottledError          429: refused for now, without any effect
      ├ ServerError             5xx: the server failed; a write may have taken effect
      └ UnreachableError        no usable response; a write may have taken effect

Errors usually arrive as a `Status` object. Proxies, load balancers and paths of kinds that are not served respond in
plain text or HTML instead, so a body that cannot be decoded is handled too. The text of an error contains only what the
server sent, and nothing of the request: no header, no token, no body.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec

from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.transport import ApiResponse

_LONGEST_TEXT = 500
"""How many characters of an unstructured response are shown: enough for the message of a proxy."""
_MANAGER = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_LONGEST_PAUSE = timedelta(days=1)
_MOST_DIGITS = 9


class ApiError(Exception):
    """The API server did not carry out a request, or may not have."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        causes: Sequence[JsonObject] = (),
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status; zero if there was no response."""
        self.reason = reason
        """The machine-readable reason of the server, such as `AlreadyExists`; empty where it gave none."""
        self.message = message
        self.causes = list(causes)
        """What is wrong with which field: objects with `reason`, `message` and `field`."""
        self.retry_after = retry_after
        """How long to wait before the next request, if the server asked for it."""
        self.method = ""
        self.path = ""

    def about(self, method: str, path: str) -> ApiError:
        """Add the request to the error, for its text, and return it."""
        self.method, self.path = method, path
        return self

    def __str__(self) -> str:
        code = " ".join(part for part in (str(self.status or ""), self.reason) if part)
        text = f"{self.message} ({code})" if code else self.message
        return f"cannot {self.method} {self.path}: {text}" if self.method else text


class NotFoundError(ApiError):
    """The object does not exist, or its kind is not served."""


class AlreadyExistsError(ApiError):
    """An object of that name exists."""


class StaleError(ApiError):
    """The object has changed since it was read; or, when applying without force, others own its fields."""


class FieldConflict(NamedTuple):
    """A field that another field manager owns."""

    field: str
    """As a path: `.spec.replicas`."""
    manager: str
    """The name of the field manager; empty if the message of the server cannot be parsed."""


class FieldConflictError(StaleError):
    """Fields that were applied without force belong to others. Reading the object again does not help."""

    @property
    def conflicts(self) -> tuple[FieldConflict, ...]:
        return tuple(_field_conflict(cause) for cause in self.causes if _is_field_conflict(cause))

    @property
    def managers(self) -> tuple[str, ...]:
        """The field managers that own the fields, without duplicates."""
        return tuple(dict.fromkeys(conflict.manager for conflict in self.conflicts))


class ExpiredError(ApiError):
    """The resourceVersion or continue token is too old: list again."""


class UnauthorizedError(ApiError):
    """The server does not accept our credentials."""


class ForbiddenError(ApiError):
    """We lack a permission, or admission refuses the change."""


class InvalidError(ApiError):
    """The request is invalid. Sending it again unchanged fails again."""


class ThrottledError(ApiError):
    """The server limits the rate of requests. The request had no effect."""


class ServerError(ApiError):
    """The server failed. Whether a write took effect is not known."""


class UnreachableError(ApiError):
    """No usable answer came back. Whether a write took effect is not known."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "", message)


_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: InvalidError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: StaleError,
    410: ExpiredError,
    413: InvalidError,
    415: InvalidError,
    422: InvalidError,
    429: ThrottledError,
}
_BY_REASON: Mapping[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExistsError,
    "Conflict": StaleError,
    "Expired": ExpiredError,
    "Gone": ExpiredError,
    "Invalid": InvalidError,
    "NotFound": NotFoundError,
    "TooManyRequests": ThrottledError,
}
"""Reasons are more exact than statuses, and the only thing that two kinds of 409 differ in."""


def raise_for(response: ApiResponse, method: str = "", path: str = "") -> None:
    """Raise what a refusal means. Redirects are refusals too: an API server has no reason to send one."""
    if response.status >= 300:
        raise error_of(response).about(method, path)


def error_of(response: ApiResponse) -> ApiError:
    """The error that an answer is, whatever its body looks like."""
    tree = _status_object(response.body)
    if tree is not None:
        return error_from_status(tree, response.status, retry_after(response.headers))
    kind = _kind_of(response.status, "")
    return kind(response.status, "", _text_of(response), retry_after=retry_after(response.headers))


def error_from_status(tree: JsonObject, status: int = 0, retry: timedelta | None = None) -> ApiError:
    """The error that a `Status` object describes; they also arrive as ERROR events of a watch, without a response."""
    code = status or _integer(dig(tree, "code"))
    reason = _string(dig(tree, "reason"))
    if retry is None and (seconds := _integer(dig(tree, "details", "retryAfterSeconds"))) > 0:
        retry = timedelta(seconds=min(seconds, _LONGEST_PAUSE.total_seconds()))
    causes = [cause for cause in dig_list(tree, "details", "causes") if isinstance(cause, dict)]
    message = _string(dig(tree, "message")) or _phrase(code)
    kind = _kind_of(code, reason)
    if kind is StaleError and any(map(_is_field_conflict, causes)):
        kind = FieldConflictError
    return kind(code, reason, message, causes=causes, retry_after=retry)


def retry_after(headers: Mapping[str, str]) -> timedelta | None:
    """How long the `Retry-After` header asks to wait. A date is relative to the server's `Date` header, not our clock."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return min(timedelta(seconds=int(text[:_MOST_DIGITS])), _LONGEST_PAUSE)
    until, now = _date(text), _date(headers.get("date", ""))
    if until is None or now is None:
        return None
    return min(max(until - now, timedelta(0)), _LONGEST_PAUSE)


def _kind_of(status: int, reason: str) -> type[ApiError]:
    kind = _BY_REASON.get(reason) or _BY_STATUS.get(status)
    if kind is not None:
        return kind
    return ServerError if status >= 500 else ApiError


def _is_field_conflict(cause: JsonObject) -> bool:
    return cause.get("reason") == "FieldManagerConflict"


def _field_conflict(cause: JsonObject) -> FieldConflict:
    """Parse a cause, whose message is such as `conflict with "kubectl" with subresource "status" using v1`."""
    match = _MANAGER.match(_string(cause.get("message")))
    return FieldConflict(_string(cause.get("field")), _ESCAPED.sub(r"\1", match[1]) if match else "")


def _status_object(body: bytes) -> JsonObject | None:
    try:
        tree = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return tree if isinstance(tree, dict) and tree.get("kind") == "Status" else None


def _text_of(response: ApiResponse) -> str:
    """One line of an unstructured response; for HTML, the phrase of the status instead."""
    if 300 <= response.status < 400:
        return f"redirected to {response.headers.get('location', 'nowhere')}, which is not followed"
    if "html" in response.headers.get("content-type", ""):
        return _phrase(response.status)
    text = " ".join(response.body[: 4 * _LONGEST_TEXT].decode(errors="replace").split())
    return text[:_LONGEST_TEXT] or _phrase(response.status)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase.lower()
    except ValueError:
        return f"the server answered with status {status}"


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else None


def _integer(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
