"""The toy kind as the harness sees it."""

from __future__ import annotations

import msgspec

from edgekeeper.core.json import JsonObject
from edgekeeper.core.ownership import Owner
from tests.crash.system import System
from tests.toy.client import CANARY
from tests.toy.controllers import gizmo_controller
from tests.toy.gizmo import DECLARATION, DEFINITION, GIZMO, Gizmo
from tests.toy.reconciler import CLUSTER, desired
from tests.toy.workshop import State, Workshop


def lies(obj: JsonObject, workshop: Workshop) -> str:
    """What a Gizmo that says it is Ready does not have."""
    wanted = desired(msgspec.convert(obj, Gizmo), Owner.of(obj, CLUSTER))
    for name, part in wanted.items():
        item = workshop.describe(name)
        if item is None or item.colour != part.colour or item.state is not State.ACTIVE:
            return f"Ready, but {name} is {item}"
    return ""


GIZMOS: System[Workshop] = System(
    definitions=(DEFINITION,),
    declarations={GIZMO: DECLARATION},
    outside=Workshop,
    controllers=lambda services, workshop, calls: [gizmo_controller(services, workshop, calls)],
    lies=lies,
    canary=CANARY,
)
