"""How often objects are looked at, where nothing else brings them back earlier."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from edgekeeper.cloud.mirror import DEFAULT_OPTIONS, MirrorOptions
from edgekeeper.core.steps import Step


@dataclass(frozen=True, slots=True)
class Intervals:
    """The promises of a kind: nothing is looked at less often than this."""

    in_progress: timedelta = timedelta(seconds=30)
    steady: timedelta = timedelta(minutes=5)
    """Also how long drift may go unnoticed."""
    settling: timedelta = DEFAULT_OPTIONS.settling
    """How long the cloud may still show what was before a write of ours."""

    @property
    def pace(self) -> MirrorOptions:
        """How often mirrors look."""
        return MirrorOptions(self.in_progress, self.steady, settling=self.settling)

    def after(self, step: Step | None) -> timedelta:
        """When to look again after a step; None says that nothing is left to do."""
        if step is None:
            return self.steady
        return timedelta(0) if step.at_once else self.in_progress
