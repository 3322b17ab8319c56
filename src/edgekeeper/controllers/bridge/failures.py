"""Errors in the four classes of the bridge, as conditions and status show them.

class          raised as                 conditions                        next attempt
Transient      Retry, Wait               unchanged, unless it lasts        15 s, doubling to 5 min; or as AWS says
Recoverable    Wait that is reported     Ready False                       as soon as it changes, or 30 s
Terminal       Stall                     Ready False, Degraded True        as soon as it changes, or 5 min
Cleanup        any, of a deletion        the same; the finalizer stays until `--cleanup-timeout`
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import msgspec

from edgekeeper.api.bridge import ErrorClass, LastError
from edgekeeper.controllers.bridge.cluster import REFERENCE_NOT_FOUND
from edgekeeper.core.backoff import Backoff
from edgekeeper.core.conditions import READY, Conditions
from edgekeeper.core.errors import PassError, Stall
from edgekeeper.core.json import JsonObject, dig

DEGRADED: Final = "Degraded"
FUNCTION_NOT_FOUND: Final = "FunctionNotFound"
CERTIFICATE_NOT_FOUND: Final = "CertificateNotFound"
BUDGET_EXHAUSTED: Final = "BudgetExhausted"
WAITING_FOR_ACK: Final = "WaitingForACK"
RECOVERABLE: Final = frozenset(
    {REFERENCE_NOT_FOUND, FUNCTION_NOT_FOUND, CERTIFICATE_NOT_FOUND, BUDGET_EXHAUSTED, WAITING_FOR_ACK}
)
"""Reasons of `Wait` that conditions report."""
CERTIFICATE_PAUSE: Final = timedelta(minutes=5)
BACKOFF: Final = Backoff(timedelta(seconds=15), longest=timedelta(minutes=5))


def mark_degraded(conditions: Conditions, error: PassError | None) -> None:
    """Mark whether a person must act."""
    if error is None:
        conditions.mark(DEGRADED, False, "AsExpected", "nothing needs attention")
    elif isinstance(error, Stall):
        conditions.mark(DEGRADED, True, error.reason, error.message)
    else:
        conditions.mark(DEGRADED, False, error.reason, "it is tried again by itself")


def last_error(error: PassError, obj: JsonObject) -> JsonObject:
    """`status.lastError` for an error."""
    fields: JsonObject = msgspec.to_builtins(LastError(_class_of(error, obj), error.reason, error.message))
    return fields


def with_ready(status: JsonObject, conditions: Sequence[JsonObject]) -> JsonObject:
    """The status with `ready`, a boolean that says the same as the condition Ready."""
    is_ready = any(dig(one, "type") == READY and dig(one, "status") == "True" for one in conditions)
    return {**status, "ready": is_ready}


def _class_of(error: PassError, obj: JsonObject) -> ErrorClass:
    if dig(obj, "metadata", "deletionTimestamp"):
        return "Cleanup"
    if isinstance(error, Stall):
        return "Terminal"
    return "Recoverable" if error.reason in RECOVERABLE else "Transient"
