"""Ends of a pass of an instance that bring the status with them which says why."""

from __future__ import annotations

from datetime import timedelta

from edgekeeper.controllers.composition.instance_status import Finding
from edgekeeper.core.errors import Stall, Wait
from edgekeeper.core.json import JsonObject


class ReportedWait(Wait):
    """A pass could not apply everything: its status says what, and it is tried again."""

    def __init__(self, after: timedelta, finding: Finding, status: JsonObject) -> None:
        super().__init__(after, finding.reason, finding.message)
        self.status = status


class ReportedStall(Stall):
    """A user has to act: the status says on what."""

    def __init__(self, finding: Finding, status: JsonObject) -> None:
        super().__init__(finding.reason, finding.message)
        self.status = status
