"""In-memory state of objects between passes. A restart starts anew."""

from __future__ import annotations

from edgekeeper.core.clock import Clock
from edgekeeper.core.outages import Outages
from edgekeeper.lifecycle.corrections import Corrections
from edgekeeper.lifecycle.failures import Failures


class Memory:
    """State of the objects of one kind, by uid."""

    def __init__(self, clock: Clock) -> None:
        self.corrections = Corrections(clock)
        """Corrections of drift, to limit their rate."""
        self.failing_deletions = Failures(clock)
        self.outages = Outages(clock)

    def forget(self, uid: str) -> None:
        """Drop the state of an object that no longer exists."""
        self.corrections.forget(uid)
        self.failing_deletions.clear(uid)
        self.outages.clear(uid)
