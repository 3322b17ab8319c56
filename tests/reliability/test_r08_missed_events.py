"""R-08: whichever events a watch loses, everything ends the same, if later.

Subsets of three consecutive events are dropped: one, two in a row, three in a row, the outer two. A list about every hour
finds what nobody was told.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from edgekeeper.core.json import dig
from tests.crash.sampling import EVERY
from tests.crash.system import Scenario
from tests.reliability.playing import PATIENT, GizmoStage, ending_of, usual_ending
from tests.results import Figures
from tests.toy.gizmo import GIZMO
from tests.toy.workshop import Workshop
from tests.unit.kube.faults import FaultyTransport

WINDOWS = ((0,), (0, 1), (0, 1, 2), (0, 2))
PATIENCE = timedelta(hours=4)


class LosingEvents:
    """Drops the events of these numbers, and counts all."""

    def __init__(self, lost: frozenset[int] = frozenset()) -> None:
        self._lost = lost
        self.count = 0

    def bend(self, stage: GizmoStage) -> dict[str, Any]:
        transport = FaultyTransport(stage.around.transport)
        transport.drop = self._is_lost
        return {"transport": transport}

    def _is_lost(self, line: bytes) -> bool:
        event = msgspec.json.decode(line)
        if event["type"] == "BOOKMARK" or dig(event, "object", "kind") != GIZMO.kind:
            return False
        self.count += 1
        return self.count - 1 in self._lost


@pytest.mark.parametrize("scenario", PATIENT, ids=lambda scenario: scenario.name)
def test_lost_events_change_nothing_about_the_end(scenario: Scenario[Workshop], figures: Figures) -> None:
    counting = LosingEvents()
    ending_of(scenario, counting.bend)
    windows = [
        frozenset(start + step for step in steps) for start in range(counting.count) for steps in WINDOWS
    ]
    for lost in windows[::EVERY]:
        assert ending_of(scenario, LosingEvents(lost).bend, patience=PATIENCE) == usual_ending(
            scenario.name
        ), f"without the events {sorted(lost)}"
        figures.count("sets of lost events")
