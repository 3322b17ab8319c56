"""Reads that AWS has denied lately.

Objects that need the same read get its refusal without a call each. Policies can distinguish objects, so a refusal is kept
per role, region, operation and object, and nothing is concluded about others. After some minutes AWS is asked again.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, NamedTuple

from edgekeeper.cloud.aws.error_table import DENIED, DNS_DENIED
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.cache import ExpiringCache
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import STALL_INTERVAL, Stall, fresh

REMEMBERED: Final[timedelta] = STALL_INTERVAL
"""As long as an object that is stalled by a refusal waits."""

_DENIALS: Final = frozenset({DENIED.error_type, DNS_DENIED.error_type})


class Read(NamedTuple):
    """One read, with all that policies can distinguish."""

    role: Role
    region: str
    operation: str
    subject: str


class Refusals:
    """Denied reads, with an expiry."""

    def __init__(self, clock: Clock) -> None:
        self._denied: ExpiringCache[Read, Stall] = ExpiringCache(clock)

    def __len__(self) -> int:
        return len(self._denied)

    def check(self, read: Read) -> None:
        """Raise the refusal of a read again, if it was denied lately. Its `after` says when AWS is asked again."""
        denial = self._denied.get(read)
        if denial is not None:
            refusal = fresh(denial.value)
            refusal.after = self._denied.left(denial)
            raise refusal

    def note(self, read: Read, refusal: Stall) -> None:
        """Record a refusal, where it is about rights."""
        if refusal.error_type in _DENIALS:
            self._denied.put(read, fresh(refusal), REMEMBERED)
