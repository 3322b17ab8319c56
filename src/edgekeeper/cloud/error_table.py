"""Tables that map error codes of a provider to one of the four errors, a reason and a label in metrics.

    table = ErrorTable(by_code=(of_the_operation, of_the_service), by_message=…, by_status=…)
    raise error_for(table.find(code, message, status), "AWS CreateDistributionTenant failed: …")

Lookup order: by message, for a few codes whose meaning depends on it; by code, from the most specific table to the most
general; by HTTP status. So every error has a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from edgekeeper.core.errors import Cause, Conflict, PassError, Retry, Stall, Wait

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """The meaning of an error code for a pass."""

    kind: type[Retry | Wait | Stall | Conflict]
    reason: str
    error_type: str
    """The label in metrics."""
    after: timedelta | None = None
    """The requeue time: required for `Wait`, optional for `Stall`."""
    throttled: bool = False
    """Whether the call was throttled: it had no effect, and its lane is paused."""
    unavailable: Cause | None = None
    """Set if the cloud cannot be used at all, independent of the request."""

    def __post_init__(self) -> None:
        if self.kind is Wait and self.after is None:
            raise ValueError(f"{self.reason}: a row of kind Wait needs a requeue time")


@dataclass(frozen=True, slots=True)
class ErrorTable(Generic[C]):
    """Finds the row of an error."""

    by_code: tuple[Mapping[C, ErrorRow], ...]
    """The most specific table first."""
    by_message: Callable[[C, str], ErrorRow | None]
    by_status: Callable[[int], ErrorRow]

    def __contains__(self, code: C) -> bool:
        return any(code in table for table in self.by_code)

    def find(self, code: C, message: str = "", status: int = 0) -> ErrorRow:
        """The row of an error, whatever its code."""
        row = self.by_message(code, message)
        if row is not None:
            return row
        return next((table[code] for table in self.by_code if code in table), None) or self.by_status(status)


def error_for(row: ErrorRow, message: str) -> PassError:
    """The error for a row."""
    error = _error_for(row, message)
    error.error_type, error.unavailable = row.error_type, row.unavailable
    return error


def _error_for(row: ErrorRow, message: str) -> PassError:
    if row.kind is Wait and row.after is not None:
        return Wait(row.after, row.reason, message)
    if row.kind is Stall:
        return Stall(row.reason, message) if row.after is None else Stall(row.reason, message, row.after)
    return Conflict(message) if row.kind is Conflict else Retry(message, row.reason)
