"""The classifier for failed AWS calls: translates what botocore raises.

 - An answer with an error code is looked up in `error_table`.
 - No answer (a lost connection, a timeout), or one that is not AWS's (HTML, a truncated body), says nothing about whether a
   write took effect.
 - Missing or refused credentials: nothing was asked.
 - An answer of AWS that lacks a required field is refused, and not an outage: one odd object must not stop all others.
 - Anything else is a bug: `classify` returns None.

AWS's message is kept unchanged, with the operation and the code before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import Any

from botocore.exceptions import (
    ClientError,
    ConfigNotFound,
    ConfigParseError,
    CredentialRetrievalError,
    HTTPClientError,
    InfiniteLoopConfigError,
    InvalidConfigError,
    MetadataRetrievalError,
    NoAuthTokenError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ProfileNotFound,
    RefreshWithMFAUnsupportedError,
    SSOError,
    TokenRetrievalError,
    UnknownCredentialError,
)
from botocore.exceptions import ConnectionError as ConnectionFailedError

from edgekeeper.cloud.aws import error_table
from edgekeeper.cloud.aws.answers import BrokenAnswerError, MalformedAnswerError
from edgekeeper.cloud.error_table import ErrorRow, error_for
from edgekeeper.cloud.operation import Failure, Operation, Verdict
from edgekeeper.core.errors import Cause

_NO_IDENTITY = (
    *(NoCredentialsError, PartialCredentialsError, NoAuthTokenError, UnknownCredentialError),
    *(CredentialRetrievalError, MetadataRetrievalError, TokenRetrievalError, SSOError),
    *(ProfileNotFound, ConfigNotFound, ConfigParseError, InvalidConfigError, InfiniteLoopConfigError),
    RefreshWithMFAUnsupportedError,
)
_IDENTITY_OPERATIONS = frozenset(
    {"AssumeRole", "AssumeRoleWithWebIdentity", "AssumeRoleWithSAML", "GetRoleCredentials", "CreateToken"}
)
"""What botocore calls by itself to get credentials."""
_MOST_DIGITS = 6
_NOTHING_SPECIAL: Mapping[str, ErrorRow] = {}


def classify(
    operation: Operation, error: Exception, special: Mapping[str, ErrorRow] = _NOTHING_SPECIAL
) -> Failure | None:
    """What a failed call means. None for an error that is ours. `special` goes before the tables."""
    if isinstance(error, ClientError):
        if error.operation_name in _IDENTITY_OPERATIONS - {operation.name}:
            return _without_identity(
                operation, f"{error.operation_name}: {code_of(error)}: {message_of(error)}"
            )
        return _refusal(operation, error, special)
    general, text = error_table.general(operation.service), _text(error)
    if isinstance(error, MalformedAnswerError):
        return _failure(operation, general.busy, text, Verdict.REFUSED)
    if isinstance(error, _no_answer()):
        return _failure(operation, general.busy, text, Verdict.UNANSWERED)
    if isinstance(error, _NO_IDENTITY):
        return _without_identity(operation, text)
    if isinstance(error, ParamValidationError):
        return _failure(operation, general.invalid, text, Verdict.REFUSED)
    return None


@cache
def _no_answer() -> tuple[type[Exception], ...]:
    """Errors without an answer of AWS. The parser is imported here because it loads most of botocore."""
    from botocore.parsers import ResponseParserError  # noqa: PLC0415

    return ConnectionFailedError, HTTPClientError, ResponseParserError, BrokenAnswerError, OSError


def _text(error: Exception) -> str:
    """The text of an exception; a timeout has none of its own."""
    return str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)


def code_of(error: ClientError) -> str:
    """The error code of an answer."""
    return str(error.response.get("Error", {}).get("Code", ""))


def message_of(error: ClientError) -> str:
    """AWS's message. Route 53 sends a list of them."""
    response: dict[str, Any] = dict(error.response)
    message = response.get("Error", {}).get("Message") or response.get("message") or ""
    return str(message) or "; ".join(map(str, response.get("messages") or ()))


def status_of(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _refusal(operation: Operation, error: ClientError, special: Mapping[str, ErrorRow]) -> Failure:
    code, message, status = code_of(error), message_of(error), status_of(error)
    table = error_table.table_of(operation.service, operation.name)
    row = special.get(code) or table.find(code, message, status)
    verdict = Verdict.REFUSED
    if row.throttled:
        verdict = Verdict.THROTTLED
    elif status >= 500 or 300 <= status < 400:
        verdict = Verdict.UNANSWERED
    if row.unavailable is Cause.CREDENTIALS:
        return _without_identity(operation, f"{code}: {message}")
    return _failure(operation, row, f"{code}: {message}", verdict, _retry_after(error))


def _without_identity(operation: Operation, text: str) -> Failure:
    """Keeps only the first line: the others of a signature error repeat the request, with its session token."""
    first = text.strip().partition("\n")[0]
    return _failure(operation, error_table.general(operation.service).no_identity, first, Verdict.REFUSED)


def _retry_after(error: ClientError) -> timedelta | None:
    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    text = str(headers.get("retry-after", ""))
    if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:
        return timedelta(seconds=int(text))
    return None


def _failure(
    operation: Operation, row: ErrorRow, text: str, verdict: Verdict, retry_after: timedelta | None = None
) -> Failure:
    provider = "DNS" if operation.service == "route53" else "AWS"
    message = f"{provider} {operation.name} failed: {text}"
    return Failure(error_for(row, message), row.error_type, verdict, retry_after)
