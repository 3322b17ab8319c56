"""What a Lease says: who leads, for how long without a sign of life, and how often that changed.

The object belongs to whoever writes it last, and a person with kubectl may have been there. Every field is therefore
read as something that may be missing, of another type, or absurd. What a Lease tells about time is written for people
and never read: two machines need not agree on the time of day.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from edgekeeper.core.clock import micro_timestamp
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import LEASE, Key

LONGEST_DURATION = timedelta(hours=1)
"""No holder asks to be waited for longer. A Lease that says so is taken not to say anything."""
_LARGEST_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The part of a Lease that elections are about."""

    holder: str
    """Empty where nobody leads: the last leader said goodbye."""
    duration: timedelta
    """How long the holder may be silent; zero where the Lease says nothing sensible."""
    acquired: str
    transitions: int

    @classmethod
    def of(cls, lease: JsonObject) -> LeaseRecord:
        holder, acquired = dig(lease, "spec", "holderIdentity"), dig(lease, "spec", "acquireTime")
        return cls(
            holder=holder if isinstance(holder, str) else "",
            duration=_duration(dig(lease, "spec", "leaseDurationSeconds")),
            acquired=acquired if isinstance(acquired, str) else "",
            transitions=_count(dig(lease, "spec", "leaseTransitions")),
        )

    def handed_to(self, holder: str, duration: timedelta, now: datetime) -> JsonObject:
        """The fields of `spec` with which `holder` takes over, renews, or (with no name) says goodbye."""
        renewing = holder == self.holder
        # Seconds are whole numbers there: rounded up, others wait a little longer than needed and never less.
        seconds = -(-duration // timedelta(seconds=1))
        return {
            "holderIdentity": holder,
            "leaseDurationSeconds": max(seconds, 1),
            "acquireTime": self.acquired if renewing and self.acquired else micro_timestamp(now),
            "renewTime": micro_timestamp(now),
            "leaseTransitions": self.transitions
            if renewing or not holder
            else min(self.transitions + 1, _LARGEST_INT32),
        }


def new_lease(key: Key, holder: str, duration: timedelta, now: datetime) -> JsonObject:
    """A Lease whose first leader is `holder`."""
    spec = LeaseRecord(holder, duration, "", 0).handed_to(holder, duration, now)
    metadata = {"name": key.name, "namespace": key.namespace}
    return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}


def with_spec(lease: JsonObject, fields: JsonObject) -> JsonObject:
    """A copy of `lease` with these fields set; what others have put beside them stays.

    Raise ValueError where the server could not tell that the Lease has changed since it was read.
    """
    if not dig(lease, "metadata", "resourceVersion"):
        raise ValueError("the Lease has no resourceVersion and cannot be written safely")
    changed = copy.deepcopy(lease)
    spec = changed.get("spec")
    changed["spec"] = {**spec, **fields} if isinstance(spec, dict) else fields
    return changed


def _duration(value: Any) -> timedelta:
    seconds = _count(value)
    return timedelta(seconds=seconds) if seconds <= LONGEST_DURATION.total_seconds() else timedelta(0)


def _count(value: Any) -> int:
    """A number that can be written back: the server refuses what does not fit its integers."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return min(value, _LARGEST_INT32) if is_number and value >= 0 else 0
