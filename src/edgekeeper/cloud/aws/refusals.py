"""Reads that AWS has denied lately.

Objects that need the same read are told of its refusal without a call each. Policies tell objects apart, so what is
remembered is who may not read what of which object, and nothing is concluded about others. After some minutes AWS is
asked again: somebody may have granted the right.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, NamedTuple

from edgekeeper.cloud.aws.error_table import DENIED, DNS_DENIED
from edgekeeper.cloud.aws.roles import Role
from edgekeeper.cloud.remembered import Expiring
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import STALL_INTERVAL, Stall, fresh

REMEMBERED: Final[timedelta] = STALL_INTERVAL
"""Whoever is stalled by a refusal comes back after as long."""

_DENIALS: Final = frozenset({DENIED.error_type, DNS_DENIED.error_type})


class Read(NamedTuple):
    """One read, as far as policies can tell it from others."""

    role: Role
    region: str
    operation: str
    subject: str


class Refusals:
    """See the module."""

    def __init__(self, clock: Clock) -> None:
        self._denied: Expiring[Read, Stall] = Expiring(clock)

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
        """AWS has refused a read. That is remembered where it is a matter of rights."""
        if refusal.error_type in _DENIALS:
            self._denied.put(read, fresh(refusal), REMEMBERED)
