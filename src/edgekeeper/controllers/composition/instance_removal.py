"""Which children of an instance go next, when it is deleted or no longer wants them. Pure: no expression is evaluated.

Children go in waves, the highest apply order first, and a wave begins when all of the one before are gone. Each has its
order as an annotation, so that neither the definition nor its graph is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgekeeper.controllers.composition import labels
from edgekeeper.controllers.composition.instance_plan import Address
from edgekeeper.controllers.composition.readiness import is_terminating
from edgekeeper.core.json import JsonObject


@dataclass(slots=True)
class Removal:
    """One wave."""

    delete: dict[Address, JsonObject] = field(default_factory=dict)
    release: dict[Address, JsonObject] = field(default_factory=dict)
    """Those that stay, without our marks."""
    awaited: dict[Address, JsonObject] = field(default_factory=dict)
    """Those that are being deleted."""


def next_removal(children: Mapping[Address, JsonObject]) -> Removal:
    """The wave of these children that is due."""
    removal = Removal()
    highest = max(map(labels.apply_order_of, children.values()), default=0)
    for address, live in sorted(children.items(), key=lambda entry: str(entry[0])):
        if labels.apply_order_of(live) != highest:
            continue
        if labels.annotation_of(live, labels.DELETION_POLICY) == labels.ORPHAN:
            removal.release[address] = live
        elif is_terminating(live):
            removal.awaited[address] = live
        else:
            removal.delete[address] = live
    return removal
