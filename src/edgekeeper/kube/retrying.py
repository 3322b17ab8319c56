"""Decides whether a failed call is retried, and after which pause. Pure; `kube.client` sends it again."""

from __future__ import annotations

from random import Random

from edgekeeper.core.calls import CallRecord
from edgekeeper.kube.errors import ApiError, ServerError, ThrottledError, UnreachableError
from edgekeeper.kube.transport import TransportError

_GATEWAY_ERRORS = frozenset({502, 503, 504})
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0


def pause_before_retry(error: ApiError, call: CallRecord, failures: int) -> float | None:
    """Seconds until the next attempt, or None if the call is not retried.

    The jitter is derived from the number of the call: reads that failed together are spread out, and the pauses of a
    run are reproducible.
    """
    if isinstance(error.__cause__, TransportError) and error.__cause__.is_final:
        return None
    if call.mutating:
        is_retried = isinstance(error, ThrottledError) and error.retry_after is not None
    else:
        is_retried = isinstance(error, UnreachableError | ThrottledError) or (
            isinstance(error, ServerError)
            and (error.status in _GATEWAY_ERRORS or error.retry_after is not None)
        )
    if not is_retried:
        return None
    jitter = 0.5 + Random(call.number).random() / 2
    backoff = min(_FIRST_PAUSE * 2.0 ** (failures - 1), _LONGEST_PAUSE) * jitter
    return backoff + (error.retry_after.total_seconds() if error.retry_after else 0.0)
