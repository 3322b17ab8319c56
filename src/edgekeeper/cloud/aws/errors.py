"""What botocore raises, understood: the classifier that the transport asks about every failed AWS call.

Four kinds of exception arrive here. An answer that AWS gave carries a code, which `error_table` explains. No answer at
all (a lost connection, a timeout) says nothing about whether a write took effect, and neither does an answer that is
not one (HTML, a truncated body). Without credentials nothing was asked: there are none, or whoever should give them to us
refuses or fails. Anything else is a bug, and `classify` says so by None. An answer that is AWS's own, but lacks what we
need of it, must not look like an outage: one odd object would stop the work on all others.

AWS's message stays as it is, word for word; in front of it stand the operation and the code, because messages such as
"The request is invalid" say neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
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
from botocore.parsers import ResponseParserError

from edgekeeper.cloud.aws import error_table
from edgekeeper.cloud.aws.http import BrokenAnswerError, MalformedAnswerError
from edgekeeper.cloud.error_table import ErrorRow, error_for
from edgekeeper.cloud.operation import Failure, Operation, Verdict
from edgekeeper.core.errors import Cause

_NO_ANSWER = (ConnectionFailedError, HTTPClientError, ResponseParserError, BrokenAnswerError, OSError)
_NO_IDENTITY = (
    *(NoCredentialsError, PartialCredentialsError, NoAuthTokenError, UnknownCredentialError),
    *(CredentialRetrievalError, MetadataRetrievalError, TokenRetrievalError, SSOError),
    *(ProfileNotFound, ConfigNotFound, ConfigParseError, InvalidConfigError, InfiniteLoopConfigError),
    RefreshWithMFAUnsupportedError,
)
_IDENTITY_OPERATIONS = frozenset(
    {"AssumeRole", "AssumeRoleWithWebIdentity", "AssumeRoleWithSAML", "GetRoleCredentials", "CreateToken"}
)
"""What botocore asks by itself, to get credentials for what it was asked to do."""
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
    if isinstance(error, _NO_ANSWER):
        return _failure(operation, general.busy, text, Verdict.UNANSWERED)
    if isinstance(error, _NO_IDENTITY):
        return _without_identity(operation, text)
    if isinstance(error, ParamValidationError):
        return _failure(operation, general.invalid, text, Verdict.REFUSED)
    return None


def _text(error: Exception) -> str:
    """What an exception says; one that was raised because time is up says nothing."""
    return str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)


def code_of(error: ClientError) -> str:
    """The error code of an answer."""
    return str(error.response.get("Error", {}).get("Code", ""))


def message_of(error: ClientError) -> str:
    """What AWS says. Route 53 says it in a list."""
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
    """Of what AWS says about a signature only the first line: others repeat the request, with its session token."""
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
