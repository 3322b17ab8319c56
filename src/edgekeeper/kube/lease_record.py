"""The spec of a Lease: its holder, its duration, and the number of transitions.

A Lease may have been edited by hand, so every field may be missing, of another type, or out of range. Its timestamps are
written for display and never read, because the wall clocks of two machines may differ.
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
"""A longer duration in a Lease is considered an error, and ignored."""
_LARGEST_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The fields of a Lease that leader election uses."""

    holder: str
    """The identity of the leader; empty if the last one has released the Lease."""
    duration: timedelta
    """How long after a renewal the holder keeps the Lease; zero if the value is missing or invalid."""
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
        """The fields of `spec` with which `holder` takes over, renews, or (if it is empty) the Lease is released."""
        renewing = holder == self.holder
        # The field is an integer; rounded up, so that others never wait too short a time.
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
    """A copy of `lease` with these fields of `spec` set; other fields are kept.

    Raise ValueError without a resourceVersion, because a concurrent change would be overwritten.
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
    """A count that fits into 32 bits, which the server requires."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return min(value, _LARGEST_INT32) if is_number and value >= 0 else 0
