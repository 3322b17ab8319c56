"""How often objects are reconciled if nothing triggers an earlier pass."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from edgekeeper.cloud.mirror import DEFAULT_OPTIONS, MirrorOptions
from edgekeeper.core.steps import Step


@dataclass(frozen=True, slots=True)
class Intervals:
    """The longest intervals between two passes of an object."""

    in_progress: timedelta = timedelta(seconds=30)
    steady: timedelta = timedelta(minutes=5)
    """Also the longest time until drift is detected."""
    settling: timedelta = DEFAULT_OPTIONS.settling
    """How long reads may return the state before our last write (eventual consistency)."""

    @property
    def pace(self) -> MirrorOptions:
        """How often mirrors list."""
        return MirrorOptions(self.in_progress, self.steady, settling=self.settling)

    def after(self, step: Step | None) -> timedelta:
        """The requeue time after a step; None if no step was left."""
        if step is None:
            return self.steady
        if step.at_once:
            return timedelta(0)
        return self.in_progress if step.poll is None else min(step.poll, self.in_progress)
