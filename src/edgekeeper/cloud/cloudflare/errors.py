"""The error table of Cloudflare; see `cloud.error_table` for the lookup.

429 is throttling, whatever its code. Unknown codes are classified by their status: 401 and 403 concern the token, any
other below 500 stalls the object.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from edgekeeper.cloud.cloudflare.reply import BrokenReplyError, Problem, RefusedError
from edgekeeper.cloud.error_table import ErrorRow, ErrorTable, error_for
from edgekeeper.cloud.operation import Failure, Operation, Verdict
from edgekeeper.core.errors import Conflict, Retry, Stall, Wait

BLOCKED: Final = timedelta(minutes=5)
"""How long a token is blocked if the response does not specify it."""
_QUOTA_PAUSE: Final = timedelta(minutes=30)
_CONNECTED_PAUSE: Final = timedelta(minutes=1)

# Reasons, as conditions show them
API_ERROR: Final = "CloudflareAPIError"
AUTH_FAILED: Final = "AuthFailed"
ACCESS_NOT_ENABLED: Final = "AccessNotEnabled"
GROUP_NOT_FOUND: Final = "GroupNotFound"
INVALID_SPEC: Final = "InvalidSpec"
NAME_CONFLICT: Final = "NameConflict"
NOT_FOUND: Final = "NotFound"
QUOTA_EXCEEDED: Final = "QuotaExceeded"
RECORD_CONFLICT: Final = "RecordConflict"
THROTTLED: Final = "Throttled"
TUNNEL_CONNECTED: Final = "TunnelConnected"
TUNNEL_NOT_FOUND: Final = "TunnelNotFound"
UNREACHABLE: Final = "Unreachable"


_AUTH = ErrorRow(Stall, AUTH_FAILED, "access_denied")
_INVALID = ErrorRow(Stall, INVALID_SPEC, "invalid_spec")
_INVALID_RECORD = ErrorRow(Stall, INVALID_SPEC, "dns_invalid_input")
_RECORD_CONFLICT = ErrorRow(Stall, RECORD_CONFLICT, "domain_conflict")
_STALE = ErrorRow(Conflict, "Conflict", "stale")
"""Our state is outdated: an object exists already, or no longer exists. Read again, and decide again."""
_TUNNEL_GONE = ErrorRow(Stall, TUNNEL_NOT_FOUND, "not_found")
_NO_ROUTE = ErrorRow(Stall, NOT_FOUND, "not_found")
_QUOTA = ErrorRow(Stall, QUOTA_EXCEEDED, "quota", _QUOTA_PAUSE)
_UNKNOWN = ErrorRow(Stall, API_ERROR, "unknown")

ABSENT: Final = frozenset({81044, 1002, 1003, 1055, 11021, 12045, 12135, 12152})
"""Codes for an object that does not exist. For a delete that is a success."""

CODES: Mapping[int, ErrorRow] = MappingProxyType(
    {
        # DNS records
        81053: _RECORD_CONFLICT,  # an A, AAAA or CNAME record has that name
        81054: _RECORD_CONFLICT,  # a CNAME record has that name
        81056: _RECORD_CONFLICT,  # NS records have that name
        81057: _STALE,  # the record exists
        81058: _STALE,  # an identical record exists
        81044: _STALE,  # the record does not exist
        81045: _QUOTA,  # the zone is full
        1004: _INVALID_RECORD,  # validation; the root cause is in the chain, or comes alone
        **dict.fromkeys(range(9000, 9100), _INVALID_RECORD),
        9207: _INVALID_RECORD,
        9300: _INVALID_RECORD,  # tags, on a plan without
        # Tunnels
        1056: _INVALID,  # the configuration is bad
        1055: _TUNNEL_GONE,  # configuration of a deleted tunnel
        1002: _TUNNEL_GONE,
        1003: _TUNNEL_GONE,
        1013: ErrorRow(Stall, NAME_CONFLICT, "name_conflict"),
        1022: ErrorRow(Wait, TUNNEL_CONNECTED, "retryable", _CONNECTED_PAUSE),  # delete while connected
        # Access
        12130: _INVALID,  # anything that is wrong with a request
        11010: _STALE,  # the application exists
        12136: _STALE,
        11021: _STALE,  # the application does not exist
        12045: _STALE,
        12135: _STALE,  # nor does the token, the tag, the policy
        12152: _STALE,  # nor the group
        11020: ErrorRow(Stall, GROUP_NOT_FOUND, "not_found"),  # a rule names a group that is not there
        9999: ErrorRow(Stall, ACCESS_NOT_ENABLED, "access_denied"),  # Zero Trust was never switched on
        # The token
        10000: _AUTH,
        9109: _AUTH,
        9106: _AUTH,
        6003: _AUTH,
        6111: _AUTH,
        1000: _AUTH,
        1001: _AUTH,
        # The address
        7000: _NO_ROUTE,
        7001: _NO_ROUTE,
        7003: _NO_ROUTE,
        # Zones, which are never created here
        1061: ErrorRow(Stall, NAME_CONFLICT, "name_conflict"),
        1099: _INVALID,
        1116: _INVALID,
    }
)

_MESSAGES: tuple[tuple[str, ErrorRow], ...] = (
    ("application_already_exists", _STALE),
    ("maximum number of", _QUOTA),
    ("access.api.error.not_enabled", CODES[9999]),
)


def _by_message(_: int, message: str) -> ErrorRow | None:
    return next((row for words, row in _MESSAGES if words in message), None)


def _by_status(status: int) -> ErrorRow:
    return _AUTH if status in (401, 403) else _UNKNOWN


TABLE: Final = ErrorTable((CODES,), _by_message, _by_status)


def is_absent(error: Exception) -> bool:
    """Whether the error means that the object does not exist."""
    return isinstance(error, RefusedError) and error.status < 429 and error.has_code(ABSENT)


def classify(operation: Operation, error: Exception) -> Failure | None:
    """Classify an exception of a request; None if it is not an error of the provider."""
    if isinstance(error, BrokenReplyError):
        message = f"no answer to {operation.name}: {error}"
        return Failure(Retry(message, UNREACHABLE), "retryable", Verdict.UNANSWERED)
    if not isinstance(error, RefusedError):
        return None
    if error.status == 429:
        pause = error.retry_after or BLOCKED
        return Failure(Wait(pause, THROTTLED, error.text), "throttling", Verdict.THROTTLED, pause)
    if error.status == 408:
        return Failure(Retry(error.text, UNREACHABLE), "retryable", Verdict.UNANSWERED)
    problem = error.problems[0] if error.problems else Problem()
    row = TABLE.find(problem.code, problem.message, error.status)
    return Failure(error_for(row, f"cannot {_verb(operation.name)}: {error.text}"), row.error_type)


def may_concern_one_change(error: Stall) -> bool:
    """Whether one of several changes may have caused the refusal.

    Other errors (the token, a missing tunnel, a quota) would occur for each change separately as well.
    """
    return error.reason in (INVALID_SPEC, RECORD_CONFLICT, API_ERROR)


def unreadable(message: str) -> Retry:
    """The error for an inconsistent response, detected after it was parsed."""
    error = Retry(message, UNREACHABLE)
    error.error_type = "retryable"
    return error


def _verb(name: str) -> str:
    """The name of an operation as text: "put tunnel configuration" for `PutTunnelConfiguration`."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
