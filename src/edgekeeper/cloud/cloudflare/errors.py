"""What every error of Cloudflare means for a pass, as a table to be read.

    status and code ─► Meaning: one of the four errors, its reason, its `error_type` in metrics

429 is throttling whatever its code (three are known). A code that is in no table is told by its status: 401 and 403 are
about the token, anything else below 500 waits for a person. Nothing is ever silent. A few codes mean different things
by their message; they come last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from types import MappingProxyType
from typing import Final

from edgekeeper.cloud.cloudflare.reply import BrokenReplyError, Problem, RefusedError
from edgekeeper.cloud.operation import Failure, Operation, Verdict
from edgekeeper.core.errors import STALL_INTERVAL, Conflict, PassError, Retry, Stall, Wait

BLOCKED: Final = timedelta(minutes=5)
"""How long a token is shut out where the answer does not say."""
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


class Noun(Enum):
    """Which of the four errors. What may work next time, `Retry`, has no code: it is no answer at all."""

    WAIT = auto()
    STALL = auto()
    CONFLICT = auto()


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an error means for a pass."""

    noun: Noun
    reason: str
    error_type: str
    after: timedelta = STALL_INTERVAL
    """When to look again."""

    def error(self, message: str) -> PassError:
        match self.noun:
            case Noun.WAIT:
                return Wait(self.after, self.reason, message)
            case Noun.STALL:
                return Stall(self.reason, message, self.after)
            case Noun.CONFLICT:
                return Conflict(message)


_AUTH = Meaning(Noun.STALL, AUTH_FAILED, "access_denied")
_INVALID = Meaning(Noun.STALL, INVALID_SPEC, "invalid_spec")
_INVALID_RECORD = Meaning(Noun.STALL, INVALID_SPEC, "dns_invalid_input")
_RECORD_CONFLICT = Meaning(Noun.STALL, RECORD_CONFLICT, "domain_conflict")
_STALE = Meaning(Noun.CONFLICT, "Conflict", "stale")
"""What we know is out of date: something is there already, or is gone. Look, and decide anew."""
_TUNNEL_GONE = Meaning(Noun.STALL, TUNNEL_NOT_FOUND, "not_found")
_NO_ROUTE = Meaning(Noun.STALL, NOT_FOUND, "not_found")
_QUOTA = Meaning(Noun.STALL, QUOTA_EXCEEDED, "quota", _QUOTA_PAUSE)
_UNKNOWN = Meaning(Noun.STALL, API_ERROR, "unknown")

ABSENT: Final = frozenset({81044, 1002, 1003, 1055, 11021, 12045, 12135, 12152})
"""Codes that say: there is no such object. For a delete that is success, for a read it is an answer."""

MEANINGS: Mapping[int, Meaning] = MappingProxyType(
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
        1013: Meaning(Noun.STALL, NAME_CONFLICT, "name_conflict"),
        1022: Meaning(Noun.WAIT, TUNNEL_CONNECTED, "retryable", _CONNECTED_PAUSE),  # delete while connected
        # Access
        12130: _INVALID,  # anything that is wrong with a request
        11010: _STALE,  # the application exists
        12136: _STALE,
        11021: _STALE,  # the application does not exist
        12045: _STALE,
        12135: _STALE,  # nor does the token, the tag, the policy
        12152: _STALE,  # nor the group
        11020: Meaning(Noun.STALL, GROUP_NOT_FOUND, "not_found"),  # a rule names a group that is not there
        9999: Meaning(Noun.STALL, ACCESS_NOT_ENABLED, "access_denied"),  # Zero Trust was never switched on
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
        1061: Meaning(Noun.STALL, NAME_CONFLICT, "name_conflict"),
        1099: _INVALID,
        1116: _INVALID,
    }
)

_BY_MESSAGE: tuple[tuple[str, Meaning], ...] = (
    ("application_already_exists", _STALE),
    ("maximum number of", _QUOTA),
    ("access.api.error.not_enabled", MEANINGS[9999]),
)


def meaning_of(status: int, problem: Problem) -> Meaning:
    """What a refusal means, other than throttling."""
    for words, meaning in _BY_MESSAGE:
        if words in problem.message:
            return meaning
    known = MEANINGS.get(problem.code)
    if known is not None:
        return known
    return _AUTH if status in (401, 403) else _UNKNOWN


def is_absent(error: Exception) -> bool:
    """Whether the provider says that there is no such object."""
    return isinstance(error, RefusedError) and error.status < 429 and error.has_code(ABSENT)


def classify(operation: Operation, error: Exception) -> Failure | None:
    """Translate what a request raised; None where it is no doing of the provider."""
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
    meaning = meaning_of(error.status, error.problems[0] if error.problems else Problem())
    return Failure(meaning.error(f"cannot {_verb(operation.name)}: {error.text}"), meaning.error_type)


def may_be_one_changes_fault(error: Stall) -> bool:
    """Whether a write of many changes may have been refused because of one of them.

    Everything else (the token, a tunnel that is gone, a quota) would meet each of them as well, one call at a time.
    """
    return error.reason in (INVALID_SPEC, RECORD_CONFLICT, API_ERROR)


def unreadable(message: str) -> Retry:
    """An answer that cannot be true, found out after it was read."""
    error = Retry(message, UNREACHABLE)
    error.error_type = "retryable"
    return error


def _verb(name: str) -> str:
    """An operation in words: `PutTunnelConfiguration` as "put tunnel configuration"."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
