"""What is remembered of objects between passes. Memory only: after a restart everything begins anew."""

from __future__ import annotations

from edgekeeper.core.clock import Clock
from edgekeeper.core.outages import Outages
from edgekeeper.lifecycle.corrections import Corrections
from edgekeeper.lifecycle.failures import Failures


class Memory:
    """Of the objects of one kind, by uid."""

    def __init__(self, clock: Clock) -> None:
        self.corrections = Corrections(clock)
        """Of drift, so that two who correct each other do not fight."""
        self.failing_deletions = Failures(clock)
        self.outages = Outages(clock)

    def forget(self, uid: str) -> None:
        """The object is gone."""
        self.corrections.forget(uid)
        self.failing_deletions.clear(uid)
        self.outages.clear(uid)
